"""Real answers with people's and judges' grades: what the tool measures on them is true of the files."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from measure_judges import LABELS, SETS, JudgedSet, graded, measured, of_orders


@pytest.fixture(scope="module")
def nq301(shared: Path) -> list[JudgedSet]:
    return list(SETS["nq301"](shared / "data" / "open"))


@pytest.mark.promise("X-09")
def test_where_a_judge_alone_is_wrong_the_score_corrected_by_100_labels_holds_the_truth(
    nq301: list[JudgedSet],
) -> None:
    """GPT-4 calls 69 % of the replies right of which people call 76 % right."""
    (one,) = [one for one in nq301 if "fewshot" in one.name and (one.judge, one.kind) == ("gpt-4", "grades")]
    found = measured(one, 40)
    assert (round(found.truth, 3), round(found.judge_mean, 3)) == (0.757, 0.687)
    assert found.correlation**2 == pytest.approx(0.452, abs=0.001)  # as the set's own description has it
    assert found.alone.of_set == 0.0 and found.alone.anew < 0.5
    assert min(found.corrected.of_set, found.corrected.anew) >= 0.9
    assert found.corrected.width < 0.95 * found.labels.width


def test_people_are_people_and_what_could_not_be_read_is_no_grade(
    nq301: list[JudgedSet], shared: Path
) -> None:
    gpt4 = [one for one in nq301 if one.judge == "gpt-4" and one.kind == "grades"]
    rows = [pair for one in gpt4 for pair in zip(one.people, one.said, strict=True)]
    read = [(told, said) for told, said in rows if said is not None]
    assert (len(gpt4), len(rows), len(rows) - len(read)) == (12, 3563, 10)
    assert sum(told == said for told, said in read) / len(read) == pytest.approx(0.8587, abs=1e-4)
    pandalm = list(SETS["pandalm"](shared / "data" / "open"))
    assert [one.said.count(None) for one in pandalm] == [25, 0]
    assert {one.people.count(0.5) for one in pandalm} == {105}
    arena = list(SETS["arena"](shared / "data" / "open"))
    assert {one.people.count(0.5) for one in arena} == {1422 + 2553}, "ties, bad ones too"


def test_a_pair_is_won_where_both_orders_agree_and_tied_where_they_differ() -> None:
    found = {(a, b): of_orders({"given": a, "swapped": b}) for a, b in product(("1", "2", None), repeat=2)}
    assert (found["1", "1"], found["2", "2"], found["1", "2"], found["2", "1"]) == (1.0, 0.0, 0.5, 0.5)
    assert {verdict for pair, verdict in found.items() if None in pair} == {None}


def test_half_of_a_small_set_is_labelled_and_rows_without_a_person_are_left_out() -> None:
    row = {"question": "q", "references": ["a"], "reply": "a", "judge": {"m": None}}
    rows = [{**row, "human": told} for told in (True, False, None)]
    judge, words = graded(rows, "x", "x", ("m",))
    assert (judge.people, judge.said, words.said, judge.labels) == ([1.0, 0.0], [None, None], [1.0, 1.0], 1)
    assert LABELS == 100
