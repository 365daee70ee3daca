"""Looking at a file of requests: every line checked in one pass, how its first requests look, what its bodies have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from proctor.references import BatchRef
from proctor.service.datasets.reading import BodyField, Fault, Found, Reading, Shown
from proctor.sources.batches.check import check
from proctor.sources.batches.checked import BadRequestLine, LineFault
from proctor.sources.batches.lines import LineReader, RequestLine, reader_of
from proctor.sources.batches.texts import open_texts

FIRST = 10
LOOKED = 1000  # bodies whose fields are told
PROMPT_CHARS = 300
TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}


def look_at_requests(path: Path, reading: Reading, *, named: str) -> Found:
    """What is in a file that lies here, in memory that does not grow with it, and is called so by its user.

    Raises: DataError for what is no file of lines or rows at all, ConfigError for a reading that fits no file.
    """
    ref = reading.of(BatchRef(named))
    checked = check(path, ref)
    looked = list(islice(_requests(path, ref, clean=not checked.bad), LOOKED)) if checked.count else []
    return Found(
        format=checked.form,
        lines=checked.lines,
        count=checked.count,
        bad=checked.bad,
        faults=tuple([_fault(each) for each in checked.faults]),
        notes=tuple([_fault(each) for each in checked.notes]),
        models=dict(checked.models),
        endpoints=dict(checked.urls),
        gold=checked.gold,
        most_tokens=checked.most_tokens,
        uncapped=checked.uncapped,
        first=tuple([_shown(*each) for each in looked[:FIRST]]),
        schema=schema_of(line.fields for _, line in looked),
        looked=len(looked),
    )


def requests_between(
    path: Path, reading: Reading, offset: int, limit: int, *, named: str, clean: bool
) -> tuple[Shown, ...]:
    """Requests as they stand in the file, from the one at `offset` on; `clean` where each of its lines is one."""
    found = _requests(path, reading.of(BatchRef(named)), clean=clean, skipped=offset)
    return tuple([_shown(*each) for each in islice(found, limit)])


def _requests(
    path: Path, ref: BatchRef, *, clean: bool, skipped: int = 0
) -> Iterator[tuple[int, RequestLine]]:
    """The lines that can be sent, each with its number, but for the first ones. Lines of a clean file are not read
    to be passed over; of another those that are left out must be.
    """
    texts = open_texts(path, ref)
    reader = reader_of(ref, flat=texts.flat)
    lines = ((number, text) for number, _, text in texts.read() if not text.isspace())
    if clean:
        return ((number, reader.read(number, text)) for number, text in islice(lines, skipped, None))
    return islice(_sendable(lines, reader), skipped, None)


def _sendable(lines: Iterable[tuple[int, bytes]], reader: LineReader) -> Iterator[tuple[int, RequestLine]]:
    seen: set[int] = set()
    for number, text in lines:
        try:
            line = reader.read(number, text)
        except BadRequestLine:
            continue
        if (digest := hash(line.custom_id)) not in seen:
            seen.add(digest)
            yield number, line


def schema_of(bodies: Iterable[Mapping[str, Any]]) -> tuple[BodyField, ...]:
    """Which fields the bodies have, in the order in which they are met."""
    types: dict[str, Counter[str]] = {}
    for body in bodies:
        for name, value in body.items():
            types.setdefault(name, Counter())[TYPES.get(type(value), "null")] += 1
    return tuple([BodyField(name, tuple(sorted(of)), of.total()) for name, of in islice(types.items(), 100)])


def _fault(of: LineFault) -> Fault:
    return Fault(of.line, of.code, of.message, of.param)


def _shown(number: int, of: RequestLine) -> Shown:
    text = _prompt(of.fields)
    prompt = text if len(text) <= PROMPT_CHARS else f"{text[:PROMPT_CHARS]}..."
    return Shown(number, of.custom_id, of.model, of.url, prompt)


def _prompt(body: Mapping[str, Any]) -> str:
    """The text of its last message, or whatever it asks."""
    messages = body.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    asked = last.get("content") if isinstance(last, dict) else body.get("prompt", body.get("input", ""))
    if isinstance(asked, list):  # parts of texts and pictures, or several texts
        texts = [each.get("text", "") if isinstance(each, dict) else each for each in asked]
        asked = " ".join([each for each in texts if isinstance(each, str) and each])
    return asked if isinstance(asked, str) else ""
