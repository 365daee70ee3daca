"""The part of `make calibrate` that is about judges: its cells, its page, and that it finds what should be found."""

from __future__ import annotations

from dataclasses import replace

import calibrate
import calibrate_judges
from calibrate_judges import JudgeCell, JudgeHeld, cells, misses, section, simulate
from calibrate_page import JUDGED, SEQUENTIAL, part, replaced


def test_every_number_of_labels_judge_and_leaning_is_a_cell() -> None:
    found = set(cells())
    for what, leanings in (("grades", ("none", "kind", "longer")), ("equal", ("none", "favours", "longer"))):
        for leaning in leanings:
            for right in (0.7, 0.85, 0.95):
                for labels in (30, 100, 300):
                    cell = JudgeCell(what, leaning, right, labels, 0.95)
                    assert {cell, replace(cell, able=0.5), replace(cell, able=0.7)} <= found
    assert {cell.size for cell in found} == {1, 5, 50} and calibrate_judges.EXAMS >= 2000


def test_the_corrected_score_holds_the_truth_where_the_judge_alone_does_not() -> None:
    for cell in (
        JudgeCell("equal", "favours", 0.85, 100, 0.7),
        JudgeCell("preferences", "favours", 0.85, 100, 0.7),
        JudgeCell("equal", "favours", 0.85, 100, 0.7, 5),
        JudgeCell("fifths", "kind", 0.85, 100, 0.7),
    ):
        held = simulate(cell, 60)
        assert min(held.coverage[:2]) > 0.92 - 3 * (0.92 * 0.08 / 60) ** 0.5 and held.coverage[2] < 0.8
        assert max(held.better[:2]) < 0.05 + 3 * (0.05 * 0.95 / 60) ** 0.5


def test_a_cell_that_misses_is_named_and_the_judges_part_of_the_page_is_kept() -> None:
    cell = JudgeCell("equal", "favours", 0.85, 100, 0.7, 5)
    good = JudgeHeld(cell, (0.95, 0.94, 0.1), (0.04, 0.05, 1.0), 2000)
    wrong = replace(good, cell=replace(cell, labels=30), better=(0.04, 0.07, 1.0))
    narrow = replace(good, cell=JudgeCell("grades", "none", 0.7, 30, 0.5), coverage=(0.9, 0.95, 0.0))
    assert [misses(held) for held in (good, wrong, narrow)] == [False, True, True]
    assert not misses(replace(wrong, cell=replace(wrong.cell, what="apart")))
    text = section([good, wrong, narrow])
    assert "| two equal models | in 5s | 85% | favours | 100 | 2,000 | - | 95.0%, 94.0%, 10.0% | - |" in text
    assert "| **4.0%, 7.0%, 100.0%** |" in text and text.count("\n- ") == 2
    whole = calibrate.page([calibrate.Held(calibrate.Cell("accuracy", 100, 0.8), 0.95, None, 2000)])
    assert part(whole + text, JUDGED) == text and part(whole, JUDGED) == ""
    assert replaced(whole + text + f"{SEQUENTIAL}walks\n", JUDGED, "new") == f"{whole}new{SEQUENTIAL}walks\n"
    assert calibrate.kept(whole + text) == calibrate.kept(whole)
    alone = section([good])
    assert "### Judged cells that miss their bar\n\nNone.\n" in alone
    assert alone.endswith("more than 5 %, within the error of the simulation\n\nNone.\n")
    assert ", clusters of 5: 5.5%, quoted 5.0%.\n" in section([replace(good, better=(0.055, 0.05, 1.0))])
