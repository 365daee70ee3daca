"""The longest gapless prefix: what a run that stopped early may be scored on."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count


def gapless(asked: Iterable[int], planned: Iterable[int] | None = None) -> int:
    """The first of the `planned` positions (None: all, from 0 on) that was not asked: the end of the gapless prefix.

    Items are asked in a seeded order of which every prefix is a fair sample. What ended beyond the
    first gap ended because it was quick, so counting it would favour easy items.

    >>> gapless([2, 0, 1, 5]), gapless([1]), gapless([])
    (3, 0, 0)
    >>> gapless([1, 4, 10], range(1, 99, 3))
    7
    """
    present = set(asked)
    return next(position for position in (planned or count()) if position not in present)
