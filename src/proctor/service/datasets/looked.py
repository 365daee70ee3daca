"""Looking at a file of requests: every line checked in one pass, how its first requests look, what its bodies have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from proctor.references import BatchRef
from proctor.service.datasets.reading import BodyField, Fault, Found, Reading, Shown
from proctor.sources.batches.check import LineFault, check
from proctor.sources.batches.preview import ShownRequest, first_requests

FIRST = 10
LOOKED = 1000  # bodies whose fields are told
TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}


def look_at_requests(path: Path, reading: Reading) -> Found:
    """What is in a file that lies here, in memory that does not grow with it.

    Raises: DataError for what is no file of lines or rows at all, ConfigError for a reading that fits no file.
    """
    ref = reading.of(BatchRef(str(path)))
    checked = check(path, ref)
    looked = first_requests(path, ref, LOOKED) if checked.count else ()
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
        first=tuple([_shown(each) for each in looked[:FIRST]]),
        schema=schema_of(each.body for each in looked),
        looked=len(looked),
    )


def requests_between(path: Path, reading: Reading, offset: int, limit: int) -> tuple[Shown, ...]:
    """Requests as they stand in the file, from the one at `offset` on."""
    ref = reading.of(BatchRef(str(path), lenient=True))
    return tuple([_shown(each) for each in first_requests(path, ref, limit, offset)])


def schema_of(bodies: Iterable[bytes]) -> tuple[BodyField, ...]:
    """Which fields the bodies have, in the order in which they are met."""
    types: dict[str, Counter[str]] = {}
    for body in bodies:
        record: dict[str, Any] = orjson.loads(body)
        for name, value in record.items():
            types.setdefault(name, Counter())[TYPES.get(type(value), "null")] += 1
    return tuple([BodyField(name, tuple(sorted(of)), of.total()) for name, of in islice(types.items(), 100)])


def _fault(of: LineFault) -> Fault:
    return Fault(of.line, of.code, of.message, of.param)


def _shown(of: ShownRequest) -> Shown:
    return Shown(of.line, of.custom_id, of.model, of.url, of.prompt)
