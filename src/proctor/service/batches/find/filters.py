"""Which rows of a batch's run are wanted, and in which order: read from the words of an address, and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from proctor.errors import ConfigError, ProctorError
from proctor.grading.graders.regex import compiled
from proctor.store.write.labels import VERDICTS
from proctor.types import Outcome

Order = Literal["place", "latency", "input_tokens", "output_tokens"]
Range = tuple[float | None, float | None]
ANY: Range = (None, None)
MEASURE_OF = {"latency": "latency_s", "input_tokens": "input_tokens", "output_tokens": "output_tokens"}
LABELS = (*VERDICTS, "any", "none")
LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class RowFilter:
    """Which rows; without anything all of them.

    `text` are words in the request or the reply; `custom_id` a part of it, `prefix` its beginning. `status` is
    answered, failed, none (no answer came over HTTP), a class (4xx), a code (429), an outcome, or a slug of an error.
    `candidate` is what requests are about: as the run was told, or as `candidate_by` tells (a regular expression with
    a group over the custom_id, or a path into the body, "$.metadata.name"). `label` is a verdict, any or none. The
    ends of ranges are inside.
    """

    text: str | None = None
    custom_id: str | None = None
    prefix: str | None = None
    status: str | None = None
    finish: str | None = None
    candidate: str | None = None
    candidate_by: str | None = None
    label: str | None = None
    tag: str | None = None
    input_tokens: Range = ANY
    output_tokens: Range = ANY
    latency_s: Range = ANY
    order: Order = "place"
    descending: bool = False

    @property
    def plain(self) -> bool:
        """Whether every row is wanted, in the order of the file or against it."""
        wanted = [name for name in _names() if name not in ("descending", "candidate_by")]
        return all(getattr(self, name) == getattr(ALL, name) for name in wanted)

    @property
    def words(self) -> dict[str, Any]:
        """What was asked for, by the names that addresses have; `RowFilter.of` reads them again."""
        told: dict[str, Any] = {}
        for name in _names():
            value = getattr(self, name)
            if name in RANGES:
                low, high = value
                told |= {f"{RANGES[name]}_min": low, f"{RANGES[name]}_max": high}
            elif value != getattr(ALL, name):
                told[name] = value
        return {name: value for name, value in told.items() if value is not None}

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> RowFilter:
        """From the words of an address or a command; empty ones say nothing. Raises ConfigError."""
        given = {name: value for name, value in told.items() if value not in (None, "")}
        found: dict[str, Any] = {name: given[name] for name in _names() if name in given}
        for name, word in RANGES.items():
            found[name] = (_number(given, f"{word}_min"), _number(given, f"{word}_max"))
        if "descending" in found:
            found["descending"] = str(found["descending"]).lower() in ("1", "true", "yes", "on")
        return cls(**found).checked()

    def checked(self) -> RowFilter:
        """Raises ConfigError."""
        for name in ("text", "custom_id", "prefix", "candidate", "candidate_by", "tag"):
            if len(getattr(self, name) or "") > LONGEST:
                raise ConfigError(f"{name}: at most {LONGEST:,} characters")
        if self.order not in get_args(Order):
            raise ConfigError(f"order {self.order!r}: choose from {', '.join(get_args(Order))}")
        if self.label is not None and self.label not in LABELS:
            raise ConfigError(f"label {self.label!r}: choose from {', '.join(LABELS)}")
        if self.status is not None:
            _check_status(self.status)
        if self.candidate_by is not None and not self.candidate_by.startswith("$"):
            compiled(self.candidate_by)
        return self


ALL = RowFilter()
RANGES = {"input_tokens": "input_tokens", "output_tokens": "output_tokens", "latency_s": "latency"}


def _names() -> tuple[str, ...]:
    return tuple(field.name for field in fields(RowFilter))


def _number(given: Mapping[str, Any], name: str) -> float | None:
    if name not in given:
        return None
    try:
        value = float(given[name])
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError(f"{name}: {given[name]!r} is no number")
    return value


def _slugs(error: type[ProctorError] = ProctorError) -> set[str]:
    return {error.slug}.union(*(_slugs(each) for each in error.__subclasses__()))


def _check_status(status: str) -> None:
    """Raises ConfigError."""
    is_class = len(status) == 3 and status[0] in "12345" and status[1:] == "xx"
    is_code = status.isdigit() and len(status) == 3
    known = {"answered", "failed", "none", *Outcome} | _slugs()
    if not (is_class or is_code or status in known):
        outcomes = ", ".join(each for each in Outcome if each != Outcome.ANSWERED)
        raise ConfigError(
            f"status {status!r}: choose from answered, failed, none, a class such as 4xx, a code such as 429, "
            f"{outcomes}, or the name of an error such as rate-limited"
        )
