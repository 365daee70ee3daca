"""What the columns of a user's file mean: which holds the question, the answer, the choices and the id."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, Literal

import orjson

from proctor.errors import ConfigError, DataError
from proctor.sources.exams.files.faults import RowFault
from proctor.sources.exams.files.records import Record, Records

QUESTION = ("question", "prompt", "input", "messages")
# Where several are there, the first of these is taken. What they hold is seen in the rows: a letter, an
# option's text, a number.
ANSWER = (
    *("answer", "target", "label", "expected", "answers", "correct_answer", "gold", "references"),
    *("answer_index", "answer_idx", "correct_index", "correct_idx", "label_index", "label_idx"),
    *("target_index", "target_idx", "gold_index", "gold_idx", "correct_option", "correct", "answerkey"),
    *("answer_key", "cop"),
)
CHOICES = ("choices", "options")
IDS = ("id",)
CLUSTERS = ("cluster",)
GRADERS = ("grader",)
KNOWN_NAMES = (frozenset(QUESTION), frozenset(ANSWER), frozenset(CHOICES), frozenset(IDS))

NUMBERED = re.compile(r"(?:choice|option|opt|op)_?(\d{1,2}|[a-z])")
ROLES = ("system", "developer", "user", "assistant")
SHOWN_CHARS = 60  # of a value that an error quotes
MOST_COLUMNS = 20  # that an error names
PYTHON_CHARS = 100_000  # of a list as Python writes it; further in, its parser takes too much


# What a column is chosen for -> the columns' names: several are options with a column each, none says there is none.
Chosen = Mapping[str, tuple[str, ...]]
UNCHOSEN: Chosen = {}
PARTS = ("question", "answer", "choices", "id", "cluster")


def parse_chosen(words: Sequence[str]) -> Chosen:
    """What `answer=Antwort` says, a word for each column; `id=` says that there is none. Raises: ConfigError.

    >>> parse_chosen(["question=Frage", "choices=a", "choices=b", "id="])
    {'question': ('Frage',), 'choices': ('a', 'b'), 'id': ()}
    """
    found: dict[str, tuple[str, ...]] = {}
    for word in words:
        role, equals, name = word.partition("=")
        if role not in PARTS or not equals:
            raise ConfigError(f"column {word!r}: write PART=COLUMN, with a part of {', '.join(PARTS)}")
        found[role] = (*found.get(role, ()), *([name] if name else []))
        if len(found[role]) > 1 and role != "choices":
            raise ConfigError(f"column {word!r}: one column holds the {role}; only choices may have several")
    return found


def chosen_columns(table: Records, chosen: Chosen) -> Chosen:
    """The choice by the columns' names in the file. Raises: DataError for one that is not there."""
    by_name = {plain(name): name for name in reversed(table.columns)}
    told = {}
    for role, names in chosen.items():
        told[role] = tuple(
            [name if name in table.columns else by_name.get(plain(name), "") for name in names]
        )
        if "" in told[role]:
            name = names[told[role].index("")]
            raise DataError(
                f"{table.name}: no column {short(name)!r}, which was chosen as the one of {role}. Its columns: "
                f"{named_columns(table)}."
            )
    return told


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns in use, by their names in the file. `wide` are choices with a column each."""

    question: str
    answer: str
    choices: str | None
    wide: tuple[str, ...]
    id: str | None
    cluster: str | None
    ignored: tuple[str, ...]
    grader: str | None = None  # which grader a row's answer wants

    @property
    def has_choices(self) -> bool:
        return self.choices is not None or bool(self.wide)

    @property
    def questions_are_messages(self) -> bool:
        """True where prompts are conversations, to be sent as they are."""
        return self.question.lower() == "messages"


def find_columns(table: Records, *, asks: bool = True, chosen: Chosen = UNCHOSEN) -> Columns:
    """Name the columns: those that were `chosen`, else by their names. A task with a prompt of its own asks none.

    Raises: DataError when there is no question or no answer to compare with.
    """
    told = chosen_columns(table, chosen)
    taken = {name for names in told.values() for name in names}
    by_name = {plain(name): name for name in reversed(table.columns) if name not in taken}

    def one(role: str, names: Sequence[str]) -> str | None:
        return first(names, by_name) if role not in told else next(iter(told[role]), None)

    question = one("question", QUESTION) if asks else ""
    if question is None and {"custom_id", "body"} <= set(table.columns):
        raise DataError(
            f"{table.name} is a file of requests, not of questions: `proctor batch run {table.name} --model M` sends it"
        )
    if question is None:
        raise DataError(
            f"{table.name}: no column with questions. Its columns: {named_columns(table)}. "
            f"Recognised names: {', '.join(QUESTION)}.{header_missing(table, by_name)}"
        )
    answer = one("answer", ANSWER)
    if answer is None:
        raise DataError(
            f"{table.name}: no column with answers, and scoring needs one. Its columns: "
            f"{named_columns(table)}. Recognised names: {', '.join(ANSWER)}."
        )
    options = told.get("choices", ())
    choices = one("choices", CHOICES) if len(options) < 2 else None
    wide = (options if len(options) > 1 else ()) if choices or "choices" in told else wide_columns(by_name)
    row_id, cluster = one("id", IDS), one("cluster", CLUSTERS) if asks else None
    grader = first(GRADERS, by_name)
    if grader is not None and not names_graders(table, grader):
        grader = None
    used = {question, answer, choices, row_id, cluster, grader, *wide}
    ignored = tuple(name for name in table.columns if name not in used) if asks else ()
    refuse_unread(table, ignored)
    return Columns(question, answer, choices, wide, row_id, cluster, ignored, grader)


def names_graders(table: Records, column: str) -> bool:
    """Whether the column's first value names a grader: in some files it names the person who graded."""
    from proctor.grading.graders.table import GRADERS as KNOWN  # see sources/exams/graded.py

    values = (record.values.get(column) for record in table.records)
    head = next((str(value).partition(":")[0].partition("/")[0].strip() for value in values if value), "")
    return head in KNOWN


def kind_by_grader(columns: Columns, grader: object) -> Literal["text"] | None:
    """What the answers are where a grader of free text is named; None: see the rows."""
    named = grader is not None or columns.grader is not None
    return "text" if named and not columns.has_choices else None


def row_grader(record: Record, columns: Columns) -> str:
    """The grader that a row names, in words; "" for none. Raises: RowFault for one that is unknown."""
    value = record.values.get(columns.grader) if columns.grader else None
    if not value:
        return ""
    from proctor.grading.spec import grader_of_table  # see sources/exams/graded.py

    try:
        return grader_of_table(value, where="a row's grader").words
    except ConfigError as error:
        raise RowFault(columns.grader or "", str(error)) from None


def refuse_unread(table: Records, ignored: Sequence[str]) -> None:
    """Cells without a value are faults of their rows, where anything reads their column."""
    for record in table.records:
        for column, why in record.unread.items() if record.unread else ():
            if column not in ignored:
                table.faults.unreadable(record.index, record.where, column, why)


def header_missing(table: Records, by_name: dict[str, str]) -> str:
    """What to do where the first line of a CSV seems to be a row already."""
    if not table.form.startswith("CSV") or any(name in by_name for group in KNOWN_NAMES for name in group):
        return ""
    return (
        " If its first line is a row already, put one with names above it, such as question,A,B,C,D,answer."
    )


def plain(name: str) -> str:
    """A column's name as it is looked up: "Answer Index" is answer_index."""
    return name.lower().replace(" ", "_").replace("-", "_")


def named_columns(table: Records) -> str:
    more = ", ..." if len(table.columns) > MOST_COLUMNS else ""
    return (", ".join(short(name) for name in table.columns[:MOST_COLUMNS]) or "none") + more


def short(value: object) -> str:
    """A value as an error quotes it."""
    text = str(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."


def first(names: Sequence[str], by_name: dict[str, str]) -> str | None:
    return next((by_name[name] for name in names if name in by_name), None)


def wide_columns(by_name: dict[str, str]) -> tuple[str, ...]:
    """Columns A, B, C ... or choice1, choice2 ... in their order; at least two make choices."""
    letters = []
    for letter in ascii_uppercase.lower():
        if letter not in by_name:
            break
        letters.append(by_name[letter])
    if len(letters) >= 2:
        return tuple(letters)
    marks = [(match[1], name) for key, name in by_name.items() if (match := NUMBERED.fullmatch(key))]
    marks.sort(key=lambda pair: (len(pair[0]), pair[0]))
    return tuple(name for _, name in marks) if len(marks) >= 2 else ()


def question_fields(record: Record, columns: Columns) -> dict[str, Any]:
    """What the prompt is made of: a question, or messages to be sent as they are. Raises: RowFault."""
    value = record.values.get(columns.question)
    if columns.questions_are_messages:
        return {"messages": messages(value, columns.question)}
    if not isinstance(value, str) or not (text := value.strip()):
        raise RowFault(columns.question, "the question is missing or not text")
    return {"question": text}


def asked_by(columns: Columns) -> tuple[str, ...]:
    """The name of the field that `question_fields` gives."""
    return ("messages",) if columns.questions_are_messages else ("question",)


def messages(value: Any, column: str) -> list[dict[str, str]]:
    """A conversation. Raises: RowFault unless it is a list of objects with role and content."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            value = None
    if not isinstance(value, list) or not value:
        raise RowFault(column, 'not a list of messages such as [{"role": "user", "content": "..."}]')
    for number, message in enumerate(value, 1):
        if not isinstance(message, dict) or message.keys() != {"role", "content"}:
            raise RowFault(column, f"message {number} has to have role and content and nothing else")
        if message["role"] not in ROLES:
            role = short(message["role"])
            raise RowFault(column, f"message {number} has the role {role!r}; known: {', '.join(ROLES)}")
        if not isinstance(message["content"], str):
            raise RowFault(column, f"the content of message {number} is not text")
    return value


# Choices ------------------------------------------------------------------------------------------


def choices(record: Record, columns: Columns) -> tuple[str, ...]:
    """The options of a row. Raises: RowFault unless there are 1 to 26 and none is empty."""
    if columns.choices is not None:
        column = columns.choices
        values = as_options(record.values.get(column), column)
    else:
        column = columns.wide[0]
        values = [record.values.get(name) for name in columns.wide]
        while values and values[-1] in (None, ""):  # rows may have fewer options than the widest
            values.pop()
    if not 1 <= len(values) <= len(ascii_uppercase):
        raise RowFault(column, f"{len(values)} choices; from 1 to {len(ascii_uppercase)} are possible")
    return tuple([as_option(value, column) for value in values])


def as_options(value: Any, column: str) -> list[Any]:
    """Options written as a list, an object by letter or number, or a cell "red|green|blue". Raises: RowFault."""
    value = parsed(value, column)
    if isinstance(value, list):
        return value
    if isinstance(value, str):
        return value.split("|")
    if isinstance(value, dict):
        if isinstance(value.get("text"), list) and marks(value) is not None:
            value = dict(zip(value["label"], value["text"], strict=True))
        names = [str(name).strip().upper() for name in value]
        start = int(names[0]) if names and names[0] in ("0", "1") else None
        if names == (
            list(ascii_uppercase[: len(names)])
            if start is None
            else [str(number) for number in range(start, start + len(names))]
        ):
            return list(value.values())
    raise RowFault(
        column, "choices have to be a list, an object by letter from A or by number, or text with | between"
    )


def parsed(value: Any, column: str) -> Any:
    """A cell that holds JSON, or a list as Python writes it, as the list or object it means."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        pass
    try:
        return ast.literal_eval(value.strip()) if len(value) < PYTHON_CHARS else None
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise RowFault(column, 'not a JSON list; write ["red", "green"] or red|green') from None


def marks(value: dict[Any, Any]) -> list[str] | None:
    """The labels of choices written as {"text": [...], "label": [...]}."""
    labels, texts = value.get("label"), value["text"]
    return (
        [str(label) for label in labels] if isinstance(labels, list) and len(labels) == len(texts) else None
    )


def as_option(value: Any, column: str) -> str:
    if isinstance(value, str):
        if text := value.strip():
            return text
    elif not isinstance(value, bool) and isinstance(value, (int, float)):
        return str(value)
    raise RowFault(column, f"a choice is empty or not text ({short(repr(value))})")


def own_start(record: Record, columns: Columns, texts: Sequence[str]) -> int | None:
    """The number of the first option where the file numbers them itself: by column, by key, or "1. red"."""
    if columns.wide:
        found = NUMBERED.fullmatch(plain(columns.wide[0]))
        return int(found[1]) if found and found[1].isdigit() else None
    value = parsed(record.values.get(columns.choices or ""), columns.choices or "")
    if isinstance(value, dict):
        names = marks(value) if isinstance(value.get("text"), list) else None
        name = (names or [str(name).strip() for name in value])[0]
        return int(name) if name.isdigit() else None
    for start in (1, 0):
        numbers = enumerate(texts, start)
        if all(text.startswith((f"{n}.", f"{n})", f"{n}:", f"({n})")) for n, text in numbers):
            return start
    return None


# Ids ---------------------------------------------------------------------------------


def row_ids(table: Records, columns: Columns) -> list[str]:
    """The rows' own ids, or their places from 0; a row whose id is none is called by its line.

    Ids that are missing or stand twice are faults of the file.
    """
    if columns.id is None:
        return [str(record.index) for record in table.records]
    column, seen = columns.id, dict[str, str]()

    def own(record: Record) -> str:
        value = record.values.get(column)
        if isinstance(value, bool) or not isinstance(value, (str, int)) or not (name := str(value).strip()):
            raise RowFault(column, "the id is missing or neither text nor a whole number")
        if seen.setdefault(name, record.where) is not record.where:
            raise RowFault(column, f"the id {short(name)!r} stands in {seen[name]} too; ids have to differ")
        return name

    found = table.faults.each(table.records, own)
    return [name or record.where for name, record in zip(found, table.records, strict=True)]
