"""What the trials of a benchmark have used of its budget: here as it is used, elsewhere as far as the store has it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass, field

from proctor.errors import DataError, StoreError
from proctor.providers.ledger import Ledger
from proctor.service.kinds import kind_of
from proctor.store import Store
from proctor.store.read import rollout_plans
from proctor.trial_record import record_from
from proctor.types import NOTHING_USED, Attempt, Cell, Run, Usage

LOOK_EVERY_S = 2.0
SHARE = 1 / 10  # of the time at most is spent on adding up
CALLED = "the benchmark's budget"


@dataclass(slots=True)
class _Account:
    """`kept_*` is what trials of this process have come to that have ended, and which the store has, too."""

    ledger: Ledger
    kept: Usage = NOTHING_USED
    kept_calls: int = 0


@dataclass(slots=True)
class BenchmarkAccounts:
    """The accounts of one process. All rows of a benchmark that it works on share one."""

    _accounts: dict[Hashable, _Account] = field(default_factory=dict)

    def ledger(self, cell: Cell) -> Ledger | None:
        """None where nothing is bounded."""
        account = self._account(cell)
        return None if account is None else account.ledger

    def _account(self, cell: Cell) -> _Account | None:
        bounded = kind_of(cell.source).budget(cell.source)
        if bounded is None:
            return None
        shared, bounds = bounded
        return self._accounts.setdefault(shared, _Account(Ledger(bounds, CALLED)))

    def ended(self, cell: Cell, attempt: Attempt) -> None:
        """A trial of this process has ended: the store will have it."""
        account = self._account(cell)
        if account is None:
            return
        account.kept += attempt.unused
        if attempt.reply is not None:
            reply = attempt.reply
            account.kept += Usage(reply.input_tokens, reply.output_tokens, reply.cost_usd)
            account.kept_calls += _calls(reply.raw)

    def add_up(self, store: Store, run: Run) -> None:
        """Count what the store has of the benchmark and this process has not used. Raises: StoreError."""
        account = self._account(run.cell)
        if account is None:
            return
        ledger, kept = account.ledger, account.kept
        whole = rollout_plans.spent(store, run.plan_id)
        ledger.elsewhere_tokens = max(ledger.elsewhere_tokens, _tokens(whole) - _tokens(kept))
        ledger.elsewhere_usd = max(ledger.elsewhere_usd, (whole.cost_usd or 0.0) - (kept.cost_usd or 0.0))
        if ledger.bounds.max_calls is not None:
            calls = sum(map(_calls, rollout_plans.records(store, run.plan_id)))
            ledger.elsewhere_calls = max(ledger.elsewhere_calls, calls - account.kept_calls)

    async def watch(self, store: Store, run: Run) -> None:
        """Look at what others use until cancelled; a store that cannot tell ends no run."""
        if self._account(run.cell) is None:
            return
        while True:
            began = time.monotonic()
            with suppress(StoreError):
                await asyncio.to_thread(self.add_up, store, run)
            await asyncio.sleep(max(LOOK_EVERY_S, (time.monotonic() - began) / SHARE))


def _tokens(usage: Usage) -> int:
    return (usage.input_tokens or 0) + (usage.output_tokens or 0)


def _calls(raw: bytes) -> int:
    try:
        return record_from(raw).calls or 0
    except DataError:
        return 0
