"""Runs that are asked side by side: how far each has come, what is decided so far, and why each of them stops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from proctor.engine.abreast import Course, Lane
from proctor.findings.looks import DECIDED, Decision
from proctor.service.deciding import Decider
from proctor.stats.sequential.spending import looks_at
from proctor.store import Store
from proctor.store.queue.endings import Spent
from proctor.types import Attempt, Run


@dataclass(eq=False, slots=True)
class Abreast:
    """What runs share that one process asks in one loop. `items` are those of their source.

    A run that ends for another reason than the verdict ends the others with it: without it nothing can be decided.
    """

    runs: Sequence[Run]
    items: int
    decider: Decider
    decision: Decision = Decision({})
    course: Course = field(init=False)
    lanes: Mapping[str, Lane] = field(init=False)
    _due: int = 0  # how far all must have come for the next look
    _unread: list[tuple[str, Attempt]] = field(default_factory=list)
    _stopped: dict[str, str] = field(default_factory=dict)  # run -> why it is asked no more, in words
    _spent: dict[str, Callable[[], Spent]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.course = Course(self.items)
        self.lanes = {run.id: self.course.lane() for run in self.runs}

    def spends(self, run_id: str, spent: Callable[[], Spent]) -> Callable[[], Spent]:
        """Tells of a run what it spends; gives what tells it of the others."""
        self._spent[run_id] = spent
        return lambda: sum((each() for other, each in self._spent.items() if other != run_id), Spent())

    def kept(self, run_id: str, attempt: Attempt) -> None:
        """An attempt was handed to the writer. They are read together, at each hundredth that all have ended."""
        self._unread.append((run_id, attempt))
        if self.course.front < self._due:
            return
        self._read()
        if self.decider.changed:
            self.look()

    def _read(self) -> None:
        for run_id, attempt in self._unread:
            self.decider.settled(run_id, attempt)
        self._unread.clear()

    def decided(self) -> Decision:
        """The decision with all its figures, once nothing more is asked."""
        self._read()
        return self.decider.look(figures=True)

    def look(self) -> None:
        """See what is decided, and stop whoever need not be asked for it."""
        front = self.course.front
        self._due = next((items for items in looks_at(self.items) if items > front), self.items)
        self.decision = self.decider.look()
        said = self.decision.said
        said = (
            f"{said[0].lower()}{said[1:]}" if said.startswith(("No ", "It ")) else said
        )  # else a model's name
        why = f"{DECIDED}: {said}"
        if self.decision.over:
            self._end(why)
        for run_id in self.decision.finished & self.lanes.keys():
            self._stopped.setdefault(run_id, why)
            self.lanes[run_id].stop()

    def seen(self) -> Decision:
        """What is decided so far, and who waits for whom at this moment."""
        held = [run for run in self.runs if self.lanes[run.id].waits]
        slow = [run for run in self.runs if run not in held and self.lanes[run.id].front == self.course.front]
        if not held or not slow or self.decision.over:
            return replace(self.decision, waits="")
        who, whom = (", ".join(str(run.cell.model) for run in each) for each in (held, slow))
        return replace(self.decision, waits=f"{who} waits for {whom}, at item {self.course.front + 1:,}")

    def stopped(self, run_id: str) -> str | None:
        """Why a run was asked no further, where the verdict or another run ended it."""
        return self._stopped.get(run_id)

    def left(self, run: Run, why: str | None) -> None:
        """A run is asked no more; `why` it was not asked to its end."""
        if why is not None and run.id not in self._stopped:
            self._end(why, by=run.id)

    def _end(self, why: str, by: str = "") -> None:
        for run in self.runs:
            if run.id != by:
                self._stopped.setdefault(run.id, why)
        self.course.stop()


def side_by_side(store: Store, runs: Sequence[Run], items: int) -> Abreast:
    """The `runs` of one plan that are still to be asked, with what all of its runs have kept. Raises: StoreError."""
    decider = Decider(store.plan_runs(runs[0].plan_id))
    for run in store.plan_runs(runs[0].plan_id):
        for row in store.latest(run.id):
            decider.row(run.id, row)
    found = Abreast(runs, items, decider)
    found.look()
    return found
