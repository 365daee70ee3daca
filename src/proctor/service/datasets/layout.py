"""How a data set is read, and what was found in it so: the words of API, pages and commands, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

import orjson

from proctor.errors import ConfigError
from proctor.references import ExamRef, Numbers
from proctor.sources.exams.files.columns import PARTS, parse_chosen

AnswerType = Literal["choices", "labels", "text"]
ANSWER_TYPES: tuple[str, ...] = get_args(AnswerType)
__all__ = [
    "ANSWER_TYPES",
    "PARTS",
    "AnswerType",
    "Findings",
    "FirstRow",
    "Layout",
    "findings_from",
    "layout_from",
]


@dataclass(frozen=True, slots=True)
class Layout:
    """How a file's rows are read; what is None or empty is seen in the rows, as for a file of this machine.

    `columns` says which column is what, such as "answer=Antwort"; `sheet` is the one of a workbook; `grader` is named
    with its settings, as a run's.
    """

    columns: tuple[str, ...] = ()
    sheet: str | None = None
    answer_type: AnswerType | None = None
    numbers: Numbers | None = None
    lenient: bool = False
    grader: str | None = None

    def checked(self) -> Layout:
        """Itself, if it can be meant. Raises: ConfigError."""
        parse_chosen(self.columns)
        if self.grader is not None:
            from proctor.grading.spec import (
                parse_grader,  # what it imports takes its time, and few layouts name one
            )

            parse_grader(self.grader, where="grader")
        for value, known, what in (
            (self.answer_type, ANSWER_TYPES, "kind of answers"),
            (self.numbers, get_args(Numbers), "meaning of numbers"),
        ):
            if value is not None and value not in known:
                raise ConfigError(f"{value!r} is no {what}; choose from {', '.join(known)}")
        return self

    def of(self, ref: ExamRef) -> ExamRef:
        """The reference with this layout, which stays the run's own whatever becomes of the data set's."""
        return replace(
            ref,
            columns=self.columns,
            sheet=self.sheet,
            answer_type=self.answer_type,
            numbers=self.numbers,
            lenient=self.lenient,
            grader=self.grader,
        )


@dataclass(frozen=True, slots=True)
class FirstRow:
    """Where a row stands in its file, and its cells by column, cut to a few hundred characters."""

    where: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Findings:
    """What is in a file. `error` says why it cannot be asked as it is read, and then what depends on it is None.

    `parts` are the columns in use. `half_width` is of a model's interval, `detectable` the smallest difference of
    two models that so many items show, both for a model that is right on 80 % of them.
    """

    format: str
    rows: int
    columns: tuple[str, ...] = ()
    sheets: tuple[str, ...] = ()
    first: tuple[FirstRow, ...] = ()
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    error: str | None = None
    items: int | None = None
    answer_type: str | None = None
    understood: tuple[str, ...] = ()
    left_out: int = 0
    copies: int = 0
    tasks: tuple[str, ...] = ()
    half_width: float | None = None
    detectable: float | None = None
    prompt: str | None = None
    target: str | None = None


def to_json(of: Layout | Findings) -> str:
    return orjson.dumps(asdict(of)).decode()


def layout_from(text: str) -> Layout:
    record = orjson.loads(text)
    return Layout(**{**record, "columns": tuple(record["columns"])})


def findings_from(text: str) -> Findings:
    record: dict[str, Any] = orjson.loads(text)
    listed = {name: tuple(record[name]) for name in ("columns", "sheets", "understood", "tasks")}
    first = tuple([FirstRow(each["where"], tuple(each["cells"])) for each in record["first"]])
    parts = {part: tuple(names) for part, names in record["parts"].items()}
    return Findings(**{**record, **listed, "first": first, "parts": parts})
