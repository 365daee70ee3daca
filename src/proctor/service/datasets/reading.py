"""How a file of requests is read, and what was found in it so: the words of API, pages and commands, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import PurePath
from typing import Any

import orjson

from proctor.errors import ConfigError
from proctor.references import BatchRef


@dataclass(frozen=True, slots=True)
class Reading:
    """How the lines, or the rows of a table, become requests: the fields of a `BatchRef` of the same names."""

    lenient: bool = False
    endpoint: str | None = None
    columns: tuple[str, ...] = ()
    template: str | None = None
    system: str | None = None
    fields: tuple[str, ...] = ()
    gold: str | None = None
    grader: str | None = None
    candidate: str | None = None

    def checked(self) -> Reading:
        """Itself, if it can be meant of a file that was uploaded. Raises: ConfigError."""
        if self.gold is not None and PurePath(self.gold).is_absolute():
            raise ConfigError(f"gold={self.gold!r}: name the field of the lines that holds the right answer")
        if self.grader is not None:
            from proctor.grading.spec import parse_grader  # what it imports takes its time

            parse_grader(self.grader, where="grader")
        return self

    def of(self, ref: BatchRef) -> BatchRef:
        """The reference with this reading, which stays the run's own whatever becomes of the data set's."""
        return replace(ref, **{each.name: getattr(self, each.name) for each in fields(self)})


def reading_of(words: Mapping[str, str]) -> Reading:
    """From the fields of a form. Raises: ConfigError for a field that is none."""
    known = {each.name: each for each in fields(Reading)}
    made: dict[str, Any] = {}
    for name, said in words.items():
        if name not in known:
            raise ConfigError(f"No field {name!r}; known: file, name, project_id, {', '.join(known)}")
        if name == "lenient":
            made[name] = _yes(said)
        elif name in ("columns", "fields"):
            made[name] = tuple([line.strip() for line in said.splitlines() if line.strip()])
        else:
            made[name] = said if said.strip() else None
    return Reading(**made).checked()


def _yes(said: str) -> bool:
    if said.lower() not in ("true", "false", "1", "0", "on", "off", ""):
        raise ConfigError(f"lenient={said[:40]!r}: write true or false")
    return said.lower() in ("true", "1", "on")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a line, or was taken as it is: its number from 1, and a code as OpenAI's batches have them."""

    line: int | None
    code: str
    message: str
    param: str | None = None

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line:,}: {self.message}"


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """A request as lists show it: its line, its name, where it goes, and how its prompt begins."""

    line: int
    custom_id: str
    model: str | None
    url: str
    prompt: str


@dataclass(frozen=True, slots=True)
class BodyField:
    """A field of the bodies: of which JSON types it is, and in how many of the bodies that were looked at."""

    name: str
    types: tuple[str, ...]
    bodies: int


@dataclass(frozen=True, slots=True)
class Found:
    """What is in a file of requests.

    `count` lines can be sent and `bad` cannot; `faults` are the first of these. `notes` are what is taken as it is.
    `schema` is of the first `looked` bodies.
    """

    format: str
    lines: int
    count: int
    bad: int = 0
    faults: tuple[Fault, ...] = ()
    notes: tuple[Fault, ...] = ()
    models: Mapping[str, int] = field(default_factory=dict)
    endpoints: Mapping[str, int] = field(default_factory=dict)
    gold: int = 0
    most_tokens: int | None = None
    uncapped: int = 0
    first: tuple[RequestPreview, ...] = ()
    schema: tuple[BodyField, ...] = ()
    looked: int = 0


def reading_json(of: Reading | Found) -> str:
    return orjson.dumps(asdict(of)).decode()


def reading_from(text: str) -> Reading:
    record = orjson.loads(text)
    return Reading(**{**record, "columns": tuple(record["columns"]), "fields": tuple(record["fields"])})


def found_from(text: str) -> Found:
    record = orjson.loads(text)
    faults, notes = (tuple([Fault(**each) for each in record[name]]) for name in ("faults", "notes"))
    schema = tuple([BodyField(**{**each, "types": tuple(each["types"])}) for each in record["schema"]])
    first = tuple([RequestPreview(**each) for each in record["first"]])
    return Found(**{**record, "faults": faults, "notes": notes, "schema": schema, "first": first})
