"""Rungs 5 and 6: a conclusion at the end that names one option or label; nothing else in running text is read."""

# ruff: noqa: RUF001 - dashes and full-width signs are data here
from __future__ import annotations

import re
from collections.abc import Mapping

from proctor.grading.patterns import later
from proctor.grading.reading.choice import DOUBT, goes_on, lettered, mentioned, read_choice
from proctor.grading.reading.cues import SENTENCE_END
from proctor.grading.reading.forms import bare, begins
from proctor.grading.reading.jsons import without_json
from proctor.grading.reading.label import mentions
from proctor.grading.reading.listing import list_of_options
from proctor.grading.reading.question import Question
from proctor.grading.texts import light, peel
from proctor.grading.vocabulary import UNCLEAR, Found

LAST_CHARS = 2000  # how far from the end the last sentence is looked for
LAST_SENTENCES = 5
SHORT_CHARS = 200
MARKED = later(
    r"\(([A-Z])\)|\*\*\(?([A-Z])[).:]?\)?\*\*|\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)\s\(?([A-Z])\b(?![-'\u2019])"
)
CONCLUDES = later(
    r"\b(?:therefore|thus|hence|so|accordingly|consequently|in conclusion|in summary|overall|ultimately"
    r"|i would|i'd|i will|i choose"
    r"|leaves?|leaving|points? to|must be|has to be|most likely|most appropriate|answer|conclude|speaks? for|go with"
    r"|i think|i believe|remains|follows|represented by|corresponds? to)\b",
    re.IGNORECASE,
)
OPENS_CONCLUSION = later(
    r"\W{0,4}(?:therefore|thus|hence|so|in conclusion|in summary|to summari[sz]e|overall|based on|given"
    r"|considering|accordingly|consequently"
    r"|as a result|taking|from th|ultimately|in this case|it follows|among|of the|out of|finally|the (?:most"
    r"|best|correct|only))\b",
    re.IGNORECASE,
)
SINGLES_OUT = later(
    r"\b(?:(?:most|least) \w+|best|correct|next step|treatment of choice|investigation of choice"
    r"|drug of choice|responsible)\b",
    re.IGNORECASE,
)
NONE_FITS = later(
    r"\b(?:answers?|options?|choices?)\b[^.\n]{0,60}\b(?:not|cannot be) (?:listed|provided|given|among"
    r"|included|available|any of|determined|in the)"
    r"|\bnone of the (?:above|(?:given |provided |listed |available |answer )*(?:options|choices|answers"
    r"|statements))",
    re.IGNORECASE,
)
TO_DO = later(
    r"(?:to )?(?:(?:obtain|perform|recommend|suggest|administer|give|start|initiate|prescribe|order|use|do|add"
    r"|provide|offer|choose|select)"
    r"(?:ing)?\s)?(?:(?:the|an?|his|her|their)\s)?"
)
IS = later(
    r"\b(?:is|are|would be|was|be|being)(?: (?:therefore|thus|likely|most likely|probably|clearly|indeed"
    r"|definitely|the|to|option|choice))*[\s:]{1,3}",
    re.IGNORECASE,
)
AFTER_TEXT = later(
    r"[\"'*_)]*(?:\s*(?:[.,;:!(]|\Z)|[-–—]\s|\s(?:because|since|as|from|in|of|due|by|for|which|that|leading"
    r"|caused|at|on|this|instead|rather|to(?! \d))\b)"
)
# "I would not call it an entailment": a negation in the same clause, however far before the label.
NOT_SAID = later(
    r"(?:\b(?:not|cannot|never|hardly|neither|nor|without)|n't)\b"
    r"(?:(?!\b(?:so|thus|hence|therefore|but|because|since|and|which)\b)[^,;:.!?()\n]){1,80}\Z"
)
HEDGED = later(
    r"\b(?:whether|if|could|might|may|hard to say|unsure|unclear|either|depends|would need)\b|\?\s*\Z"
)


def last_line(said: str) -> tuple[str, str]:
    """The last line with something on it, and its last sentence."""
    lines = [line for line in said[-LAST_CHARS:].splitlines() if line.strip()]
    if not lines:
        return "", ""
    parts = [part for part in SENTENCE_END.split(lines[-1]) if part.strip()]
    return lines[-1], parts[-1] if parts else lines[-1]


def ends_in_list(said: str, asked: Question) -> bool:
    """True when the last lines list the options: no answer."""
    lines = [each for each in said[-LAST_CHARS:].splitlines() if each.strip()]
    return list_of_options(lines[-2:], asked)


def in_last_sentence(said: str, asked: Question) -> Found:
    """One label in the last sentence; of options a last line that is one, or one that is marked in a conclusion."""
    line, sentence = last_line(said)
    if asked.kind == "labels":
        return last_label(sentence, asked)
    if not ends_in_list(said, asked) and (found := read_choice(line, asked, strict=True)) is not None:
        return found
    if len(sentence) <= SHORT_CHARS and len(sentence) < len(line) and not ends_in_list(said, asked):
        found = read_choice(sentence, asked, strict=True)
        if (
            isinstance(found, str)
            and not DOUBT.search(sentence)
            and not HEDGED.search(light(line[-SHORT_CHARS:]))
        ):
            return found
    if (found := concluded(said, asked)) is not None:
        return found
    if without_json(said) is None or DOUBT.search(sentence) or not CONCLUDES.search(sentence):
        return None
    marked = {next(filter(None, groups)) for groups in MARKED.findall(sentence)}
    if len(marked) > 1:
        return UNCLEAR
    if marked:
        return marked.pop() if marked <= set(asked.letters) else None
    return None


def last_label(sentence: str, asked: Question) -> Found:
    if asked.vocabulary is None:
        return None
    plain = light(sentence)
    named = mentions(plain, asked.vocabulary)
    if any(NOT_SAID.search(plain, 0, start) for _, start, _ in named):
        return UNCLEAR
    names = {name for name, _, _ in named}
    if len(names) > 1:
        return UNCLEAR
    return None if HEDGED.search(plain) else next(iter(names), None)


def concluded(said: str, asked: Question) -> Found:
    """What the last conclusion says the answer is: "Therefore, the drug not used here is C. Mosapride."."""
    if without_json(said) is None or ends_in_list(said, asked):
        return None
    text = said[-LAST_CHARS:]
    if NONE_FITS.search(text[-400:]) and not any(NONE_FITS.search(each) for each in asked.choices):
        return UNCLEAR
    sentences = [part for line in text.splitlines() for part in SENTENCE_END.split(line) if part.strip()]
    for sentence in reversed(sentences[-LAST_SENTENCES:]):
        if not (OPENS_CONCLUSION.match(sentence) or SINGLES_OUT.search(sentence)):
            continue
        for copula in reversed(list(IS.finditer(sentence))):
            found = said_to_be(sentence[copula.end() :], asked)
            if found is not None:
                return UNCLEAR if HEDGED.search(sentence[: copula.start()].lower()) else found
        if mentioned(sentence, asked):
            return None
    return None


def said_to_be(value: str, asked: Question) -> Found:
    named = lettered(peel(value), asked, strict=True)
    if named is not None:
        return named
    whole = light(value).lstrip("\"'*_(")
    lead = TO_DO.match(whole)
    done = whole[lead.end() :] if lead else whole
    for plain in dict.fromkeys((whole, bare(whole), done)):
        ends = {
            letter: end
            for letter, text in asked.by_letter.items()
            if len(text) > 2 and (end := begins(plain, text)) is not None
        }
        if ends:
            return own_text(plain, ends, asked)
    return None


def own_text(plain: str, ends: Mapping[str, int], asked: Question) -> Found:
    """The option whose text a conclusion gives, if nothing else follows that is another's."""
    letter = max(ends, key=lambda each: ends[each])
    rest = plain[ends[letter] :]
    if list(ends.values()).count(ends[letter]) > 1 or goes_on(rest, letter, asked):
        return UNCLEAR
    others = mentioned(rest, asked) - {letter}
    return letter if AFTER_TEXT.match(rest) and not others else None


def in_conclusion(said: str, asked: Question) -> Found:
    """The one option whose text the last sentence names as its conclusion."""
    if without_json(said) is None or ends_in_list(said, asked):
        return None
    _, sentence = last_line(said)
    if DOUBT.search(sentence) or HEDGED.search(sentence.lower()):
        return None
    named = mentioned(sentence, asked)
    if len(named) > 1:
        return UNCLEAR
    return next(iter(named), None) if CONCLUDES.search(sentence) or len(said) <= SHORT_CHARS else None
