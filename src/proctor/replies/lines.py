"""A line of a file of replies: what was said to one item, in our own words or as the output of a batch has it.

The batch forms: OpenAI's (also Together's and vLLM's), `custom_id` with `response.status_code` and `response.body`; an
older one of vLLM with the bare body as `response`; Anthropic's, `custom_id` with `result`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from proctor.errors import DataError
from proctor.replies.bodies import BadBody, finish_of, replies_of, reply, spent_on, text_or_none
from proctor.types import Reply

IDS = ("custom_id", "item_id", "id", "item")
TEXTS = ("outputs", "output", "text", "reply", "response")
FINISHES = ("finish_reason", "finish", "stop_reason")
ACCEPTED = (
    f"give {', '.join(TEXTS[:-1])} or {TEXTS[-1]} (text, or a list of texts), or lines of a batch's output "
    "(custom_id, response)"
)
MOST_FAULTS = 20  # that one error lists
NOT_RECORDED = "no reply was recorded: "


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line: the texts given to one item (several for several repeats), or why there is none.

    `batch` lines come in no order. `body` is the server's own answer, `status` its HTTP status, `code` what the
    batch calls the failure; `line_id` and `request_id` are the names that others gave line and request.
    """

    id: str | None
    replies: tuple[Reply, ...]
    error: str | None = None
    batch: bool = False
    body: Mapping[str, Any] | None = field(default=None, compare=False)
    status: int | None = field(default=None, compare=False)
    code: str | None = field(default=None, compare=False)
    request_id: str | None = field(default=None, compare=False)
    line_id: str | None = field(default=None, compare=False)
    shape: str = field(default="replies", compare=False)  # by which it was read

    @property
    def why(self) -> str | None:
        """Why there is no reply, in the words of whoever refused it."""
        return self.error.removeprefix(NOT_RECORDED) if self.error else None

    @property
    def model(self) -> str | None:
        """The model that the server says it was."""
        named = self.body.get("model") if self.body else None
        return named if isinstance(named, str) else None


class BadLine(Exception):
    """What a line lacks or has wrong, in words."""


def read_replies(path: Path) -> list[Recorded]:
    """The lines of a file of replies; blank lines are passed over. Raises DataError naming every bad line."""
    recorded, faults = [], []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line := bare(line):
                try:
                    recorded.append(parse_line(line))
                except BadLine as fault:
                    faults.append(f"{path.name}, line {number}: {fault}")
    if len(faults) == 1:
        raise DataError(faults[0])
    if faults:
        listed = "\n".join(f"  {fault}" for fault in in_short(faults))
        raise DataError(f"{path.name}: {len(faults):,} lines hold no reply that can be read:\n{listed}")
    if not recorded:
        raise DataError(f"{path}: the file holds no replies")
    return recorded


def in_short(faults: Sequence[str]) -> Iterator[str]:
    """The first of them, and how many more there are."""
    yield from faults[:MOST_FAULTS]
    if len(faults) > MOST_FAULTS:
        yield f"and {len(faults) - MOST_FAULTS:,} more lines"


def bare(line: bytes) -> bytes:
    """A line without its end and without the mark that some editors put at the beginning of a file."""
    return line.removeprefix(b"\xef\xbb\xbf").strip()


def parse_line(line: bytes) -> Recorded:
    """Raises: BadLine."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadLine(f"not JSON ({error})") from None
    if not isinstance(record, dict):
        raise BadLine("not a JSON object")
    ident = next((str(record[name]) for name in IDS if record.get(name) is not None), None)
    try:
        return record_line(record, ident)
    except BadBody as error:
        raise BadLine(str(error)) from None


def record_line(record: Mapping[str, Any], ident: str | None) -> Recorded:
    """Raises: BadLine, BadBody."""
    if isinstance(record.get("result"), dict) and "custom_id" in record:
        return message_line(record["result"], ident)
    if isinstance(record.get("response"), dict) or isinstance(record.get("error"), dict | str):
        return batch_line(record, ident)
    name = next((name for name in TEXTS if name in record), None)
    if name is None:
        raise BadLine(f"no reply; {ACCEPTED}")
    return Recorded(ident, plain_replies(record, texts_of(record[name], name)))


def texts_of(value: object, name: str) -> list[str]:
    """No text where the model was asked and said nothing."""
    texts = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(text, str) for text in texts):
        raise BadLine(f"{name} is text, or a list of texts")
    return [str(text) for text in texts]


def plain_replies(record: Mapping[str, Any], texts: Sequence[str]) -> tuple[Reply, ...]:
    """The texts with what the line says of them. Counts of tokens are of the line, so of one text alone."""
    said = next((record[name] for name in FINISHES if record.get(name) is not None), None)
    reasons = said if isinstance(said, list) else [said] * len(texts)
    if len(reasons) != len(texts):
        raise BadLine(f"{len(reasons)} reasons for the ends of {len(texts)} texts")
    usage = record.get("usage") or record
    if not isinstance(usage, dict):
        raise BadLine("usage is no object")
    spent = spent_on(usage) if len(texts) == 1 else (None, None, None)
    thought = text_or_none(record, "reasoning")
    return tuple(
        reply(text, finish_of(reason), thought if len(texts) == 1 else None, spent)
        for text, reason in zip(texts, reasons, strict=True)
    )


# Batch output -------------------------------------------------------------------------------------


def batch_line(record: Mapping[str, Any], ident: str | None) -> Recorded:
    """A line of OpenAI's Batch API or of those like it; errors are text or an object, beside the body or in it."""
    response = record.get("response") or {}
    if not isinstance(response, dict):
        response = {}  # the error beside it says why
    status = response.get("status_code", 200 if response else None)
    if status is not None and not isinstance(status, int):
        raise BadLine("response.status_code is a whole number")
    body = response.get("body", None if "status_code" in response else response) or {}
    if not isinstance(body, dict):
        raise BadLine("response.body is no object")
    told: dict[str, Any] = {
        "batch": "custom_id" in record,
        "body": body or None,
        "status": status,
        "request_id": name_in(response, "request_id"),
        "line_id": name_in(record, "id") if "custom_id" in record else None,
        "shape": shape_of(record, response),
    }
    refused = status is not None and status >= 400
    error = record.get("error") or (body.get("error") if refused or not has_reply(body) else None)
    if error or refused:
        words, code = words_of(error), code_of(error)
        failed = f"{status} {words}" if refused else words
        return Recorded(ident, (), f"{NOT_RECORDED}{failed}", code=code, **told)
    return Recorded(ident, replies_of(body), **told)


def has_reply(body: Mapping[str, Any]) -> bool:
    return any(isinstance(body.get(name), list) for name in ("choices", "output", "content", "data"))


def shape_of(record: Mapping[str, Any], response: Mapping[str, Any]) -> str:
    """Which tool wrote a line, as far as it shows.

    >>> shape_of({"id": "vllm-1"}, {}), shape_of({"id": "batch_req_1"}, {"status_code": 200}), shape_of({}, {"id": "x"})
    ('vllm', 'openai', 'vllm')
    """
    if str(record.get("id", "")).startswith("vllm") or (response and "status_code" not in response):
        return "vllm"
    return "openai" if str(record.get("id", "")).startswith("batch_req") else "batch"


def name_in(record: Mapping[str, Any], name: str) -> str | None:
    value = record.get(name)
    return value if isinstance(value, str) and value else None


def words_of(error: object) -> str:
    """The message of an error, wherever it stands in it."""
    while isinstance(error, dict):
        inner = error.get("message") or error.get("error")
        if not inner:
            return orjson.dumps(error).decode()
        error = inner
    return str(error)


def code_of(error: object) -> str | None:
    """What the batch calls a failure: its code, else its type."""
    if not isinstance(error, dict):
        return None
    if isinstance(error.get("error"), dict):
        return code_of(error["error"])
    named = error.get("code") or error.get("type")
    return str(named) if named is not None else None


def message_line(result: Mapping[str, Any], ident: str | None) -> Recorded:
    """A line of Anthropic's message batches: succeeded with a message, errored, canceled or expired."""
    kind = result.get("type")
    message = result.get("message")
    if kind == "succeeded" and isinstance(message, dict):
        return Recorded(ident, replies_of(message), batch=True, body=message, status=200, shape="anthropic")
    if kind not in ("errored", "canceled", "expired"):
        raise BadLine("result.type is none of succeeded, errored, canceled and expired")
    error = result.get("error")
    code = code_of(error) or str(kind)
    words = words_of(error) if error else f"the request was {kind} before it was answered"
    body = error if isinstance(error, dict) else None
    return Recorded(ident, (), f"{NOT_RECORDED}{words}", batch=True, body=body, code=code, shape="anthropic")
