"""Reading one value, such as what follows "Answer:", as one of the lettered options.

A reader gives the letter, or UNCLEAR when something was answered that names no option or several, or
None when the value states no answer at all.
"""

# ruff: noqa: RUF001 - the quotes, dashes and letters that models write are data here
from __future__ import annotations

import re
from functools import cache

from proctor.grading.patterns import later
from proctor.grading.reading.cues import first_sentence, joined, pattern
from proctor.grading.reading.forms import bare, begins, is_same, words
from proctor.grading.reading.languages import LANGUAGES, LOOK_ALIKES, NUMBERS
from proctor.grading.reading.question import Question
from proctor.grading.texts import light, peel
from proctor.grading.vocabulary import UNCLEAR, Found

LONGEST = 4000  # characters of a value that are read
NEAR = 400  # how far behind a letter other answers are looked for

INTRO = (
    r"(?:(?:it(?:'s| is)|that is|this is|would be|must be|should be|is|be|the|most likely|likely|probably"
    r"|clearly|definitely|"
    r"therefore|thus|so|simply)[\s,:]+){0,4}"
)
MARK = r"[(\[{*_\"'`$<#]{0,8}"
WORD_CHAR = r"A-Za-z0-9\u00c0-\u024f"
# A sentence with one of these may name an option in order to turn it down.
DOUBT = later(
    r"\b(?:not|cannot|incorrect|inappropriate|wrong|false|except|unlike|unlikely|rather than|instead of"
    r"|ruled? out|rules out"
    r"|neither|nor|either|whether|less likely|eliminated?|excluded?|opposed to|versus|contraindicated|if|nicht"
    r"|kein\w*|pas|falsch"
    r"|incorrect[ao]?|não|non|не)\b|n['’]t\b|不|ない|아니|않|नहीं|ليس",
    re.IGNORECASE,
)
STATED = later(r"\s*[.):\],;。]+|\s+[-–—=]+\s|\s*\(|\s*\n|\s*[-–—]\s")
REASON = later(
    r"\s+(?:because|since|as|due to|given|based on|is|was|would|for|which|whose|from|in|and not|not|rather"
    r"|over|instead|seems|appears"
    r"|therefore|with|here|weil|da|denn|ist|car|puisque|parce|est|porque|ya que|pois|perché|потому|так как|since|है"
    r"|لأن|क्योंकि)\b"
    r"|\s*(?:因为|なぜなら|왜냐하면|という)"
)
SEPARATOR = r"[\s)\]}\"'*_.,;:]{0,8}"
BOTH = later(r"\s*(?:both|either|neither|none|all of|not|all|any of|beide|weder|ni|ambas|tutti|не)\b")
NOT_BUT = later(
    r"\s*(?:is )?not\b.{1,120}?(?:[\s,;]but(?: rather| instead)?\b"
    r"|[,;.–—-]\s?(?:but )?(?:it(?:'s| is)|rather|instead)(?: rather| instead)?\b)[:,\s]+(?!not\b)",
    re.IGNORECASE | re.DOTALL,
)
BECAUSE = later(r", (?:because|since|as)\b")
ASIDE = later(
    r",? (?:not|rather than|instead of) (?:option )?[(*]{0,3}[A-Z][)*]{0,3}"
    r"|, (?:i (?:think|believe|guess)|most likely|probably|definitely|final answer|for sure)",
    re.IGNORECASE,
)
TO_TEXT = later(r"\A(?:[.):\],;=( ]|[-–—](?!\d))+")  # what stands between a letter and its text
CLOSERS = ")]}*_`\"'”’>$"


@cache
def head() -> re.Pattern[str]:
    """What a value opens with: words for "option", marks, and one letter that is no part of a word."""
    return later(
        rf"{INTRO}((?:{joined('option')})(?:\s?(?:is|no\.|nr\.|number"
        rf"|:))?\s*)?{MARK}([A-Za-z])(?![{WORD_CHAR}])(?!['’-][A-Za-z])",
        re.IGNORECASE,
    )


@cache
def more() -> re.Pattern[str]:
    """What joins a letter to another: "A or B", "A/B", "A, (C)"; only a capital counts."""
    either = joined("either")
    return later(
        rf"[)\]}}*_\"'`]*\s*(?:[,;/|&+、]|(?:{either})(?![{WORD_CHAR}]))(?:\s*(?:{either})(?![{WORD_CHAR}]))?"
        rf"(?:\s*(?:also|possibly|maybe|perhaps|even))?\s*(?:(?i:{joined('option')})\s*)?{MARK}"
        rf"([A-Z])(?![{WORD_CHAR}]|['’-]\w)(?!\s(?i:is|are|was|would|does|has|can) (?i:not|in|wrong|un|less"
        rf"|excl|rul|only))"
    )


def read_choice(value: str, asked: Question, *, strict: bool = False) -> Found:
    """The letter that a value names: 'B', '(B)', 'B. text', 'option B', 'B입니다' or the option's own text.

    With `strict` a text after the letter must be that option's own: for values that nothing announced.
    """
    value = value[:LONGEST]
    short = peel(value)
    if not short:
        return by_text(value, asked)
    if short.isdecimal() and numbered(asked):
        return by_place(f"option {short}", asked)
    if len(short) == 1:
        letter = own_letter(short, asked)
        if letter is not None:
            return letter
    if (found := by_text(value.strip(), asked) or by_text(short, asked)) is not None:
        return found
    if not strict and (turned := NOT_BUT.match(short)):
        return read_choice(short[turned.end() :], asked)
    named = lettered(short, asked, strict=strict)
    if named is None:
        named = by_words(short, asked)
    if named is None and strict:
        named = by_place(short, asked, strict=True)
    if named is not None or strict:
        return named
    if BOTH.match(short.lower()):
        return UNCLEAR
    return by_place(short, asked) or opens_with(short, asked) or only_text(first_sentence(short), asked)


def own_letter(sign: str, asked: Question) -> str | None:
    """The option's letter for one sign: a letter in either case, a look-alike, or a letter of another script."""
    sign = sign.translate(LOOK_ALIKES)
    if sign.upper() in asked.letters:
        return sign.upper()
    for each in LANGUAGES:
        place = each.letters.find(sign)
        if 0 <= place < len(asked.letters):
            return asked.letters[place]
    return None


def by_text(value: str, asked: Question) -> Found:
    """The letter of the one option whose text this is."""
    ours = light(value)
    found = [letter for letter, text in zip(asked.letters, asked.lights, strict=True) if text == ours]
    if not found:
        peeled = peel(ours) or ours
        found = [
            letter
            for letter, text in zip(asked.letters, asked.lights, strict=True)
            if (peel(text) or text) == peeled
        ]
    return only(found)


def only(found: list[str]) -> Found:
    return (found[0] if len(found) == 1 else UNCLEAR) if found else None


def by_words(value: str, asked: Question) -> Found:
    """As `by_text`, whatever punctuation stands between the words, and with an article in front or without."""
    ours = light(value)
    return only([letter for letter, text in asked.by_letter.items() if is_same(ours, light(text))])


def lettered(value: str, asked: Question, *, strict: bool) -> Found:
    """A value that opens with a letter."""
    found = head().match(value.translate(LOOK_ALIKES))
    if found is None:
        return None
    letter, after = found[2].upper(), value[found.end() :]
    rest = after.lstrip(CLOSERS)
    announced = bool(found[1]) and found[2].isupper()
    if letter not in asked.letters:
        return UNCLEAR if (not rest or STATED.match(after)) and not strict else None
    if not rest:
        return letter
    tail = TO_TEXT.sub("", light(rest), count=1)
    end = begins(tail, asked.by_letter[letter])
    if end is None and len(words(tail)) >= 2 and begins(light(asked.by_letter[letter]), tail) is not None:
        return letter  # the beginning of its own text
    if end is not None:
        if goes_on(tail[end:], letter, asked) or longer_text(tail, end, asked):
            return UNCLEAR
        if goes_through(tail[end:], letter, asked):
            return None
        return letter if not strict or AT_END.match(tail[end:]) else None
    if ASIDE.fullmatch(rest.rstrip(" .!")):
        return letter  # "B, I think", "B, not A"
    another = more().match(rest if found[2].isupper() else rest.upper())
    if another and another[1] != letter:
        return None if strict and len(words(rest[another.end() :])) > 3 else UNCLEAR
    if strict:
        return (
            letter
            if (ending(rest) and (not rest.startswith(", ") or BECAUSE.match(rest))) or ASIDE.fullmatch(rest)
            else None
        )
    return loose(letter, rest, tail, asked, announced=announced or STATED.match(after) is not None)


def loose(letter: str, rest: str, tail: str, asked: Question, *, announced: bool) -> Found:
    """An announced letter, followed by something that is not its own option's text."""
    stated = STATED.match(rest)
    if ending(rest):
        return letter
    if not (stated or announced or REASON.match(rest)):
        return None
    if (
        REASON.match(rest)
        and DOUBT.match(re.sub(r"^\s+(?:is|was|would)(?: be)?\s+(?:the )?", "", rest))
        and " is" in rest[:4]
    ):
        return None  # "A is not right"
    if other_text(tail, letter, asked) or goes_on(
        " " + light(first_sentence(rest)), letter, asked, near=NEAR
    ):
        return UNCLEAR
    return letter


AT_END = later(
    r"[\s)\]}\"'*_.,;:!。]{0,12}(?:\Z|\(|,? ?(?:because|since|as|due to|which|not|rather)\b)|.{0,12}(?:입니다"
    r"|이다|です|である)"
)


def ending(rest: str) -> bool:
    """True where a letter is followed by a word that closes an answer in a language without spaces: "B입니다"."""
    return pattern("endings", r"\A\s?(?:{})").match(rest) is not None


def other_text(tail: str, letter: str, asked: Question) -> bool:
    """True when the text after the letter is another option's."""
    for other, text in asked.by_letter.items():
        if other != letter and len(words(text)) and (end := begins(tail, text)) is not None:
            rest = tail[end:].lstrip(CLOSERS)
            if not rest or rest[0] in ".,;:(":
                return True
    return False


@cache
def other_mark() -> re.Pattern[str]:
    """Another lettered option in light form, joined to what was said: ", b. second" or " or (b)"."""
    either = joined("either")
    return later(
        rf"{SEPARATOR}(?:[,;/&+|]|\s(?:{either})(?![{WORD_CHAR}])"
        rf"|(?<=[.;:,\s])\s?)(?:\s?(?:{either})(?![{WORD_CHAR}]))?"
        rf"(?:\s?(?:also|possibly|maybe|perhaps"
        rf"|even))?\s?(?:(?:{joined('option')})\s?)?([(\[*]{{0,3}})([a-z])([)\]*.:]{{1,3}}|\Z|(?=\s\())"
    )


def goes_on(rest: str, letter: str, asked: Question, *, near: int = 0) -> bool:
    """True when another option follows an answer: by letter and text, or by its text after "or".

    With `near` it may stand further on, up to that many characters.
    """
    marks = other_mark()
    found = marks.finditer(rest, 0, near) if near else filter(None, [marks.match(rest)])
    for each in found:
        other = each[2].upper()
        if other == letter or other not in asked.letters:
            continue
        follows = rest[each.end() :].lstrip(CLOSERS + " .:(")
        if begins(follows, asked.by_letter[other]) is not None and not DOUBT.search(rest[: each.start()]):
            return True
        joins = re.search(r"[,;/&+|]|[^\W\d_]", rest[each.start() : each.start(1)])
        if not near and joins and (each[1] or each[3]) and not DOUBT.match(follows.removeprefix("is ")):
            return True
    after = re.match(
        rf"[\s)\]}}\"'*_,;:]{{0,8}}(?:(?:{joined('either')})(?![{WORD_CHAR}])|/)\s?(?:the )?", rest
    )
    if after is None:
        return False
    follows = rest[after.end() :]
    return any(
        begins(follows, text) is not None for other, text in asked.by_letter.items() if other != letter
    )


def longer_text(tail: str, end: int, asked: Question) -> bool:
    """True when another option's text goes on where this one's ends: "C. Hepatitis B and C"."""
    return any((begins(tail, text) or 0) > end for text in asked.choices)


THROUGH = later(r"[.;,:]\s[(\[*]{0,3}([a-z])[)\].:*]{1,3}\s")


def goes_through(rest: str, letter: str, asked: Question) -> bool:
    """True when the options that follow an option are gone through one by one in the same line."""
    marks = [(each[1].upper(), each.end()) for each in THROUGH.finditer(rest)]
    return any(
        other != letter and other in asked.letters and begins(rest[end:], asked.by_letter[other]) is not None
        for other, end in marks
    )


@cache
def ordinals() -> tuple[re.Pattern[str], ...]:
    return tuple(
        later(rf"{INTRO}{MARK}(?:{each.ordinals})(?![\w%])", re.I)
        for each in LANGUAGES
        if each.ordinals and each.spaced
    ) + tuple(
        later(rf"{MARK}(?:{each.ordinals})(?!\d)") for each in LANGUAGES if each.ordinals and not each.spaced
    )


def by_place(value: str, asked: Question, *, strict: bool = False) -> Found:
    """The option that a value names by its place: "4번", "第2项", "the second option"."""
    for form in ordinals():
        found = form.match(value)
        if found is None or (strict and not AT_END.match(value[found.end() :])):
            continue
        said = next(filter(None, found.groupdict().values())).lower()
        place = NUMBERS.get(said) or int(said)
        n = len(asked.choices)
        if place == -1:
            place = n
        if not 1 <= place <= n:
            return UNCLEAR
        # An option whose text is that number might be meant as well.
        by_number = by_text(said, asked)
        return UNCLEAR if by_number not in (None, asked.letters[place - 1]) else asked.letters[place - 1]
    return None


def numbered(asked: Question) -> bool:
    """True where the question shows its options by numbers: "1. first", "(2) second"."""
    lines = asked.question[-8000:].splitlines()
    shown = {found[1]: light(found[2]) for line in lines if (found := NUMBERED.match(line))}
    return all(shown.get(str(n)) == text for n, text in enumerate(asked.lights, 1))


NUMBERED = later(r"\s{0,8}[(\[*]{0,3}(\d{1,2})[)\].:*]{1,3}\s{1,4}(.+)")
PAUSE = later(
    r"[\"'*_)]*\s*(?:[.,;:!(。]|[-–—]\s|(?:because|since|as|is|not|rather|weil|car|porque|perché)\b)|[\"'*_)]*\s*\Z"
)


def opens_with(value: str, asked: Question) -> Found:
    """The letter of the option whose text a value opens with before a pause: "Aspirin, not warfarin"."""
    plain = bare(light(value))
    ends = {
        letter: end
        for letter, text in asked.by_letter.items()
        if len(text) > 2 and (end := begins(plain, text)) is not None
    }
    if not ends:
        return None
    letter = max(ends, key=lambda each: ends[each])
    if list(ends.values()).count(ends[letter]) > 1:
        return UNCLEAR
    rest = plain[ends[letter] :]
    if goes_on(rest, letter, asked):
        return UNCLEAR
    if not PAUSE.match(rest):
        return None
    own = asked.words[asked.letters.index(letter)]
    others = [
        other
        for other, text in zip(asked.letters, asked.words, strict=True)
        if other != letter and not within(text, own)
    ]
    named = mentioned(first_sentence(rest), asked)
    return UNCLEAR if set(others) & named and not DOUBT.search(rest) else letter


def only_text(sentence: str, asked: Question) -> Found:
    """The letter of the only option whose text a sentence names; UNCLEAR for several, None where it is in doubt."""
    if DOUBT.search(sentence):
        return None
    named = mentioned(sentence, asked)
    return UNCLEAR if len(named) > 1 else next(iter(named), None)


def mentioned(sentence: str, asked: Question) -> set[str]:
    """The options whose texts stand in a sentence as words of their own; of texts inside one another the longest."""
    texts = dict(zip(asked.letters, asked.words, strict=True))
    # Options of one or two characters, or alike, cannot be told from the words around them.
    if len(set(texts.values())) < len(texts) or any(len("".join(text)) < 3 for text in texts.values()):
        return set()
    left = f" {' '.join(words(sentence))} "
    named = set()
    for letter in sorted(texts, key=lambda each: len(texts[each]), reverse=True):
        form = f" {' '.join(texts[letter])} "
        if form in left:
            named.add(letter)
            left = left.replace(form, " \n ")
    return named


def within(inner: tuple[str, ...], outer: tuple[str, ...]) -> bool:
    return f" {' '.join(inner)} " in f" {' '.join(outer)} "
