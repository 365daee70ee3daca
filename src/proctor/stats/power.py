"""Before an exam: how wide an interval will be, how small a difference can be shown, how many items that takes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, variance

from proctor.stats.intervals import Z95
from proctor.stats.metrics import Scored
from proctor.stats.power_pairs import errors_to_show, items_of_mean, least_difference, least_items


@dataclass(frozen=True, slots=True)
class Assumed:
    """What is taken for granted about two models before they are asked.

    `share` of the items are right; the two models' item scores correlate by `correlation`. Each item is
    asked `repeats` times, and `within` is the variance between askings of one item (sigma^2 in Miller
    2024): 0 where a model gives the same answer every time, so that repeats bring nothing.
    """

    share: float = 0.8
    correlation: float = 0.5
    repeats: int = 1
    within: float = 0.0

    @property
    def counted(self) -> bool:
        """True where an item is right or wrong: asked once, or answered the same way every time."""
        return self.repeats == 1 or not self.within

    @property
    def one(self) -> float:
        """The variance of one model's score on an item, the mean of its askings."""
        whole = self.share * (1 - self.share)
        return whole - self._saved(whole)

    @property
    def apart(self) -> float:
        """The variance of the difference of two models on an item: omega^2 + 2 sigma^2 / K."""
        # Asked once, omega^2 + 2 sigma^2 is 2 p (1 - p) (1 - rho); sigma^2 is at most the part not in common.
        own = self.share * (1 - self.share) * (1 - self.correlation)
        return 2 * (own - self._saved(own))

    def _saved(self, most: float) -> float:
        return min(self.within, most) * (1 - 1 / self.repeats)


def half_width(n: float, assumed: Assumed = Assumed()) -> float:
    """Half the 95 % interval of a model's score on n items: 1.96 * sqrt(p (1 - p) / n) if asked once.

    >>> round(half_width(500), 3), round(half_width(14_042), 3)
    (0.035, 0.007)
    """
    return Z95 * math.sqrt(assumed.one / n)


def detectable(
    n: float, assumed: Assumed = Assumed(), family: int = 1, *, counted: bool = True
) -> float | None:
    """The difference that n shared items show with 80 % power, as one of `family` comparisons of two models.

    Where rights and wrongs are `counted`, each item once and all alike, that of McNemar's exact test, with
    omega^2 + 2 sigma^2 as the discordant share. Else standard errors of a mean, sqrt((omega^2 + 2 sigma^2 / K) / n)
    (Miller 2024, arXiv 2411.00640, section 5). None where n items show nothing.

    >>> round(detectable(500), 3), round(detectable(56, Assumed(correlation=0.7)), 3), detectable(5)
    (0.052, 0.138, None)
    """
    if counted and assumed.counted:
        return least_difference(math.floor(n), assumed.apart, family)
    gap = errors_to_show(n - 1, family) * math.sqrt(assumed.apart / n)
    return gap if gap < 1 else None


def items_for(
    difference: float, assumed: Assumed = Assumed(), family: int = 1, *, counted: bool = True
) -> int | None:
    """How many shared items show `difference` > 0 with 80 % power: the inverse of `detectable`.

    None where that is more than anybody has.

    >>> items_for(0.05), items_for(0.02), items_for(0.05, family=45)
    (531, 3230, 1102)
    """
    if counted and assumed.counted:
        return least_items(assumed.apart, difference, family)
    return items_of_mean(math.sqrt(assumed.apart), difference, family)


def effective_items(asked: Mapping[str, int], weights: Mapping[str, float]) -> float:
    """The size of a plain sample that would be as sure as this one of tasks, each with its weight in the score.

    1 / sum(w^2 / n), the weights taken to sum to 1: a small task that counts as much as a large one makes
    the whole less sure.

    >>> effective_items({"a": 100, "b": 100}, {"a": 1, "b": 1}), effective_items({"a": 190, "b": 10}, {"a": 1, "b": 1})
    (200.0, 38.0)
    """
    total = sum(weights[task] for task in asked)
    return 1 / sum((weights[task] / total) ** 2 / n for task, n in asked.items())


def within_variance(rows: Iterable[Scored]) -> float | None:
    """The mean variance between the askings of one item; None where no item was scored twice."""
    askings: dict[str, list[float]] = {}
    for row in rows:
        if row.score is not None:
            askings.setdefault(row.item, []).append(row.score)
    several = [variance(scores) for scores in askings.values() if len(scores) > 1]
    return fmean(several) if several else None
