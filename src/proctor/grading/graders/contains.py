"""`contains`: a right answer stands in the reply, as whole words, given and not denied."""

# ruff: noqa: RUF001 - words of other languages are data here
from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from proctor.grading.contract import GraderEntry, Mark, any_answers, bounded, marked, setting
from proctor.grading.graders.dates import dates, whole_date
from proctor.grading.graders.dates import folded as dates_folded
from proctor.grading.graders.denials import denied, listed, undecided
from proctor.grading.graders.number import NumberSettings, equal, whole_number
from proctor.grading.graders.quantities import in_words, quantities
from proctor.grading.graders.tokens import Words, folded, words_of
from proctor.grading.patterns import later
from proctor.grading.texts import same

SHOWN = 200  # characters of a reply that stand for its answer where no right one was found
SMALL = 2  # characters of a number that also stands in dates
MOST_PLACES = 200  # at which an answer is looked at in one reply
DENIES = "denies it"
Span = tuple[int, int]  # of the folded text
Place = Span | str  # or a text that stands in the reply, where nothing around it is looked at
PLAIN_NUMBERS = NumberSettings()


@dataclass(frozen=True, slots=True)
class ContainsSettings:
    """What else has to be so for a right answer that stands in the reply to count."""

    strict: bool = setting(
        True, "an answer that is denied, offered with others, or one of a list does not count; false: it does"
    )
    line: str = setting(
        "contains",
        'what an announced answer ("Answer: ...") has to do: contains a right one, or equal it as by `normalized`',
        one_of=("contains", "equal"),
    )
    all: bool = setting(False, "every right answer of the row has to stand in the reply, not any of them")


def contains(said: str, answers: Sequence[str], options: ContainsSettings) -> Mark:
    """
    >>> contains("The capital of Australia is Canberra.", ["Canberra"], ContainsSettings()).score
    1.0
    >>> contains("It is not Canberra.", ["Canberra"], ContainsSettings()).note
    "the reply holds 'Canberra', but denies it"
    """
    said = bounded(said)
    if same(said, answers) and not options.all:
        return marked(True, said)
    words = words_of(said)
    found = [list(islice(places(said, words, answer), MOST_PLACES)) for answer in answers]
    spans = merged([place for each in found for place in each if not isinstance(place, str)])
    objections = {span: objection(words, *span) if options.strict else "" for span in spans}
    if len({words.folded[start:end] for start, end in spans}) > 1:
        # Who offers two of the right answers offers no wrong one: "on 28 February or 1 March".
        objections = {span: said if said == DENIES else "" for span, said in objections.items()}
    # Where folding left the length as it was, the answer is shown as the reply writes it.
    source = said if len(said) == len(words.folded) else words.folded
    starts = [start for start, _ in spans]

    def written(place: Place) -> str:
        """What stands at a place; "" where something is said against it."""
        if isinstance(place, str):
            return place
        return "" if objections[spans[bisect_right(starts, place[0]) - 1]] else source[slice(*place)]

    given = [[written(place) for place in each] for each in found]
    right = [texts for each in given if (texts := [text for text in each if text])]
    if right and (not options.all or len(right) == len(answers)):
        return marked(True, right[0][0])
    against = next(((span, why) for span, why in objections.items() if why), None)
    note = f"the reply holds {source[slice(*against[0])]!r}, but {against[1]}" if against else None
    return marked(False, shortened(said), note)


def merged(spans: Sequence[Span]) -> list[Span]:
    """Spans that overlap as one: "2014" in "11 January 2014" is denied where that is.

    >>> merged([(5, 20), (16, 20), (30, 34)])
    [(5, 20), (30, 34)]
    """
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def on_line(said: str, answers: Sequence[str], options: ContainsSettings) -> Mark:
    """An announced answer, which a prompt may have asked for as the answer alone."""
    return marked(same(said, answers), said) if options.line == "equal" else contains(said, answers, options)


def shortened(said: str) -> str:
    plain = " ".join(said[: 4 * SHOWN].split())
    return plain if len(plain) <= SHOWN else f"{plain[:SHOWN]}…"


def places(said: str, words: Words, answer: str) -> Iterator[Place]:
    """Where an answer stands in a reply, read as what it is: a date, a number, yes or no, a sign, or words."""
    asked = words_of(answer)
    for applies, look in LOOKS:
        if applies(answer, asked):
            yield from look(said, words, answer)
            if look not in (numeric, dated) or len(answer) <= SMALL or answer.lstrip().startswith("-"):
                return
    yield from words.find(asked)


# Kinds of answers that are more, or less, than words ----------------------------------------------

YES_WORDS = "yes yeah yep ja oui si sim ano tak да hai はい 是"
NO_WORDS = "no nope nein non nao ne nie нет 不 いいえ"
YES, NO = frozenset(YES_WORDS.split()), frozenset(NO_WORDS.split())
FIRST_WORD = later(r"[^\w]{0,8}(\w{1,6})\b")


def is_polar(answer: str, asked: Words) -> bool:
    return asked.count == 1 and asked.line.strip() in YES | NO


def polar(said: str, words: Words, answer: str) -> Iterator[Place]:
    """Yes or no: the reply's first word, or the only one of both that it says."""
    side = YES if words_of(answer).line.strip() in YES else NO
    first = FIRST_WORD.match(words.folded)
    given = {word for word in words.line.split() if word in YES | NO}
    if first is not None and first[1] in YES | NO:
        given = {first[1]}
    if given and given <= side:
        yield sorted(given)[0]


def is_sign(answer: str, asked: Words) -> bool:
    return not asked.count


def sign(said: str, words: Words, answer: str) -> Iterator[Place]:
    """An answer without letters or digits ("*"): one of the reply's pieces between spaces, or all of it."""
    bare = folded(answer).strip()
    for piece in (*words.folded.split(), words.folded):
        if bare in (piece, piece.strip("\"'`“”‘’().,;:!?"), piece.strip("`\"'")):
            yield bare
            return


# "George W. Bush", "J. R. R. Tolkien": a letter of a name.
INITIAL = later(r"(?:^|[A-Z]\w*[ .]{1,2})[A-Z]\. ?[A-Z]$")


def is_letter(answer: str, asked: Words) -> bool:
    bare = asked.line.strip()
    return len(bare) == 1 and not bare.isdigit() and answer.strip().isascii()


def letter(said: str, words: Words, answer: str) -> Iterator[Place]:
    """One letter: as it is written, apart from others, and not as an article or pronoun; or all of the reply."""
    bare = answer.strip(" .()\"'")
    if same(said, [answer]):
        yield bare
    apart = re.compile(rf"(?<![\w'’.-])[\"'(*_`]{{0,3}}{re.escape(bare)}[\"')*_`]{{0,3}}(?![\w'’-])")
    for found in apart.finditer(said):
        if INITIAL.search(said[max(0, found.start() - 20) : found.end() + 3]):
            continue
        after = said[found.end() : found.end() + 2]
        if bare not in "AaIi" or found[0] != bare or not re.match(r" [^\W_]", after):
            yield bare
            return


def is_number(answer: str, asked: Words) -> bool:
    found = whole_number(answer, "auto") if any(sign.isdigit() for sign in answer) else None
    return found is not None and not any(sign.isalpha() for sign in answer)


def numeric(said: str, words: Words, answer: str) -> Iterator[Place]:
    """A number in any spelling; denials are told in the folded text, where its figures stand as they were written."""
    target = whole_number(answer, "auto")
    text = without_days(said) if len(answer) <= SMALL else said
    for one in chain(quantities(text), in_words(text)):
        if target is not None and equal(one, target, PLAIN_NUMBERS) is not None:
            yield from located(words, one.written)


def without_days(said: str) -> str:
    """The text without its dates: the 9 of "9 May 2011" is no answer to "how many"."""
    text = lower = dates_folded(said)
    for one in dates(said):
        if one.readings[0].day is not None:
            text = text.replace(one.written, " " * len(one.written))
    return text if text != lower else said


def is_date(answer: str, asked: Words) -> bool:
    found = whole_date(answer)
    return found is not None and len(found.readings) == 1 and found.readings[0].month is not None


def dated(said: str, words: Words, answer: str) -> Iterator[Place]:
    goal = whole_date(answer)
    for one in dates(said):
        if goal is not None and len(one.readings) == 1 and one.readings[0].covers(goal.readings[0]):
            yield from located(words, one.written)


def located(words: Words, written: str) -> Iterator[Place]:
    """Where something that was found in another form of the text stands in the folded one."""
    place = words.folded.find(written.lower())
    yield (place, place + len(written)) if place >= 0 else written


Applies = Callable[[str, Words], bool]
Look = Callable[[str, Words, str], Iterator[Place]]
LOOKS: tuple[tuple[Applies, Look], ...] = (
    (is_sign, sign),
    (is_polar, polar),
    (is_letter, letter),
    (is_number, numeric),
    (is_date, dated),
)


def objection(words: Words, start: int, end: int) -> str:
    """Why an answer that stands in the reply is not given there; "" where it is."""
    if denied(words.folded, start, end):
        return DENIES
    if undecided(words.folded, start, end):
        return "offers it with others"
    return "lists it among very many" if listed(words.folded, start, end) else ""


ENTRY = GraderEntry(
    "contains",
    1,
    "a right answer stands in the reply as whole words, and the reply does not deny it",
    "short texts; any of several",
    ContainsSettings,
    contains,
    any_answers,
    on_line=on_line,
)
