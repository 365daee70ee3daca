"""A small calibration: intervals hold the truth, equal models are seldom called different, and misses are named."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest

import calibrate
from calibrate import Cell, Held, simulate
from calibrate_kinds import KINDS, Kind
from proctor.stats.compare import differences
from proctor.stats.estimates import scores

pytestmark = pytest.mark.slow  # hundreds of simulated exams

HELD = Held(Cell("accuracy", 100, 0.8), 0.95, None, 2000)


def measured(kind: Kind, items: int, able: float, exams: int) -> float:
    random, found = np.random.default_rng(7), []
    for _ in range(exams):
        rows = kind.make(kind.draw(random, items, [able], 0.0)[0])
        found += [s.estimate.value for s in scores(rows, kind.shape) if kind.metric in (None, s.metric)][:1]
    return fmean(value for value in found if value is not None)


@pytest.mark.parametrize("name", KINDS)
def test_the_true_value_is_that_of_a_large_exam(name: str) -> None:
    kind = KINDS[name]
    for able in (0.5, 0.95):
        # Half of an exam in one cluster stays uncertain however many items it has.
        found = measured(kind, 200, able, 120) if name == "giant" else measured(kind, 2000, able, 1)
        assert found == pytest.approx(kind.true(able), abs=0.065 * max(1.0, kind.true(able)))


@pytest.mark.parametrize(
    ("cell", "exams"),
    [
        (Cell("accuracy", 56, 0.95), 400),
        (Cell("accuracy, clusters", 100, 0.8), 300),
        (Cell("mcc", 56, 0.95), 300),
        (Cell("macro_f1", 20, 0.95), 200),
        (Cell("mean", 100, 0.95), 400),
        (Cell("words", 56, 0.8), 100),
        (Cell("pearson", 20, 0.8), 150),
        (Cell("pass@2", 20, 0.8), 200),
        (Cell("suite", 80, 0.8), 100),
        (Cell("limited", 60, 0.8), 200),
    ],
    ids=lambda cell: getattr(cell, "kind", ""),
)
def test_intervals_hold_the_true_value(cell: Cell, exams: int) -> None:
    """At 92 % coverage, 0.92 less three standard errors is passed but once in 700 times; seeds are fixed."""
    assert simulate(cell, exams).coverage > 0.92 - 3 * (0.92 * 0.08 / exams) ** 0.5


@pytest.mark.parametrize("kind", ["accuracy", "mcc", "mean", "limited"])
def test_equal_models_are_seldom_called_different(kind: str) -> None:
    found = simulate(Cell(kind, 100, 0.8, 0.4), 150)
    assert found.better is not None and found.better < 0.05 + 3 * (0.05 * 0.95 / 150) ** 0.5
    assert found.coverage > 0.92 - 3 * (0.92 * 0.08 / 150) ** 0.5


def test_a_true_difference_is_held_and_often_found() -> None:
    found = simulate(Cell("accuracy", 277, 0.8, 0.4, 0.1), 150)
    assert found.coverage > 0.86 and (found.better or 0) > 0.6


def test_rho_makes_two_models_go_together() -> None:
    kind = KINDS["accuracy"]
    seen = []
    for rho in (0.0, 0.8):
        sides = [kind.make(d) for d in kind.draw(np.random.default_rng(1), 2000, [0.8, 0.8], rho)]
        seen.append(differences(sides[0], sides[1], kind.shape, tasks=False)[0].correlation)
    assert seen == pytest.approx([0.0, 0.8], abs=0.06)


def test_a_wrong_interval_would_be_seen() -> None:
    """A true value that is stated 20 points too low is hardly ever held."""
    wrong = {"accuracy": replace(KINDS["accuracy"], true=lambda able: able - 0.2)}
    assert simulate(Cell("accuracy", 277, 0.8), 50, wrong).coverage < 0.1


def test_the_full_calibration_has_what_the_issue_names() -> None:
    cells = list(calibrate.cells(small=False))
    assert {20, 56, 100, 277, 1273} == {c.items for c in cells if c.kind == "accuracy" and c.rho is None}
    assert {0.5, 0.8, 0.95, 0.99} == {c.able for c in cells if c.kind == "mcc" and c.rho is None}
    assert {None, 0.0, 0.4, 0.8} == {c.rho for c in cells}
    assert len(set(cells)) == len(cells) and {c.kind for c in cells} == KINDS.keys()
    assert calibrate.EXAMS >= 2000


def test_a_cell_that_misses_is_set_in_bold_and_named_with_what_to_do() -> None:
    pair = Cell("mcc", 20, 0.99, 0.4)
    found = [
        HELD,
        replace(HELD, cell=Cell("mcc", 20, 0.95), coverage=0.885),
        Held(pair, 0.93, 0.081, 2000),
        Held(replace(pair, gap=0.1), 0.93, 0.5, 2000),
    ]
    text = calibrate.page(found)
    assert "| accuracy | 100 | 2,000 | 95.0% | - |" in text and "| **88.5%** |" in text
    assert "MCC, 20 items, ability 0.95, one model: coverage 88.5%" in text
    assert "MCC, 20 items, ability 0.99, two models, rho 0.4: false verdicts 8.1%" in text
    assert "| 50.0%, 93.0% |" in text and text.count("\n- ") == 2


def test_a_page_is_read_back_so_that_rows_can_be_made_again_alone() -> None:
    found = [
        HELD,
        Held(Cell("mcc", 1273, 0.95), 0.885, None, 500),
        Held(Cell("mcc", 20, 0.99, 0.4), 0.93, 0.081, 2000),
        Held(Cell("mcc", 20, 0.8, 0.4, 0.1), 0.93, 0.5, 2000),
    ]
    text = calibrate.page(found)
    assert set(calibrate.kept(text)) == set(found) and calibrate.page(calibrate.kept(text)) == text


def test_what_chance_explains_is_no_miss() -> None:
    assert not calibrate.misses(Held(Cell("mcc", 20, 0.8, 0.4), 0.95, 0.058, 2000))
    assert calibrate.misses(Held(Cell("mcc", 20, 0.8, 0.4), 0.95, 0.062, 2000))
    assert calibrate.page([HELD]).endswith("## Cells that miss their bar\n\nNone.\n")
