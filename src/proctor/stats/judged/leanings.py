"""Which way a judge leans whatever the replies say: to the one shown first, and to the longer one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.findings import Estimate
from proctor.stats.estimates_sheet import nothing
from proctor.stats.intervals import t95
from proctor.stats.judged.alone import estimated
from proctor.stats.outputs.shares import ShareCount

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

MANTEL_HAENSZEL = "Mantel-Haenszel difference over people's grades, Student's t"
HALVES = "difference of two means, Student's t"


@dataclass(frozen=True, slots=True)
class BothOrders:
    """A judge's two verdicts on a pair, as grades of the first run: 1 it is better, 0.5 tie, 0 the other is.

    `straight` was asked with the first run's reply shown first, `swapped` with it second. None: not asked, or not
    readable.
    """

    pair: str
    straight: float | None
    swapped: float | None


@dataclass(frozen=True, slots=True)
class Preferred:
    """A preference between two replies, as a grade of the first, and how long both are. `pair` is its cluster."""

    pair: str
    preference: float
    first_length: int
    second_length: int


def position_preference(pairs: Iterable[BothOrders]) -> Estimate:
    """Of the verdicts that are no tie the share that the reply shown first won; 0.5 is no preference.

    Wang et al. 2023 (arXiv:2305.17926) and Zheng et al. 2023 (arXiv:2306.05685). A judge that is consistent on a
    pair adds one of each. The interval is Wilson's, on as many verdicts as pairs are worth.
    """
    count = ShareCount()
    for pair in pairs:
        if pair.straight not in (None, 0.5):
            count.add(pair.straight == 1, pair.pair)
        if pair.swapped not in (None, 0.5):
            count.add(pair.swapped == 0, pair.pair)
    return count.estimate("no verdict was decisive")


def consistency(pairs: Iterable[BothOrders]) -> Estimate:
    """Of the pairs with a verdict in both orders the share with the same verdict, with its Wilson interval."""
    count = ShareCount()
    for pair in pairs:
        if pair.straight is not None and pair.swapped is not None:
            count.add(pair.straight == pair.swapped)
    return count.estimate("no pair has a verdict in both orders")


def longer_wins(rows: Iterable[Preferred]) -> Estimate:
    """Of the preferences between replies of different length that are no tie, the share that the longer won.

    Above 0.5 is no fault by itself, for longer replies can be better: people's own stands beside it, and
    `longer_excess` compares them (Dubois et al. 2024, arXiv:2404.04475).
    """
    count = ShareCount()
    for row in rows:
        won = _longer_won(row)
        if won not in (None, 0.5):
            count.add(won == 1, row.pair)
    return count.estimate("no preference was decisive between replies of different length")


def longer_excess(judge: Iterable[Preferred], people: Iterable[Preferred]) -> Estimate:
    """How much more often the longer reply wins with the judge than with people on the same pairs; a tie is half."""
    import numpy as np

    told = {row.pair: won for row in people if (won := _longer_won(row)) is not None}
    said = {row.pair: won for row in judge if row.pair in told and (won := _longer_won(row)) is not None}
    found = np.array([won - told[pair] for pair, won in said.items()], dtype=np.float64)
    reason = "no pair of replies of different length has a preference of both"
    return estimated(found, None, "differences", asked=len(found), reason=reason)[0]


def _longer_won(row: Preferred) -> float | None:
    """As a grade of the longer reply; None where none is longer."""
    if row.first_length == row.second_length:
        return None
    return row.preference if row.first_length > row.second_length else 1 - row.preference


def longer_graded(
    lengths: Sequence[float],
    judge: Sequence[float],
    people: Sequence[float] | None = None,
) -> Estimate:
    """How much higher the judge grades the longer half of replies than the shorter, at equal grades by people.

    Replies with one grade of people are split at their median length, those at it left out, and the differences of
    the two means averaged with the weights of Mantel and Haenszel (1959), a b / (a + b) for a longer and b shorter
    ones. Without people's grades all replies are one group: then longer replies that are better count too.
    """
    import numpy as np

    length, said = np.array(lengths, dtype=np.float64), np.array(judge, dtype=np.float64)
    told = np.zeros(len(said)) if people is None else np.array(people, dtype=np.float64)
    if not len(length) == len(said) == len(told):
        raise ValueError("lengths and grades are not of the same items")
    groups = [
        found for grade in np.unique(told) if (found := _halves(length[told == grade], said[told == grade]))
    ]
    longer, shorter = sum(len(a) for a, _ in groups), sum(len(b) for _, b in groups)
    freedom = longer + shorter - 2 * len(groups)
    if not groups or freedom < 1:
        return nothing(len(said), "too few replies of different length have the same grade of people")
    weights = [len(a) * len(b) / (len(a) + len(b)) for a, b in groups]
    whole = math.fsum(weights)
    value = (
        math.fsum(w * float(a.mean() - b.mean()) for w, (a, b) in zip(weights, groups, strict=True)) / whole
    )
    stderr = math.sqrt(
        math.fsum((w / whole) ** 2 * _variance(a, b) for w, (a, b) in zip(weights, groups, strict=True))
    )
    half = t95(freedom) * stderr
    method = HALVES if people is None else MANTEL_HAENSZEL
    low, high = max(-1.0, value - half), min(1.0, value + half)
    return Estimate(value, stderr, low, high, longer + shorter, len(said), method)


def _halves(length: Array, said: Array) -> tuple[Array, Array] | None:
    """The grades of the longer half and of the shorter; None where either is empty."""
    import numpy as np

    middle = float(np.median(length))
    longer, shorter = said[length > middle], said[length < middle]
    return (longer, shorter) if len(longer) and len(shorter) else None


def _variance(longer: Array, shorter: Array) -> float:
    """Of the difference of two means, with a grade of each end added to each: halves without spread show none."""
    return _spread(longer) / len(longer) + _spread(shorter) / len(shorter)


def _spread(grades: Array) -> float:
    import numpy as np

    return float(np.concatenate([grades, [grades.mean() - 0.5, grades.mean() + 0.5]]).var())
