"""The part of `make calibrate` about exams that stop when they are decided: its cells, its page, and what it finds."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import calibrate_sequential
from calibrate_batch import WalkEnd, walked_at_once
from calibrate_page import FORKS, SEQUENTIAL, part, replaced
from calibrate_sequential import (
    SequentialCell,
    SequentialHeld,
    cells,
    misses,
    section,
    simulate,
    walked,
    walked_signs,
)
from calibrate_several import CELLS, SeveralCell, SeveralHeld, simulate_several, walks
from calibrate_walks import WAYS, Sat
from proctor.stats.paired import ALPHA
from proctor.stats.sequential.futility import futile
from proctor.stats.sequential.measure import Measure, measure_of
from proctor.stats.sequential.sign import SignWalk
from proctor.stats.sequential.spending import looks_at
from proctor.stats.sequential.stages import ends

HELD = SequentialHeld(
    SequentialCell("rights", 200, 0.75), 0.04, 0.03, 0.0, 0.6, 0.55, 0.96, 0.97, 0.05, 0.2, 2000
)


def test_sizes_gaps_clusters_grades_errors_three_and_five_models_are_cells() -> None:
    found = list(cells())
    assert len(set(found)) == len(found) and {cell.way for cell in found} == set(WAYS)
    apart = {(cell.items, cell.gap) for cell in found if cell.way == "rights"}
    assert {(n, gap) for n in (200, 1273, 14042) for gap in (0.0, 0.02, 0.05, 0.1, 0.3)} <= apart
    assert {0.5, 0.75, 0.95, 0.99} <= {cell.able for cell in found if not cell.gap}
    assert {len(cell.ables) for cell in CELLS} == {2, 3, 5} and {0.2, 0.6} <= {cell.lost for cell in CELLS}
    assert "fives" in {cell.way for cell in CELLS} and calibrate_sequential.EXAMS >= 2000


@pytest.mark.slow
@pytest.mark.promise("X-06")
def test_equal_models_are_seldom_called_different_however_often_is_looked() -> None:
    for cell, exams in ((SequentialCell("rights", 200, 0.75), 300), (SequentialCell("fives", 200, 0.75), 60)):
        found = simulate(cell, exams)
        assert found.better < 0.05 + 3 * (0.05 * 0.95 / exams) ** 0.5
        assert found.coverage > 0.92 and found.median_calls < 0.75 and found.futile > 0.9


@pytest.mark.slow
def test_models_far_apart_are_told_apart_early() -> None:
    found = simulate(SequentialCell("rights", 1273, 0.9, 0.5, 0.3), 30)
    assert found.found == 1.0 and found.wrong == 0.0 and found.calls < 0.15 and found.reference == 1.0


@pytest.mark.parametrize(("able", "gap"), [(0.75, 0.0), (0.75, 0.1), (0.99, 0.0)])
def test_walks_at_once_are_those_of_proctor(able: float, gap: float) -> None:
    random = np.random.default_rng(3)
    sats = [WAYS["rights"].draw(random, 200, (able, able - gap), 0.5) for _ in range(40)]
    apart = np.array([sat.differences for sat in sats])
    for steps, end in zip(apart.tolist(), walked_at_once(apart), strict=True):
        walk, stood = SignWalk(200), None
        for before, t in pairwise((0, *looks_at(200))):
            walk.look(t, steps[before:t])
            if stood is None and (walk.crossed or futile(walk) or t == 200):
                stood = WalkEnd(walk.crossed, t, futile(walk), int(walk.walk), walk.made, walk.critical)
        assert stood is not None and end == replace(stood, crossed=walk.crossed)


@pytest.mark.parametrize("way", ["rights", "fives", "grades"])
def test_what_is_simulated_ends_as_what_decides_runs(way: str) -> None:
    """The quick way of a cell and the pairs that decide runs side by side say the same of the same exams."""
    measure = measure_of(WAYS[way].shape, {"q": 200})
    assert isinstance(measure, Measure)
    random, seen = np.random.default_rng(5), set()
    for able in (0.8, 0.8, 0.6, 0.5):
        sat = WAYS[way].draw(random, 200, (0.8, able), 0.5).shuffled(random)
        quick = next(walked_signs([sat], 0.0)) if way == "rights" else walked(sat, WAYS[way], 0.0)
        pairs = walks(sat, np.zeros(200, dtype=bool), measure)
        end = ends(pairs, ALPHA)[0, 1]
        assert quick.found == (end.ended == "decided")
        if way == "rights":  # with the same boundary; paths of other signs cross a look sooner or later
            assert quick.calls == pairs[0, 1].items(end.looks) / 200
        seen.add(quick.found)
    assert seen == {True, False}


@pytest.mark.slow
@pytest.mark.promise("X-06")
def test_errors_in_place_of_wrong_answers_win_nothing() -> None:
    held = simulate_several(SeveralCell("rights", 200, (0.75, 0.75), 0.6), 60)
    assert held.false < 0.05 + 3 * (0.05 * 0.95 / 60) ** 0.5 and held.reference > 0.25


def test_a_cluster_counts_once_however_its_items_are_ordered() -> None:
    scores = np.array([[1.0] * 8, [0.0] * 8])
    sat = Sat(scores, np.arange(8) // 4)
    assert not sat.exact and Sat(scores).exact and not Sat(scores / 2).exact
    turned = sat.shuffled(np.random.default_rng(1))
    assert sorted(turned.unit.tolist()) == sorted(sat.unit.tolist())
    assert {row.cluster for row in turned.rows(0)} == {"c0", "c1"}


def test_a_stopped_cell_that_misses_is_named_and_other_parts_of_the_page_are_kept() -> None:
    false = replace(HELD, cell=replace(HELD.cell, items=1273), better=0.081)
    apart = replace(HELD, cell=SequentialCell("rights", 200, 0.8, 0.57, 0.1), better=0.9)
    three = SeveralHeld(CELLS[0], 0.07, None, 0.5, 0.5, 0.95, 0.03, 2000)
    assert [misses(held) for held in (HELD, false, apart, three)] == [False, True, False, True]
    assert not misses(replace(HELD, better=0.058)) and misses(replace(HELD, coverage=0.9))
    text = section([three, false, HELD, apart])
    assert "| right or wrong | 200 | 0.75 | 2,000 | 20% | 4.0% ± 0.4% | 3.0% |" in text
    assert "right or wrong, 1,273 items, ability 0.75, rho 0.5: false better 8.1%" in text
    assert "- right or wrong, 200 items, abilities 0.75, 0.75, 0.75: false better 7.0%" in text
    assert "error of the simulation\n\nNone.\n" in text
    assert "0.75, rho 0.5: 5.5%, all items" in section([replace(HELD, better=0.055)])
    page = f"# Calibration\n{text}{FORKS}paths\n"
    assert part(page, SEQUENTIAL) == text and part(page, FORKS) == f"{FORKS}paths\n"
    assert (
        replaced(page, SEQUENTIAL, f"{SEQUENTIAL}new\n") == f"# Calibration\n{SEQUENTIAL}new\n{FORKS}paths\n"
    )
