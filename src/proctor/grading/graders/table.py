"""The table of graders. A new one is a file beside this with its `ENTRY`, and a row here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.grading.contract import GraderEntry
from proctor.grading.graders import (
    choices,
    contains,
    date,
    exact,
    json,
    labels,
    none,
    normalized,
    number,
    regex,
)

GRADERS: Mapping[str, GraderEntry[Any]] = {
    entry.name: entry
    for entry in (
        choices.ENTRY,
        labels.ENTRY,
        exact.ENTRY,
        normalized.ENTRY,
        contains.ENTRY,
        regex.ENTRY,
        number.ENTRY,
        date.ENTRY,
        json.ENTRY,
        none.ENTRY,
    )
}
