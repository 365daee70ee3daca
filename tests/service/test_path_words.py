"""Verdicts of pairs that were tested by their paths, as a reader reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from asked_abreast import answered, fed, kept, side
from proctor.findings.looks import Decision
from proctor.service.deciding import both_ways
from proctor.service.evidence.verdicts import sentence
from proctor.service.rows.marks import mark, shape
from proctor.stats.compare import compare
from proctor.types import Limits, Run, Status

FIGURES = re.compile(r"-?\d[\d,]*\.\d+")


def verdict(
    abilities: Sequence[float],
    asked: int,
    items: int = 1200,
    *,
    until_decided: bool = True,
    status: Status = Status.CANCELLED,
    beside: int = 0,
) -> str:
    """What is said of models that were asked so many items, or as many as it took; `beside` further models count."""
    runs = [side(f"m{place}", items) for place in range(len(abilities))]
    scores = [each[:asked] for each in answered(abilities, items, seed=3)]
    rows = {
        run.id: [kept(place, s) for place, s in enumerate(mine)]
        for run, mine in zip(runs, scores, strict=True)
    }
    decision: Decision | None = None
    if until_decided:
        decision = fed(runs, [(name, row) for name, mine in rows.items() for row in mine]).look(figures=True)
    stopped = [_stopped(run, asked, status, until_decided) for run in runs]
    marked = [(run, [mark(row, None) for row in rows[run.id]]) for run in stopped]
    others = [(replace(runs[0], id=f"other{place}"), []) for place in range(beside)]
    found = compare(
        marked, shape(runs[0]), beside=others, watched={"m0"}, paths=both_ways(decision) if decision else {}
    )
    return sentence(found, [run.id for run in runs])


def _stopped(run: Run, asked: int, status: Status, until_decided: bool) -> Run:
    whole = asked == run.planned
    cell = run.cell if until_decided else replace(run.cell, limits=Limits())
    return replace(
        run,
        cell=cell,
        settled=asked,
        stopped=None if whole or status is Status.RUNNING else "why",
        status=Status.COMPLETED if whole else status,
        finished_at=None if status is Status.RUNNING else 1.0,
    )


def shortened(said: str) -> str:
    """Without the figures, which other tests compute."""
    return FIGURES.sub("#", said).replace("sign walk, spending # (t/N)^2, ", "")


def test_a_decided_pair_says_after_how_many_items_and_that_it_was_stopped() -> None:
    said = verdict((0.85, 0.6), 200)
    assert re.fullmatch(
        r"sim/m0 is better than sim/m1 on rows like these, by # \[#, #\] after \d+ of 1,200 items "
        r"\(stopped as decided; p = #; \d+ rows only sim/m0 got right, \d+ only sim/m1\)\.",
        shortened(said),
    )


def test_a_futile_pair_says_that_the_rest_would_hardly_show_a_difference() -> None:
    said = verdict((0.7, 0.7), 1100)
    found = re.match(
        r"After (\d+) of 1,200 items no difference between sim/m0 and sim/m1 is shown, and the other (\d+) would "
        r"hardly show one: the difference is",
        said,
    )
    assert found is not None and int(found[1]) + int(found[2]) == 1200
    assert "proctor resume" not in said  # it stopped because nobody would learn much by it


def test_an_interrupted_pair_says_that_it_is_open_and_how_the_rest_is_asked() -> None:
    for until_decided in (True, False):
        said = verdict((0.72, 0.7), 100, until_decided=until_decided)
        assert said.startswith("After 96 of 1,200 items it is not decided which of sim/m")
        assert said.endswith("`proctor resume plan` asks the rest.")
        assert "stopped as decided" not in said


def test_a_pair_at_work_is_not_told_to_be_resumed() -> None:
    said = verdict((0.72, 0.7), 100, status=Status.RUNNING)
    assert said.startswith("After 96 of 1,200 items it is not decided") and "proctor resume" not in said


def test_before_the_first_look_nothing_is_said() -> None:
    said = verdict((0.9, 0.1), 11)
    assert said == (
        "Nothing can be said of sim/m0 and sim/m1 yet: it is first looked at after 12 of 1,200 items. "
        "`proctor resume plan` asks the rest."
    )


def test_a_complete_pair_that_was_looked_at_reads_as_any_other() -> None:
    better = verdict((0.8, 0.7), 1200, until_decided=False)
    assert shortened(better).startswith(
        "sim/m0 is better than sim/m1 on rows like these 1,200, by # [#, #] (p "
    )
    open_ = verdict((0.7, 0.7), 1200, until_decided=False)
    assert open_.startswith("These 1,200 rows do not show which of sim/m")
    assert "as many rows like these would show a difference of about" in open_


def test_one_that_stopped_on_its_own_while_it_led_is_not_said_to_have_been_decided() -> None:
    said = shortened(verdict((0.9, 0.6), 200, until_decided=False))
    assert re.match(
        r"sim/m0 is better than sim/m1 on rows like these, by # \[#, #\] after 192 of 1,200 items \(p ", said
    )


def test_a_pair_that_stopped_early_may_not_be_told_apart_among_many() -> None:
    alone = verdict((0.82, 0.72), 200, until_decided=False)
    among = verdict((0.82, 0.72), 200, until_decided=False, beside=60)
    assert " is better than " in alone.partition(" on rows")[0]
    assert among.startswith(
        "After 192 of 1,200 items sim/m0 and sim/m1 could be told apart if they were alone, but"
    )


def test_a_difference_that_takes_more_rows_than_were_planned_says_how_many() -> None:
    said = verdict((0.73, 0.7), 290, 300, until_decided=False)
    assert re.search(
        r"If it is truly as large, about [\d,]+ rows like these would show it \(80 % power\)\.", said
    )
