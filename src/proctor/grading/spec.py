"""A grader as people name it, with its settings: `number:rel=0.01`; parsed once, and ready to grade.

`number`, `number/1`, `contains:read=whole`, `regex:pattern=(\\d+), done`: settings stand behind a colon with
commas between; a setting that may hold commas takes all the rest. In TOML a grader is such a text, or a
table with `name` and the settings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_args

from proctor.errors import ConfigError
from proctor.grading.contract import GraderEntry, Mark, Read
from proctor.grading.extractors import EXTRACTORS
from proctor.grading.found import ANNOUNCED, find_answer
from proctor.grading.graders.table import GRADERS
from proctor.grading.reading.ladder import EXTRACTOR as LADDER
from proctor.grading.vocabulary import Vocabulary
from proctor.types import Grade, Item, Outcome, Reply

READS: tuple[Read, ...] = get_args(Read)
LONGEST_NAME = 120


@dataclass(frozen=True, slots=True)
class OpenGrader:
    """A grader with its settings; `vocabulary` holds the labels of a task whose answers are labels.

    `words` is what `parse_grader` takes: the version, and what differs from the defaults. `name` is the same,
    or where that is long the grader and a hash of it: what grades are kept under.
    """

    entry: GraderEntry[Any]
    options: Any
    read: Read
    vocabulary: Vocabulary | None = None
    words: str = field(init=False)
    name: str = field(init=False)

    def __post_init__(self) -> None:
        words = in_words(self)
        short = f"{self.entry.full_name}:#{hashlib.sha256(words.encode()).hexdigest()[:12]}"
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "name", words if len(words) <= LONGEST_NAME else short)

    def fault(self, answers: Sequence[str]) -> str | None:
        """Why the right answers of a row cannot be compared with; None where they can."""
        fault: str | None = self.entry.fault(answers, self.options)
        return fault

    def grade(self, item: Item, reply: Reply) -> Grade:
        """What the reply is worth. It waits for nothing."""
        if self.entry.kind != "text":
            grade = EXTRACTORS[LADDER].grade_reply(
                item, reply, kind=self.entry.kind, vocabulary=self.vocabulary
            )
            return replace(grade, grader=self.name)
        measured = item.gold is not None or self.entry.without_gold
        nothing = 0.0 if measured else None
        if reply.finish == "refused":
            return Grade(Outcome.REFUSED, nothing, grader=self.name)
        found = find_answer(item, reply, self.read)
        if found.text is None:
            lacking = Outcome.TRUNCATED if found.cut else Outcome.NO_ANSWER
            return Grade(lacking, nothing, grader=self.name)
        if not measured:
            return Grade(
                Outcome.ANSWERED, None, found.text, found.rung, self.name, "no right answer is known"
            )
        on_line = self.entry.on_line if found.rung in ANNOUNCED else None
        compare = on_line or self.entry.compare
        mark: Mark = compare(found.text, item.accepted, self.options)
        return Grade(outcome_of(mark), mark.score, mark.answer, found.rung, self.name, mark.note)


def in_words(grader: OpenGrader) -> str:
    """Its full name and what differs from the defaults; what takes all the rest of a text comes last."""
    said = [] if grader.read == grader.entry.read else [f"read={grader.read}"]
    return with_settings(grader.entry.full_name, grader.options, said)


def with_settings(name: str, options: Any, said: Sequence[str] = ()) -> str:
    """A name, and behind a colon the settings that differ from the defaults."""
    words = list(said)
    for one in sorted(fields(options), key=lambda one: bool(one.metadata["rest"])):
        value = getattr(options, one.name)
        if value != one.default:
            words.append(f"{one.name}={written(value)}")
    return f"{name}{':' if words else ''}{','.join(words)}"


def outcome_of(mark: Mark) -> Outcome:
    """An answer that is right in part is wrong, and keeps its score; without a score nothing was measured."""
    if mark.score is None:
        return Outcome.ANSWERED
    if mark.answer is None:
        return Outcome.NO_ANSWER
    return Outcome.CORRECT if mark.score >= 1.0 else Outcome.WRONG


# Naming one ------------------------------------------------------------------------------------------


LONGEST_FILE = 1_000_000


@dataclass(frozen=True, slots=True)
class Files:
    """Whose files a setting may name by path: those below `folder`, or any for the user of this machine."""

    folder: Path
    any: bool = False

    def read(self, path: str, where: str) -> str:
        """Raises: ConfigError."""
        found = self.folder / path
        if not self.any and not found.resolve().is_relative_to(self.folder.resolve()):
            raise ConfigError(f"{where}: {path} lies outside the folder of the file that names it")
        try:
            with found.open("rb") as file:
                body = file.read(LONGEST_FILE + 1)
            if len(body) > LONGEST_FILE:
                raise ConfigError(f"{where}: {found} is longer than {LONGEST_FILE:,} bytes")
            return " ".join(body.decode().split())
        except OSError as error:
            raise ConfigError(f"{where}: {found}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ConfigError(f"{where}: {found} is not in UTF-8") from None


def words_typed_here(words: str) -> str:
    """The words of a user of this machine, with the text of a file in place of its path. Raises: ConfigError."""
    grader = parse_grader(words, files=Files(Path(), any=True))
    try:
        parse_grader(words)
    except ConfigError:  # it names a file
        return grader.words
    return words


def parse_grader(words: str, *, where: str = "--grader", files: Files | None = None) -> OpenGrader:
    """The grader that words name; without `files` its settings name none, as from elsewhere. Raises: ConfigError.

    >>> parse_grader("number:rel=0.01").words, parse_grader("contains").words
    ('number/1:rel=0.01', 'contains/1')
    """
    head, _, rest = words.strip().partition(":")
    entry = entry_named(head.strip(), where)
    given = settings_in(rest, entry.name, entry.options, where)
    return made(entry, given, where, files)


def settings_in(rest: str, name_of: str, options: type[Any], where: str) -> dict[str, Any]:
    """The settings behind the colon, as they are written. Raises: ConfigError."""
    greedy = {one.name for one in fields(options) if one.metadata["rest"]}
    given: dict[str, Any] = {}
    while rest.strip():
        name, equals, value = rest.partition("=")
        name = name.strip()
        if not equals:
            raise ConfigError(
                f"{where}: {rest!r} is no setting; write {name_of}:NAME=VALUE. {known(options)}"
            )
        if name in greedy:
            value, rest = value.strip(), ""
        else:
            value, _, rest = value.partition(",")
        if name in given:
            raise ConfigError(f"{where}: {name} is set twice")
        given[name] = value.strip()
    return given


def grader_of_table(table: Any, *, where: str, files: Files | None = None) -> OpenGrader:
    """The grader of a TOML value: words, or a table with `name` and settings. Raises: ConfigError."""
    if isinstance(table, str):
        return parse_grader(table, where=where, files=files)
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise ConfigError(
            f"{where}: a grader is its name, or a table with `name` and its settings, not {table!r}"
        )
    given = {name: value for name, value in table.items() if name != "name"}
    return made(entry_named(table["name"], where), given, where, files)


def entry_named(name: str, where: str) -> GraderEntry[Any]:
    bare, slash, version = name.partition("/")
    entry = GRADERS.get(bare)
    if entry is None:
        raise ConfigError(f"{where}: no grader {name!r}. Graders: {', '.join(GRADERS)}")
    if slash and version != str(entry.version):
        raise ConfigError(f"{where}: no version {version!r} of {bare}; this proctor has {entry.full_name}")
    return entry


def made(entry: GraderEntry[Any], given: Mapping[str, Any], where: str, files: Files | None) -> OpenGrader:
    read = given.get("read", entry.read)
    if read not in READS:
        raise ConfigError(f"{where}: read is one of {', '.join(READS)}, not {read!r}")
    settings = {name: value for name, value in given.items() if name != "read"}
    values = values_of(settings, entry.name, entry.options, where, files, also=("read",))
    grader = OpenGrader(entry, entry.options(**values), read)
    if values and (fault := grader.fault(())) is not None:
        raise ConfigError(f"{where}: {entry.name}: {fault}")
    return grader


def values_of(
    given: Mapping[str, Any],
    name: str,
    options: type[Any],
    where: str,
    files: Files | None,
    *,
    also: Sequence[str] = (),
) -> dict[str, Any]:
    """The settings with their values, of the types that `options` has them in. Raises: ConfigError."""
    settings = {one.name: one for one in fields(options)}
    if unknown := sorted(given.keys() - settings.keys()):
        raise ConfigError(f"{where}: {name} has no setting {unknown[0]!r}. {known(options, also)}")
    return {key: value_of(settings[key], value, f"{where}: {name}", files) for key, value in given.items()}


def known(options: type[Any], also: Sequence[str] = ("read",)) -> str:
    return f"Its settings: {', '.join([*(one.name for one in fields(options)), *also]) or 'none'}"


def value_of(one: Field[Any], value: Any, where: str, files: Files | None) -> Any:
    """A setting's value, of the type that its default has. Raises: ConfigError."""
    kind: type[Any] = type(one.default)
    where = f"{where}: {one.name}"
    if kind is tuple:
        listed = value if isinstance(value, list) else str(value).split("|")
        if not all(isinstance(part, str) and part.strip() for part in listed):
            raise ConfigError(f"{where} is a list of texts, not {value!r}")
        return tuple(part.strip() for part in listed)
    if kind is bool:
        truth = {"true": True, "false": False}.get(str(value).lower())
        if truth is None:
            raise ConfigError(f"{where} is true or false, not {value!r}")
        return truth
    if issubclass(kind, (int, float)):
        return number_of(kind, value, where)
    if not isinstance(value, str):
        raise ConfigError(f"{where} is text, not {value!r}")
    allowed = one.metadata["one_of"]
    if allowed and value not in allowed:
        raise ConfigError(f"{where} is one of {' '.join(map(repr, allowed))}, not {value!r}")
    return text_of_file(value, where, files) if one.metadata["file"] else value


def number_of(kind: type, value: Any, where: str) -> float:
    """A number that is not negative."""
    try:
        number = kind(str(value))
    except ValueError:
        number = -1
    if isinstance(value, bool) or not 0 <= number < float("inf"):
        what = "a whole number" if kind is int else "a number"
        raise ConfigError(f"{where} is {what} from 0 up, not {value!r}")
    return float(number) if kind is float else int(number)


def text_of_file(value: str, where: str, files: Files | None) -> str:
    """The text itself where it begins with a brace, else that of the file at this path."""
    if value.lstrip().startswith("{"):
        return value
    if files is None:
        raise ConfigError(f"{where}: give the text itself, {{...}}; a path is read where the file is at hand")
    return files.read(value, where)


def written(value: Any) -> str:
    """A setting as it is written in words."""
    if isinstance(value, bool):
        return str(value).lower()
    return "|".join(value) if isinstance(value, tuple) else str(value).removesuffix(".0")
