"""Boards, comparisons and histories that were asked for lately, kept in memory until a run ends or begins."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from proctor.findings import Board
from proctor.service.context import Context
from proctor.service.evidence.compare import Compared, compared
from proctor.service.evidence.history import History, history
from proctor.service.evidence.leaderboard import leaderboard
from proctor.service.rows.trials import RunTrials, run_trials
from proctor.store.read import lists
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

    def compared(
        self,
        names: tuple[str, ...],
        source: str | None,
        metric: str,
        margin: float | None,
        items: int,
        grader: str | None = None,
    ) -> Compared:
        """Raises NotFound, ConfigError.

        By a kept grader it is made anew, since its grades come without a run's end, and so it is of runs at work.
        """

        def make() -> Compared:
            wanted = {"source": source, "metric": metric, "margin": margin, "items": items, "grader": grader}
            return compared(self.context, names, **wanted)  # type: ignore[arg-type]  # by name

        key = ("compared", names, source, metric, margin, items)
        return make() if grader else self.kept(key, make, lasting=_whole)

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
    ) -> Found:
        """What `make` gives, unless it was made under the same key since the last run began or ended.

        What is not `lasting`, as figures of a run at work, is made at each look.
        """
        whole = (str(self.context.store), *lists.mark(self.context.store), *key)
        with _LOCK:
            if whole in _KEPT:
                _KEPT.move_to_end(whole)
                kept: Found = _KEPT[whole]
                return kept
        made = make()
        if not lasting(made):
            return made
        with _LOCK:
            _KEPT[whole] = made
            while len(_KEPT) > MOST_KEPT:
                _KEPT.popitem(last=False)
        return made


def _whole(made: Compared) -> bool:
    return all(result.run.finished_at is not None for result in made.evaluation.results)
