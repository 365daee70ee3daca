"""A line of a file of replies: what was said to one item, in our own words or as a batch's output has it.

The batch form is that of OpenAI's Batch API: `custom_id`, and `response.body`, a chat completion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from proctor.errors import DataError
from proctor.providers.finish import UNSAID, as_it_looks
from proctor.types import Reply

IDS = ("custom_id", "item_id", "id", "item")
TEXTS = ("outputs", "output", "text", "reply", "response")
FINISHES = ("finish_reason", "finish", "stop_reason")
ACCEPTED = (
    f"give {', '.join(TEXTS[:-1])} or {TEXTS[-1]} (text, or a list of texts), or lines of a batch's output "
    "(custom_id, response)"
)
MOST_FAULTS = 20  # that one error lists
# Why a model ended, in the words of the protocols whose replies are kept in files. A reason that is not
# here, or none, is unknown.
FINISH = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
    "refusal": "refused",
    "refused": "refused",
}


@dataclass(frozen=True, slots=True)
class Recorded:
    """One line: the texts given to one item (several for several repeats), or why there is none.

    `batch` lines come in no order.
    """

    id: str | None
    replies: tuple[Reply, ...]
    error: str | None = None
    batch: bool = False


class BadLine(Exception):
    """What a line lacks or has wrong, in words."""


def read_replies(path: Path) -> list[Recorded]:
    """The lines of a file of replies; blank lines are passed over. Raises DataError naming every bad line."""
    recorded, faults = [], []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line := line.removeprefix(b"\xef\xbb\xbf").strip():
                try:
                    recorded.append(parse_line(line))
                except BadLine as fault:
                    faults.append(f"{path.name}, line {number}: {fault}")
    if len(faults) == 1:
        raise DataError(faults[0])
    if faults:
        rest = [f"and {len(faults) - MOST_FAULTS:,} more lines"] if len(faults) > MOST_FAULTS else []
        listed = "\n".join(f"  {fault}" for fault in [*faults[:MOST_FAULTS], *rest])
        raise DataError(f"{path.name}: {len(faults):,} lines hold no reply that can be read:\n{listed}")
    if not recorded:
        raise DataError(f"{path}: the file holds no replies")
    return recorded


def parse_line(line: bytes) -> Recorded:
    """Raises: BadLine."""
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise BadLine(f"not JSON ({error})") from None
    if not isinstance(record, dict):
        raise BadLine("not a JSON object")
    ident = next((str(record[name]) for name in IDS if record.get(name) is not None), None)
    response = record.get("response")
    if isinstance(response, dict) or isinstance(record.get("error"), dict | str):
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
    spent = spent_on(record.get("usage") or record) if len(texts) == 1 else (None, None, None)
    thought = text_or_none(record, "reasoning")
    return tuple(
        reply(text, finish_of(reason), thought if len(texts) == 1 else None, spent)
        for text, reason in zip(texts, reasons, strict=True)
    )


def reply(
    text: str, finish: str, reasoning: str | None, spent: tuple[int | None, int | None, int | None]
) -> Reply:
    return Reply(
        text,
        reasoning=reasoning,
        finish=as_it_looks(text) if finish == UNSAID else finish,
        input_tokens=spent[0],
        output_tokens=spent[1],
        reasoning_tokens=spent[2],
    )


def finish_of(reason: object) -> str:
    return FINISH.get(reason.lower(), UNSAID) if isinstance(reason, str) else UNSAID


def spent_on(usage: Mapping[str, Any]) -> tuple[int | None, int | None, int | None]:
    """Tokens in, out, and of these of reasoning, under the names of OpenAI's and of our own."""
    details = usage.get("completion_tokens_details")
    inside = details if isinstance(details, dict) else usage
    return (
        count(usage, "prompt_tokens", "input_tokens"),
        count(usage, "completion_tokens", "output_tokens"),
        count(inside, "reasoning_tokens"),
    )


def count(usage: Mapping[str, Any], *names: str) -> int | None:
    name = next((name for name in names if usage.get(name) is not None), None)
    if name is None:
        return None
    value = usage[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadLine(f"{name} is a whole number of tokens, not {str(value)[:40]!r}")
    return value


def text_or_none(record: Mapping[str, Any], *names: str) -> str | None:
    value = next((record[name] for name in names if record.get(name) is not None), None)
    if value is not None and not isinstance(value, str):
        raise BadLine(f"{' or '.join(names)} is text")
    return value


# Batch output -------------------------------------------------------------------------------------


def batch_line(record: Mapping[str, Any], ident: str | None) -> Recorded:
    """An OpenAI Batch output line; also the older bare response, and errors as text or object."""
    response = record.get("response") or {}
    if not isinstance(response, dict):
        response = {}  # the error beside it says why
    status = response.get("status_code", 200)
    if not isinstance(status, int):
        raise BadLine("response.status_code is a whole number")
    body = response.get("body", response) or {}
    if not isinstance(body, dict):
        raise BadLine("response.body is no object")
    error = record.get("error") or (body.get("error") if status >= 400 else None)
    if error or status >= 400:
        words = error.get("message") or error if isinstance(error, dict) else error
        failed = f"{status} {words}" if status >= 400 else f"{words}"
        return Recorded(ident, (), f"no reply was recorded: {failed}", "custom_id" in record)
    choices = body.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise BadLine("no choices[].message.content in the response")
    usage = body.get("usage") or {}
    if not isinstance(usage, dict):
        raise BadLine("response.body.usage is no object")
    replies = tuple(choice_reply(choice, usage, len(choices)) for choice in choices)
    return Recorded(ident, replies, batch="custom_id" in record)


def choice_reply(choice: Mapping[str, Any], usage: Mapping[str, Any], choices: int) -> Reply:
    """One of several choices has no count of its own: `usage` is of them all."""
    message = choice.get("message")
    if not isinstance(message, dict):
        raise BadLine("no choices[].message.content in the response")
    refusal = text_or_none(message, "refusal")
    taken, given, thought = spent_on(usage)
    return reply(
        content_of(message.get("content")) or refusal or "",
        "refused" if refusal else finish_of(choice.get("finish_reason")),
        text_or_none(message, "reasoning_content", "reasoning"),
        (taken, given, thought) if choices == 1 else (taken, None, None),
    )


def content_of(content: object) -> str:
    """The text of a message: a string, or the text parts of a list."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        parts = [part.get("text") for part in content if part.get("type", "text") in ("text", "output_text")]
        if all(isinstance(part, str) for part in parts):
            return "".join(map(str, parts))
    raise BadLine("choices[].message.content is neither text nor a list of parts with text")
