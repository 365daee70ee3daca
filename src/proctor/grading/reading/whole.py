"""Rung 3: a reply, or its first line, that is nothing but an answer."""

# ruff: noqa: RUF001 - dashes and full-width signs are data here
from __future__ import annotations

import re

from proctor.grading.patterns import later
from proctor.grading.reading.choice import DOUBT, by_text, read_choice
from proctor.grading.reading.label import exactly, foreign, lettered
from proctor.grading.reading.letters import BULLET, read_letters, read_list
from proctor.grading.reading.listing import OPTION_MARK, list_of_options, own_option
from proctor.grading.reading.number import read_number
from proctor.grading.reading.question import Question
from proctor.grading.texts import key, light, peel
from proctor.grading.vocabulary import UNCLEAR, Found

VALUE_CHARS = 2000
FENCE = later(r"\A```\w{0,10}\n(.*?)\n?```\Z", re.DOTALL)


def in_whole(said: str, asked: Question) -> Found:
    fence = FENCE.match(said)
    value = fence[1] if fence else said
    if asked.kind == "letters" and "\n" in peel(value):
        return all_of_list(value, asked)
    if len(value) > VALUE_CHARS or "\n" in peel(value):
        return None
    return nothing_else(value, asked)


SAYS = later(
    r"\A\s*(?:(?:i think|i believe|i guess|probably),? )?(?:it(?:'s| is)|that(?:'s| is)|it must be|i'd say"
    r"|i'd pick)\s+",
    re.IGNORECASE,
)
ARE = later(r"\A[^.\n]{1,80}\b(?:are|is)(?: both| all)? (?:correct|right|true)[.!]?\s*\Z")


def all_of_list(value: str, asked: Question) -> Found:
    """Letters a line each, and nothing else; or a first line of letters before an explanation."""
    lines = [line for line in value.splitlines() if line.strip()]
    read = [read_letters(BULLET.sub("", line, count=1), asked, strict=True) for line in lines[:12]]
    if all(isinstance(each, str) for each in read):
        return read_list(lines, asked)
    return (
        read[0] if isinstance(read[0], str) and not any(isinstance(each, str) for each in read[1:]) else None
    )


POINTER = later(r"\A\s*(?:[-=]>|→|⇒|➡|•|[-–—]\s|=)\s*(?!\d)")


def nothing_else(value: str, asked: Question) -> Found:
    """A value that holds the answer and no other words."""
    if asked.kind == "choices":
        found = read_choice(POINTER.sub("", value, count=1), asked, strict=True)
        return by_text(SAYS.sub("", value, count=1), asked) if found is None else found
    if asked.kind == "number":
        return read_number(value, strict=True)
    if asked.kind == "letters":
        found = read_letters(value, asked, strict=True)
        return read_letters(value, asked) if found is None and ARE.search(value) else found
    return only_label(value, asked)


def only_label(value: str, asked: Question) -> Found:
    known = asked.vocabulary
    if known is None:
        return None
    plain = light(value)
    if (found := exactly(plain, known) or known.words.get(key(value))) is not None:
        return found
    letters = lettered(asked)
    mark = re.fullmatch(r"[\s(\[*]{0,6}([a-z])[)\].:*]{0,4}\s*(.*)", plain, re.DOTALL)
    if mark and mark[1] in letters:
        rest = peel(mark[2])
        if not rest:
            return letters[mark[1]]
        return letter_agrees(letters[mark[1]], exactly(rest, known))
    said = foreign(plain, known)
    return said if len(plain) <= 24 else None


def letter_agrees(by_letter: str, named: str | None) -> Found:
    return None if named is None else named if named == by_letter else UNCLEAR


OPENING_LABEL = later(r"[*_\"'`\s]*(?:[,;:!(]|\.(?!\d|\s?\d)|[-–—]\s|\s(?:because|since|as)\b|\n|。)")
RETURNS = later(
    r"(?:\A|[.!?\n]\s)(?:however|but|still|yet|although|on the other hand|then again|actually|wait|no wait)\b"
)


def in_opening(said: str, asked: Question) -> Found:
    """The first line, where an explanation follows it: "B. its text", "**B**", "Yes, ..."."""
    lines = said.split("\n", 12)
    if asked.kind == "choices":
        if (found := only_right_one(said, asked)) is not None:
            return found
        if len(lines[0]) > VALUE_CHARS or is_listing(said, asked):
            return None
        return opening_choice(lines[0], asked)
    if asked.kind == "labels" and asked.vocabulary is not None:
        return opening_label(said, asked)
    return None


def in_first_line(said: str, asked: Question) -> Found:
    """The first line of a cut reply, if a line break ends it or it is one letter alone."""
    line, broken, _ = said.partition("\n")
    if asked.kind != "choices" or len(line) > VALUE_CHARS or is_listing(said, asked) or goes_through(said):
        return None
    if not broken:
        return read_choice(line, asked, strict=True) if len(peel(line)) == 1 else None
    return opening_choice(line, asked)


def goes_through(said: str) -> bool:
    """True where a later line opens with the letter after the first line's: a list that was cut."""
    marks = [each[1] for line in said[:8000].split("\n", 60)[:60] if (each := OPTION_MARK.match(line[:200]))]
    return len(marks) > 1 and ord(marks[1]) == ord(marks[0]) + 1 and not OTHERS.search(said[:8000])


def is_listing(said: str, asked: Question) -> bool:
    """True where the first line is one of several options: another follows at once, or all do in their order."""
    lines = [line for line in said[:8000].split("\n", 60)[:60] if line.strip()]
    if list_of_options(lines[:2], asked):
        return True
    named = [letter for line in lines if (letter := own_option(line, asked))]
    return len(set(named)) > 1 and not OTHERS.search(said[:8000])


OTHERS = later(
    r"^\W{0,4}(?:explanation|reason\w*|rationale)\b|\b(?:others?|incorrect|wrong|why)\b[^\n]{0,60}$",
    re.IGNORECASE | re.MULTILINE,
)
VERDICT = later(
    r"[\s:,;(*_–—-]{1,8}(?:this (?:is|one is) |is |the )?(?:(?P<right>correct|right|true|yes|fits)"
    r"|(?P<wrong>incorrect|wrong|false|no"
    r"|not (?:correct|right|true)|does not fit))(?:\s+(?:answer|option|choice))?\s*[.!)*_]{0,4}\s*\Z",
    re.IGNORECASE,
)


def only_right_one(said: str, asked: Question) -> Found:
    """The one option that a list calls correct, where it calls every other one wrong: "B. text: correct"."""
    judged: dict[str, bool] = {}
    for line in said.split("\n", 24)[:24]:
        letter = own_option(line, asked)
        if letter is None:
            continue
        tail = line[-40:]
        verdict = next((found for start in range(len(tail)) if (found := VERDICT.match(tail, start))), None)
        if verdict is None or letter in judged:
            return None
        judged[letter] = verdict["right"] is not None
    right = [letter for letter, is_right in judged.items() if is_right]
    return right[0] if len(judged) == len(asked.choices) and len(right) == 1 else None


def opening_choice(line: str, asked: Question) -> Found:
    """A line that is one option, or begins with one's letter and text and turns nothing down."""
    found = read_choice(line, asked, strict=True)
    if found is not None:
        return found
    named = own_option(line, asked)
    singled = SINGLED.match(line)
    if singled and (singled[1] or singled[2]) in asked.letters:
        return str(singled[1] or singled[2])
    return (
        named
        if named and ". " in line and not DOUBT.search(line) and not OTHER_OPTION.search(line[3:])
        else None
    )


# "**B**. The others ...", "Option B. The others ..."
SINGLED = later(r"(?:(?:\*\*|__)\(?([A-Z])\)?(?:\*\*|__)[.,]|(?:Option|Choice) \(?([A-Z])\)?\.)\s")
OTHER_OPTION = later(r"(?:\(|\b[Oo]ption |\b[Cc]hoice |[.;]\s)[A-J][).:]\s")


def opening_label(said: str, asked: Question) -> Found:
    known = asked.vocabulary
    plain = (
        light(said[:400].replace("\n", " \n "))
        if "\n" not in said[:400]
        else light(said.split("\n", 1)[0][:400]) + "\n"
    )
    plain = plain.lstrip("*_\"'`( ")
    match = known.pattern.match(plain) if known else None
    if known is None or match is None or not OPENING_LABEL.match(plain, match.end()):
        return foreign(plain.strip(), known) if known is not None and match is None else None
    rest = plain[match.end() : 200].lstrip("*_\"'`,;:.!?- ")
    rival = known.pattern.match(rest)
    if rival and known.words[key(rival[0])] != known.words[key(match[0])]:
        return UNCLEAR
    if RETURNS.search(rest + light(said[200:1000])) or re.match(r"(?:and|or|/)\b", rest):
        return None
    return known.words[key(match[0])]
