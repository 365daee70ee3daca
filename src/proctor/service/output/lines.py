"""What a batch's run has to say of each request, as lines of an output file, read off its attempts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import orjson

from proctor.interop.batches.written import OutputLine, Shape, written
from proctor.service.context import Context
from proctor.store import AttemptRow
from proctor.store.read import said
from proctor.types import Attempt, Run

Part = Literal["all", "output", "error"]  # all requests, those that were answered, those that were not


def lines(context: Context, run: Run, *, part: Part = "all", shape: Shape = "openai") -> Iterator[bytes]:
    """Every request that was tried, in the order of the file; held in memory a page at a time. Raises: NotFound."""
    for row, record in said.in_order(context.store, run.id):
        line = line_of(run.id, row, record)
        if part == "all" or (part == "error") == line.failed:
            yield written(line, shape)


def line_of(run_id: str, row: AttemptRow, record: Mapping[str, Any]) -> OutputLine:
    """One attempt as a line. `record` is its payload (`Store.payload`)."""
    answered = row.error_slug is None
    raw = record.get("raw")
    body = raw.encode() if raw else _made(record, row.input_tokens, row.output_tokens) if answered else None
    return _line(
        run_id,
        (row.item_id, row.position, row.attempt),
        request_id=record.get("request_id"),
        status=200 if answered else row.status,
        body=body,
        code=row.error_slug,
        message=record.get("error"),
    )


def line_from(run_id: str, attempt: Attempt) -> OutputLine:
    """The same line of an attempt that has just been kept."""
    reply, failure = attempt.reply, attempt.failure
    place = (attempt.item.id, attempt.position, attempt.attempt)
    if reply is not None:
        body = _as_kept(reply.raw)
        if body is None:
            said = {"text": reply.text, "finish": reply.finish}
            body = _made(said, reply.input_tokens, reply.output_tokens)
        return _line(run_id, place, request_id=reply.request_id, status=200, body=body)
    assert failure is not None
    return _line(
        run_id,
        place,
        status=failure.status,
        body=_as_kept(failure.raw),
        code=failure.slug,
        message=failure.message,
    )


def _as_kept(raw: bytes) -> bytes | None:
    """The server's words as the store gives them back, which keeps text."""
    if not raw:
        return None
    return raw if raw.isascii() else raw.decode("utf-8", "replace").encode()


def _line(
    run_id: str, place: tuple[str, int, int], *, request_id: str | None = None, **told: Any
) -> OutputLine:
    custom_id, position, attempt = place
    short = f"{short_of(run_id)}{position:08x}"
    return OutputLine(
        id=f"batch_req_{short}",
        custom_id=custom_id,
        request_id=request_id or f"req_{short}{attempt:02x}",
        **told,
    )


def short_of(run_id: str) -> str:
    """What names the run in the ids of its lines; the place of the request, 8 hex digits, follows it."""
    return run_id.replace("-", "")[:16]


def _made(record: Mapping[str, Any], input_tokens: int | None, output_tokens: int | None) -> bytes:
    """A body for a reply of which only the text is known."""
    message = {"role": "assistant", "content": record.get("text")}
    finish = {"refused": "content_filter"}.get(record.get("finish") or "", record.get("finish"))
    usage = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return orjson.dumps({"object": "chat.completion", "choices": [choice], "usage": usage})
