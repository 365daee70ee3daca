"""A comparator as people name it: `json:ignore=id,rel=0.01`; what is none of these may be a grader, by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.errors import ConfigError
from proctor.grading.comparators import json, label, number, texts
from proctor.grading.comparators.contract import Comparator, ComparatorEntry, Likeness, opened
from proctor.grading.graders.table import GRADERS
from proctor.grading.spec import OpenGrader, parse_grader, settings_in, values_of, with_settings
from proctor.types import Chat, Gold, Item, Outcome, Reply

COMPARATORS: Mapping[str, ComparatorEntry[Any]] = {
    entry.name: entry for entry in (texts.EXACT, texts.NORMALIZED, json.ENTRY, number.ENTRY, label.ENTRY)
}
BY_GRADER = "grader:"


def parse_comparator(words: str, *, where: str = "--by") -> Comparator:
    """The comparator that words name. Raises: ConfigError.

    >>> parse_comparator("number:rel=0.010").words, parse_comparator("contains").words
    ('number:rel=0.01', 'grader:contains/1')
    """
    name, _, rest = words.strip().partition(":")
    entry = COMPARATORS.get(name)
    if entry is None:
        return by_grader(words.strip().removeprefix(BY_GRADER), where)
    given = settings_in(rest, name, entry.options, where)
    options = entry.options(**values_of(given, name, entry.options, where, None))
    if (wrong := entry.fault(options)) is not None:
        raise ConfigError(f"{where}: {name}: {wrong}")
    return opened(entry, options, with_settings(name, options))


def by_grader(words: str, where: str) -> Comparator:
    """The answer of the first text is the right one for the second. Raises: ConfigError."""
    if words.partition(":")[0].partition("/")[0] not in GRADERS:
        free = (name for name, entry in GRADERS.items() if entry.kind == "text" and name != "none")
        named = ", ".join(dict.fromkeys([*COMPARATORS, *free]))
        raise ConfigError(f"{where}: no comparator {words!r}. There are {named}")
    grader = parse_grader(words, where=where)
    if grader.entry.kind != "text":
        raise ConfigError(
            f"{where}: {grader.entry.name} reads answers among the options of a question, which requests have not; "
            "label:names=A|B|C finds one of a few labels"
        )
    return Comparator(f"{BY_GRADER}{grader.words}", "nothing more", lambda one, two: graded(grader, one, two))


def graded(grader: OpenGrader, one: str, two: str) -> Likeness:
    given = answer_in(grader, one)
    if given is None:
        return Likeness(one == two, note="no answer can be read in the first")
    item = Item("", "", Chat(), Gold(given))
    if (fault := grader.fault((given,))) is not None:
        return Likeness(one == two, given, note=fault)
    mark = grader.grade(item, Reply(two))
    return Likeness(mark.outcome is Outcome.CORRECT, given, mark.answer, note=mark.note)


def answer_in(grader: OpenGrader, text: str) -> str | None:
    """What the grader would take for the answer in a text: what it reads in it where nothing is known to be right."""
    from proctor.grading.found import find_answer

    return find_answer(Item("", "", Chat()), Reply(text), grader.read).text
