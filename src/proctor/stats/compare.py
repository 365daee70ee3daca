"""Models against each other on the items they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from proctor.stats.paired import difference_interval, holm, items_needed, mcnemar_exact
from proctor.types import Comparison, Estimate, Run

TANGO = "Tango's paired score interval"
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
    low, high = difference_interval(only_a, only_b, n)
    difference = Estimate((only_a - only_b) / n, None, low, high, n, n, TANGO)
    return Comparison(
        first=run_a,
        second=run_b,
        shared=n,
        both_right=both,
        only_first=only_a,
        only_second=only_b,
        difference=difference,
        p_value=mcnemar_exact(only_a, only_b),
        adjusted_p=None,
        verdict="no difference shown",
        items_needed=items_needed(only_a, only_b, n),
    )


def _judged(pair: Comparison, adjusted: float | None) -> Comparison:
    d = pair.difference
    if adjusted is None or adjusted >= ALPHA or d.low is None or d.high is None or d.low <= 0 <= d.high:
        return replace(pair, adjusted_p=adjusted)
    return replace(pair, adjusted_p=adjusted, verdict="first better" if d.low > 0 else "second better")
