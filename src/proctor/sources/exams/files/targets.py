"""The answers of a user's file: which kind they are, and what each row's right answer is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, Literal

from proctor.grading.formats import AnswerFormat, Label
from proctor.grading.texts import fold, key, light, number
from proctor.references import Numbers
from proctor.sources.exams.files.columns import Columns, short
from proctor.sources.exams.files.faults import Faults, RowFault
from proctor.sources.exams.files.numbers import NumberReading, number_reading, whole_number
from proctor.sources.exams.files.records import Record, Records

MAX_LABELS = 10
MAX_LABEL_WORDS = 3
ROWS_PER_LABEL = 3
LETTERS = frozenset(ascii_uppercase)
Form = Literal["letters", "texts", "mixed"]

# Pairs that models use for each other; given as synonyms when the file has exactly these labels.
PAIRS: Mapping[frozenset[str], Mapping[str, tuple[str, ...]]] = {
    frozenset({"yes", "no"}): {"yes": ("true", "not false"), "no": ("false", "not true", "untrue")},
    frozenset({"true", "false"}): {"true": ("yes", "not false"), "false": ("no", "not true", "untrue")},
}


@dataclass(frozen=True, slots=True)
class Given:
    """A row's right answers as the file writes them, and the options they are taken from."""

    record: Record
    answers: tuple[Any, ...]
    options: tuple[str, ...]

    @property
    def index(self) -> int:
        return self.record.index

    @property
    def where(self) -> str:
        return self.record.where


@dataclass(frozen=True, slots=True)
class Targets:
    """The right answers by the rows' index: the target first, then the aliases. `said` is for a person."""

    kind: AnswerFormat
    answers: Mapping[int, tuple[str, ...]]
    labels: tuple[Label, ...] = ()
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """How the answers of one file are to be read, and where its faults are kept."""

    columns: Columns
    faults: Faults
    numbers: Numbers | None = None


def given_answers(record: Record, column: str) -> tuple[Any, ...]:
    """What the answer column holds. Raises: RowFault for a row without an answer."""
    value = record.values.get(column)
    if isinstance(value, str) and value and not value.isspace():
        return (value,)
    answers = tuple(value) if isinstance(value, list) else (value,)
    if not answers or any(answer is None or not str(answer).strip() for answer in answers):
        raise RowFault(column, "the answer is missing; each row needs one to be scored")
    if any(not isinstance(answer, (str, bool, int, float)) for answer in answers):
        raise RowFault(column, "an answer is text, a number, true or false, or a list of these")
    return answers


def given_rows(
    table: Records, answers: Sequence[tuple[Any, ...] | None], options: Sequence[tuple[str, ...] | None]
) -> list[Given]:
    """The rows whose answers, and options where they have any, could be read."""
    return [
        Given(record, answer, texts)
        for record, answer, texts in zip(table.records, answers, options, strict=True)
        if answer is not None and texts is not None
    ]


def spelled(value: Any) -> str:
    """An answer as text; JSON's true and false are yes and no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).strip()


def kind_of(answers: Sequence[tuple[Any, ...]]) -> AnswerFormat:
    """Labels when few short answers return again and again; else text."""
    every = [answer for row in answers for answer in row]
    if all(isinstance(answer, bool) for answer in every):
        return "labels"
    if all(is_number(answer) for answer in every):
        return "text"
    counts = Counter(key(spelled(row[0])) for row in answers)
    known = {key(spelled(answer)) for answer in every} <= counts.keys()
    few = 2 <= len(counts) <= MAX_LABELS and len(answers) >= ROWS_PER_LABEL * len(counts)
    short_ones = all(len(text.split()) <= MAX_LABEL_WORDS for text in counts)
    return "labels" if known and few and short_ones and min(counts.values()) >= 2 else "text"


def is_number(answer: Any) -> bool:
    if isinstance(answer, bool):
        return False
    return isinstance(answer, (int, float)) or number(light(str(answer))) is not None


def text_targets(rows: Sequence[Given], asked: AnswerColumn) -> Targets:
    return Targets("text", {row.record.index: tuple([spelled(a) for a in row.answers]) for row in rows})


def label_targets(rows: Sequence[Given], asked: AnswerColumn) -> Targets:
    """Labels under their most frequent spelling. One label alone is a fault of the file."""
    spellings: dict[str, Counter[str]] = {}
    for row in rows:
        for answer in row.answers:
            text = spelled(answer)
            spellings.setdefault(key(text), Counter())[text] += 1
    names = {folded: max(sorted(counts), key=counts.__getitem__) for folded, counts in spellings.items()}
    if rows and len(names) < 2 and not all(isinstance(row.answers[0], bool) for row in rows):
        asked.faults.refuse(
            f"every row has the answer {short(spelled(rows[0].answers[0]))!r}; labels need two"
        )
    if set(names) <= {"yes", "no"} and rows and isinstance(rows[0].answers[0], bool):
        names = {"yes": "yes", "no": "no"}
    synonyms = PAIRS.get(frozenset(names), {})
    labels = tuple(Label(names[folded], synonyms.get(folded, ())) for folded in sorted(names))
    answers = {row.index: tuple(dict.fromkeys(names[key(spelled(a))] for a in row.answers)) for row in rows}
    return Targets("labels", answers, labels)


def named_targets(rows: Sequence[Given], asked: AnswerColumn, labels: Sequence[Label]) -> Targets:
    """Answers under the labels that the task names; an answer that is none of them is a fault of its row."""
    words = {key(word): label.name for label in labels for word in (*label.synonyms, label.shown)}
    words |= {key(label.name): label.name for label in labels}
    if not words.keys() & {"yes", "no"}:
        # JSON's true and false are yes and no, unless the labels call them true and false.
        words |= {yes: words[true] for yes, true in (("yes", "true"), ("no", "false")) if true in words}
    names = ", ".join(label.name for label in labels)

    def known(row: Given) -> tuple[str, ...]:
        for answer in row.answers:
            if key(spelled(answer)) not in words:
                said = f"the answer {short(spelled(answer))!r} is none of the labels: {names}"
                raise RowFault(asked.columns.answer, said)
        return tuple(dict.fromkeys(words[key(spelled(answer))] for answer in row.answers))

    found = asked.faults.each(rows, known)
    kept = {row.index: answers for row, answers in zip(rows, found, strict=True) if answers is not None}
    return Targets("labels", kept, tuple(labels))


# Letters ------------------------------------------------------------------------------------------


def choice_targets(rows: Sequence[Given], asked: AnswerColumn) -> Targets:
    """Letters. An answer may be a letter, an option's exact text, or a number whose meaning is certain."""
    column = asked.columns.answer
    reading = number_reading(rows, asked.columns, asked.faults, asked.numbers)
    form = form_of(rows)
    both: list[str] = []

    def letters(row: Given) -> tuple[str, ...]:
        texts = row.options
        found = [letter_of(answer, row, reading, column, form) for answer in row.answers]
        if form == "letters" and any(
            letter in texts and texts[ord(letter) - 65] != letter for letter in found
        ):
            both.append(row.where)
        return tuple(dict.fromkeys(found))

    answers = asked.faults.each(rows, letters)
    said = [reading.said] if reading else []
    if both:
        rows_words = "in 1 row the letter" if len(both) == 1 else f"in {len(both):,} rows the letter"
        said.append(
            f"{rows_words} is another option's text too ({both[0]}): every answer is a letter, so it counts"
        )
    kept = {row.index: found for row, found in zip(rows, answers, strict=True) if found is not None}
    return Targets("choices", kept, said=tuple(said))


def form_of(rows: Sequence[Given]) -> Form:
    """What the answers are where all that name an option may be letters, or all are options' exact texts.

    A letter may be another option's text as well; where all are letters, or all are texts, it is what all are.
    """
    if all(may_be_letter(answer, row.options) for row in rows for answer in row.answers):
        return "letters"
    if all(spelled(answer) in row.options for row in rows for answer in row.answers):
        return "texts"
    return "mixed"


def may_be_letter(answer: Any, options: Sequence[str]) -> bool:
    text = answer.strip() if isinstance(answer, str) else ""
    if len(text) == 1 and text.upper() in LETTERS and ord(text.upper()) - 65 < len(options):
        return True
    return whole_number(answer) is not None or not by_text(spelled(answer), options)


def letter_of(answer: Any, row: Given, reading: NumberReading | None, column: str, form: Form) -> str:
    """The letter of the option that an answer means. Raises: RowFault when that is none or not certain."""
    if reading is not None and (value := whole_number(answer)) is not None:
        return reading.letter(value, row.record, row.options)
    texts, text = row.options, spelled(answer)
    letters = ascii_uppercase[: len(texts)]
    by_letter = text.upper() if len(text) == 1 and text.upper() in letters else None
    if by_letter and form == "letters":
        return by_letter
    named = by_text(text, texts)
    meant = {*named, *([by_letter] if by_letter and not (named and form == "texts") else [])}
    if not meant and len(bare := text.strip("().[]: ")) == 1 and bare.upper() in letters:
        return bare.upper()  # "(B)", "B."
    if len(meant) != 1:
        raise RowFault(column, no_option(text, letters, several=bool(meant)))
    return meant.pop()


def by_text(text: str, options: Sequence[str]) -> list[str]:
    """The letters of the options with this text, exactly or else but for case and what stands around it."""
    found = [letter for letter, option in zip(ascii_uppercase, options, strict=False) if option == text]
    if found or (len(text) == 1 and text.upper() in ascii_uppercase[: len(options)]):
        return found
    folded = fold(text)
    return [
        letter for letter, option in zip(ascii_uppercase, options, strict=False) if fold(option) == folded
    ]


def no_option(text: str, letters: str, *, several: bool) -> str:
    why = "more than one choice" if several else "no choice"
    last = f"a letter from A to {letters[-1]}" if len(letters) > 1 else "A"
    return f"the answer {short(text)!r} names {why}; it has to be {last} or the exact text of one option"


TARGETS: Mapping[AnswerFormat, Callable[[Sequence[Given], AnswerColumn], Targets]] = {
    "choices": choice_targets,
    "labels": label_targets,
    "text": text_targets,
}
