"""A page of a run's answers: each with the first words of what was asked and said, and how far other runs disagree."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from proctor.errors import ConfigError
from proctor.service.context import Context
from proctor.service.results.profile import has_summary, profile_of
from proctor.store import AttemptRow
from proctor.store.read import glances, pages, sorted_pages
from proctor.store.read.pages import Cursor, Filter
from proctor.store.read.sorted_pages import SORTS, Sort, SortedPlace, Sorting
from proctor.types import Item, Run

__all__ = ["SORTS", "AnswerLine", "Answers", "AnswersQuery", "answers", "outcome_counts", "sorting_of"]

PREVIEW = 140  # characters of what was asked and said in a list
LOOKED_AT = 2_000  # characters of a text that are read for its preview
DISAGREEING = 8  # other runs that are asked how far they disagree
FIRST_WORDS = 4  # by which the beginnings of two questions are held to be the same instruction
# A place in a list: POSITION.REPEAT, or VALUE~POSITION.REPEAT; no larger than a column of either database takes.
PLACE = re.compile(r"(?:([-+.0-9e]{1,30}|none)~)?([0-9]{1,9})\.([0-9]{1,9}|1[0-9]{9})")


@dataclass(frozen=True, slots=True)
class AnswerLine:
    """One row: its latest attempt, and in short what was asked and said. Only what was wanted is read.

    `error` stands where nothing was said. `differ` is in how many other runs the outcome is another, and in how many
    there is one; None where there is none.
    """

    row: AttemptRow
    question: str = ""
    reply: str = ""
    error: str = ""
    differ: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Answers:
    """Rows in order. `before` and `after` are the places of the neighbouring pages, None where there is none.

    `searched_to` is the last position that a search looked at, where it stopped on its way. `looked_at` is how many
    rows were put in order, None for all. `others` is how many runs were asked how far they disagree.
    """

    lines: tuple[AnswerLine, ...]
    before: str | None
    after: str | None
    searched_to: int | None = None
    looked_at: int | None = None
    others: int = 0


@dataclass(frozen=True, slots=True)
class AnswersQuery:
    """Which page: a filter, an order, the place that it begins after or ends before, and what is read beside a row.

    `reads` may have question, reply and differ.
    """

    wanted: Filter
    sort: Sort | None = None
    after: str = ""
    before: str = ""
    limit: int = 50
    reads: Collection[str] = ("question", "reply", "differ")


def answers(context: Context, run: Run, asked: AnswersQuery) -> Answers:
    """Raises ConfigError for a place that is none, NotFound for the run."""
    others = _others(context, run) if asked.sort == "differ" or "differ" in asked.reads else []
    found = _sorted(context, run, asked, others) if asked.sort else _placed(context, run, asked)
    rows = [line.row for line in found.lines]
    asked_in = glances.asked_in(context.store, rows) if "question" in asked.reads else {}
    said = glances.said_in(context.store, run.id, rows) if "reply" in asked.reads else {}
    differ = (
        sorted_pages.disagreement(context.store, others, rows) if others and "differ" in asked.reads else {}
    )
    questions = first_words([_question(asked_in.get(row.item_hash)) for row in rows])
    lines = [
        AnswerLine(
            row, question, *_said(said.get((row.item_id, row.repeat, row.attempt))), _differ(row, differ)
        )
        for row, question in zip(rows, questions, strict=True)
    ]
    return replace(found, lines=tuple(lines), others=len(others))


def sorting_of(context: Context, run: Run, by: Sort | None, *, descending: bool) -> Sorting | None:
    """The order of a list, None for that of asking."""
    if by is None:
        return None
    return Sorting(by, descending, tuple(_others(context, run)) if by == "differ" else ())


def outcome_counts(context: Context, run: Run, task: str | None = None) -> dict[str, int] | None:
    """How many rows of an ended run have which outcome, as was counted then; None where that is not kept."""
    if run.finished_at is None or not has_summary(context.store, run):
        return None
    tasks = profile_of(context, run).tasks
    counted: Counter[str] = Counter()
    for name, outcomes in tasks.items():
        if task in (None, name):
            counted.update(outcomes)
    return dict(counted)


def _others(context: Context, run: Run) -> list[str]:
    return [line.id for line in glances.same_exam(context.store, run, DISAGREEING)]


def _placed(context: Context, run: Run, asked: AnswersQuery) -> Answers:
    """In the order of asking, or against it."""
    wanted, place = asked.wanted, asked.before or asked.after
    at = place_in(place)[1] if place else None
    if asked.before:
        wanted = replace(wanted, descending=not wanted.descending)
    page = pages.page(context.store, run.id, wanted, after=at, limit=asked.limit)
    rows = page.rows[::-1] if asked.before else page.rows
    first, last = (_placed_at(rows[0]), _placed_at(rows[-1])) if rows else (None, None)
    beyond = f"{page.after.position}.{page.after.repeat}" if page.after else None
    if asked.before:
        return Answers(_bare(rows), first if page.after else None, last)
    back = first if asked.after and not wanted.searches else None
    return Answers(_bare(rows), back, beyond, page.searched_to)


def _placed_at(row: AttemptRow) -> str:
    return f"{row.position}.{row.repeat}"


def _sorted(context: Context, run: Run, asked: AnswersQuery, others: Sequence[str]) -> Answers:
    assert asked.sort is not None
    sorting = Sorting(asked.sort, asked.wanted.descending, tuple(others) if asked.sort == "differ" else ())
    place = asked.before or asked.after
    page = sorted_pages.sorted_page(
        context.store, run.id, asked.wanted, sorting,
        after=_sorted_place(place) if place else None, back=bool(asked.before), limit=asked.limit,
    )  # fmt: skip
    first, last = (_written(page.first), _written(page.last)) if page.first and page.last else (None, None)
    if asked.before:
        return Answers(_bare(page.rows), first if page.more else None, last, looked_at=page.looked_at)
    return Answers(
        _bare(page.rows), first if place else None, last if page.more else None, looked_at=page.looked_at
    )


def _bare(rows: Sequence[AttemptRow]) -> tuple[AnswerLine, ...]:
    return tuple(AnswerLine(row) for row in rows)


def place_in(text: str) -> tuple[str | None, Cursor]:
    """The value, as it is written, and the place that an address names. Raises ConfigError."""
    found = PLACE.fullmatch(text)
    if found is None:
        raise ConfigError(
            f"after={text[:40]!r}: give the position and the repeat of a row, such as 49.0, and before them what "
            "the list is sorted by, such as 1.25~49.0"
        )
    return found[1], Cursor(int(found[2]), int(found[3]))


def _sorted_place(text: str) -> SortedPlace:
    value, place = place_in(text)
    try:
        number = None if value in (None, "none") else float(value or "")
    except ValueError:
        number = math.nan
    if number is not None and not math.isfinite(number):
        raise ConfigError(f"after={text[:40]!r}: {value} is no number")
    return SortedPlace(number, *place)


def _written(place: SortedPlace) -> str:
    return f"{'none' if place.value is None else repr(float(place.value))}~{place.position}.{place.repeat}"


def _differ(row: AttemptRow, known: dict[tuple[str, int], tuple[int, int]]) -> tuple[int, int] | None:
    return known.get((row.item_id, row.repeat))


def _question(item: Item | None) -> str:
    """What was asked last by a user; of a task for an agent, its instruction."""
    if item is None:
        return ""
    messages = item.ask.messages
    told = next((each.content for each in reversed(messages) if each.role == "user" and each.content), "")
    return told or (messages[-1].content if messages else "")


def _said(payload: dict[str, Any] | None) -> tuple[str, str]:
    """The beginning of a reply, or of why there is none."""
    if payload is None:
        return "", ""
    return short(payload.get("text") or ""), short(payload.get("error") or "")


def short(text: str) -> str:
    """The first words in one line.

    >>> short("A reply\\n\\nof lines"), len(short("word " * 100))
    ('A reply of lines', 140)
    """
    line = " ".join(text[:LOOKED_AT].split())
    return line if len(line) <= PREVIEW else line[: PREVIEW - 1].rstrip() + "…"


def first_words(questions: Sequence[str]) -> list[str]:
    """The first words of each question, without the lines of instruction that many on a page begin with.

    >>> first_words(["One option is right.\\n\\nWhat is red?\\nA. x", "One option is right.\\n\\nWho ran?\\nA. y"])
    ['What is red? A. x', 'Who ran? A. y']
    """
    split = [[line for line in text[:LOOKED_AT].split("\n") if line.strip()] for text in questions]
    whole = [(lines, text) for lines, text in zip(split, questions, strict=True)]
    begun = Counter(lines[0] for lines in split if lines)
    alike = Counter(_beginning(lines[0]) for lines in split if lines)
    most = max(2, len(questions) // 2)
    return [
        short("\n".join(lines[1:]))
        if len(lines) > 1 and _instructs(lines[0], begun, alike, most) and questions.count(text) < len(whole)
        else short(text)
        for lines, text in whole
    ]


def _instructs(line: str, begun: Counter[str], alike: Counter[str], most: int) -> bool:
    """True for a first line that other questions have too, or that begins as most do and asks nothing."""
    return begun[line] > 1 or ("?" not in line and alike[_beginning(line)] >= most)


def _beginning(line: str) -> str:
    return " ".join(line.split()[:FIRST_WORDS])
