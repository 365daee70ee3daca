"""A run's attempts as the statistics take them: which rows count, what each is, and what the source says of scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Protocol

from proctor.engine.prefix import gapless
from proctor.manifest import Facts
from proctor.service.kinds import kind_of
from proctor.stats.estimates import Scored, Shape, TaskShape
from proctor.store import AttemptRow, Store
from proctor.store.read.brief import BriefRow, brief_rows
from proctor.store.read.tried import SettledRow
from proctor.types import Item, Run


class Kept(Protocol):
    """Where the attempts of runs are found: the store, or an unpacked bundle."""

    def latest(self, run_id: str) -> Iterator[AttemptRow]: ...

    def item(self, digest: str) -> Item: ...


def scored_rows(store: Kept, run: Run) -> Iterator[AttemptRow]:
    """The latest attempt at each item, as far as the run got without a gap.

    What ended beyond the first gap of a run that stopped early ended because it was quick; counting it
    would favour easy items.
    """
    rows = store.latest(run.id)
    return gapless(rows, _planned(run)) if run.partial or run.stopped else rows


def _planned(run: Run) -> Iterator[int] | None:
    """The positions that a part has askings of; None: all."""
    shard = run.cell.limits.shard
    if shard is None:
        return None
    return (place for place in count() if any(shard.holds(place, each) for each in range(run.cell.repeats)))


def shape(run: Run) -> Shape:
    """What the statistics need of the run's source: nothing where it says of no task what counts."""
    return shape_of(run.manifest.facts, run.source_title)


def shape_of(facts: Facts, title: str) -> Shape:
    """The same of a source that nothing was asked of yet."""
    tasks = {
        key: TaskShape(
            title=spec.title,
            official=spec.official,
            also=spec.also,
            positive=spec.positive,
            labels=spec.labels,
            kind=spec.kind,
            full_size=spec.full_size,
            extra=spec.extra,
        )
        for key, spec in facts.tasks.items()
        if spec.kind is not None
    }
    return Shape(
        suite=title,
        tasks=tasks,
        aggregate=facts.aggregate or "micro",
        categories=tuple(facts.categories.items()),
        whole=facts.scored_tasks,
        worded=facts.worded,
    )


def marks(store: Kept, run: Run) -> Iterator[Scored]:
    """The run's rows as the statistics take them."""
    tasks = shape(run).tasks
    for row in scored_rows(store, run):
        # Only where a question has several right answers does a metric need to know how many were offered.
        several = row.task in tasks and tasks[row.task].kind == "letters"
        choices = len(store.item(row.item_hash).choices) if several else None
        yield mark(row, choices, by_content=kind_of(run.cell.source).by_content)


def brief_marks(store: Store, run: Run) -> Iterable[Scored]:
    """The same in no order, read in a third of the time where all rows of the run count."""
    if run.partial or run.stopped or any(spec.kind == "letters" for spec in shape(run).tasks.values()):
        return marks(store, run)
    by_content = kind_of(run.cell.source).by_content
    return [mark(row, None, by_content=by_content) for row in brief_rows(store, run.id)]


def mark(
    row: AttemptRow | BriefRow | SettledRow, candidates: int | None, *, by_content: bool = False
) -> Scored:
    """One row as the statistics take it; `candidates` as in `Scored`. `by_content`: what it shows is its name."""
    return Scored(
        item=row.item_hash if by_content else row.item_id,
        task=row.task,
        target=row.target,
        answer=row.answer,
        outcome=row.outcome,
        score=row.score,
        cluster=row.cluster,
        half=_half(row),
        repeat=row.repeat,
        candidates=candidates,
        content=row.item_hash,
    )


def _half(row: AttemptRow | BriefRow | SettledRow) -> str | None:
    """The half of MNLI that an item is from, "m" or "mm": its id begins with it."""
    rest = row.item_id.partition("/")[2]
    return rest.partition("-")[0] if rest.startswith(("m-", "mm-")) else None
