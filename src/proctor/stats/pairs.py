"""Two runs on one task: the items both have scored, and draws of how their difference could have come out.

Every path gives the same three things: the difference as it is, draws of it if the two runs were exchangeable
(for the p-value; as many as that needs), and 2,000 draws of it on other items like these (for the interval).
Draws are seeded by the task, so that neither the order of rows nor the other tasks change them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proctor.stats import metrics, resample
from proctor.stats.estimates_share import SUCCESS_RATE, row_score, value_of
from proctor.stats.estimates_sheet import TaskShape, base_id, part, sheet
from proctor.stats.estimates_task import (
    CORRELATIONS,
    PARTIAL,
    SHARES,
    TaskSheet,
    figure_of,
    is_graded,
    labels,
    on_table,
    own_value,
)
from proctor.stats.exchange import exchanged, on_counts, swaps
from proctor.stats.hanging.alignment import aligned
from proctor.stats.pairs_share import Shares, mean_of, shares, unit_sums
from proctor.stats.permute import Null, p_value, weighed

if TYPE_CHECKING:
    from proctor.stats.metrics import Array, Scored

RANDOMISED = "approximate randomisation"
RANDOMISED_CLUSTERS = "approximate randomisation of clusters"


@dataclass(frozen=True, slots=True)
class Pair:
    """A task's exams in two runs, on the askings that both have scored."""

    first: TaskSheet
    second: TaskSheet

    @property
    def spec(self) -> TaskShape:
        return self.first.spec

    @property
    def once(self) -> bool:
        """True where every item was asked once and stands for itself."""
        sides = (self.first.sheet, self.second.sheet)
        return all(one.units == one.items == len(one.rows) for one in sides)

    @property
    def clustered(self) -> bool:
        return self.first.sheet.clustered


@dataclass(frozen=True, slots=True)
class Drawn:
    """A task's own score in two runs: the difference, its draws, and what made them.

    `shares` is set where the score is a plain mean of item scores; it has a test of its own.
    """

    difference: float
    null: Null
    draws: Array
    test: str
    shares: Shares | None = None

    def p_value(self, family: int = 1) -> float:
        return p_value(self.null, self.difference, family)


def paired(exams: Sequence[TaskSheet], others: Sequence[TaskSheet]) -> list[Pair]:
    """The tasks that both runs have, each on its shared askings; tasks without any are left out."""
    by_key = {one.key: one for one in others}
    found = []
    for one in exams:
        if one.key not in by_key:
            continue
        other = by_key[one.key]
        # The sheets hold what was measured; a shared asking has the same id and showed the same.
        common = {_asking(row) for row in one.sheet.rows} & {_asking(row) for row in other.sheet.rows}
        if common:
            found.append(Pair(*aligned(_only(one, common), _only(other, common))))
    return found


def _asking(row: Scored) -> tuple[str, str]:
    return row.item, row.content


def _only(one: TaskSheet, common: set[tuple[str, str]]) -> TaskSheet:
    if all(_asking(row) in common for row in one.rows):
        return one
    kept = tuple(row for row in one.rows if _asking(row) in common)
    return replace(one, rows=kept, sheet=sheet(kept, one.spec, worded=one.worded))


def drawn(pair: Pair) -> Drawn | None:
    """Draws of the difference in the task's own score; None where it has no value on the shared items."""
    import numpy as np

    if own_value(pair.first) is None or own_value(pair.second) is None:
        return None
    # Drawn the same way round whichever run is named first, so that to turn a pair turns signs and nothing else.
    first, second = _replies(pair.first), _replies(pair.second)
    if first == second:
        made = _drawn(pair)
        half = made.draws[: len(made.draws) // 2]
        return replace(made, draws=np.concatenate([half, -half]))
    if first > second:
        made = _drawn(Pair(pair.second, pair.first))
        turned = None if made.shares is None else replace(made.shares, parts=-made.shares.parts)
        return Drawn(-made.difference, weighed([made.null], [-1.0]), -made.draws, made.test, turned)
    return _drawn(pair)


def _replies(of: TaskSheet) -> list[tuple[str, float]]:
    return [(row.answer or "", row.score or 0.0) for row in of.sheet.rows]


def _drawn(pair: Pair) -> Drawn:
    official = pair.spec.official
    if all(is_mean(pair.spec, metric) for metric in official):
        return _of_shares(pair, official)
    ordinary = [metric for metric in official if metric not in PARTIAL]
    of_rows = _of_table if pair.once and on_counts(pair.spec, ordinary) else _of_units
    made = of_rows(pair, ordinary)
    parts = [_of_shares(pair, [metric]) for metric in official if metric in PARTIAL]
    # The mean of the official metrics; `made` stands for several of them.
    weights = [len(ordinary) / len(official), *(1 / len(official) for _ in parts)]
    every = list(zip(weights, [made, *parts], strict=True))
    draws: Array = sum((w * one.draws for w, one in every[1:]), start=weights[0] * made.draws)
    difference = math.fsum(w * one.difference for w, one in every)
    return Drawn(difference, weighed([one.null for _, one in every], weights), draws, made.test)


def is_mean(spec: TaskShape, metric: str) -> bool:
    """Whether the metric is a plain mean of a score that each item has."""
    return metric in SHARES - PARTIAL or is_graded(spec, metric)


def _of_shares(pair: Pair, official: Sequence[str]) -> Drawn:
    """Metrics that are means of item scores; the mean of several of them is one too."""
    first, second, spec = pair.first, pair.second, pair.spec
    one, other = first.sheet, second.sheet
    if PARTIAL.intersection(official):
        one, other = (part(side.rows, official[0], spec, worded=side.worded) for side in (first, second))
    found = mean_of([shares(one, other, spec, metric) for metric in official])
    key = f"{first.key} {' '.join(official)}"
    return Drawn(found.difference, found.null(key), found.draws(resample.stream(key)), found.test, found)


# Metrics on the table of answers -----------------------------------------------------------------


def _of_table(pair: Pair, official: Sequence[str]) -> Drawn:
    """Each item is in one cell of (target, first answer, second answer): the counts say everything."""
    import numpy as np

    names = labels(pair.first.sheet, pair.spec)
    k = len(names)
    counts = _joint(pair, names)
    functions = [on_table(pair.spec, metric, names) for metric in official]

    def score(tables: Array) -> Array:
        total: Array = sum((f(tables) for f in functions), start=np.zeros(())) / len(functions)
        return total

    first, second = counts.sum(axis=2), counts.sum(axis=1)
    key = f"{pair.first.key} {' '.join(official)}"
    random = resample.stream(key)
    drawn_counts = random.standard_gamma(counts + _discord(counts), size=(resample.DRAWS, k, k + 1, k + 1))
    draws = score(drawn_counts.sum(axis=3)) - score(drawn_counts.sum(axis=2))
    return Drawn(float(score(first) - score(second)), exchanged(key, counts, score), draws, RANDOMISED)


def _joint(pair: Pair, names: Sequence[str]) -> Array:
    """Counts of (target, answer of the first, answer of the second), as `metrics.confusion` places answers."""
    import numpy as np

    k = len(names)
    targets = [row.target or "" for row in pair.first.sheet.rows]
    rows, one = metrics.cells(targets, [row.answer for row in pair.first.sheet.rows], names)
    _, other = metrics.cells(targets, [row.answer for row in pair.second.sheet.rows], names)
    cell = (np.array(rows) * (k + 1) + np.array(one)) * (k + 1) + np.array(other)
    return np.bincount(cell, minlength=k * (k + 1) ** 2).reshape(k, k + 1, k + 1).astype(np.float64)


def _discord(counts: Array) -> Array:
    """What is added to each cell before it is drawn: one discordant item in all, half of it each way.

    Without it two runs that never disagree would have an interval without width. As in the interval of a
    difference of shares by Bonett and Price, which adds such items too.
    """
    import numpy as np

    k = len(counts)
    added = np.zeros_like(counts)
    wrong = (1 - np.eye(k, k + 1))[:, None, :] * np.eye(k, k + 1)[
        :, :, None
    ]  # the first right, the second wrong
    if not counts[:, :, -1].any() and not counts[:, -1, :].any():
        wrong[:, :, -1] = 0.0  # every answer was read: the column of the unread is no part of this exam
    wrong = wrong / max(1.0, wrong.sum())
    added += wrong + wrong.transpose(0, 2, 1)
    return added


# Everything else ---------------------------------------------------------------------------------


def _of_units(pair: Pair, official: Sequence[str]) -> Drawn:
    """Whole units (items, or clusters of them) are exchanged and resampled, the same for both runs."""

    one, other = pair.first.sheet, pair.second.sheet
    sides = []
    for side in (one, other):
        again = resample.stream(f"{pair.first.key} resampled")  # the same units in both runs
        unit_figures = [figure_of(side, pair.spec, metric) for metric in official]
        found = resample.bootstrap(again, unit_figures, side.unit, side.weight, turned=side is other)
        sides.append(sum(found[1:], start=found[0]) / len(found))
    observed = [
        math.fsum(value_of(figure_of(side, pair.spec, m), side) for m in official) / len(official)
        for side in (one, other)
    ]
    null = swaps(f"{pair.first.key} {' '.join(official)}", one, other, pair.spec, official)
    test = RANDOMISED_CLUSTERS if pair.clustered else RANDOMISED
    draws = sides[0] - sides[1]
    if CORRELATIONS.intersection(official) and one.units > 3:
        # Fisher's variance of a correlation has n - 3 where that of resampled items has n.
        draws = draws.mean() + math.sqrt(one.units / (one.units - 3)) * (draws - draws.mean())
    return Drawn(observed[0] - observed[1], null, draws, test)


def own_resampled(exams: Sequence[TaskSheet]) -> Array:
    """Draws of the task's own score in several runs on the same askings, the same units drawn for all."""
    import numpy as np

    first, spec = exams[0].sheet, exams[0].spec
    random = resample.stream(f"{exams[0].key} resampled")
    if all(is_mean(spec, metric) for metric in spec.official):
        sizes = unit_sums(first, spec, spec.official, scores=False)
        sums = np.stack([unit_sums(one.sheet, spec, spec.official) for one in exams], axis=1)
        return np.concatenate(
            [times @ sums / (times @ sizes)[:, None] for times in resample.resampled(random, first.units)]
        )
    figures = [[figure_of(one.sheet, spec, metric) for metric in spec.official] for one in exams]
    parts = []
    for times in resample.resampled(random, first.units):
        none = np.zeros(len(times))
        columns = []
        for one, made in zip(exams, figures, strict=True):
            rows = times[:, one.sheet.unit.astype(np.int64)] * one.sheet.weight
            columns.append(sum((f(rows, none, none) for f in made), start=none) / len(made))
        parts.append(np.stack(columns, axis=1))
    return np.concatenate(parts)


def item_scores(of: TaskSheet) -> dict[str, float]:
    """Item -> mean score of its askings, or the share that passed; a reply without a score counts 0.

    What is equal but for rounding is made equal: 0.4 thrice and 0.4 five times.
    """
    passed = of.spec.official == (SUCCESS_RATE,)
    sums: dict[str, tuple[float, int]] = {}
    for row in of.sheet.rows:
        base = base_id(row.item, of.worded)
        total, times = sums.get(base, (0.0, 0))
        score = row_score(row, SUCCESS_RATE, of.spec.kind) if passed else row.score or 0.0
        sums[base] = (total + score, times + 1)
    return {base: round(total / times, 12) for base, (total, times) in sums.items()}


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Item by item, over tasks: which of two runs did better, and how the two runs' scores go together."""

    both_right: int
    only_first: int
    only_second: int
    correlation: float | None

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> PairCounts:
        import numpy as np

        sides = [[item_scores(getattr(pair, side)) for pair in pairs] for side in ("first", "second")]
        a = np.array([s[item] for s in sides[0] for item in sorted(s)])
        b = np.array([o[item] for s, o in zip(*sides, strict=True) for item in sorted(s)])
        varied = a.std() > 0 and b.std() > 0
        return cls(
            both_right=int(((a == 1) & (b == 1)).sum()),
            only_first=int((a > b).sum()),
            only_second=int((b > a).sum()),
            correlation=float(np.corrcoef(a, b)[0, 1]) if varied else None,
        )
