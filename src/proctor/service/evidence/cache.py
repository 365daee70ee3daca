"""Boards, comparisons and histories that were asked for lately, kept in memory until a run ends or begins."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

from proctor.findings import Board
from proctor.service.context import Context
from proctor.service.evidence.compare import Compared, Comparing, compared
from proctor.service.evidence.history import History, history
from proctor.service.evidence.leaderboard import leaderboard
from proctor.service.rows.trials import RunTrials, run_trials
from proctor.store.read import lists
from proctor.store.write.grades import graders
from proctor.store.write.looks import moments
from proctor.types import Run

MOST_KEPT = 128
Found = TypeVar("Found")
_KEPT: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class Lately:
    """The same answers as from the store, quicker the second time: what completed runs show does not change."""

    context: Context

    def board(self, suite: str, metric: str, limit: int, project_id: int | None) -> Board:
        """Raises NotFound, ConfigError."""
        wanted = {"suite": suite, "metric": metric, "limit": limit, "project_id": project_id}
        return self.kept(("board", *wanted.values()), lambda: leaderboard(self.context, **wanted))  # type: ignore[arg-type]  # by name

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

    def history(self, model: str | None, source: str | None, days: int, project_id: int | None) -> History:
        def make() -> History:
            return history(self.context, model=model, source=source, days=days, project_id=project_id)

        return self.kept(("history", model, source, days, project_id), make)

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
    ) -> Found:
        """What `make` gives, unless it was made under the same key since the last run began or ended.

        What is not `lasting`, as figures of a run at work, is made at each look, and so is what has another `stamp`
        by now.
        """
        whole = (str(self.context.store), *lists.mark(self.context.store), *key)
        with _LOCK:
            kept: tuple[Found, Hashable] | None = _KEPT.get(whole)
        if kept is not None and stamp(kept[0]) == kept[1]:
            with _LOCK:
                _KEPT[whole] = kept
                _KEPT.move_to_end(whole)
            return kept[0]
        made = make()
        if not lasting(made):
            return made
        stamped = made, stamp(made)
        with _LOCK:
            _KEPT[whole] = stamped
            while len(_KEPT) > MOST_KEPT:
                _KEPT.popitem(last=False)
        return made


def _whole(made: Compared) -> bool:
    return all(result.run.finished_at is not None for result in made.evaluation.results)
