"""When a walk ends besides being decided: futility; and the interval that holds at whatever look one stops."""

from __future__ import annotations

import itertools
import random
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.stats.sequential.flip import FlipWalk
from proctor.stats.sequential.futility import conditional_power, futile
from proctor.stats.sequential.repeated import repeated_interval, repeated_shares
from proctor.stats.sequential.sign import SignWalk
from proctor.stats.sequential.spending import looks_at


def _sign_walk(ahead: int, behind: int, t: int, n: int) -> SignWalk:
    walk = SignWalk(n)
    walk.look(t, [1] * ahead + [-1] * behind)
    return walk


def test_conditional_power_is_that_of_a_brownian_motion() -> None:
    """Against draws of the rest: the trend and .84 standard errors more, to what one look asks for at the end."""
    walk = _sign_walk(ahead=60, behind=45, t=500, n=1273)
    drawn, rest, spread = random.Random(3), 773, 105**0.5
    drift, wide = (15 + 0.84 * spread) / 500, spread * (rest / 500) ** 0.5
    needed = NormalDist().inv_cdf(0.975) * spread * (1273 / 500) ** 0.5
    ends = [15 + drift * rest + drawn.gauss(0, wide) for _ in range(40_000)]
    assert conditional_power(walk) == pytest.approx(sum(end >= needed for end in ends) / 40_000, abs=0.01)
    assert conditional_power(walk, 0.01) < conditional_power(walk)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(80, 1000))
def test_a_pair_is_futile_from_a_tenth_on_and_never_where_it_is_decided(
    ahead: int, behind: int, t: int
) -> None:
    """Futile are pairs with little hope, whichever model is ahead."""
    walk, turned = _sign_walk(ahead, behind, t, 1000), _sign_walk(behind, ahead, t, 1000)
    assert futile(walk) == futile(turned)
    assert conditional_power(walk) == conditional_power(turned)
    if futile(walk):
        assert 100 <= t < 1000
        assert not walk.crossed
        assert conditional_power(walk) < 0.1
    if ahead + behind and t < 1000:
        further = _sign_walk(ahead + 1, behind - 1, t, 1000) if 0 < behind <= ahead else walk
        assert conditional_power(further) >= conditional_power(walk)


def test_walks_without_a_step_are_not_futile() -> None:
    """Two models that never differed so far are told nothing of; futility takes what was seen."""
    walk = SignWalk(100)
    assert not futile(walk)
    walk.look(20, [])
    assert not futile(walk)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.floats(0.3, 0.9))
def test_the_interval_of_shares_leaves_out_0_where_the_walk_stops(seed: int, lean: float) -> None:
    """At every look: 0 is outside exactly where the walk is at its boundary or beyond."""
    drawn, n, before = random.Random(seed), 300, 0
    walk, ahead = SignWalk(n), 0
    for t in looks_at(n):
        steps = [1 if drawn.random() < lean else -1 for _ in range(t - before) if drawn.random() < 0.4]
        before, ahead = t, ahead + steps.count(1)
        point = walk.look(t, steps)
        low, high = repeated_shares(ahead, walk.made - ahead, t, walk.critical)
        stops = point.boundary is not None and abs(point.walk) >= point.boundary
        assert (low > 0 or high < 0) == stops
        assert -1 <= low <= point.walk / t <= high <= 1
        if point.boundary is None:
            assert (low, high) == (-1, 1)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32), st.floats(0.0, 0.3))
def test_the_interval_of_means_leaves_out_0_where_the_walk_stops(seed: int, lean: float) -> None:
    """With the walk's own standard error, items added or not."""
    drawn, n = random.Random(seed), 300
    for span in (0.0, 1.0):
        walk, before = FlipWalk(n, paths=1 << 10, key="k", span=span), 0
        for t in looks_at(n)[::4]:
            point = walk.look(t, [(i // 3, drawn.gauss(lean, 1)) for i in range(before, t)])
            before = t
            low, high = repeated_interval(point.walk / t, walk.spread / t, walk.critical, most=9.0)
            assert (low > 0 or high < 0) == (point.boundary is not None and abs(point.walk) >= point.boundary)


def test_the_interval_holds_at_all_looks_at_once() -> None:
    """Of 300 exams with a difference of 5 points, the truth is inside at every look in about 95 %."""
    drawn, n, held, exams = random.Random(11), 400, 0, 300
    looks = looks_at(n)[::5]
    for _ in range(exams):
        walk, ahead, inside = SignWalk(n), 0, True
        for before, t in itertools.pairwise((0, *looks)):
            signs = drawn.choices((1, -1, 0), (0.12, 0.07, 0.81), k=t - before)
            ahead += signs.count(1)
            walk.look(t, signs)
            low, high = repeated_shares(ahead, walk.made - ahead, t, walk.critical)
            inside = inside and low <= 0.05 <= high
        held += inside
    # Three standard errors beneath 95 %.
    assert held / exams >= 0.95 - 3 * (0.95 * 0.05 / exams) ** 0.5
