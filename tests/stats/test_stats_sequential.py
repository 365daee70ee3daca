"""The walk of right and wrong: its looks, its boundary against all paths, its level, its p-value."""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proctor.stats.paired import mcnemar_exact
from proctor.stats.sequential.sign import SignWalk
from proctor.stats.sequential.spending import LEAST, budget, levels, looks_at
from proctor.stats.sequential.walks import replayed

SIGNS = st.sampled_from([1, -1])
MADE = st.lists(st.integers(0, 3), min_size=1, max_size=6).filter(lambda made: sum(made) <= 10)
ALPHAS = st.sampled_from([0.05, 0.2, 0.5, 0.9])


@given(st.integers(1, 20_000))
def test_is_looked_at_every_hundredth_and_at_the_end(n: int) -> None:
    """Item counts rise, are the hundredths rounded up, and end with the last item."""
    looks = looks_at(n)
    assert looks == tuple(sorted({-(-n * i // 100) for i in range(1, 101)}))
    assert (looks[-1], budget(0.05, looks[-1], n)) == (n, 0.05)


@given(st.floats(0.0001, 0.5))
def test_levels_are_close_and_hold_alpha_and_one(alpha: float) -> None:
    """No two neighbouring levels are more than a hundredth apart."""
    found = levels(alpha)
    assert {1.0, alpha} <= set(found)
    assert all(1 < above / below < 1.01 for above, below in itertools.pairwise(found))
    assert found[-1] <= LEAST


def _by_all_paths(made: Sequence[int], n: int, alpha: float) -> list[int | None]:
    """The boundaries as the recipe has them: all paths one by one, in whole numbers."""
    paths = [tuple(itertools.accumulate(path)) for path in itertools.product((1, -1), repeat=sum(made))]
    alive, spent, bounds, at = set(range(len(paths))), Fraction(0), [], 0
    for t, new in enumerate(made, start=1):
        at += new
        where = {p: abs(paths[p][at - 1]) if at else 0 for p in alive}
        left = Fraction(budget(alpha, t, n)) - spent
        sizes = range(at % 2, at + 4, 2)
        c = next(c for c in sizes if Fraction(sum(w >= c for w in where.values()), len(paths)) <= left)
        gone = {p for p in alive if where[p] >= c}
        alive, spent = alive - gone, spent + Fraction(len(gone), len(paths))
        bounds.append(c if c <= at else None)
    return bounds


def _walked(made: Sequence[int], signs: Sequence[int], n: int, alpha: float) -> SignWalk:
    walk, rest = SignWalk(n, alpha), iter(signs)
    for t, new in enumerate(made, start=1):
        walk.look(t, list(itertools.islice(rest, new)))
    return walk


@settings(deadline=None, max_examples=60)
@given(MADE, ALPHAS)
@example([0, 6, 0, 1], 0.5)
def test_the_boundary_is_that_of_all_paths(made: list[int], alpha: float) -> None:
    """The short array of the walk gives what enumerating all 2^m paths gives."""
    walk = _walked(made, [1] * sum(made), len(made), alpha)
    assert [point.boundary for point in walk.points] == _by_all_paths(made, len(made), alpha)


@pytest.mark.promise("X-06")
@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=25), st.sampled_from([0.01, 0.05, 0.3]), st.booleans()
)
def test_no_placement_of_discordant_items_is_stopped_too_often(
    made: list[int], alpha: float, later: bool
) -> None:
    """Followed exactly: if both are equally good, the chance of crossing anywhere is at most alpha."""
    n = len(made) * (4 if later else 1)  # some paths are broken off long before the end
    walk = _walked(made, [1] * sum(made), n, alpha)
    alive: dict[int, Fraction] = {0: Fraction(1)}
    stopped = Fraction(0)
    for t, (new, point) in enumerate(zip(made, walk.points, strict=True), start=1):
        for _ in range(new):
            after: dict[int, Fraction] = defaultdict(Fraction)
            for at, mass in alive.items():
                after[at + 1] += mass / 2
                after[at - 1] += mass / 2
            alive = after
        if point.boundary is not None:
            stopped += sum((mass for at, mass in alive.items() if abs(at) >= point.boundary), Fraction(0))
            alive = {at: mass for at, mass in alive.items() if abs(at) < point.boundary}
        assert stopped <= Fraction(budget(alpha, t, n)) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("n", [200, 1273, 14_042])
def test_little_of_alpha_is_left_over_at_full_size(n: int) -> None:
    """What is spent over the whole path is close beneath alpha, so that no power is given away."""
    looks = looks_at(n)
    made = [(19 * t) // 100 - (19 * before) // 100 for before, t in itertools.pairwise((0, *looks))]
    walk, turns = SignWalk(n), itertools.cycle((1, -1))
    for t, new in zip(looks, made, strict=True):
        walk.look(t, list(itertools.islice(turns, new)))
    assert 0.047 < walk.spent <= 0.05
    assert not walk.crossed


@settings(deadline=None, max_examples=40)
@given(MADE, ALPHAS, st.data())
def test_crossing_is_standing_on_the_boundary(made: list[int], alpha: float, data: st.DataObject) -> None:
    """A walk has crossed from the first look on at which it is at its boundary or beyond."""
    signs = data.draw(st.lists(SIGNS, min_size=sum(made), max_size=sum(made)))
    walk, rest, crossed = SignWalk(len(made), alpha), iter(signs), False
    for t, new in enumerate(made, start=1):
        point = walk.look(t, list(itertools.islice(rest, new)))
        crossed = crossed or (point.boundary is not None and abs(point.walk) >= point.boundary)
        assert walk.crossed == crossed
        assert (walk.critical is None) == (point.boundary is None)


# p-values ----------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.integers(0, 12), min_size=3, max_size=12),
    st.floats(0.5, 1.0),
    st.integers(0, 2**32),
    st.sampled_from([0.05, 0.2]),
)
def test_a_p_value_is_the_smallest_level_that_stops(
    made: list[int], lean: float, seed: int, alpha: float
) -> None:
    """Walks at other levels agree: those from the p-value up to alpha have stopped, the next below has not."""
    drawn = random.Random(seed)
    signs = [1 if drawn.random() < lean else -1 for _ in range(sum(made))]
    walk = _walked(made, signs, len(made), alpha)
    p = walk.p_value
    assert (p <= alpha) == walk.crossed
    grid = levels(alpha)
    place = grid.index(p)
    if p < 1:
        assert _walked(made, signs, len(made), p).crossed
    if p > grid[-1]:
        assert not _walked(made, signs, len(made), grid[place + 1]).crossed
    if walk.crossed:
        between = grid[grid.index(alpha) : place + 1]
        assert all(
            _walked(made, signs, len(made), level).crossed for level in between[:: len(between) // 8 + 1]
        )


@settings(deadline=None, max_examples=12)
@given(st.lists(st.integers(0, 12), min_size=3, max_size=12), st.floats(0.5, 1.0), st.integers(0, 2**32))
def test_p_values_only_fall_and_pay_for_what_was_seen(made: list[int], lean: float, seed: int) -> None:
    """Asked at each look or only at the end, they are the same; none is below what its looks can pay for."""
    drawn, n = random.Random(seed), len(made)
    walk, asked, least, before = SignWalk(n), SignWalk(n), 1.0, 1.0
    for t, new in enumerate(made, start=1):
        steps = [1 if drawn.random() < lean else -1 for _ in range(new)]
        walk.look(t, steps)
        asked.look(t, steps)
        assert asked.p_value <= before
        before = asked.p_value
        ahead = (walk.made + int(walk.walk)) // 2
        # At level a at most a (t/n)^2 is spent by now, and to come so far in a single look costs this much.
        least = min(least, mcnemar_exact(ahead, walk.made - ahead) / (t / n) ** 2)
        assert before >= least or before == levels(0.05)[-1]
    assert walk.p_value == before


@settings(deadline=None, max_examples=8)
@given(st.lists(st.integers(0, 3), min_size=2, max_size=5).filter(lambda made: 0 < sum(made) <= 8))
def test_p_values_are_small_as_seldom_as_they_say(made: list[int]) -> None:
    """Over all paths: P(p <= a) <= a for every level up to alpha."""
    alpha = 0.5
    every = [
        _walked(made, signs, len(made), alpha).p_value
        for signs in itertools.product((1, -1), repeat=sum(made))
    ]
    for p in {p for p in every if p <= alpha}:
        assert sum(other <= p for other in every) / len(every) <= p


# The rest ----------------------------------------------------------------------------------------


def test_a_sign_walk_takes_signs_and_goes_on() -> None:
    """Steps are signs, alone or with an item; looks go on, and no further than planned."""
    walk = SignWalk(10)
    assert walk.look(2, [1, 0, ("q1", -1.0), ("q2", 1.0)]).walk == 1
    for t in (2, 11):
        with pytest.raises(ValueError, match=f"at {t} items does not go on from 2, or beyond the 10 planned"):
            walk.look(t, [])
    with pytest.raises(ValueError, match=r"-1, 0 and 1, not 0\.5"):
        walk.look(3, [0.5])


def test_a_million_items_have_a_walk() -> None:
    """Long walks are spread at once; their boundary is that of a walk with a fiftieth of the steps."""
    bounds = {}
    for each in (40, 2000):
        walk = SignWalk(100)
        for t in range(1, 101):
            walk.look(t, [1, -1] * (each // 2))
        bounds[each] = walk.critical or 0.0
        assert 0.049 < walk.spent <= 0.05
    assert bounds[2000] == pytest.approx(bounds[40], rel=0.02)


def test_a_kept_path_ends_where_it_was_decided() -> None:
    """The path of a pair alone is told to the look that ended it, and no further."""
    n, looks = 1200, looks_at(1200)
    path = replayed(((t, [1] * 4) for t in looks), n, exact=True)
    assert (path.ended, path.of, path.test) == ("decided", n, "sign walk, spending 0.05 (t/N)^2")
    assert path.items == next(p.items for p in path.points if p.boundary is not None and p.walk >= p.boundary)
    assert path.p_value <= 0.05
    assert path.items < 60
    even = replayed(((t, [1, -1]) for t in looks), n, exact=True)
    assert even.ended == "futile"
    assert 120 <= even.items < 600
