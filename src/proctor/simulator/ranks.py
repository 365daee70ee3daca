"""The likeliest first tokens of a simulated reply, in the styles in which tokenizers write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

_BEST = 0.7
_OTHERS = 0.2  # of all other answers together
# No answer at all, as real models put among their likely beginnings.
_FILLERS = (("The", 0.05), ("\n", 0.03), ("**", 0.01))
_PIECE = 3  # characters of an answer that a tokenizer may split

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
