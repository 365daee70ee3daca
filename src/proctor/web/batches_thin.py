"""Rows of a batch's results in the shape that its use cases will give, read off what is there today."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.errors import NotFound
from proctor.service.batches import output
from proctor.service.context import Context
from proctor.service.watch.item import Cursor, Filter, answer, results_page
from proctor.store import AttemptRow
from proctor.types import Message, Request, Run

PREVIEW = 300
OUTCOMES = ("truncated", "refused", "no_answer", "correct", "wrong", "answered")


@dataclass(frozen=True, slots=True)
class RowFilter:
    text: str | None = None
    prefix: str | None = None
    status: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, str]) -> RowFilter:
        return cls(given.get("text"), given.get("custom_id") or given.get("prefix"), given.get("status"))

    def plain(self) -> Filter:
        show = "errors" if self.status == "failed" else "all"
        outcome = self.status if self.status in OUTCOMES else None
        return Filter(show, outcome, None, self.prefix or None, self.text or None)


@dataclass(frozen=True, slots=True)
class BatchRow:
    attempt: AttemptRow
    prompt: str
    answer: str
    error: str | None
    candidate: str | None
    label: Any
    line: Any


@dataclass(frozen=True, slots=True)
class RowsPage:
    rows: tuple[BatchRow, ...]
    after: str | None
    matched: int | None
    total: int
    searched_to: int | None
    search: str = "whole"


@dataclass(frozen=True, slots=True)
class BatchItem:
    row: BatchRow
    request: Request
    messages: Sequence[Message]
    response: dict[str, Any]
    said: Mapping[str, Any]
    tries: Sequence[tuple[AttemptRow, Mapping[str, Any]]]
    labels: Sequence[Any]
    before: str | None
    after: str | None


def _row(context: Context, run: Run, attempt: AttemptRow) -> BatchRow:
    try:
        said = context.store.payload(run.id, attempt.item_id, attempt.repeat, attempt.attempt)
    except NotFound:
        said = {}
    item = context.store.item(attempt.item_hash)
    prompt = item.ask.messages[-1].content[:PREVIEW] if item.ask.messages else ""
    line = output.line_of(run.id, attempt, said)
    return BatchRow(attempt, prompt, (said.get("text") or "")[:PREVIEW], said.get("error"), None, None, line)


def page(
    context: Context,
    run: Run,
    wanted: RowFilter,
    *,
    after: str | None = None,
    at: int | None = None,
    limit: int = 50,
) -> RowsPage:
    cursor = Cursor(int(after), 2**30) if after else None if not at else Cursor(at - 1, 2**30)
    found = results_page(context, run.id, wanted.plain(), after=cursor, limit=limit)
    return RowsPage(
        tuple(_row(context, run, each) for each in found.rows),
        str(found.after.position) if found.after else None,
        None,
        run.planned,
        found.searched_to,
    )


def one(context: Context, run: Run, custom_id: str) -> BatchItem:
    found = answer(context, run, custom_id, wanted=Filter())
    row = _row(context, run, found.row)
    assert isinstance(found.item.ask, Request)
    tries = [
        (each, context.store.payload(run.id, custom_id, each.repeat, each.attempt)) for each in found.attempts
    ]
    from proctor.interop.batches.written import written

    return BatchItem(
        row,
        found.item.ask,
        found.item.ask.messages,
        json.loads(written(row.line, "openai")),
        found.payload or {},
        tries,
        (),
        found.before.item_id if found.before else None,
        found.after.item_id if found.after else None,
    )
