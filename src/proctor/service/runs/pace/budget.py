"""What a run may use: time, money and tokens, and whether another item may be drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from proctor.errors import ConfigError, ResourceLimit
from proctor.providers.ledger import Ledger
from proctor.service.runs.pace.progress import Meter
from proctor.store.queue.endings import Spent
from proctor.types import Cell, Limits


@dataclass(slots=True)
class Budget:
    """--for, --max-cost and --max-total-tokens: decides whether another item may be drawn.

    `spent` was used in earlier tries. What others use at the same time is known late: a budget may be passed by what
    they use until this process looks, and by what is under way. With `strict`, a run that has used up its money or
    tokens has failed; otherwise it has stopped early.
    """

    limits: Limits
    meter: Meter
    cell: Cell
    strict: bool = False
    spent: Spent = Spent()
    elsewhere: Spent = Spent()  # by other processes at work on the run, as far as they have kept it
    account: Ledger | None = None  # of the benchmark, where that has a budget
    # Of runs that are asked side by side, what the others have used: they have one budget together.
    others: Callable[[], Spent] | None = None
    stopped: str | None = None
    _used_up: bool = False

    def allows(self) -> bool:
        limits = self.limits
        before, whose = self.spent + self.elsewhere, "for this run"
        if self.others is not None:
            before, whose = before + self.others(), "for these runs"
        usd, tokens = before.usd + self.meter.spending(), before.tokens + self.meter.tokens
        if limits.for_s is not None and self.meter.elapsed_s() >= limits.for_s:
            self.stopped = f"the time allowed by --for ({limits.for_s:.0f} s {whose}) was used up"
        elif limits.max_cost_usd is not None and usd >= limits.max_cost_usd:
            self.stopped = f"the cost allowed by --max-cost (${limits.max_cost_usd:g} {whose}) was reached"
            self._used_up = True
        elif (most := limits.max_total_tokens) is not None and tokens >= most:
            self.stopped = f"the tokens allowed by --max-total-tokens ({most:,} {whose}) were used up"
            self._used_up = True
        elif self.account is not None and (why := self.account.used_up) is not None:
            self.stopped = why
            self._used_up = True
        return self.stopped is None

    def notice(self, replied: bool) -> None:
        """Raises ConfigError if the budget cannot be kept because nobody says what replies cost."""
        if self.limits.max_cost_usd is not None and replied and not self.meter.costed:
            raise ConfigError(
                f"--max-cost cannot be kept: neither the server nor prices.toml in PROCTOR_HOME says what "
                f"{self.cell.model} costs. Write its prices there, then resume, or run without --max-cost"
            )

    def outcome(self) -> str | None:
        """Why the run stopped early, or None; to be asked when what was under way has ended.

        Raises ResourceLimit if it is used up and that is to be an error.
        """
        meter = self.meter
        complete = meter.before + meter.answered + meter.elsewhere >= meter.run.planned
        if self.strict and self._used_up and not complete:
            raise ResourceLimit(f"Run {self.meter.run.id[:8]}: {self.stopped}")
        return self.stopped
