"""The interval plot: an axis that holds every interval, and names that fit beside the numbers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.report.blocks import Dot, Plot
from proctor.report.plot import EDGE, MOST_LETTERS, WIDTH, axis, shortened, svg

shares = st.floats(0, 1, allow_subnormal=False)


@given(st.lists(st.tuples(shares, shares, shares), min_size=1, max_size=5))
def test_the_axis_holds_every_interval(triples: list[tuple[float, float, float]]) -> None:
    dots = [Dot("m", at, low, high) for low, at, high in map(sorted, triples)]
    scale = axis(dots)
    assert 0 <= scale.ticks[0] <= min(dot.low for dot in dots) + 1e-6
    assert max(dot.high for dot in dots) - 1e-6 <= scale.ticks[-1] <= 1
    assert 3 <= len(scale.ticks) <= 7
    for dot in dots:
        assert EDGE - 1 <= scale.x(dot.low) <= scale.x(dot.value) <= scale.x(dot.high) <= WIDTH - EDGE + 1


@given(st.lists(st.tuples(shares, shares, shares), min_size=1, max_size=5))
def test_no_two_ticks_carry_the_same_label(triples: list[tuple[float, float, float]]) -> None:
    drawn = svg(Plot("t", tuple(Dot("m", at, low, high) for low, at, high in map(sorted, triples))))
    labels = re.findall(r'class="tick"[^>]*>([^<]+)<', drawn)
    assert len(labels) == len(set(labels)) >= 3


@pytest.mark.parametrize(
    ("low", "high", "ends", "zoomed"),
    [
        (0.508, 0.595, (0.5, 0.6), True),
        (0.0, 0.0642, (0.0, 0.08), True),
        (0.9358, 1.0, (0.92, 1.0), True),
        (0.1, 0.9, (0.0, 1.0), False),
        (1.0, 1.0, (0.998, 1.0), True),
        (0.0, 0.0, (0.0, 0.002), True),
    ],
)
def test_the_ends_of_the_axis(low: float, high: float, ends: tuple[float, float], zoomed: bool) -> None:
    scale = axis([Dot("m", low, low, high)])
    assert (scale.ticks[0], scale.ticks[-1]) == ends
    assert scale.zoomed is zoomed


def test_a_metric_below_0_has_an_axis_too() -> None:
    scale = axis([Dot("m", -0.1, -0.3, 0.2)])
    assert scale.ticks[0] <= -0.3
    assert scale.ticks[-1] >= 0.2


@given(st.text(max_size=200))
def test_a_name_keeps_its_beginning_and_end_and_fits(name: str) -> None:
    short = shortened(name)
    assert len(short) <= max(MOST_LETTERS, 1)
    assert short == name or (name.startswith(short.split("…")[0]) and short[-1] == name[-1])
