"""A table of roundings: what a number must never be made to look like."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compared import pair, run
from proctor import figures
from proctor.cli.progress import describe
from proctor.cli.tables import result_lines
from proctor.findings import Estimate, RunResult, Tally
from proctor.service.evidence.verdicts import sentence
from proctor.service.runs.pace.progress import Progress


def interval(value: float, low: float, high: float) -> str:
    return figures.estimate(Estimate(value, 0.01, low, high, 5000, 5000, "Wilson"))


@pytest.mark.parametrize(
    ("said", "written"),
    [
        (figures.fraction(0.9996), "0.999"),  # never 1.000
        (figures.fraction(1 - 1e-12), "0.999"),
        (figures.fraction(1.0), "1.000"),
        (figures.fraction(0.0004), "0.001"),  # never 0.000
        (figures.fraction(-0.0001), "-0.001"),  # and it keeps its sign
        (figures.fraction(0.0), "0.000"),
        (figures.fraction(None), "-"),  # never 0
        (interval(0.9996, 0.9989, 1.0), "0.999 [0.999, 1.000]"),
        (interval(0.0002, 0.0, 0.0011), "0.001 [0.000, 0.001]"),
        (figures.p_value(0.00009), "p < 0.0001"),  # never p = 0
        (figures.p_value(0.0), "p < 0.0001"),
        (figures.p_value(0.0001), "p = 0.0001"),
        (figures.p_value(0.04999), "p = 0.0499"),  # below 0.05 stays below
        (figures.p_value(0.0501), "p = 0.050"),
        (figures.p_value(0.9999), "p = 1"),
        (figures.p_value(None), "p not computed"),
        (figures.share(0.9996), ">99 %"),  # never certain
        (figures.share(0.0004), "<1 %"),
        (figures.share(1.0), "100 %"),
        (figures.dollars(None), "unknown"),  # never free
        (figures.dollars(0.0), "$0.00"),
        (figures.dollars(0.0000042), "$0.0000042"),
        (figures.duration(0.00001), "under 1 ms"),
    ],
)
def test_roundings(said: str, written: str) -> None:
    assert said == written


@pytest.mark.parametrize("counts", [(40, 7, 7, 46), (100, 0, 0, 0), (0, 0, 0, 9)])
def test_a_tie_has_no_winner(counts: tuple[int, int, int, int]) -> None:
    c = pair(*counts)
    said = sentence((c,), ["a", "b"])
    assert "better than" not in said and c.verdict in ("no difference shown", "practically equal")
    assert "0.000 [-0." in said


def test_a_difference_too_small_for_three_digits_is_still_not_nothing() -> None:
    c = pair(both=9000, only_first=2, only_second=1, neither=997)
    assert c.whole.estimate.value == pytest.approx(0.0001)
    assert ": 0.001 [-0.001, 0.001]" in sentence((c,), ["a", "b"])


def test_a_run_under_way_is_not_at_100_percent() -> None:
    of = replace(run("a"), planned=10_000)
    p = Progress(0.0, 9_996, 4, 1.0, 0.0, 0, 0)
    assert describe(of, p).startswith("sim/a: 9,996/10,000 (>99 %) | ")
    assert describe(of, replace(p, done=10_000)).startswith("sim/a: 10,000/10,000 (100 %) | ")
    assert "0/0 (-)" in describe(replace(of, planned=0), replace(p, done=0))


def test_a_run_without_a_score_has_its_name_and_counts_askings() -> None:
    failed = replace(run("a"), planned=40, settled=0)
    tally = Tally({"error": 20}, None, None, None, None, None)
    lines = list(result_lines(RunResult(failed, (), tally)))
    assert lines[0] == "sim/a  q.csv  nothing was scored" and "PARTIAL: 0 of 40 items" in lines[-1]
    thrice = replace(failed, cell=replace(failed.cell, repeats=3))
    assert "PARTIAL: 0 of 40 askings" in list(result_lines(RunResult(thrice, (), tally)))[-1]
