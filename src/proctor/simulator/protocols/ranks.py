"""The tokens of a simulated reply with their log-probabilities, in the styles in which tokenizers write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from proctor.simulator.protocols.wire import Token

_BEST = 0.7
_OTHERS = 0.2  # of all other answers together
# No answer at all, as real models put among their likely beginnings.
_FILLERS = (("The", 0.05), ("\n", 0.03), ("**", 0.01))
_PIECE = 3  # characters of an answer that a tokenizer may split
_LATER = 4  # characters of a token after the first: the rule of thumb by which tokens are counted
# What a model that knows where it is going thinks of its next token, and of what else might come.
_GOING_ON = 0.9
_ELSEWHERE = ((" the", 0.05), (",", 0.02), ("\n", 0.01))

Styled = Callable[[str, float], list[tuple[str, float]]]

_TOKENS: dict[str, Styled] = {
    "plain": lambda answer, share: [(answer, share)],
    "space": lambda answer, share: [(f" {answer}", share)],
    "split": lambda answer, share: [(answer, share * 0.6), (f" {answer}", share * 0.4)],
    "piece": lambda answer, share: [(answer[:_PIECE], share)],
}
STYLES = tuple(_TOKENS)


def rank(best: str, others: Sequence[str], style: str) -> tuple[tuple[str, float], ...]:
    """(token, natural log-probability), the likeliest first. All tokens of `best` together are likeliest.

    >>> rank("A", ["B", "C"], "space")[:2]
    ((' A', -0.35667494393873245), (' B', -2.3025850929940455))
    """
    tokens = _TOKENS[style](best, _BEST)
    for other in others:
        tokens += _TOKENS[style](other, _OTHERS / len(others))
    known = {token for token, _ in tokens}
    tokens += [filler for filler in _FILLERS if filler[0] not in known]
    # Stable: of equally likely tokens the one named first stays first.
    tokens.sort(key=lambda pair: -pair[1])
    return tuple((token, math.log(share)) for token, share in tokens)


def spell(text: str, first: Sequence[tuple[str, float]], most: int) -> tuple[Token, ...]:
    """The tokens of a text, each with at most `most` of the likeliest at its place.

    `first` is the ranking of a beginning that was chosen by `rank`; a text without one begins like the rest.

    >>> [token.text for token in spell("B, I think", [("B", -0.36), ("A", -2.3)], 1)]
    ['B', ', I ', 'thin', 'k']
    """
    begin = len(first[0][0]) if first and text.startswith(first[0][0]) else 0
    tokens = [Token(*first[0], tuple(first[:most]))] if begin else []
    for start in range(begin, len(text), _LATER):
        tokens.append(_later(text[start : start + _LATER], most))
    return tuple(tokens)


def _later(text: str, most: int) -> Token:
    shares = [(text, _GOING_ON), *(other for other in _ELSEWHERE if other[0] != text)]
    top = tuple((token, math.log(share)) for token, share in shares)
    return Token(text, top[0][1], top[:most])
