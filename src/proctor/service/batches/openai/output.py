"""The two files of a batch: replies, and errors with the requests that were not sent; and what they count up to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from proctor.interop.batches.written import OutputLine, written
from proctor.service.context import Context
from proctor.service.kinds import kind_of
from proctor.service.output import lines as output
from proctor.store import AttemptRow
from proctor.store.batches import entries
from proctor.store.batches.entries import BatchRow
from proctor.store.read import said
from proctor.types import Run

Part = Literal["output", "error"]
CACHED = re.compile(r'"cached_tokens"\s*:\s*(\d+)')

# What is said of requests that were not sent, by how the batch ended.
EXPIRED = "batch_expired", "The completion window ended before this request was answered."
CANCELLED = "batch_cancelled", "The batch was cancelled before this request was answered."
FAILED = "batch_failed", "The batch ended before this request was answered."
Undone = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RequestPlace:
    """One request of a batch, and what became of it; `row` is None where it was not tried."""

    line: OutputLine
    row: AttemptRow | None = None
    raw: str = ""


def part(context: Context, batch: BatchRow, name: Part) -> Iterator[bytes]:
    """The lines of one file of a batch that has ended, in the order of its requests. Raises: NotFound, DataError."""
    run = entries.runs(context.store, [batch.run_num or 0]).get(batch.run_num or 0)
    if run is None:
        return
    if name == "output":
        yield from output.lines(context, run, part="output")
        return
    for place in places(context, run, undone_as(batch)):
        if place.line.failed:
            yield written(place.line, "openai")


def undone_as(batch: BatchRow) -> Undone | None:
    """What is said of requests that were not sent; None where all were."""
    if batch.completed_at is not None:
        return None
    if batch.cancelled_at is not None:
        return CANCELLED
    return EXPIRED if batch.expired_at is not None else FAILED


def places(context: Context, run: Run, undone: Undone | None) -> Iterator[RequestPlace]:
    """Every request that was tried, by place; with `undone` also those that were not, read off the file itself."""
    tried = said.in_order(context.store, run.id)
    if undone is None:
        yield from (_tried(run, row, record) for row, record in tried)
        return
    source = kind_of(run.cell.source).open(run.cell.source, context.settings)
    ahead = next(tried, None)
    for position, item in enumerate(source.items()):
        if ahead is None or ahead[0].position != position:
            yield RequestPlace(_untried(run, position, item.id, undone))
            continue
        yield _tried(run, *ahead)
        ahead = next(tried, None)


def _tried(run: Run, row: AttemptRow, record: dict[str, Any]) -> RequestPlace:
    return RequestPlace(output.line_of(run.id, row, record), row, record.get("raw") or "")


def _untried(run: Run, position: int, custom_id: str, undone: Undone) -> OutputLine:
    code, message = undone
    short = run.id.replace("-", "")[:16]
    return OutputLine(f"batch_req_{short}{position:08x}", custom_id, "", None, None, code, message)


@dataclass(slots=True)
class Sums:
    """What a batch's files hold, added up place by place."""

    completed: int = 0
    failed: int = 0
    undone: int = 0
    bytes: dict[str, int] = field(default_factory=lambda: {"output": 0, "error": 0})
    tokens: dict[str, int] = field(default_factory=dict)

    def add(self, place: RequestPlace) -> None:
        line, row = place.line, place.row
        self.bytes["error" if line.failed else "output"] += len(written(line, "openai"))
        self.completed += not line.failed
        self.failed += line.failed and row is not None
        self.undone += row is None
        if row is None or line.failed:
            return
        cached = CACHED.findall(place.raw)
        for name, count in (
            ("input", row.input_tokens),
            ("output", row.output_tokens),
            ("reasoning", row.reasoning_tokens),
            ("cached", int(cached[-1]) if cached else None),
        ):
            self.tokens[name] = self.tokens.get(name, 0) + (count or 0)

    def usage(self) -> str:
        """As the API tells it, JSON."""
        told = {name: self.tokens.get(name, 0) for name in ("input", "output", "reasoning", "cached")}
        document = {
            "input_tokens": told["input"],
            "input_tokens_details": {"cached_tokens": told["cached"]},
            "output_tokens": told["output"],
            "output_tokens_details": {"reasoning_tokens": told["reasoning"]},
            "total_tokens": told["input"] + told["output"],
        }
        return orjson.dumps(document).decode()


def summed(context: Context, run: Run, undone: Undone | None) -> Sums:
    """Read a batch from end to end, a page at a time. Raises: DataError, DataMissing where its file is gone."""
    sums = Sums()
    for place in places(context, run, undone):
        sums.add(place)
    return sums
