"""Models against each other on the items they share."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from proctor.findings import Comparison, Estimate
from proctor.stats.means import bootstrap_interval, sign_flip_p
from proctor.stats.paired import difference_interval, holm, items_needed, mcnemar_exact
from proctor.types import Run

MCNEMAR = "exact McNemar"
SIGN_FLIP = "sign-flip permutation"
TANGO = "Tango's paired score interval"
PAIRED = "paired percentile bootstrap of item means, 2,000 draws, seed 0"
ALPHA = 0.05

# Item id and content -> score; items without a score are not in it.
Scored = Mapping[tuple[str, str], float]


def compare(runs: Sequence[tuple[Run, Scored]]) -> tuple[Comparison, ...]:
    """Every pair of runs, first minus second, with p-values adjusted over all pairs (Holm).

    "Better" needs both: the adjusted p below 0.05 and an interval without 0.
    """
    pairs = [_pair(a, b) for a, b in combinations(runs, 2)]
    adjusted = iter(holm([p.p_value for p in pairs if p.p_value is not None]))
    return tuple(_judged(p, next(adjusted) if p.p_value is not None else None) for p in pairs)


def _pair(first: tuple[Run, Scored], second: tuple[Run, Scored]) -> Comparison:
    (run_a, a), (run_b, b) = first, second
    shared = a.keys() & b.keys()
    n = len(shared)
    both = sum(1 for key in shared if a[key] == 1 and b[key] == 1)
    only_a = sum(1 for key in shared if a[key] > b[key])
    only_b = sum(1 for key in shared if b[key] > a[key])
    if n == 0:
        none = Estimate(None, None, None, None, 0, 0, TANGO, "the two runs share no scored item")
        return Comparison(run_a, run_b, 0, 0, 0, 0, none, None, None, "no difference shown", None)
    graded = any(side[key] not in (0, 1) for side in (a, b) for key in shared)
    test, p, difference = (_graded if graded else _binary)([a[k] - b[k] for k in sorted(shared)])
    return Comparison(
        first=run_a,
        second=run_b,
        shared=n,
        both_right=both,
        only_first=only_a,
        only_second=only_b,
        difference=difference,
        p_value=p,
        adjusted_p=None,
        verdict="no difference shown",
        items_needed=None if graded else items_needed(only_a, only_b, n),
        test=test,
    )


def _binary(differences: Sequence[float]) -> tuple[str, float, Estimate]:
    """The test, its p-value and the difference, where each item is right or wrong."""
    n = len(differences)
    only_a, only_b = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    low, high = difference_interval(only_a, only_b, n)
    return (
        MCNEMAR,
        mcnemar_exact(only_a, only_b),
        Estimate((only_a - only_b) / n, None, low, high, n, n, TANGO),
    )


def _graded(differences: Sequence[float]) -> tuple[str, float, Estimate]:
    """The same where items were asked several times, so that their scores are means."""
    n = len(differences)
    low, high = bootstrap_interval(differences)
    return (
        SIGN_FLIP,
        sign_flip_p(differences),
        Estimate(math.fsum(differences) / n, None, low, high, n, n, PAIRED),
    )


def _judged(pair: Comparison, adjusted: float | None) -> Comparison:
    d = pair.difference
    if adjusted is None or adjusted >= ALPHA or d.low is None or d.high is None or d.low <= 0 <= d.high:
        return replace(pair, adjusted_p=adjusted)
    return replace(pair, adjusted_p=adjusted, verdict="first better" if d.low > 0 else "second better")
