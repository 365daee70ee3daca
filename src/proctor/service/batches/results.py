"""What came of a batch's requests: a page of rows, filtered and ordered, and one request whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.errors import NotFound
from proctor.interop.batches.written import OutputLine
from proctor.service.batches import labels
from proctor.service.batches.find import files
from proctor.service.batches.find.filters import RowFilter
from proctor.service.batches.find.select import How, Look, PageStart, select
from proctor.service.batches.find.sieve import candidate_at, candidate_in
from proctor.service.batches.labels import ReplyLabel
from proctor.service.context import Context
from proctor.service.output.lines import line_of
from proctor.store import AttemptRow
from proctor.store.read import pages
from proctor.store.read.batches import rows as batch_rows
from proctor.store.read.batches.rows import WholeRow
from proctor.types import Message, Request, Run

__all__ = ["BatchItem", "RequestRow", "RowFilter", "RowsPage", "candidates", "one", "page", "walk"]

PREVIEW = 300  # characters of a request and of a reply in a list
MOST_ROWS = 1_000
AT_ONCE = 500  # rows that are in memory while all are written out


@dataclass(frozen=True, slots=True)
class RequestRow:
    """One request in a list: its latest attempt, what was asked and said in short, and its line of an output file."""

    attempt: AttemptRow
    prompt: str
    answer: str
    error: str | None
    candidate: str | None
    label: ReplyLabel | None
    line: OutputLine

    @property
    def custom_id(self) -> str:
        return self.attempt.item_id


@dataclass(frozen=True, slots=True)
class RowsPage:
    """Rows in the order that was asked for.

    `after` is the cursor of the next page, None at the end. `matched` is how many rows the filter lets through, None
    where that was not counted; `total` how many there are. `searched_to` is said where a search stopped on its way: the
    last place that it looked at, from where `after` goes on. `search` is "whole", or why it looks at a part at a time:
    the run is at work ("live"), or its index is being made ("building").
    """

    rows: tuple[RequestRow, ...]
    after: str | None
    matched: int | None
    total: int
    searched_to: int | None
    search: How


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One request whole: what was sent, what came back in every try, and what people say of it.

    `before` and `after` are the custom_ids of its neighbours in the file.
    """

    row: RequestRow
    request: Request | None
    messages: tuple[Message, ...]
    said: dict[str, Any]
    tries: list[tuple[AttemptRow, dict[str, Any]]]
    labels: list[ReplyLabel]
    before: str | None
    after: str | None


def page(
    context: Context,
    run: Run,
    wanted: RowFilter | None = None,
    *,
    after: str | None = None,
    at: int | None = None,
    limit: int = 50,
) -> RowsPage:
    """The rows after a cursor, or from row number `at` on, from 0. Raises ConfigError, Conflict, NotFound."""
    wanted = (wanted or RowFilter()).checked()
    found = select(Look(context, run, wanted, PageStart.of(after, at), max(1, min(limit, MOST_ROWS))))
    return RowsPage(
        tuple(_rows(context, run, wanted, found.keys)),
        found.after,
        found.matched,
        found.total,
        found.searched_to,
        found.search,
    )


def _rows(
    context: Context, run: Run, wanted: RowFilter, keys: Sequence[tuple[str, int]]
) -> Iterator[RequestRow]:
    ids = list(dict.fromkeys(key[0] for key in keys))
    found = batch_rows.whole(context.store, run.id, ids)
    said = labels.current(context, run.id, ids)
    for key in keys:
        if key in found:
            yield _row(run, found[key], said.get(key), wanted.candidate_by)


def _row(run: Run, whole: WholeRow, label: ReplyLabel | None, by: str | None = None) -> RequestRow:
    attempt, said, item = whole
    messages = item.ask.messages if item is not None else ()
    asked = next((each.content for each in reversed(messages) if each.role == "user" and each.content), "")
    return RequestRow(
        attempt,
        (asked or (messages[-1].content if messages else ""))[:PREVIEW],
        (said.get("text") or "")[:PREVIEW],
        said.get("error"),
        candidate_of(whole, by),
        label,
        line_of(run.id, attempt, said),
    )


def candidate_of(whole: WholeRow, by: str | None) -> str | None:
    """What a request is about: as its run was told, or by an expression that somebody gives now."""
    if by is None:
        return whole.attempt.cluster
    if not by.startswith("$"):
        return candidate_in(whole.attempt.item_id, by)
    ask = whole.item.ask if whole.item is not None else None
    return candidate_at(orjson.loads(ask.body), by) if isinstance(ask, Request) else None


def one(context: Context, run: Run, custom_id: str, repeat: int = 0) -> BatchItem:
    """Raises NotFound."""
    store = context.store
    whole = batch_rows.whole(store, run.id, [custom_id]).get((custom_id, repeat))
    if whole is None:
        raise NotFound(f"No request {custom_id!r} in this batch, or it was not sent yet")
    history = labels.of_row(context, run.id, custom_id, repeat)
    counts = history[0] if history and not history[0].says_nothing else None
    row = _row(run, whole, counts)
    tried = pages.attempts_of(store, run.id, custom_id, repeat)
    ask = whole.item.ask if whole.item is not None else None
    place = (whole.attempt.position, whole.attempt.repeat)
    before, after = (
        next(batch_rows.narrow(store, run.id, place, 1, descending=back), None) for back in (True, False)
    )
    return BatchItem(
        row=row,
        request=ask if isinstance(ask, Request) else None,
        messages=ask.messages if ask is not None else (),
        said=whole.said,
        tries=[(each, store.payload(run.id, custom_id, repeat, each.attempt)) for each in tried],
        labels=history,
        before=before.item_id if before else None,
        after=after.item_id if after else None,
    )


def candidates(context: Context, run: Run, limit: int = 200) -> list[tuple[str, int]] | None:
    """What a run's requests are about, each with how many are, the commonest first; None where that is not known.

    That is where the run was not told what a candidate is, or while it is at work or indexed.
    """
    columns = files.files_of(context, run).columns
    counted = columns.counted("cluster") if columns is not None else []
    return counted[:limit] or None


def walk(context: Context, run: Run, wanted: RowFilter, *, items: bool = True) -> Iterator[WholeRow]:
    """Every row that the filter lets through, whole, in its order; some hundred are in memory at once."""
    wanted = wanted.checked()
    if wanted.plain and not wanted.descending:
        yield from batch_rows.walk(context.store, run.id, items=items)
        return
    cursor: str | None = None
    while True:
        found = select(Look(context, run, wanted, PageStart.of(cursor, None), AT_ONCE))
        whole = batch_rows.whole(context.store, run.id, [key[0] for key in found.keys], items=items)
        yield from (whole[key] for key in found.keys if key in whole)
        if found.after is None:
            return
        cursor = found.after
