"""Sequential walks: looks, spending, exact boundaries against all paths, p-values."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.stats.sequential.sign import SignWalk
from proctor.stats.sequential.spending import budget, looks_at


@given(st.integers(1, 20_000))
def test_is_looked_at_every_hundredth_and_at_the_end(n: int) -> None:
    looks = looks_at(n)
    assert looks[-1] == n
    assert list(looks) == sorted(set(looks))
    assert looks == tuple(sorted({-(-n * i // 100) for i in range(1, 101)}))


def _bounds(made: list[int], n: int, alpha: float) -> list[float]:
    """Boundaries as the recipe has them: all paths one by one, in whole numbers."""
    paths = [tuple(itertools.accumulate(path)) for path in itertools.product((1, -1), repeat=sum(made))]
    alive, spent, bounds, at = set(range(len(paths))), Fraction(0), [], 0
    for t, new in enumerate(made, start=1):
        at += new
        where = {p: abs(paths[p][at - 1]) if at else 0 for p in alive}
        left = Fraction(budget(alpha, t, n)) - spent
        c = next(
            c
            for c in range(at % 2, at + 4, 2)
            if Fraction(sum(w >= c for w in where.values()), len(paths)) <= left
        )
        gone = {p for p in alive if where[p] >= c}
        alive, spent = alive - gone, spent + Fraction(len(gone), len(paths))
        bounds.append(float(c) if c <= at else float("inf"))
    return bounds


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=6).filter(lambda made: sum(made) <= 12),
    st.sampled_from([0.05, 0.2, 0.5, 0.9]),
)
def test_the_boundary_is_that_of_all_paths(made: list[int], alpha: float) -> None:
    n = len(made)
    walk = SignWalk(n, alpha)
    points = [walk.look(t, [1, -1] * (new // 2) + [1] * (new % 2)) for t, new in enumerate(made, start=1)]
    expected = _bounds(made, n, alpha)
    assert [p.boundary for p in points] == [None if b == float("inf") else b for b in expected]


def test_a_sign_walk_takes_signs_and_goes_on() -> None:
    walk = SignWalk(10)
    walk.look(2, [1, 0])
    with pytest.raises(ValueError, match="does not go on from 2"):
        walk.look(2, [])
    with pytest.raises(ValueError, match="-1, 0 and 1"):
        walk.look(3, [0.5])
