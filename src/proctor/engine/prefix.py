"""The longest gapless prefix: what a run that stopped early may be scored on."""

from __future__ import annotations

from collections.abc import Iterable


def gapless(asked: Iterable[int]) -> int:
    """How many positions from 0 on were all asked: a run stopped by a budget is scored on these.

    Items are asked in a seeded order of which every prefix is a fair sample. What ended beyond the
    first gap ended because it was quick, so counting it would favour easy items.

    >>> gapless([2, 0, 1, 5]), gapless([1]), gapless([])
    (3, 0, 0)
    """
    present = set(asked)
    length = 0
    while length in present:
        length += 1
    return length
