"""A judge's score corrected by people's labels: prediction-powered inference with a fitted weight (PPI++)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from proctor.findings import Estimate
from proctor.stats import clusters
from proctor.stats.estimates_sheet import nothing
from proctor.stats.intervals import Z95, t95, t_tails, wilson
from proctor.stats.judged.alone import ENDS, EQUAL, Judged, estimated, numbered
from proctor.stats.paired import ALPHA

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

CORRECTED = "prediction-powered inference (PPI++), Student's t"
CORRECTED_CLUSTERS = "prediction-powered inference (PPI++), Student's t over clusters"
FEW_LABELS = 50  # with fewer, labels alone have as narrow an interval
LEAST_CORRELATION = 0.5  # below it too (docs/statistics.md)
# A disagreement of the judge with people added each way: without them the interval holds the truth in 56 % where
# 20 labels are nearly all "right" (docs/calibration.md has the figures with them).
ADDED = 2.0

Grades = Sequence[float | None]
Keys = tuple[Sequence[str | None], Sequence[str | None]]


@dataclass(frozen=True, slots=True)
class Corrected:
    """A score three ways: the judge's corrected by people, the people's own, and the judge's own.

    `judge` is over all items, labelled or not; its interval is blind to the judge's errors. `weight` is how much
    of the judge's word is taken, 0 to 1; `correlation` that of both on the labelled items. `quote` says which to
    quote, `why` says so in a sentence. The p-values are of "neither is better"; None for grades of one model.
    """

    corrected: Estimate
    people: Estimate
    judge: Estimate
    weight: float | None
    correlation: float | None
    labels: int
    quote: Literal["corrected", "people"]
    why: str
    p_value: float | None = None
    people_p_value: float | None = None
    judge_p_value: float | None = None

    @property
    def quoted(self) -> Estimate:
        return self.corrected if self.quote == "corrected" else self.people

    @property
    def quoted_p_value(self) -> float | None:
        return self.p_value if self.quote == "corrected" else self.people_p_value


def corrected_mean(
    people: Sequence[float], judge: Grades, rest: Grades, *, clusters: Keys | None = None, known: int = 0
) -> Corrected:
    """The mean grade of one model over all items. Grades are 0 to 1.

    `people` and `judge` are grades of the same items, whose labels were drawn at random; `rest` are the judge's of
    the others. Where the judge gave none (None) the mean of its verdicts stands in: any function of the item will
    do for the correction, and the item is not lost. `clusters` are the keys of the labelled items and of the rest.
    `known` counts further items that are worth 0 without asking anybody, and of which none was drawn to be labelled.

    theta = mean(Y) + lambda (mean_N(f) - mean_n(f)), lambda = cov(Y, f) / ((1 + n/N) var f) within 0 and 1
    (Angelopoulos, Duchi and Zrnic 2023, arXiv:2311.01453; with lambda 1 Angelopoulos et al. 2023, Science 382:669).
    """
    return corrected(people, judge, rest, clusters, "grades", known)


def corrected_difference(
    people: Sequence[float], judge: Grades, rest: Grades, *, clusters: Keys | None = None, known: int = 0
) -> Corrected:
    """`corrected_mean` of the first model's grade less the second's, item by item: -1 to 1, tested against 0."""
    return corrected(people, judge, rest, clusters, "differences", known)


def corrected_preference(
    people: Sequence[float], judge: Grades, rest: Grades, *, clusters: Keys | None = None, known: int = 0
) -> Corrected:
    """`corrected_mean` of preferences: 1 for the first model, 0.5 for a tie, 0 for the second; tested against 0.5."""
    if known:
        raise ValueError("a preference that nobody was asked about is a tie, and none is worth 0 unasked")
    return corrected(people, judge, rest, clusters, "preferences")


def better(
    estimate: Estimate, p_value: float | None, *, null: float = 0.0
) -> Literal["first better", "second better"] | None:
    """Whether one of two is better: that takes a p-value below 0.05 and an interval without `null`."""
    if p_value is None or estimate.low is None or estimate.high is None or p_value >= ALPHA:
        return None
    if estimate.low > null:
        return "first better"
    return "second better" if estimate.high < null else None


# Arrays --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JudgedSample:
    """Labelled items with people's and the judge's grades, the judge's of the rest, and the clusters of both.

    Where the judge gave no grade the mean of its grades stands; `read` and `read_rest` say where it gave one.
    The units are None where no two items are of one cluster.
    """

    people: Array
    judge: Array
    rest: Array
    read: Array
    read_rest: Array
    unit: Array | None
    unit_rest: Array | None

    @property
    def n(self) -> int:
        return len(self.people)


def sample(people: Sequence[float], judge: Grades, rest: Grades, keys: Keys | None) -> JudgedSample:
    """Raises ValueError where people's and the judge's grades, or grades and clusters, are not of the same items."""
    import numpy as np

    n, others = len(people), len(rest)
    told, said = np.array(people, dtype=np.float64), np.array([*judge, *rest], dtype=np.float64)
    if len(judge) != n:
        raise ValueError(f"{n} grades of people and {len(judge)} of the judge are not of the same items")
    read = ~np.isnan(said)
    said = np.where(read, said, said[read].mean() if read.any() else 0.0)
    unit = None
    if keys is not None:
        if (len(keys[0]), len(keys[1])) != (n, others):
            raise ValueError(f"{len(keys[0])} and {len(keys[1])} clusters for {n} and {others} items")
        unit, several = numbered([*keys[0], *keys[1]], n + others)
        unit = unit if several else None
    units = (None, None) if unit is None else (unit[:n], unit[n:])
    return JudgedSample(told, said[:n], said[n:], read[:n], read[n:], *units)


def fitted(of: JudgedSample) -> float:
    """The weight that makes the interval narrowest, within 0 and 1."""
    import numpy as np

    n, others = of.n, len(of.rest)
    if not others or n < 2:
        return 0.0
    spread = float(np.concatenate([of.judge, of.rest]).var(ddof=1))
    if spread <= 1e-24:
        return 0.0
    both = float((of.people - of.people.mean()) @ (of.judge - of.judge.mean())) / (n - 1)
    return min(1.0, max(0.0, both / ((1 + n / others) * spread)))


def corrected(
    people: Sequence[float], judge: Grades, rest: Grades, keys: Keys | None, kind: Judged, known: int = 0
) -> Corrected:
    import numpy as np

    of = sample(people, judge, rest, keys)
    asked = of.n + len(of.rest)
    own, own_p = estimated(
        of.people, of.unit, kind, asked=asked, reason="no item drawn at random has a label"
    )
    heard = np.concatenate([of.read, of.read_rest])
    verdicts = np.concatenate([of.judge, of.rest])[heard]
    whole = (
        None if of.unit is None or of.unit_rest is None else np.concatenate([of.unit, of.unit_rest])[heard]
    )
    alone, alone_p = estimated(
        verdicts, whole, kind, asked=asked, reason="the judge gave no readable verdict"
    )
    weight = fitted(of)
    together = _correlation(of)
    found, p = _estimate(of, weight, kind, any_verdict=bool(len(verdicts)))
    found, own, alone = (with_known(each, asked, known) for each in (found, own, alone))
    quote, why = _chosen(found, own, of, together)
    taken = None if found.value is None else weight
    return Corrected(found, own, alone, taken, together, of.n, quote, why, p, own_p, alone_p)


def with_known(of: Estimate, items: int, known: int) -> Estimate:
    """An estimate of `items` with as many beside them as are `known` to be worth 0: post-stratification.

    The part w of the items that are not known has an interval too (Wilson's), and both are put together by the squares
    of their distances (MOVER: Zou and Donner 2008, Statistics in Medicine 27:1693). That the value is 0 stays as likely
    as it was.
    """
    if not known:
        return of
    value, low, high = of.value, of.low, of.high
    if value is None or low is None or high is None:
        return replace(of, asked=of.asked + known)
    every = items + known
    part = items / every
    fewest, most = wilson(part, every)
    down, up = (fewest, most) if value >= 0 else (most, fewest)
    stderr = of.stderr
    if stderr is not None:
        stderr = math.hypot(part * stderr, value * math.sqrt(part * (1 - part) / every))
    return replace(
        of,
        value=part * value,
        stderr=stderr,
        low=part * value - math.hypot(part * (value - low), value * (part - down)),
        high=part * value + math.hypot(part * (value - high), value * (part - up)),
        scored=of.scored + known,
        asked=of.asked + known,
        method=f"{of.method}; {known:,} items are worth 0 unasked",
    )


def _correlation(of: JudgedSample) -> float | None:
    """Of both grades on the labelled items of which the judge gave one; None where either never varies."""
    import numpy as np

    told, said = of.people[of.read], of.judge[of.read]
    if len(told) < 2 or np.ptp(told) == 0 or np.ptp(said) == 0:
        return None
    return float(np.corrcoef(told, said)[0, 1])


def _estimate(
    of: JudgedSample, weight: float, kind: Judged, *, any_verdict: bool
) -> tuple[Estimate, float | None]:
    """The corrected value, within what is possible, with its interval and the p-value of "neither is better"."""
    asked = of.n + len(of.rest)
    if of.n < 2:
        few = "no item drawn at random has a label" if not of.n else "a single label shows no spread"
        return nothing(asked, few), None
    if not any_verdict:
        return nothing(asked, "the judge gave no readable verdict"), None
    least, most = ENDS[kind]
    value = float(of.people.mean())
    if weight:
        value += weight * float(of.rest.mean() - of.judge.mean())
    value = min(most, max(least, value))
    variance, freedom = spread(of, weight)
    stderr = math.sqrt(variance)
    half = t95(freedom) * stderr
    null = EQUAL[kind]
    p = None if null is None else t_tails((value - null) / stderr, freedom)
    method = CORRECTED if of.unit is None else CORRECTED_CLUSTERS
    low, high = value - half, value + half
    if of.unit is not None and kind != "differences":
        least_low, most_high = _skewed(value, variance, freedom, of.n)
        low, high = min(low, least_low), max(high, most_high)
    low, high = max(least, low), min(most, high)
    return Estimate(value, stderr, low, high, asked, asked, method), p


def _skewed(value: float, variance: float, freedom: float, n: int) -> tuple[float, float]:
    """Wilson's interval of as many items as the value is worth, for few clusters that are nearly all right.

    There Student's t alone held the truth in 84 to 91 % (22 clusters of 50, 95 % right, 100 labels). The items are
    counted with one added each way, for at 0 and 1 none could be; few clusters shrink them as those of exams.
    """
    part = (n * value + 1) / (n + 2)
    worth = (1 + part * (1 - part) / variance) * (Z95 / t95(freedom)) ** 2
    return wilson(value, max(1.0, worth))


def spread(of: JudgedSample, weight: float) -> tuple[float, float]:
    """The variance of the corrected value and its degrees of freedom; two labels at the least.

    Clusters may hold labelled items and others, which then hang together: what both add to the value is summed by
    cluster first (Liang and Zeger 1986, Biometrika 73:13). As often as that is larger than the variance of single
    items, the disagreements added count too: they hang together as the others do. It never makes the value surer.
    """
    n, others = of.n, len(of.rest)
    left = of.people - weight * of.judge
    left = left - left.mean()
    variance, added = float(left @ left) / (n + 1) / n, ADDED / (n + 1) / n
    if weight and others > 1:
        variance += weight**2 * float(of.rest.var(ddof=1)) / others
    if of.unit is None or of.unit_rest is None:
        return variance + added, float(n - 1)
    beyond = weight * (of.rest - of.rest.mean()) if others else of.rest
    told, freedom = _between(of.unit, of.unit_rest, left / n, beyond)
    times = max(1.0, told / variance) if variance else 1.0
    return times * (variance + added), freedom


def _between(unit: Array, unit_rest: Array, added: Array, added_rest: Array) -> tuple[float, float]:
    """The variance of a sum as its clusters show it, of what labelled items and others add; degrees of freedom."""
    import numpy as np

    places, others = unit.astype(np.int64), unit_rest.astype(np.int64)
    units = 1 + max(int(places.max()), int(others.max()) if len(others) else 0)
    parts = np.bincount(places, added, minlength=units).astype(np.float64)
    if len(others):
        parts += np.bincount(others, added_rest / len(others), minlength=units)
    sizes = np.bincount(places, minlength=units) / len(places)
    return clusters.seen(parts, sizes), clusters.freedom(sizes[sizes > 0])


def _chosen(
    found: Estimate, own: Estimate, of: JudgedSample, together: float | None
) -> tuple[Literal["corrected", "people"], str]:
    """Which of the two to quote, and why."""
    if found.value is None:
        return "people", f"nothing to correct with: {found.reason}"
    if not len(of.rest):
        return "people", "every item has a label"
    if of.n < FEW_LABELS:
        return "people", f"labels alone do as well: {of.n} are fewer than {FEW_LABELS}"
    if together is None:
        return "people", "labels alone do as well: the judge or people gave one grade throughout"
    if together < LEAST_CORRELATION:
        said = f"{together:.2f}, below {LEAST_CORRELATION:g}"
        return "people", f"labels alone do as well: judge and people correlate by {said}"
    width, plain = width_of(found), width_of(own)
    if width is None or (plain is not None and width >= plain):
        return "people", "labels alone do as well: the corrected interval is no narrower"
    if plain is None:
        return "corrected", "the corrected interval allows for the judge's errors"
    widths = f"{width:.2f} wide, that of labels alone {plain:.2f}"
    return "corrected", f"the corrected interval allows for the judge's errors and is {widths}"


def width_of(of: Estimate) -> float | None:
    return None if of.low is None or of.high is None else of.high - of.low
