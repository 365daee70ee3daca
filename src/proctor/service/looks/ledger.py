"""What the store tells of a comparison beside its runs: other models that could have been compared, what was tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.store import Store
from proctor.store.read.complete import CompleteRun, complete_runs, projects_of
from proctor.types import Run


@dataclass(frozen=True, slots=True)
class Beside:
    """`others` are the runs of further models, one of each, whose pairs count; `watched` as in stats.compare."""

    others: tuple[Run, ...] = ()
    watched: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Ledger:
    """Tells of comparisons what else was tried, in the projects of their runs. `only`: no further models count."""

    store: Store
    only: bool = False

    def beside(self, runs: Sequence[Run]) -> Beside:
        """Of comparable runs."""
        watched = frozenset(run.id for run in runs if run.partial or run.stopped)
        return Beside(() if self.only else self._others(runs), watched)

    def _others(self, runs: Sequence[Run]) -> tuple[Run, ...]:
        """Of every further model its latest complete run of these exams, else its largest that may share items."""
        here = {str(run.cell.model) for run in runs}
        exams = {run.exam for run in runs}
        found: dict[str, CompleteRun] = {}
        projects = projects_of(self.store, [run.id for run in runs])
        for key in dict.fromkeys(run.comparability for run in runs):
            lines = complete_runs(self.store, projects, comparability=key) if key else []
            # Newest first, and kept so among equals.
            for line in sorted(lines, key=lambda line: (line.exam not in exams, -line.planned)):
                if line.full_model not in here:
                    found.setdefault(line.full_model, line)
        return tuple(self.store.run(line.id) for line in found.values())
