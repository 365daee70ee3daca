"""Boards, comparisons and histories that were asked for lately, kept in memory until a run ends or begins."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

from proctor.findings import Board
from proctor.service.context import Context
from proctor.service.evidence.compare import Compared, Comparing, compared
from proctor.service.evidence.leaderboard import leaderboard
from proctor.service.rows.trials import RunTrials, run_trials
from proctor.store.read import lists
from proctor.store.read.lists import RunFilter
from proctor.store.write.grades import graders
from proctor.store.write.looks import moments
from proctor.types import Run

MOST_KEPT = 128
MOST_KB = 64_000
SAME_S = 60.0
Found = TypeVar("Found")
_KEPT: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
_MAKING: dict[tuple[Any, ...], tuple[threading.Lock, int]] = {}  # and how many are at it
_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Lately:
    """The same answers as from the store, quicker the second time: what completed runs show does not change."""

    context: Context

    def board(self, suite: str, metric: str, limit: int, project_id: int | None) -> Board:
        """Raises NotFound, ConfigError."""
        wanted = {"suite": suite, "metric": metric, "limit": limit, "project_id": project_id}
        mark = self._ended(RunFilter(source=suite, project_id=project_id))
        return self.kept(("board", *wanted.values()), lambda: leaderboard(self.context, **wanted), mark=mark)  # type: ignore[arg-type]  # by name

    def _ended(self, of: RunFilter) -> Callable[[], tuple[Any, ...]]:
        return lambda: lists.ended_mark(self.context.store, of)

    def compared(self, names: tuple[str, ...], **how: Unpack[Comparing]) -> Compared:
        """Raises NotFound, ConfigError.

        By a kept grader it is made anew, since its grades come without a run's end, and so it is of runs at work.
        """

        def make() -> Compared:
            return compared(self.context, names, **how)

        key = ("compared", names, *sorted(how.items()))
        return make() if how.get("grader") else self.kept(key, make, lasting=_whole, stamp=self._stamp)

    def _stamp(self, of: Compared) -> Hashable:
        """What may change of the choices that a verdict names, without a run's end: kept grades, and looks."""
        ids = [result.run.id for result in of.evaluation.results]
        by = [tuple(each.grader for each in graders(self.context.store, run_id)) for run_id in ids]
        return tuple(by), tuple(moments(self.context.store, ids).items())

    def of_ended(self, name: str, wanted: RunFilter, make: Callable[[RunFilter], Found]) -> Found:
        """What `make` gives of ended runs alone, until such a run ends, is taken up again or deleted.

        What `wanted` begins with moves on by the second: it is a minute long here.
        """
        of = wanted._replace(since=wanted.since and wanted.since // SAME_S * SAME_S)
        return self.kept((name, *of), lambda: make(of), mark=self._ended(of))

    def trials(self, run: Run) -> RunTrials:
        """What the trials of a run show as a whole; of one at work it is counted at each look."""

        def make() -> RunTrials:
            return run_trials(self.context.store, run, by_task=False)

        return make() if run.finished_at is None else self.kept(("trials", run.id), make)

    def kept(
        self,
        key: tuple[Any, ...],
        make: Callable[[], Found],
        *,
        lasting: Callable[[Found], bool] = lambda made: True,
        stamp: Callable[[Found], Hashable] = lambda made: None,
        mark: Callable[[], tuple[Any, ...]] | None = None,
    ) -> Found:
        """What `make` gives, unless it was made under the same key since a run was made, has ended or was deleted.

        `mark` is another mark of the store, where only some runs count. What is not `lasting`, as figures of a run at
        work, is made at each look, and so is what has another `stamp` by now. Who asks while it is made waits for it.
        """
        name = (str(self.context.store), *key)
        with _making(name):
            now = lists.mark(self.context.store) if mark is None else mark()
            found: tuple[Found, Hashable, tuple[Any, ...]] | None = _KEPT.get(name)
            if found is not None and found[2] == now and stamp(found[0]) == found[1]:
                _keep(name, found)
                return found[0]
            made = make()
            if lasting(made):
                _keep(name, (made, stamp(made), now))
            return made


def _keep(name: tuple[Any, ...], found: tuple[Any, Hashable, tuple[Any, ...]]) -> None:
    """The latest alone under each name: what an earlier mark had is shown to nobody again."""
    with _LOCK:
        _KEPT[name] = found
        _KEPT.move_to_end(name)
        weights = {each: _kb(kept[0]) for each, kept in _KEPT.items()}
        while len(_KEPT) > MOST_KEPT or sum(weights.values()) > MOST_KB:
            weights.pop(_KEPT.popitem(last=False)[0])


def _kb(made: object) -> float:
    """About how many kilobytes it takes."""
    return (
        len(made) / 1000 if isinstance(made, bytes) else 1.5 * len(made) if isinstance(made, list) else 20.0
    )


@contextmanager
def _making(name: tuple[Any, ...]) -> Iterator[None]:
    """One at a time under each name."""
    with _LOCK:
        lock, waiting = _MAKING.get(name, (threading.Lock(), 0))
        _MAKING[name] = (lock, waiting + 1)
    try:
        with lock:
            yield
    finally:
        with _LOCK:
            waiting = _MAKING[name][1] - 1
            if waiting:
                _MAKING[name] = (lock, waiting)
            else:
                del _MAKING[name]


def _whole(made: Compared) -> bool:
    return all(result.run.finished_at is not None for result in made.evaluation.results)
