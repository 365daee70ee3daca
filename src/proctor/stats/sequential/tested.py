"""What a comparison says of a pair that is tested by its path: p-value, interval, and what keeps "better" back."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from proctor.findings import Difference
from proctor.findings.looks import Path
from proctor.stats.estimates import exams_of
from proctor.stats.estimates_task import TaskSheet
from proctor.stats.paired import ALPHA, benjamini_hochberg
from proctor.stats.pairs_share import MCNEMAR
from proctor.stats.power_pairs import least_difference
from proctor.stats.sequential.followed import Followed, Follower, by_path
from proctor.stats.sequential.steps import FIRST, SECOND, Side
from proctor.types import Run

REPEATED = "repeated confidence interval"
SIDE = 1e-9  # as close to 0 as an end may come that is not to reach it
BETTER = ("first better", "second better")


def tested(
    plain: Difference, of: Followed | str, runs: tuple[Run, Run], path: Path | None = None
) -> Difference:
    """The difference by its walk. `plain` is that of the rows that were read, `path` as it was decided side by side.

    A pair that was looked at and asked to the end must be told apart by all of it as well, so that no order of asking
    could make a difference: then the p-value is the larger of both.
    A str in place of a walk says why there is none, and keeps "better" back.
    """
    if isinstance(of, str):
        return replace(plain, withheld=f"{_looked(runs)}, and {of}")
    if plain.estimate.value is None or plain.p_value is None:
        return plain
    p = of.walk.plain_p_value(of.looks)
    if of.whole and path is None:
        p = max(p, plain.p_value)
    own = of.path()
    path = own if path is None or of.whole else path
    low, high = of.walk.interval(of.looks, plain.estimate.value)
    if not _exact(of) and own.critical is not None and plain.estimate.stderr is not None:
        low, high = _as_wide(low, high, plain.estimate.value, own.critical * plain.estimate.stderr)
    method = f"{REPEATED} ({'Tango' if _exact(of) else 'sign flips of units'})"
    return replace(
        plain,
        estimate=replace(plain.estimate, low=low, high=high, method=method, reason=None),
        test=own.test,
        p_value=p,
        path=path,
        detectable=_detectable(plain, of),
        withheld=_lost(of, runs[0] if plain.estimate.value > 0 else runs[1], plain.estimate.value),
    )


@dataclass(frozen=True, slots=True)
class Walks:
    """Which pairs of a comparison are tested by their paths, and what comes of it.

    `exams` are the runs' with their tasks, `watched` and `paths` as `compare` takes them; `plain` makes the difference
    of two exams, of the whole and of each task, as if nobody had looked.
    """

    follower: Follower
    exams: Sequence[tuple[Run, Sequence[TaskSheet]]]
    watched: Collection[str]
    paths: Mapping[tuple[str, str], Path]
    plain: Callable[[Sequence[TaskSheet], Sequence[TaskSheet]], tuple[Difference, tuple[Difference, ...]]]

    def differences(self, one: int, other: int) -> tuple[Difference, tuple[Difference, ...]] | None:
        """A pair's, by its path; None where it need not be."""
        (first, mine), (second, theirs) = self.exams[one], self.exams[other]
        runs, path = (first, second), self.paths.get((first.id, second.id))
        if path is None and not by_path(first, second, self.watched):
            return None
        walk = self.follower.pair(one, other, path)
        if isinstance(walk, Followed) and not walk.whole:
            shape = self.follower.shape
            mine, theirs = exams_of(walk.first, shape), exams_of(walk.second, shape)
        whole, rows = self.plain(mine, theirs)
        return tested(whole, walk, runs, path), tuple(self._tasks(rows, one, other))

    def _tasks(self, rows: Sequence[Difference], one: int, other: int) -> Iterator[Difference]:
        """The tasks; those that would be called better by their own walks, which alone could undo it."""
        adjusted = iter(benjamini_hochberg([d.p_value for d in rows if d.p_value is not None]))
        sides, shape = self.follower.sides, self.follower.shape
        for row in rows:
            if row.p_value is None or next(adjusted) >= ALPHA:
                yield row
                continue
            alone = replace(shape, tasks={row.task: shape.tasks[row.task]}, aggregate="macro")
            walk = Follower(sides, alone).pair(one, other)
            yield tested(row, walk, (sides[one][0], sides[other][0]))


def _as_wide(low: float, high: float, value: float, half: float) -> tuple[float, float]:
    """At least as wide as the plain standard error says, which sees more of a few large clusters than the walk does.

    On which side of 0 the difference lies is the walk's to say: an end that it has on one side stays there.
    """
    least, most = min(low, value - half), max(high, value + half)
    return max(least, min(low, SIDE)) if low > 0 else least, min(most, max(high, -SIDE)) if high < 0 else most


def kept_back(found: Difference) -> Difference:
    """A judged difference without a "better" that has no walk, or that errors of the better side, counted, undo."""
    if found.verdict not in BETTER or not found.withheld or found.adjusted_p is None or not found.p_value:
        return replace(found, withheld="")
    if found.path is not None and found.path.p_value * found.adjusted_p / found.p_value <= ALPHA:
        return replace(found, withheld="")
    return replace(found, verdict="no difference shown")


def _looked(runs: tuple[Run, Run]) -> str:
    if any(run.stopped is not None or run.finished_at is None for run in runs):
        return "not all was asked"
    return "the runs were looked at while they were at work"


def _exact(of: Followed) -> bool:
    return bool(of.looks) and of.walk.steps.stretches[of.looks - 1].exact


def _detectable(plain: Difference, of: Followed) -> float | None:
    """The smallest difference that all planned items would show, if the rest is like what was read."""
    if of.whole or not plain.shared:
        return plain.detectable
    planned = of.walk.planned
    if plain.test == MCNEMAR:
        return least_difference(planned, plain.discordant / plain.shared, plain.comparisons)
    return None if plain.detectable is None else plain.detectable * math.sqrt(plain.shared / planned)


def _lost(of: Followed, leads: Run, difference: float) -> str:
    """What is left out of the side that leads, in words; "" for nothing."""
    side: Side = FIRST if difference > 0 else SECOND
    if not (n := of.walk.lost(of.looks, side)):
        return ""
    said = "1 reply has" if n == 1 else f"{n:,} replies have"
    counted = "it" if n == 1 else "they"
    return f"{said} no score for {leads.cell.model} (errors); counted as wrong {counted} would undo it"
