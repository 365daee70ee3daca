"""One answer with everything that is known of it, and the same item in other runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.errors import NotFound
from proctor.service.context import Context
from proctor.service.results import notes
from proctor.service.results.notes import Note
from proctor.service.watch import job_states
from proctor.service.watch.job_states import RunFilter, RunLine
from proctor.store import AttemptRow
from proctor.store.read import pages
from proctor.store.read.pages import Cursor, Filter, ResultsPage
from proctor.types import Item, Run

__all__ = ["Answer", "Cursor", "Elsewhere", "Filter", "ResultsPage", "all_rows", "answer", "results_page"]

EXPORTED_AT_ONCE = 1000
OTHER_RUNS = 30  # of the same source, looked through for the item


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """The same item in another run."""

    run: RunLine
    row: AttemptRow


@dataclass(frozen=True, slots=True)
class Answer:
    """An attempt with its item and its reply. `payload` is None for what left none."""

    row: AttemptRow
    item: Item
    payload: dict[str, Any] | None
    attempts: Sequence[AttemptRow]  # the last first; `row` is one of them
    notes: Sequence[Note]
    before: AttemptRow | None
    after: AttemptRow | None
    elsewhere: Sequence[Elsewhere]


def results_page(
    context: Context, run_id: str, wanted: Filter, *, after: Cursor | None = None, limit: int = 50
) -> ResultsPage:
    """Raises NotFound."""
    return pages.page(context.store, run_id, wanted, after=after, limit=limit)


def all_rows(context: Context, run_id: str, wanted: Filter) -> Iterator[AttemptRow]:
    """Every row that the filter lets through, page after page. Raises NotFound."""
    after: Cursor | None = None
    while True:
        page = results_page(context, run_id, wanted, after=after, limit=EXPORTED_AT_ONCE)
        yield from page.rows
        if page.after is None:
            return
        after = page.after


def answer(
    context: Context, run: Run, item_id: str, *, repeat: int = 0, attempt: int | None = None, wanted: Filter
) -> Answer:
    """One attempt (None: the latest) at one asking of an item. Raises NotFound."""
    store = context.store
    attempts = pages.attempts_of(store, run.id, item_id, repeat)
    chosen = [row for row in attempts if attempt is None or row.attempt == attempt]
    if not chosen:
        raise NotFound(f"Run {run.id[:8]} has no answer to item {item_id}, repeat {repeat}")
    row = chosen[0]
    try:
        payload = store.payload(run.id, item_id, repeat, row.attempt)
    except NotFound:
        payload = None
    before, after = pages.neighbours(store, run.id, row, wanted)
    return Answer(
        row=row,
        item=store.item(row.item_hash),
        payload=payload,
        attempts=attempts,
        notes=notes.of_item(context, run.id, item_id, repeat),
        before=before,
        after=after,
        elsewhere=_elsewhere(context, run, row),
    )


def _elsewhere(context: Context, run: Run, row: AttemptRow) -> list[Elsewhere]:
    """The latest attempts at the same item, with the same words, in other runs of the source."""
    source = job_states.source_of(run)
    found = []
    for line in job_states.run_lines(context, RunFilter(source=source), limit=OTHER_RUNS)[0]:
        if line.id == run.id:
            continue
        others = pages.attempts_of(context.store, line.id, row.item_id, row.repeat)
        if others and others[0].item_hash == row.item_hash:
            found.append(Elsewhere(line, others[0]))
    return found
