"""The walk of clusters, graded scores and weights: against the exact walk, against all signs, its p-value."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Hashable, Sequence

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from proctor.stats.sequential.flip import FlipWalk, transformed
from proctor.stats.sequential.sign import SignWalk
from proctor.stats.sequential.spending import levels, looks_at
from proctor.stats.sequential.walks import walk_of

PATHS = 1 << 10
Steps = Sequence[tuple[Hashable, float]]


def _walked(
    by_look: Sequence[Steps], alpha: float, *, n: int = 0, key: str = "k", span: float = 0.0
) -> FlipWalk:
    walk = FlipWalk(n or len(by_look), alpha, paths=PATHS, key=key, span=span)
    for t, steps in enumerate(by_look, start=1):
        walk.look(t, steps)
    return walk


def test_the_transform_is_the_sum_over_all_signs() -> None:
    """Each place of the transform is the sum with that path's signs."""
    values = np.random.default_rng(1).normal(size=64)
    expected = [sum(v * (-1) ** (h & p).bit_count() for h, v in enumerate(values)) for p in range(64)]
    assert transformed(values) == pytest.approx(expected)


@st.composite
def _looks(draw: st.DrawFn) -> list[list[tuple[Hashable, float]]]:
    """Items of up to eight units over up to five looks; units come again, differences have unlike sizes."""
    sizes = st.sampled_from([0.0, 1.0, 1.0, 0.5, -0.5, 1 / 3, -1.0, 2.0])
    item = st.tuples(st.integers(0, 7), sizes)
    return [list(steps) for steps in draw(st.lists(st.lists(item, max_size=5), min_size=1, max_size=5))]


UNLIKE = [[(unit, (unit + 2) ** 0.5 * (-1) ** (unit * t)) for unit in range(t, 8)] for t in range(5)]


@pytest.mark.promise("X-06")
@settings(deadline=None, max_examples=12)
@example(UNLIKE, 0.5, 0.0)
@given(_looks(), st.sampled_from([0.05, 0.2, 0.5]), st.sampled_from([0.0, 1.0]))
def test_of_all_signs_of_the_units_no_more_than_alpha_are_stopped(
    by_look: list[list[tuple[Hashable, float]]], alpha: float, span: float
) -> None:
    """Turned round unit by unit in all ways, as they could be if both are equally good: at most alpha cross."""
    units = sorted({unit for steps in by_look for unit, _ in steps}, key=repr)
    crossed = 0
    for turned in itertools.product((1, -1), repeat=len(units)):
        sign = dict(zip(units, turned, strict=True))
        crossed += _walked(
            [[(u, d * sign[u]) for u, d in steps] for steps in by_look], alpha, span=span
        ).crossed
    assert crossed <= alpha * 2 ** len(units)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(st.sampled_from([1, -1]), max_size=4), min_size=1, max_size=6),
    st.sampled_from([0.1, 0.3, 0.5]),
)
def test_single_items_that_are_right_or_wrong_have_the_exact_walk(
    signs: list[list[int]], alpha: float
) -> None:
    """Where the paths are all signs there are, both walks stop at the same look."""
    numbers = itertools.count()
    by_look = [[(f"item {next(numbers)}", float(sign)) for sign in new] for new in signs]
    names = [unit for steps in by_look for unit, _ in steps]
    assume(len(names) <= 9)
    walk, exact = FlipWalk(len(signs), alpha, paths=PATHS, key="k"), SignWalk(len(signs), alpha)
    assume(_independent(walk, names))
    for t, steps in enumerate(by_look, start=1):
        walk.look(t, steps)
        exact.look(t, steps)
        assert walk.crossed == exact.crossed
        assert walk.walk == exact.walk
        if exact.points[-1].boundary is None:
            assert walk.points[-1].boundary is None


def _independent(walk: FlipWalk, units: Sequence[str]) -> bool:
    """Whether the paths turn the units in all ways: their places are independent over the field of two."""
    found: list[int] = []
    for unit in units:
        rest = walk.place(unit)
        for one in found:
            rest = min(rest, rest ^ one)
        if not rest:
            return False
        found.append(rest)
    return True


@pytest.mark.parametrize("lean", [0.5, 0.6])
def test_with_many_items_both_walks_have_nearly_one_boundary(lean: float) -> None:
    """From a fifth of the items on the boundary of drawn signs is within a tenth of the exact one."""
    n, drawn = 1273, random.Random(4)
    walk, exact, before = walk_of(n, exact=False, key="q"), walk_of(n, exact=True), 0
    for t in looks_at(n):
        steps = [
            (i, 1.0 if drawn.random() < lean else -1.0) for i in range(before, t) if drawn.random() < 0.19
        ]
        before = t
        one, other = walk.look(t, steps), exact.look(t, steps)
        assert one.walk == other.walk
        if t >= n / 5 and one.boundary is not None and other.boundary is not None:
            assert one.boundary == pytest.approx(other.boundary, rel=0.1)
    assert walk.p_value == pytest.approx(exact.p_value, rel=0.5)


@settings(deadline=None, max_examples=25)
@given(_looks(), st.randoms(use_true_random=False))
def test_nothing_depends_on_the_order_within_a_look(
    by_look: list[list[tuple[Hashable, float]]], order: random.Random
) -> None:
    """Items that ended in another order, or were told of one by one, come to the same."""
    mixed = [order.sample(steps, len(steps)) for steps in by_look]
    split = [[(u, d / 2) for u, d in steps for _ in (0, 1)] for steps in by_look]
    one = _walked(by_look, 0.3)
    for other in (_walked(mixed, 0.3), _walked(split, 0.3)):
        assert other.crossed == one.crossed
        assert other.p_value == one.p_value
        assert [p.boundary is None for p in other.points] == [p.boundary is None for p in one.points]


@settings(deadline=None, max_examples=25)
@given(_looks())
def test_turned_round_a_pair_is_the_same(by_look: list[list[tuple[Hashable, float]]]) -> None:
    """The second against the first has the same boundary and p-value."""
    one = _walked(by_look, 0.3)
    other = _walked([[(u, -d) for u, d in steps] for steps in by_look], 0.3)
    assert (other.crossed, other.p_value, -other.walk) == (one.crossed, one.p_value, one.walk)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32), st.floats(0.0, 0.5), st.sampled_from([0.0, 1.0]))
def test_a_p_value_is_the_smallest_level_that_stops(seed: int, lean: float, span: float) -> None:
    """Walks at other levels agree, and p-values only fall."""
    drawn, alpha = np.random.default_rng(seed), 0.2
    by_look = [
        [(int(u), float(d)) for u, d in zip(drawn.integers(0, 30, 6), drawn.normal(lean, 1, 6), strict=True)]
        for _ in range(8)
    ]
    walk = FlipWalk(8, alpha, paths=PATHS, key="k", span=span)
    before = 1.0
    for t, steps in enumerate(by_look, start=1):
        walk.look(t, steps)
        assert walk.p_value <= before
        assert (walk.p_value <= alpha) == walk.crossed
        before = walk.p_value
    grid = levels(alpha)
    place = grid.index(before)
    assert before == 1 or _walked(by_look, before, span=span).crossed
    assert before == grid[-1] or not _walked(by_look, grid[place + 1], span=span).crossed


def test_scores_that_hardly_differ_are_not_taken_for_scores_that_never_do() -> None:
    """A model that is .02 below on every item so far may have failures to come; four items are added for them."""
    by_look = [[(f"item {t}", -0.02)] for t in range(30)]
    assert _walked(by_look, 0.05, n=200).crossed
    told = _walked(by_look, 0.05, n=200, span=1.0)
    assert not told.crossed
    assert told.spread == pytest.approx(math.sqrt(30 * 0.02**2 + 4))


def test_few_clusters_are_never_decided() -> None:
    """Five clusters have 32 ways of signs: two of them are a sixteenth, which is above the level."""
    by_look = [[(f"cluster {c}", 1.0) for c in range(5)] for _ in range(10)]
    walk = _walked(by_look, 0.05)
    assert (walk.crossed, walk.critical) == (False, None)
    assert walk.p_value == pytest.approx(2 / 32, rel=0.01)
    assert _walked([[*steps, ("another", 1.0)] for steps in by_look], 0.05).crossed


def test_paths_make_a_group() -> None:
    """A number of paths that is no power of two is refused."""
    with pytest.raises(ValueError, match="a power of two, not 20000"):
        FlipWalk(10, paths=20_000)
