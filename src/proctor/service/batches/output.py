"""What a batch's run has to say of each request, as lines of an output file, read off its attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import orjson

from proctor.interop.batches.written import OutputLine, Shape, written
from proctor.service.context import Context
from proctor.store import AttemptRow
from proctor.store.read import said
from proctor.types import Run

Part = Literal["all", "output", "error"]  # all requests, those that were answered, those that were not


def lines(context: Context, run: Run, *, part: Part = "all", shape: Shape = "openai") -> Iterator[bytes]:
    """Every request that was tried, in the order of the file; held in memory a page at a time. Raises: NotFound."""
    for row, record in said.in_order(context.store, run.id):
        line = line_of(run.id, row, record)
        if part == "all" or (part == "error") == line.failed:
            yield written(line, shape)


def line_of(run_id: str, row: AttemptRow, record: Mapping[str, Any]) -> OutputLine:
    """One attempt as a line. `record` is its payload (`Store.payload`)."""
    short = run_id.replace("-", "")[:16]
    raw = record.get("raw")
    answered = row.error_slug is None
    body = raw.encode() if raw else _made(record, row) if answered else None
    return OutputLine(
        id=f"batch_req_{short}{row.position:08x}",
        custom_id=row.item_id,
        request_id=record.get("request_id") or f"req_{short}{row.position:08x}{row.attempt:02x}",
        status=200 if answered else row.status,
        body=body,
        code=row.error_slug,
        message=record.get("error"),
    )


def _made(record: Mapping[str, Any], row: AttemptRow) -> bytes:
    """A body for a reply of which only the text is known."""
    message = {"role": "assistant", "content": record.get("text")}
    finish = {"refused": "content_filter"}.get(record.get("finish") or "", record.get("finish"))
    usage = {"prompt_tokens": row.input_tokens, "completion_tokens": row.output_tokens}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return orjson.dumps({"object": "chat.completion", "choices": [choice], "usage": usage})
