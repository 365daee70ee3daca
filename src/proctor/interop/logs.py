"""A run of another tool, in a form that is nobody's: what was asked, answered and scored, item by item."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from proctor.errors import DataError
from proctor.types import Message


@dataclass(frozen=True, slots=True)
class Sample:
    """One asking of one item. `score` is None where the tool gave none; `error` says why there is no reply.

    `content` is a hash of what was asked: two logs share an item where id and content are the same.
    """

    item: str
    task: str
    content: str
    score: float | None
    target: str | None
    answer: str | None
    reply: str
    repeat: int = 0
    prompt: tuple[Message, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = None
    latency_s: float | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class LoggedTask:
    """A task of the log, scored by one of its metrics. `extra` ones are further metrics of the same items.

    `theirs` is the tool's own value over the items, None where it gives none.
    """

    key: str
    title: str
    metric: str
    theirs: float | None
    extra: bool = False


@dataclass(frozen=True, slots=True)
class Log:
    """A whole log. `prompts` says how each task was put, `notes` what is off with the log, in sentences."""

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
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    complete: bool = True


Reader = Callable[[Path], Log]


def number(value: object) -> float | None:
    """A score as a number; None for what is none (text, lists, NaN)."""
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    return None


def digest(*parts: str) -> str:
    """32 hex digits of the parts, each set apart from the next."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]


def file_digest(paths: Sequence[Path]) -> str:
    """SHA-256 over the bytes of several files, in their order."""
    found = hashlib.sha256()
    for path in paths:
        found.update(path.read_bytes())
    return found.hexdigest()


def parsed(text: bytes, path: Path, where: str = "") -> dict[str, Any]:
    """A JSON object; NaN is taken too, which Python's tools write. Raises DataError."""
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        try:
            record = json.loads(text)
        except ValueError:
            raise wrong(path, f"{where}not JSON ({error})") from error
    if not isinstance(record, dict):
        raise wrong(path, f"{where}not a JSON object")
    return record


def wrong(path: Path, what: str) -> DataError:
    return DataError(f"{path}: {what}")
