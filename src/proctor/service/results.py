"""What a run shows: its scores and tally, read off the kept attempts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from proctor.engine.prefix import gapless
from proctor.findings import RunResult
from proctor.service.profile import keep_summary, tally_of
from proctor.stats.estimates import Scored, Shape, TaskShape, scores
from proctor.store import AttemptRow, Store
from proctor.types import Item, Run


class Kept(Protocol):
    """Where the attempts of runs are found: the store, or an unpacked bundle."""

    def latest(self, run_id: str) -> Iterator[AttemptRow]: ...

    def item(self, digest: str) -> Item: ...


def summarise(store: Store, run: Run) -> RunResult:
    """The run's scores and tally; computed from its rows and kept as the run's aggregates."""
    found = scores(marks(store, run), shape(run))
    store.put_scores(run.id, found)
    tally = store.tally(run.id)
    keep_summary(store, run, tally)
    return RunResult(run, found, tally)


def shown(store: Store, run: Run) -> RunResult:
    """The run as it stands: its kept scores if it has ended, else computed from the rows so far."""
    if not run.manifest:  # a job that nothing was asked for yet
        return RunResult(run, (), store.tally(run.id))
    kept = store.scores(run.id) if run.finished_at else ()
    return RunResult(run, kept, tally_of(store, run)) if kept else _computed(store, run)


def _computed(store: Store, run: Run) -> RunResult:
    if not run.manifest:  # a job that nobody has begun, or that ended before: nothing was asked
        return RunResult(run, (), store.tally(run.id))
    found = scores(marks(store, run), shape(run))
    return RunResult(run, found, store.tally(run.id))


def scored_rows(store: Kept, run: Run) -> Iterator[AttemptRow]:
    """The latest attempt at each item, as far as the run got without a gap.

    What ended beyond the first gap of a run that stopped early ended because it was quick; counting it
    would favour easy items.
    """
    if not run.partial and not run.stopped:
        yield from store.latest(run.id)
        return
    length = gapless(row.position for row in store.latest(run.id))
    for row in store.latest(run.id):
        if row.position >= length:
            return
        yield row


def shape(run: Run) -> Shape:
    """What the statistics need of the run's source, from its manifest."""
    manifest = run.manifest
    specs = manifest["metrics"]
    tasks = {
        key: TaskShape(
            title=title,
            official=tuple(specs[key]["official"]),
            also=tuple(specs[key]["also"]),
            positive=specs[key]["positive"],
            labels=tuple(specs[key]["labels"]),
            kind=specs[key]["kind"],
            full_size=manifest["full_sizes"].get(key),
            extra=specs[key]["extra"],
        )
        for key, title in manifest["tasks"].items()
    }
    return Shape(
        suite=run.source_title,
        tasks=tasks,
        aggregate=manifest.get("aggregate", "micro"),
        categories=tuple((title, tuple(keys)) for title, keys in manifest.get("categories", {}).items()),
        whole=manifest.get("scored_tasks"),
        worded=manifest.get("wording") == "all",
    )


def marks(store: Kept, run: Run) -> Iterator[Scored]:
    """The run's rows as the statistics take them."""
    specs = run.manifest["metrics"]
    for row in scored_rows(store, run):
        # Only where a question has several right answers does a metric need to know how many were offered.
        several = specs[row.task]["kind"] == "letters"
        yield mark(row, len(store.item(row.item_hash).choices) if several else None)


def mark(row: AttemptRow, candidates: int | None) -> Scored:
    """One row as the statistics take it; `candidates` as in `Scored`."""
    return Scored(
        item=row.item_id,
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


def _half(row: AttemptRow) -> str | None:
    """The half of MNLI that an item is from, "m" or "mm": its id begins with it."""
    rest = row.item_id.partition("/")[2]
    return rest.partition("-")[0] if rest.startswith(("m-", "mm-")) else None
