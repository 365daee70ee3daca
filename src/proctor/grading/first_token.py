"""Mode "logprob": the option that the likeliest first token begins, of those the server listed.

Only tokens that begin exactly one option count; where none does, nothing is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase

from proctor.grading.texts import MARKUP, PUNCTUATION
from proctor.grading.vocabulary import Vocabulary
from proctor.types import Item

RUNG = 0
# Tokenizers write a leading space in one of these ways.
SPACES = "\u2581\u0120"


def by_first_token(
    item: Item, tokens: Sequence[tuple[str, float]], vocabulary: Vocabulary | None
) -> str | None:
    """The answer whose written form begins with the likeliest of the tokens; None when none begins one."""
    written = forms(item, vocabulary)
    best: tuple[float, str] | None = None
    for token, logprob in tokens:
        answer = begins(token, written)
        if answer is not None and (best is None or logprob > best[0]):
            best = (logprob, answer)
    return best[1] if best else None


def forms(item: Item, vocabulary: Vocabulary | None) -> Mapping[str, str]:
    """What may be written, with the answer it stands for."""
    if vocabulary is not None:
        return vocabulary.written
    options = item.options or tuple(ascii_uppercase[: len(item.choices)])
    return {option: option for option in options}


def begins(token: str, written: Mapping[str, str]) -> str | None:
    """The answer of the only form that begins with the token; a form of one letter must be the token itself."""
    start = token.strip(SPACES).strip(MARKUP + PUNCTUATION)
    if not start:
        return None
    low = start.casefold()
    found = {
        answer
        for form, answer in written.items()
        if (form == start if len(form) == 1 else form.casefold().startswith(low))
    }
    return found.pop() if len(found) == 1 else None
