"""A run of another tool, in a form that is nobody's: what was asked, answered and scored, item by item."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from proctor.errors import DataError
from proctor.types import Message

_SECRET = (
    r"(?:[\w-]*(?:api[_-]?key|secret|passw(?:or)?d|(?:hf|auth|access|bearer)[_-]?token)|token|authorization)"
)
_SECRET_NAME = re.compile(_SECRET, re.IGNORECASE)
_SECRET_SETTING = re.compile(rf"(?<![\w-])({_SECRET})=[^,\s]+", re.IGNORECASE)
_REMOVED = "(removed)"


@dataclass(frozen=True, slots=True)
class Sample:
    """One asking of one item. `score` is None where the tool gave none; `error` says why, if the tool does.

    `content` is a hash of what was asked: two logs share an item where id and content are the same.
    `place` is the item's place in the tool's order, None where it follows the sample before it.
    `unread` says that the tool found no answer in the reply.
    """

    item: str
    task: str
    content: str
    score: float | None
    target: str | None
    answer: str | None
    reply: str
    repeat: int = 0
    place: int | None = None
    prompt: tuple[Message, ...] = ()
    choices: tuple[str, ...] = ()
    cluster: str | None = None
    finish: str = "unknown"  # as in a Reply
    unread: bool = False
    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    latency_s: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class LoggedTask:
    """A task of the log, scored by one of its metrics. `extra` ones are further metrics of the same items.

    `theirs` is the tool's own value over the items, None where it gives none that is their mean.
    """

    key: str
    title: str
    metric: str
    theirs: float | None
    extra: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Tasks that the tool puts under one name, with its own value over them."""

    title: str
    tasks: tuple[str, ...]
    theirs: float | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """A whole log. `prompts` says how each task was put, `notes` what is off with the log, in sentences.

    `planned` counts the samples that the tool meant to take; `stopped` says why there are fewer.
    `extractor` names what read and scored the replies. The first of `groups` may hold all tasks.
    """

    tool: str
    version: str
    model: str
    path: Path
    sha256: str
    created_at: float
    elapsed_s: float
    tasks: tuple[LoggedTask, ...]
    samples: tuple[Sample, ...]
    prompts: Mapping[str, str]
    extractor: str
    planned: int
    groups: tuple[Group, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    stopped: str | None = None


def checked(log: Log) -> Log:
    """The log, if each asking of an item stands in it once. Raises DataError."""
    seen: set[tuple[str, int]] = set()
    for sample in log.samples:
        if (key := (sample.item, sample.repeat)) in seen:
            raise wrong(log.path, f"{sample.item} is there twice (asking {sample.repeat + 1})")
        seen.add(key)
    return log


def wrong(path: Path, what: str) -> DataError:
    return DataError(f"{path}: {what}")


# What JSON holds ---------------------------------------------------------------------------------


def number(value: object) -> float | None:
    """A score as a number; None for what is none (text, lists, NaN)."""
    if not isinstance(value, bool | int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # a whole number beyond all floats
        return None


def count(value: object) -> int | None:
    """A whole number of things; None for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def mapping(value: object) -> Mapping[str, Any]:
    """The value, if it is a JSON object; else an empty one."""
    return value if isinstance(value, dict) else {}


def array(value: object) -> Sequence[Any]:
    """The value, if it is a JSON array; else an empty one."""
    return value if isinstance(value, list) else ()


def text(value: object) -> str:
    """Text as it is, nothing as "", anything else as JSON with its keys in order."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, default=str, ensure_ascii=False, sort_keys=True)


def parsed(raw: bytes, path: Path, where: str = "") -> dict[str, Any]:
    """A JSON object; NaN is taken too, which Python's tools write. Raises DataError."""
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        try:
            record = json.loads(raw)
        except (ValueError, RecursionError):
            raise wrong(path, f"{where}not JSON ({error})") from error
    if not isinstance(record, dict):
        raise wrong(path, f"{where}not a JSON object")
    return record


def read_bytes(path: Path) -> bytes:
    """Raises DataError where the file cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise wrong(path, f"cannot be read ({error.strerror})") from error


# Hashes and secrets ------------------------------------------------------------------------------


def digest(*parts: str) -> str:
    """32 hex digits of the parts, each set apart from the next."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def without_secrets(value: Any) -> Any:
    """JSON without what looks like a key or password: logs hold the arguments that models were opened with.

    >>> without_secrets({"model_args": "pretrained=a,api_key=xyz", "max_tokens": 5, "hf_token": "xyz"})
    {'model_args': 'pretrained=a,api_key=(removed)', 'max_tokens': 5, 'hf_token': '(removed)'}
    """
    if isinstance(value, dict):
        return {
            name: _REMOVED if part and _SECRET_NAME.fullmatch(str(name)) else without_secrets(part)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [without_secrets(part) for part in value]
    return _SECRET_SETTING.sub(rf"\1={_REMOVED}", value) if isinstance(value, str) else value
