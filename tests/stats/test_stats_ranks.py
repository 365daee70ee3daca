"""Ranks from verdicts: known boards, ties, and that order does not matter."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compared import compared, run, scored, table
from proctor.stats.estimates import Shape, TaskShape
from proctor.stats.ranks import best_shares, rank_intervals, resampled


def board(*rights: int) -> list[tuple[int, int]]:
    """The ranks of models with so many of 100 items right, each the first ones."""
    sides = [(run(f"m{i}"), scored([1.0] * n + [0.0] * (100 - n))) for i, n in enumerate(rights)]
    return rank_intervals([side[0].id for side in sides], compared(sides))


def test_models_that_are_told_apart_have_one_rank() -> None:
    assert board(90, 60, 30) == [(1, 1), (2, 2), (3, 3)]


def test_tied_models_share_the_best_rank_they_may_have() -> None:
    assert board(70, 70, 70) == [(1, 3)] * 3
    assert board(90, 60, 58) == [(1, 1), (2, 3), (2, 3)]


def test_a_tie_need_not_pass_on() -> None:
    """The first is better than the third; the second is told apart from neither."""
    assert board(80, 76, 72) == [(1, 2), (1, 3), (2, 3)]


def test_a_single_model_is_first() -> None:
    assert board(50) == [(1, 1)]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 100), min_size=1, max_size=5), st.randoms())
def test_order_does_not_matter_and_ranks_are_possible(rights: list[int], chance: random.Random) -> None:
    ranks = board(*rights)
    order = chance.sample(range(len(rights)), len(rights))
    assert board(*(rights[i] for i in order)) == [ranks[i] for i in order]
    for (best, worst), n in zip(ranks, rights, strict=True):
        assert 1 <= best <= worst <= len(rights)
        assert best <= 1 + sum(other > n for other in rights)  # never below its place by score
        assert worst >= 1 + sum(other > n for other in rights)


def test_equal_draws_share_the_first_place() -> None:
    draws = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.5]])
    assert best_shares(draws) == pytest.approx([0.25, 0.75, 0.0])


def test_the_joint_bootstrap_of_plain_accuracy() -> None:
    a, b = table(40, 20, 10, 30)
    found = resampled([a, b], Shape("Suite", {"q": TaskShape("Q")}))
    assert (found[:, 0] - found[:, 1]).mean() == pytest.approx(0.1, abs=0.01)
    assert (found[:, 0] - found[:, 1]).std() == pytest.approx((0.3 - 0.01) ** 0.5 / 10, rel=0.1)
