"""The first requests of a file, for people to look at: read without a look at the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from proctor.references import BatchRef
from proctor.sources.batches.checked import BadRequestLine
from proctor.sources.batches.lines import LineReader, RequestLine, reader_of
from proctor.sources.batches.texts import open_texts
from proctor.types import Request

PROMPT_CHARS = 300


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


def first_requests(
    path: Path, ref: BatchRef, count: int = 3, offset: int = 0, *, clean: bool = False
) -> tuple[ShownRequest, ...]:
    """The requests behind the first `offset`; lines that cannot be sent are passed over.

    Of a file that is known to be `clean`, lines before the offset are not even read.
    Raises: ConfigError, DataError, DataMissing.
    """
    texts = open_texts(path, ref)
    reader = reader_of(ref, flat=texts.flat)
    lines = ((number, text) for number, _, text in texts.read() if text.strip())
    if clean:
        wanted = islice(lines, offset, offset + count)
        return tuple([_shown(number, reader.read(number, text)) for number, text in wanted])
    return tuple([_shown(*each) for each in islice(_sendable(lines, reader), offset, offset + count)])


def _sendable(lines: Iterable[tuple[int, bytes]], reader: LineReader) -> Iterator[tuple[int, RequestLine]]:
    """Of several with one custom_id the first."""
    seen: set[int] = set()
    for number, text in lines:
        try:
            line = reader.read(number, text)
        except BadRequestLine:
            continue
        if (digest := hash(line.custom_id)) not in seen:
            seen.add(digest)
            yield number, line


def _shown(number: int, line: RequestLine) -> ShownRequest:
    messages = Request(line.url, line.body).messages
    prompt = messages[-1].content if messages else ""
    cut = prompt if len(prompt) <= PROMPT_CHARS else f"{prompt[:PROMPT_CHARS]}..."
    target = None if line.gold is None else line.gold.target
    return ShownRequest(number, line.custom_id, line.url, line.model, cut, target, line.body)
