"""A model's name means all its complete runs of one cell: their rows as repeats of the items, under the newest's id.

Who runs a model again until it is better, and then compares "the model", is given the mean over all its tries.
Runs that are named by their ids stand for themselves alone.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from proctor.errors import ConfigError, NotFound
from proctor.findings import RunResult
from proctor.plan import cell_from_json
from proctor.service.grades.named import kept_name
from proctor.service.grades.view import GradedView
from proctor.service.judging.kept_judges import judge_told
from proctor.service.kinds import kind_of
from proctor.service.looks.choices import asked_with
from proctor.service.results.results import marks, shape
from proctor.stats.estimates import scores
from proctor.store import AttemptRow, Store
from proctor.store.read.keyed import keyed_runs, projects_of
from proctor.types import Item, Run


def reruns(store: Store, run: Run) -> list[Run]:
    """All complete runs of the same cell in the run's project, newest first; itself too if it is complete.

    The same cell is the same model, all items alike, asked and graded alike, with the same sampling but for its seed
    and for how often each item was asked: those are further tries at the same.
    """
    mine = (str(run.cell.model), run.exam, asked_with(run.cell))
    lines = keyed_runs(store, projects_of(store, [run.id]), sources=(), keys={run.comparability or ""})
    return [
        store.run(line.id)
        for line in lines
        if line.complete and (line.full_model, line.exam, asked_with(cell_from_json(line.cell))) == mine
    ]


@dataclass(frozen=True, slots=True)
class Meant:
    """A run as a name meant it; `counted` are the runs that make its score, itself the first of them."""

    run: Run
    counted: tuple[Run, ...]

    @classmethod
    def by_id(cls, run: Run) -> Meant:
        return cls(run, (run,))

    @classmethod
    def by_name(cls, run: Run, store: Store) -> Meant:
        if kind_of(run.cell.source).holds == "tasks":
            return cls.by_id(run)  # agents' trials are told one by one, each under the conditions of its run
        return cls(run, (run, *(other for other in reruns(store, run) if other.id != run.id)))

    def without(self, ids: frozenset[str]) -> Meant:
        """Runs that are compared themselves count for nobody else."""
        return Meant(self.run, (self.run, *(each for each in self.counted[1:] if each.id not in ids)))


@dataclass(frozen=True, slots=True)
class PooledView:
    """Where the attempts of runs are found, those of a model's runs as repeats of its newest; else as `GradedView`."""

    store: Store
    grader: str | None = None
    pools: Mapping[str, Sequence[Run]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, meant: Sequence[Meant], grader: str | None = None) -> PooledView:
        """By a judge the newest of a model's runs stands for it: what labels say of a judge is said of single runs."""
        pools = {each.run.id: _graded(store, each.counted, grader) for each in meant if len(each.counted) > 1}
        return cls(store, grader, pools)

    @property
    def counted(self) -> Mapping[str, int]:
        """Of how many runs the scores under an id are means, where it is more than one."""
        return {run_id: len(pool) for run_id, pool in self.pools.items()}

    def latest(self, run_id: str) -> Iterator[AttemptRow]:
        """The rows in the order of asking; an item's are those of the newest run first. Raises as GradedView does."""
        view = GradedView(self.store, self.grader)
        pool = self.pools.get(run_id, ())
        if len(pool) < 2:
            return view.latest(run_id)
        before, streams = 0, []
        for run in pool:
            streams.append(_renumbered(view.latest(run.id), before))
            before += run.cell.repeats
        return heapq.merge(*streams, key=_place)

    def item(self, digest: str) -> Item:
        return self.store.item(digest)

    def shown(self, run: Run) -> RunResult:
        """What is compared: scores over all counted runs, and time, tokens and cost of the newest."""
        found = GradedView(self.store, self.grader).shown(run)
        pool = self.pools.get(run.id, ())
        if len(pool) < 2:
            return found
        whole = replace(
            found.run,
            cell=replace(run.cell, repeats=sum(each.cell.repeats for each in pool)),
            planned=sum(each.planned for each in pool),
            settled=sum(each.settled for each in pool),
        )
        return replace(found, run=whole, scores=scores(marks(self, whole), shape(whole)))


def _graded(store: Store, pool: Sequence[Run], grader: str | None) -> tuple[Run, ...]:
    """Those of a pool that have grades by this grader; of a judge the newest alone."""
    if grader is None:
        return tuple(pool)
    first = kept_name(store, pool[0], grader)
    if first is not None and judge_told(first) is not None:
        return (pool[0],)
    return (pool[0], *(run for run in pool[1:] if _has(store, run, grader, first)))


def _has(store: Store, run: Run, grader: str, name: str | None) -> bool:
    try:
        return kept_name(store, run, grader) == name
    except (ConfigError, NotFound):
        return False


def _renumbered(rows: Iterator[AttemptRow], before: int) -> Iterator[AttemptRow]:
    """The rows with repeats counted on from those of the runs before."""
    return (replace(row, repeat=row.repeat + before) for row in rows) if before else rows


def _place(row: AttemptRow) -> tuple[int, int]:
    return row.position, row.repeat
