"""The first requests of a file, for people to look at: read without a look at the rest."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from proctor.references import BatchRef
from proctor.sources.batches.checked import BadRequestLine
from proctor.sources.batches.lines import RequestLine, reader_of
from proctor.sources.batches.texts import open_texts
from proctor.types import Request

PROMPT_CHARS = 300
MOST_LINES = 10_000  # that are looked through for requests that can be sent


@dataclass(frozen=True, slots=True)
class ShownRequest:
    """A request as lists show it: `prompt` is the beginning of its last message, `body` what would be sent."""

    line: int
    custom_id: str
    url: str
    model: str | None
    prompt: str
    target: str | None
    body: bytes


def first_requests(path: Path, ref: BatchRef, count: int = 3, offset: int = 0) -> tuple[ShownRequest, ...]:
    """The requests behind the first `offset`; lines that cannot be sent are passed over.

    Raises: ConfigError, DataError, DataMissing.
    """
    texts = open_texts(path, ref)
    reader = reader_of(ref, flat=texts.flat)
    found: list[ShownRequest] = []
    for number, _, text in islice(texts.read(), offset + count + MOST_LINES):
        if len(found) == offset + count:
            break
        if text.strip():
            try:
                found.append(_shown(number, reader.read(number, text)))
            except BadRequestLine:
                continue
    return tuple(found[offset:])


def _shown(number: int, line: RequestLine) -> ShownRequest:
    messages = Request(line.url, line.body).messages
    prompt = messages[-1].content if messages else ""
    cut = prompt if len(prompt) <= PROMPT_CHARS else f"{prompt[:PROMPT_CHARS]}..."
    target = None if line.gold is None else line.gold.target
    return ShownRequest(number, line.custom_id, line.url, line.model, cut, target, line.body)
