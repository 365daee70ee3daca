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
from proctor.service.looks.choices import TRIAL, alternatives, asked_with
from proctor.service.looks.elsewhere import selections_elsewhere
from proctor.store import Store
from proctor.store.read.keyed import GoneRun, KeyedRun, gone_runs, keyed_runs, projects_of
from proctor.store.write.looks import moments
from proctor.types import Cell, Run, Status


@dataclass(frozen=True, slots=True)
class TriedBeside:
    """What was tried beside a comparison. `others` are runs of further models, one of each, whose pairs count.

    `unseen` is how many models more there were whose runs are not here: their pairs count, and come after all others.
    `left_out` counts further models that do not count since the compared ones were named beforehand, `deleted` those
    of which only deleted runs of these items, or of a good part of them, are known. `watched` are the ids of compared
    runs that were looked at before they were whole.
    """

    others: tuple[Run, ...] = ()
    unseen: int = 0
    left_out: int = 0
    watched: frozenset[str] = frozenset()
    reruns: tuple[Rerun, ...] = ()
    alternatives: tuple[Alternatives, ...] = ()
    peeks: int = 0
    deleted: int = 0


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

    def tried(self, runs: Sequence[Run]) -> TriedBeside:
        """Beside these comparable runs, as the ledger's grader sees them."""
        ids = [run.id for run in runs]
        projects = projects_of(self.store, ids)
        keys = {run.comparability for run in runs if run.comparability}
        lines = keyed_runs(
            self.store,
            projects,
            sources={run.cell.source.listed for run in runs},
            keys=keys,
        )
        others, gone = self._others(runs, lines), self._gone(runs, lines, projects)
        known = {*map(_model_of, runs), *map(_model_of, others)}
        deleted = len({each.full_model for each in gone} - known)
        looked = moments(self.store, ids)
        return TriedBeside(
            others=() if self.only else tuple(map(self._run, others)),
            unseen=0 if self.only else deleted,
            left_out=len(others) if self.only else 0,
            watched=frozenset(looked),
            reruns=tuple(each for run in runs for each in self._reruns(run, lines, gone)),
            alternatives=alternatives(
                self.store, runs, lines, selections_elsewhere(self.store, runs, projects)
            ),
            peeks=len({at for of_run in looked.values() for at in of_run}),
            deleted=deleted,
        )

    def _others(self, runs: Sequence[Run], lines: Sequence[KeyedRun]) -> Sequence[KeyedRun]:
        """Of every further model its latest complete run of these exams, else its largest that may share items."""
        here = set(map(_model_of, runs))
        keys, exams = {run.comparability for run in runs}, {run.exam for run in runs}
        whole = [line for line in lines if _measured(line) and line.full_model not in here]
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

    def _gone(
        self, runs: Sequence[Run], lines: Sequence[KeyedRun], projects: frozenset[int]
    ) -> list[GoneRun]:
        """Deleted complete runs of what these were asked, or of a good part of it."""
        first = {line.id: line.comparability for line in lines}
        # By the first grader, whichever is looked by now.
        keys = {key for run in runs if (key := first.get(run.id, run.comparability))}
        least = TRIAL * min(map(_items, runs))
        return [each for each in gone_runs(self.store, projects, keys) if _items(each) >= least]

    def _reruns(self, run: Run, lines: Sequence[KeyedRun], gone: Sequence[GoneRun]) -> Iterator[Rerun]:
        """What is to be told of the other runs of its cell, of these items or of a good part of them, if any."""
        kept = next((line for line in lines if line.id == run.id), None)
        mine = _tried_as(kept or run)
        alike = [line for line in lines if _tried_as(line) == mine and _items(line) >= TRIAL * _items(run)]
        whole = {line.id for line in alike if _measured(line)} | {run.id}
        stopped = sum(1 for line in alike if line.id not in whole and line.finished_at is not None)
        deleted = sum(1 for each in gone if _tried_as(each) == mine)
        if len(whole) > 1 or stopped or deleted:
            counted = len(self.pools.get(run.id, ())) or 1
            latest = all(line.created_at <= run.created_at for line in alike if line.id in whole)
            yield Rerun(run.id, _model_of(run), len(whole), counted, stopped, latest, deleted)


Line = Run | KeyedRun | GoneRun


def _model_of(line: Line) -> str:
    return str(line.cell.model) if isinstance(line, Run) else line.full_model


def _cell_of(line: Line) -> Cell:
    return line.cell if isinstance(line, Run) else cell_from_json(line.cell)


def _items(line: Line) -> float:
    return line.planned / _cell_of(line).repeats


def _tried_as(line: Line) -> Hashable:
    """What a model's tries at what is asked and graded alike have in common, however many of the items they had."""
    return _model_of(line), line.comparability, asked_with(_cell_of(line))


def _measured(line: KeyedRun) -> bool:
    """Whether a run says of its model what it was to say: it is complete, or stopped since the verdict was sure."""
    if line.complete:
        return True
    ended = line.status == Status.COMPLETED and line.finished_at is not None
    return ended and cell_from_json(line.cell).limits.until_decided
