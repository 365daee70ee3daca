"""The answers of a user's file: which kind they are, and what each row's right answer is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from proctor.errors import DataError
from proctor.suites.columns import Columns, where
from proctor.suites.records import Record, Records
from proctor.suites.shapes import Kind, Label
from proctor.suites.texts import fold, key, light, number

MAX_LABELS = 10
MOST_PLACES = 20  # rows that one error names
MAX_LABEL_WORDS = 3
ROWS_PER_LABEL = 3

# Pairs that models use for each other; given as synonyms when the file has exactly these labels.
PAIRS: Mapping[frozenset[str], Mapping[str, tuple[str, ...]]] = {
    frozenset({"yes", "no"}): {"yes": ("true", "not false"), "no": ("false", "not true", "untrue")},
    frozenset({"true", "false"}): {"true": ("yes", "not false"), "false": ("no", "not true", "untrue")},
}


@dataclass(frozen=True, slots=True)
class Given:
    """A row's right answers as the file writes them; `place` is for error texts."""

    answers: tuple[Any, ...]
    place: str


@dataclass(frozen=True, slots=True)
class Targets:
    """The right answers of all rows: the target first, then the aliases."""

    kind: Kind
    answers: tuple[tuple[str, ...], ...]
    labels: tuple[Label, ...] = ()


def given_answers(table: Records, columns: Columns) -> list[Given]:
    """What the answer column holds. Raises: DataError for a row without an answer."""
    rows, empty = [], []
    for record in table.records:
        value = record.values.get(columns.answer)
        place = where(table, record, columns.answer)
        answers = tuple(value) if isinstance(value, list) else (value,)
        if not answers or any(answer is None or not str(answer).strip() for answer in answers):
            empty.append(record)
            continue
        if any(not isinstance(answer, (str, bool, int, float)) for answer in answers):
            raise DataError(f"{place}: an answer is text, a number, true or false, or a list of these")
        rows.append(Given(answers, place))
    if empty:
        further = f" (and in {len(empty) - 1:,} more rows: {_places(empty[1:])})" if empty[1:] else ""
        place = where(table, empty[0], columns.answer)
        raise DataError(f"{place}: the answer is missing{further}; each row needs one to be scored")
    return rows


def _places(records: Sequence[Record]) -> str:
    """The first of many, so that one look at the file mends them all."""
    named = ", ".join(record.where for record in records[:MOST_PLACES])
    return f"{named}, ..." if len(records) > MOST_PLACES else named


def spelled(value: Any) -> str:
    """An answer as text; JSON's true and false are yes and no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).strip()


def kind_of(rows: Sequence[Given], has_choices: bool) -> Kind:
    """Choices where rows have them; labels when few short answers return again and again; else text."""
    if has_choices:
        return "choices"
    answers = [answer for row in rows for answer in row.answers]
    if all(isinstance(answer, bool) for answer in answers):
        return "labels"
    if all(is_number(answer) for answer in answers):
        return "text"
    counts = Counter(key(spelled(row.answers[0])) for row in rows)
    known = {key(spelled(answer)) for answer in answers} <= counts.keys()
    few = 2 <= len(counts) <= MAX_LABELS and len(rows) >= ROWS_PER_LABEL * len(counts)
    short = all(len(text.split()) <= MAX_LABEL_WORDS for text in counts)
    return "labels" if known and few and short and min(counts.values()) >= 2 else "text"


def is_number(answer: Any) -> bool:
    if isinstance(answer, bool):
        return False
    return isinstance(answer, (int, float)) or number(light(str(answer))) is not None


def text_targets(rows: Sequence[Given], options: Sequence[tuple[str, ...]], column: str) -> Targets:
    return Targets("text", tuple(tuple(spelled(answer) for answer in row.answers) for row in rows))


def label_targets(rows: Sequence[Given], options: Sequence[tuple[str, ...]], column: str) -> Targets:
    """Labels under their most frequent spelling. Raises: DataError when there is only one."""
    spellings: dict[str, Counter[str]] = {}
    for row in rows:
        for answer in row.answers:
            text = spelled(answer)
            spellings.setdefault(key(text), Counter())[text] += 1
    names = {folded: max(sorted(counts), key=counts.__getitem__) for folded, counts in spellings.items()}
    if len(names) < 2 and not all(isinstance(row.answers[0], bool) for row in rows):
        raise DataError(
            f"{rows[0].place}: every row has the answer {spelled(rows[0].answers[0])!r}; labels need two"
        )
    if set(names) <= {"yes", "no"} and isinstance(rows[0].answers[0], bool):
        names = {"yes": "yes", "no": "no"}
    synonyms = PAIRS.get(frozenset(names), {})
    labels = tuple(Label(names[folded], synonyms.get(folded, ())) for folded in sorted(names))
    answers = tuple(tuple(dict.fromkeys(names[key(spelled(a))] for a in row.answers)) for row in rows)
    return Targets("labels", answers, labels)


def choice_targets(rows: Sequence[Given], options: Sequence[tuple[str, ...]], column: str) -> Targets:
    """Letters. An answer may be a letter, an option's exact text, or a number whose start is certain."""
    from_zero = index_start(rows, options, column)
    answers = []
    for row, texts in zip(rows, options, strict=True):
        answers.append(
            tuple(dict.fromkeys(letter_of(answer, texts, from_zero, row.place) for answer in row.answers))
        )
    return Targets("choices", tuple(answers))


def whole_number(answer: Any) -> int | None:
    if isinstance(answer, int) and not isinstance(answer, bool):
        return answer
    text = answer.strip() if isinstance(answer, str) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 2 else None


def index_start(rows: Sequence[Given], options: Sequence[tuple[str, ...]], column: str) -> int | None:
    """Where answers that are numbers count from; None when there are none, or they are options' texts.

    Raises: DataError when the file as a whole leaves it open.
    """
    found = [
        (index, texts, row.place)
        for row, texts in zip(rows, options, strict=True)
        for answer in row.answers
        if (index := whole_number(answer)) is not None
    ]
    if not found:
        return None
    are_texts = all(str(index) in texts for index, texts, _ in found)
    zero = all(0 <= index < len(texts) for index, texts, _ in found)
    one = all(1 <= index <= len(texts) for index, texts, _ in found)
    advice = "write letters (A, B, ...) or the option's text"
    if are_texts and not (zero or one):
        return None
    if are_texts:
        raise DataError(
            f"{found[0][2]}: the numbers in {column!r} are both places and texts of options; {advice}"
        )
    if zero == one:
        why = "may count from 0 or from 1" if zero else "fit neither counting from 0 nor from 1"
        raise DataError(f"{found[0][2]}: the numbers in {column!r} {why}; {advice}")
    return 0 if zero else 1


def letter_of(answer: Any, texts: Sequence[str], start: int | None, place: str) -> str:
    """The letter of the option that an answer means. Raises: DataError when that is none or not certain."""
    letters = ascii_uppercase[: len(texts)]
    index = whole_number(answer)
    if index is not None and start is not None:
        return letters[index - start]
    text = spelled(answer)
    by_letter = text.upper() if len(text) == 1 and text.upper() in letters else None
    by_text = [letter for letter, option in zip(letters, texts, strict=True) if option == text]
    if not by_text and not by_letter:
        folded = fold(text)
        by_text = [letter for letter, option in zip(letters, texts, strict=True) if fold(option) == folded]
    meant = {*by_text, *([by_letter] if by_letter else [])}
    if len(meant) != 1:
        why = "more than one choice" if meant else "no choice"
        raise DataError(
            f"{place}: the answer {text!r} names {why}; it has to be a letter from A to {letters[-1]} "
            "or the exact text of one option"
        )
    return meant.pop()


TARGETS: Mapping[Kind, Callable[[Sequence[Given], Sequence[tuple[str, ...]], str], Targets]] = {
    "choices": choice_targets,
    "labels": label_targets,
    "text": text_targets,
}
