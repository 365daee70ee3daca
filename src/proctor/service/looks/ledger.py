"""What the store tells of a comparison beside its runs: other models that could have been compared, what was tried."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from proctor.errors import ConfigError, NotFound
from proctor.findings.looks import Alternatives, Decision, Rerun
from proctor.plan import cell_from_json
from proctor.service.grades.named import kept_name
from proctor.service.grades.view import regraded
from proctor.service.looks.choices import alternatives, asked_with
from proctor.store import Store
from proctor.store.read.keyed import KeyedRun, keyed_runs, projects_of
from proctor.store.write.looks import moments
from proctor.types import Run


@dataclass(frozen=True, slots=True)
class Tried:
    """What was tried beside a comparison. `others` are runs of further models, one of each, whose pairs count.

    `left_out`: there are further models, and they do not count since the compared ones were named beforehand.
    `watched` are the ids of compared runs that were looked at while they were at work.
    """

    others: tuple[Run, ...] = ()
    left_out: bool = False
    watched: frozenset[str] = frozenset()
    reruns: tuple[Rerun, ...] = ()
    alternatives: tuple[Alternatives, ...] = ()
    peeks: int = 0


@dataclass(frozen=True, slots=True)
class LookLedger:
    """Tells what was tried in the projects of compared runs. `only`: their models alone count, named beforehand.

    `grader` as in `GradedView`; `pools` are the runs that make the score of one, by its id, as in `PooledView`.
    `decided` is what their rows decide of runs that were asked side by side, where that is known without reading them.
    """

    store: Store
    only: bool = False
    grader: str | None = None
    pools: Mapping[str, Sequence[Run]] = field(default_factory=dict)
    decided: Decision | None = None

    def tried(self, runs: Sequence[Run]) -> Tried:
        """Beside these comparable runs, as the ledger's grader sees them."""
        ids = [run.id for run in runs]
        lines = keyed_runs(
            self.store,
            projects_of(self.store, ids),
            sources={run.cell.source.listed for run in runs},
            keys={run.comparability for run in runs if run.comparability},
        )
        others = self._others(runs, lines)
        looked = moments(self.store, ids)
        return Tried(
            others=() if self.only else tuple(map(self._run, others)),
            left_out=self.only and bool(others),
            watched=frozenset(looked),
            reruns=self._reruns(runs, lines),
            alternatives=alternatives(self.store, runs, lines),
            peeks=len({at for of_run in looked.values() for at in of_run}),
        )

    def _others(self, runs: Sequence[Run], lines: Sequence[KeyedRun]) -> Sequence[KeyedRun]:
        """Of every further model its latest complete run of these exams, else its largest that may share items."""
        here = {str(run.cell.model) for run in runs}
        keys, exams = {run.comparability for run in runs}, {run.exam for run in runs}
        whole = [line for line in lines if line.complete and line.full_model not in here]
        found: dict[str, KeyedRun] = {}
        # Newest first, and kept so among equals.
        for line in sorted(self._seen(whole), key=lambda line: (line.exam not in exams, -line.planned)):
            if line.comparability in keys:
                found.setdefault(line.full_model, line)
        return list(found.values())

    def _seen(self, lines: Iterable[KeyedRun]) -> Iterator[KeyedRun]:
        """With the keys that the runs have by the ledger's grader; without those that have no grades by it."""
        for line in lines:
            if self.grader is None:
                yield line
                continue
            with suppress(NotFound, ConfigError):
                run = self._run(line)
                if run.comparability is not None:
                    yield line._replace(comparability=run.comparability, exam=run.exam)

    def _run(self, line: KeyedRun) -> Run:
        run = self.store.run(line.id)
        return run if self.grader is None else regraded(run, kept_name(self.store, run, self.grader))

    def _reruns(self, runs: Sequence[Run], lines: Sequence[KeyedRun]) -> tuple[Rerun, ...]:
        """Those of which there are several."""
        by_id = {line.id: line for line in lines}
        found = []
        for run in runs:
            exam = (
                by_id[run.id].exam if run.id in by_id else run.exam
            )  # by the first grader, whichever is looked by
            mine = (str(run.cell.model), exam, asked_with(run.cell))
            alike = [line for line in lines if _cell_of(line) == mine]
            whole = {line.id for line in alike if line.complete} | {run.id}
            stopped = sum(1 for line in alike if line.id not in whole and line.finished_at is not None)
            if len(whole) > 1 or stopped:
                counted = len(self.pools.get(run.id, ())) or 1
                latest = all(line.created_at <= run.created_at for line in alike if line.complete)
                found.append(Rerun(run.id, str(run.cell.model), len(whole), counted, stopped, latest))
        return tuple(found)


def _cell_of(line: KeyedRun) -> tuple[str, str | None, Hashable]:
    return line.full_model, line.exam, asked_with(cell_from_json(line.cell))
