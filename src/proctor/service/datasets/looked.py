"""Looking at a file of requests: every line checked in one pass, how its first requests look, what its bodies have."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from proctor.references import BatchRef
from proctor.service.datasets.reading import BodyField, Fault, Found, Reading, RequestPreview
from proctor.sources.batches.check import check
from proctor.sources.batches.checked import LineFault
from proctor.sources.batches.preview import ShownRequest, first_requests

FIRST = 10
LOOKED = 1000  # bodies whose fields are told
TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}


def look_at_requests(path: Path, reading: Reading, *, named: str) -> Found:
    """What is in a file that lies here, in memory that does not grow with it, and is called so by its user.

    Raises: DataError for what is no file of lines or rows at all, ConfigError for a reading that fits no file.
    """
    ref = reading.of(BatchRef(named))
    checked = check(path, ref)
    looked = first_requests(path, ref, LOOKED, clean=not checked.bad) if checked.count else ()
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
        schema=schema_of(json.loads(each.body) for each in looked),
        looked=len(looked),
    )


def requests_between(
    path: Path, reading: Reading, offset: int, limit: int, *, named: str, clean: bool
) -> tuple[RequestPreview, ...]:
    """Requests as they stand in the file, from the one at `offset` on; `clean` where each of its lines is one."""
    found = first_requests(path, reading.of(BatchRef(named)), limit, offset, clean=clean)
    return tuple([_shown(each) for each in found])


def schema_of(bodies: Iterable[Mapping[str, Any]]) -> tuple[BodyField, ...]:
    """Which fields the bodies have, in the order in which they are met."""
    types: dict[str, Counter[str]] = {}
    for body in bodies:
        for name, value in body.items():
            types.setdefault(name, Counter())[TYPES.get(type(value), "null")] += 1
    return tuple([BodyField(name, tuple(sorted(of)), of.total()) for name, of in islice(types.items(), 100)])


def _fault(of: LineFault) -> Fault:
    return Fault(of.line, of.code, of.message, of.param)


def _shown(of: ShownRequest) -> RequestPreview:
    return RequestPreview(of.line, of.custom_id, of.model, of.url, of.prompt)
