"""What is kept of an item and of a try, packed: JSON in zstd; `pack_all` is on the hot path."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import zstandard

from proctor.types import Attempt, Chat, Gold, Item, Message, Request, TaskFolder

# Measured on prompts and replies of 0.5 to 1.2 kB: levels 1, 2 and 3 give the same size (60 %)
# in the same time (15 us for a pair); beyond 3 the time doubles for nothing.
LEVEL = 1


def packer() -> zstandard.ZstdCompressor:
    """For one thread only; it is meant to be used again and again."""
    return zstandard.ZstdCompressor(level=LEVEL, write_checksum=False, write_content_size=True)


def pack_all(compressor: zstandard.ZstdCompressor, bodies: Sequence[bytes]) -> list[bytes]:
    """All bodies in one call: it lets go of the interpreter once, not once for each body."""
    if not bodies:
        return []
    packed = compressor.multi_compress_to_buffer(list(bodies))
    return [packed[place].tobytes() for place in range(len(bodies))]


class _Unpackers(threading.local):
    """One for each thread, for it is used by one at a time: to make one takes 14 us, to unpack a body with it 1 us."""

    def __init__(self) -> None:
        self.unpacker = zstandard.ZstdDecompressor()


_UNPACKERS = _Unpackers()


def unpack(body: bytes) -> dict[str, Any]:
    return _from_json(_UNPACKERS.unpacker.decompress(body))


def item_body(item: Item) -> bytes:
    return _to_json(item_record(item))


def item_record(item: Item) -> dict[str, Any]:
    """The item as it is kept, but for its hash, by which it is found. `item_from` takes it back."""
    return {
        "id": item.id,
        "group": item.group,
        **_asked(item.ask),
        "target": item.target,
        "choices": list(item.choices),
        "aliases": list(item.aliases),
        "options": list(item.options),
        "cluster": item.cluster,
    }


def _asked(ask: Chat | Request | TaskFolder) -> dict[str, Any]:
    if isinstance(ask, Request):
        return {"url": ask.url, "body": ask.body.decode("utf-8", "replace"), "model": ask.model}
    if isinstance(ask, TaskFolder):
        return {"task": {"path": ask.path, "instruction": ask.instruction, "overrides": ask.overrides}}
    return {"prompt": [[message.role, message.content] for message in ask.messages]}


def item_from(record: Mapping[str, Any], digest: str) -> Item:
    """Raises: TypeError, ValueError for a prompt that is no list of [role, text]."""
    return Item(
        id=record["id"],
        group=record["group"],
        ask=_ask_from(record),
        gold=Gold.of(record["target"], tuple(record["aliases"])),
        choices=tuple(record["choices"]),
        options=tuple(record["options"]),
        cluster=record["cluster"],
        hash=digest,
    )


def _ask_from(record: Mapping[str, Any]) -> Chat | Request | TaskFolder:
    if "task" in record:
        return TaskFolder(**record["task"])
    if "url" in record:
        return Request(record["url"], record["body"].encode(), record["model"])
    return Chat(tuple(Message(role, content) for role, content in record["prompt"]))


def payload_body(attempt: Attempt) -> bytes:
    """Text, reasoning, finish and error; `raw`, the server's words, `status` of a failure, and `grade` where told."""
    reply, failure = attempt.reply, attempt.failure
    record: dict[str, Any] = {"text": None, "reasoning": None, "finish": None, "error": None}
    if reply is not None:
        record["text"] = reply.text
        record["reasoning"] = reply.reasoning
        record["finish"] = reply.finish
        if reply.first_token:
            record["first_token"] = reply.first_token
        if reply.raw:
            record["raw"] = reply.raw.decode("utf-8", "replace")
        if reply.request_id is not None:
            record["request_id"] = reply.request_id
        grade = attempt.grade
        if grade.note is not None or grade.cost_usd is not None:
            record["grade"] = {"grader": grade.grader, "note": grade.note, "cost_usd": grade.cost_usd}
    if failure is not None:
        record["error"] = failure.message
        if failure.status is not None:
            record["status"] = failure.status
        if failure.raw:
            record["raw"] = failure.raw.decode("utf-8", "replace")
    return _to_json(record)


def clean(text: str | None, limit: int | None = None) -> str | None:
    """The text as both databases take it: PostgreSQL refuses NUL, and both refuse half surrogates."""
    if text is None:
        return None
    text = text[:limit]
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text.replace("\0", "\ufffd")


def _to_json(record: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(record)
    except TypeError:
        # A model may say half a surrogate pair. The standard library keeps it, as \udXXX.
        return json.dumps(record).encode("ascii")


def _from_json(body: bytes) -> dict[str, Any]:
    try:
        record: dict[str, Any] = orjson.loads(body)
    except orjson.JSONDecodeError:
        record = json.loads(body)
    return record
