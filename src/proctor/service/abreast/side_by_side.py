"""Runs that are asked side by side: how far each has come, what is decided so far, and why each of them stops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from proctor.engine.abreast import Course, Lane
from proctor.findings.looks import Decision
from proctor.store.queue.endings import Spent
from proctor.types import Attempt, Run


class Judge(Protocol):
    """Who says of kept attempts what they decide."""

    def settled(self, run_id: str, attempt: Attempt) -> None: ...

    def look(self) -> Decision: ...


@dataclass(eq=False, slots=True)
class SideBySide:
    """What runs share that one process asks in one loop. `items` are those of their source.

    A run that ends for another reason than the verdict ends the others with it: nothing can be decided without it.
    """

    runs: Sequence[Run]
    items: int
    judge: Judge
    looks: Sequence[int]  # after how many items is looked
    decision: Decision = Decision({})
    course: Course = field(init=False)
    lanes: Mapping[str, Lane] = field(init=False)
    _due: int = 0  # the front at which it is looked again
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
        """An attempt was handed to the writer. Looks where all have come to the next look."""
        self.judge.settled(run_id, attempt)
        if self.course.front >= self._due:
            self.look()

    def look(self) -> None:
        """See what the attempts decide, and stop whoever need not be asked for it."""
        self.decision = self.judge.look()
        read = max((path.items for path in self.decision.paths.values()), default=0)
        self._due = next((each for each in self.looks if each > read), self.items + 1)
        if self.decision.over:
            self._end(self.decision.said)
        for run_id in self.decision.finished:
            self._stopped.setdefault(run_id, self.decision.said)
            self.lanes[run_id].stop()

    def stopped(self, run_id: str) -> str | None:
        """Why a run was asked no further, where others or the verdict ended it."""
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


def side_by_side(store, runs, source):
    from proctor.service.abreast.temp import Temp
    judge = Temp(store, runs, len(source))
    n = len(source)
    looks = sorted({-(-n * k // 100) for k in range(1, 101)})
    beside = SideBySide(runs, n, judge, looks)
    beside.look()
    return beside
