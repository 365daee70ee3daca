"""Whoever else is at work on a run: what they have done, what limits they have reached, and what one tells the others.

The owner holds the whole run to its limits: he reads now and then what all have kept, and tells them when
nothing more is to be asked. They draw no more then, end what is under way, and keep it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proctor.errors import ProctorError, StoreError, errors
from proctor.service.context import is_gone
from proctor.service.sharing.helpers import Helpers
from proctor.service.sharing.parts import Portion
from proctor.store import AttemptWriter
from proctor.store.queue import endings, shards
from proctor.store.queue.endings import Spent

if TYPE_CHECKING:
    from proctor.service.runs.pace.budget import Budget
    from proctor.service.runs.pace.progress import Meter

LOOK_EVERY_S = 0.5
LOOK_FOR_WORKERS_S = 2.0
WAIT_S = 0.1  # between two looks of an owner who has nothing to ask
SHARE = 1 / 10  # of the time at most is spent on adding up what the run has used


@dataclass(eq=False, slots=True)
class Company:
    """One process's view of the others. `workers` tells how many could be at work on the run, this one among them."""

    parts: Portion
    meter: Meter
    budget: Budget
    helpers: Helpers
    workers: Callable[[], int]
    fault: ProctorError | None = None  # what a helper met that ends the run
    ends: bool = False  # a helper's owner asks no more
    _said: bool = False
    _base: Spent = Spent()  # what the run had used when this process began
    _due: float = field(default=0.0)

    def begin(self) -> None:
        limits = self.budget.limits
        if not self.parts.helps and (limits.max_cost_usd or limits.max_total_tokens):
            self._base = endings.spent(self.parts.store, self.parts.run.id)

    def drawing(self) -> bool:
        return not self.ends and self.fault is None and self.budget.allows()

    async def watch(self) -> None:
        """Look at the others until cancelled; a store that cannot tell ends no run."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S if self.parts.divided else LOOK_FOR_WORKERS_S)
            with suppress(StoreError):
                await self.look()

    async def look(self) -> None:
        """Raises StoreError."""
        parts, run_id = self.parts, self.parts.run.id
        if not parts.divided:
            parts.leave = bool(await asyncio.to_thread(lambda: parts.wanted(self.workers())))
            return
        shared = await asyncio.to_thread(shards.look, parts.store, run_id)
        self.meter.count_others(shared.settled)
        if parts.helps:
            self.ends = shared.ends
            return
        self.helpers.look()
        if shared.error_slug is not None:
            kind = errors().get(shared.error_slug, ProctorError)
            self.fault = self.fault or kind(shared.error or shared.error_slug)
        await self._add_up()
        if self.budget.stopped is not None:
            self._say(self.budget.stopped)

    async def _add_up(self) -> None:
        limits, now = self.budget.limits, time.monotonic()
        if now < self._due or not (limits.max_cost_usd or limits.max_total_tokens):
            return
        tokens, usd = self.meter.tokens, self.meter.spent_usd()
        all_of_it = await asyncio.to_thread(endings.spent, self.parts.store, self.parts.run.id)
        known, before = self.budget.elsewhere, self._base
        self.budget.elsewhere = Spent(
            max(known.tokens, all_of_it.tokens - before.tokens - tokens),
            max(known.usd, all_of_it.usd - before.usd - usd),
        )
        self._due = now + (time.monotonic() - now) / SHARE

    def _say(self, why: str) -> None:
        if not self._said:
            shards.say_stopped(self.parts.store, self.parts.run.id, why, owner=self.parts.owner)
            self._said = True

    async def another_round(self, writer: AttemptWriter) -> bool:
        """When all that was drawn has ended: whether there is more to ask here, after waiting for others if need be.

        Raises: what a helper met; Conflict, StoreError.
        """
        parts = self.parts
        while writer.backlog and writer.alive:  # noqa: ASYNC110 - a thread cannot set an asyncio.Event
            await asyncio.sleep(WAIT_S / 10)
        if not writer.alive:
            return False  # it says why when it is closed
        parts.settle(writer.kept, writer.committed)
        if parts.leave and self.drawing():
            parts.divide(parts.wanted(self.workers()) or 1)
            return True
        if not parts.divided or parts.helps:
            return False
        return await self._wait(writer)

    async def _wait(self, writer: AttemptWriter) -> bool:
        """Until a shard is free (True), or all are done, or those who were told to end have ended."""
        parts = self.parts
        while writer.alive:
            goes_on = self.drawing()
            if self.fault is not None:
                raise self.fault
            if not goes_on:
                self._say(self.budget.stopped or "")
            standing = shards.standing(parts.store, parts.run.id, now=time.time())
            others = [owner for owner in standing.owners if owner != parts.owner] if standing else []
            for owner in others:
                if is_gone(owner):
                    shards.put_back(parts.store, owner=owner)
            if standing is None or (not others if not goes_on else standing.done == standing.of):
                await self.look()
                return False
            if goes_on and standing.waiting:
                return True
            await asyncio.sleep(WAIT_S)
        return False
