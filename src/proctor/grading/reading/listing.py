"""Lines that are options with their own texts, and lists of them, which are no answer."""

from __future__ import annotations

from itertools import pairwise

from proctor.grading.patterns import later
from proctor.grading.reading.forms import begins
from proctor.grading.reading.question import Question
from proctor.grading.texts import light

LONGEST = 4000  # characters of a line that are read


def own_option(line: str, asked: Question) -> str | None:
    """The letter of a line that begins with a letter and its option's own text."""
    found = OPTION_MARK.match(line[:200])
    if found is None or found[1] not in asked.letters:
        return None
    tail = light(line[found.end() : found.end() + LONGEST])
    return found[1] if begins(tail, asked.by_letter[found[1]]) is not None else None


OPTION_MARK = later(r"[\s>*#-]{0,8}(?:[Oo]ption |[Cc]hoice )?[(\[*]{0,3}([A-Z])[)\].:*]{1,4}\s{0,4}")


def list_of_options(lines: list[str], asked: Question) -> bool:
    """True when two lines next to each other are options with their own texts: a list, no answer."""
    read = [own_option(line, asked) for line in lines[:6]]
    return any(one and two and one != two for one, two in pairwise(read))
