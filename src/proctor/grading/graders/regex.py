"""`regex`: a regular expression finds the answer in a reply, or is itself the right answer.

Patterns are of the `regex` library, which knows everything that `re` does and can stop a search: a
pattern that takes exponential time must not hold up a run. A search that takes longer than the limit
gives no score and says so; a pattern that does on a short probe is refused before the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from proctor.errors import ConfigError
from proctor.grading.contract import GraderEntry, Mark, marked, setting
from proctor.grading.texts import same

SEARCH_S = 0.2  # of processor time; an ordinary pattern takes a thousandth of it on a long reply
LONGEST_PATTERN = 2_000
MOST_MATCHES = 1_000
# What runs away in a badly built pattern: a long row of one kind of sign, and then something else.
PROBES = tuple(one * 40 + end for one in ("a", "0", " ", "aa ", "a,", "ab", "x=1 ") for end in ("!", "\n!"))


@dataclass(frozen=True, slots=True)
class RegexSettings:
    """The pattern that finds the answer in a reply, and which of several it finds counts."""

    pattern: str = setting(
        "",
        "finds the answer: its group named `answer`, else its first group, else all of it; without a pattern "
        "the right answers are patterns themselves, one of which has to be found in the reply",
        rest=True,
    )
    take: str = setting("last", "which of several matches is the answer", one_of=("last", "first", "any"))


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    """Raises: ConfigError for what is no pattern, is too long, or runs away."""
    import regex  # takes a while to load, and few runs need it

    if len(pattern) > LONGEST_PATTERN:
        raise ConfigError(
            f"the pattern has {len(pattern):,} characters; at most {LONGEST_PATTERN:,} are taken"
        )
    try:
        made = regex.compile(pattern)
    except (regex.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"{pattern[:80]!r} is no regular expression: {error}") from None
    letters = dict.fromkeys(sign for sign in pattern if sign.isalnum())
    for probe in (*PROBES, *(sign * 40 + "!" for sign in islice(letters, 20))):
        try:
            made.search(probe, timeout=SEARCH_S)
        except TimeoutError:
            raise ConfigError(
                f"{pattern[:80]!r} takes exponential time on texts that it does not match, such as {probe[:12]!r}...: "
                "no part that repeats may stand in another part that repeats, as in (a+)+"
            ) from None
    return made


def found_by(pattern: str, said: str) -> list[str]:
    """The answers that a pattern finds. Raises: TimeoutError, ConfigError."""
    matches = compiled(pattern).finditer(said, timeout=SEARCH_S)
    return [answer_of(match) for match in islice(matches, MOST_MATCHES)]


def answer_of(match: Any) -> str:
    groups = match.groupdict()
    if groups.get("answer") is not None:
        return str(groups["answer"])
    return next((str(group) for group in match.groups() if group is not None), str(match[0]))


def by_regex(said: str, answers: Sequence[str], options: RegexSettings) -> Mark:
    """
    >>> by_regex("x = 4, so x = 5", ["5"], RegexSettings(r"x = (\\d)")).score
    1.0
    >>> by_regex("colour", ["colou?r"], RegexSettings()).answer
    'colour'
    """
    try:
        if not options.pattern:
            found = next((one for pattern in answers for one in found_by(pattern, said)[:1]), None)
            return marked(found is not None, said.strip()[:200] if found is None else found)
        every = found_by(options.pattern, said)
    except TimeoutError:
        note = f"not graded: the pattern takes longer than {SEARCH_S:g} s on this reply"
        return Mark(None, None, note)
    taken = {"first": every[:1], "last": every[-1:]}.get(options.take, every)
    if not taken:
        return Mark(0.0, None, "the pattern finds nothing in the reply")
    if not answers:
        return marked(True, taken[-1])
    right = [one for one in taken if same(one, answers)]
    return marked(bool(right), (right or taken)[-1])


def fault(answers: Sequence[str], options: RegexSettings) -> str | None:
    """Why the pattern, or where there is none an answer, cannot be searched for."""
    for pattern in [options.pattern] if options.pattern else answers:
        try:
            compiled(pattern)
        except ConfigError as error:
            return str(error)
    return None


ENTRY = GraderEntry(
    "regex",
    1,
    "a pattern finds the answer in the reply, which is then compared as by `normalized`; or the right answers "
    "are patterns, one of which has to be found",
    "texts, or with no pattern given, patterns",
    RegexSettings,
    by_regex,
    fault,
    without_gold=True,
)
