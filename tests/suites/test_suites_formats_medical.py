"""MedQA and MedMCQA in the forms that are about: letters, options and how `cop` counts."""

from __future__ import annotations

import json
import re

import pytest
from import_files import imported, jsonl, stored, what

OPTIONS = {"A": "rest", "B": "salt", "C": "water", "D": "iron"}
MEDQA = {
    "question": "What helps?",
    "answer": "water",
    "options": OPTIONS,
    "meta_info": "step1",
    "answer_idx": "C",
}
FIVE = {**MEDQA, "options": {**OPTIONS, "E": "zinc"}, "answer": "zinc", "answer_idx": "E"}
ENDINGS = {
    "id": "test-00000",
    "sent1": "What helps?",
    "sent2": "",
    **{f"ending{n}": text for n, text in enumerate(OPTIONS.values())},
    "label": 2,
}


def medmcqa(ident, cop):
    choices = dict(zip(("opa", "opb", "opc", "opd"), OPTIONS.values(), strict=True))
    return {
        "id": ident,
        "question": "What helps?",
        **choices,
        "cop": cop,
        "choice_type": "single",
        "exp": None,
    }


@pytest.mark.parametrize(
    ("name", "row", "letter", "choices"),
    [
        ("phrases_no_exclude_test.jsonl", MEDQA, "C", list(OPTIONS.values())),
        ("US/test.jsonl", FIVE, "E", [*OPTIONS.values(), "zinc"]),
        ("test.json", ENDINGS, "C", list(OPTIONS.values())),
    ],
)
def test_the_forms_of_medqa(tmp_path, name, row, letter, choices):
    report, home = imported(tmp_path, {name: jsonl(row)})
    assert (report.failed, what(report)) == ((), {("medqa", "eval"): 1})
    assert stored(home, "medqa") == [("medqa/0", letter, {"question": "What helps?", "choices": choices})]


def test_the_splits_of_medqa_and_a_file_that_is_one_array(tmp_path):
    files = {"train.json": json.dumps([MEDQA, MEDQA]), "dev.jsonl": jsonl(MEDQA), "test.jsonl": jsonl(MEDQA)}
    report, _ = imported(tmp_path, files)
    assert what(report) == {("medqa", "dev"): 2, ("medqa", "val"): 1, ("medqa", "eval"): 1}


def test_four_and_five_options_in_one_download_are_not_mixed(tmp_path):
    files = {"US/4_options/phrases_no_exclude_test.jsonl": jsonl(MEDQA), "US/test.jsonl": jsonl(FIVE)}
    report, home = imported(tmp_path, files)
    assert stored(home, "medqa")[0][1] == "C"
    assert "these rows differ: import it by itself" in dict(report.skipped)["US/test.jsonl"]
    report, _ = imported(tmp_path, {"Taiwan/test.jsonl": jsonl(MEDQA)})
    assert "Taiwan's questions" in dict(report.skipped)["Taiwan/test.jsonl"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({**MEDQA, "answer": "salt"}, "the answer is 'salt', but option C is 'water'"),
        ({**MEDQA, "answer_idx": "E"}, "answer_idx is 'E'; it has to be one of A, B, C, D"),
        ({**MEDQA, "options": {"A": "x", "B": "y"}}, "does not hold 4 or 5 choices"),
        ({**ENDINGS, "label": 4}, "label 4 of 4 endings"),
    ],
)
def test_damaged_rows_of_medqa(tmp_path, row, message):
    report, _ = imported(tmp_path, {"test.jsonl": jsonl(MEDQA if "sent1" not in row else ENDINGS, row)})
    assert re.search(rf"test\.jsonl, line 2: .*{message}", report.failed[0][1])


@pytest.mark.parametrize(("cops", "letters"), [((1, 4, 2), "ADB"), ((0, 3, 2), "ADC"), ((4, 4, 4), "DDD")])
def test_cop_counts_from_one_or_from_zero(tmp_path, cops, letters):
    rows = [medmcqa(f"q{n}", cop) for n, cop in enumerate(cops)]
    report, home = imported(tmp_path, {"dev.json": jsonl(*rows)})
    assert report.failed == ()
    assert [row[:2] for row in stored(home, "medmcqa")] == [
        (f"medmcqa/q{n}", letter) for n, letter in enumerate(letters)
    ]


@pytest.mark.parametrize(
    ("cops", "message"),
    [
        ((1, 2, 3), "never 0 and never 4"),
        ((0, 4), "cop is 0 in some rows and 4 in others"),
        ((1, 5), "cop is 5"),
        ((1, 4, -1), "cop is -1"),
        ((1, 4, None), "q2 has no cop, others have one"),
    ],
)
def test_a_cop_that_cannot_be_understood_is_refused(tmp_path, cops, message):
    report, _ = imported(
        tmp_path, {"dev.json": jsonl(*[medmcqa(f"q{n}", cop) for n, cop in enumerate(cops)])}
    )
    assert report.imported == ()
    assert message in report.failed[0][1]


def test_hidden_answers_of_medmcqa_are_skipped_and_an_id_stands_once(tmp_path):
    files = {
        "test.json": jsonl(medmcqa("a", -1)),
        "train.json": jsonl(medmcqa("a", 1), medmcqa("a", 4)),
        "validation.json": jsonl(medmcqa("a", -1)),
    }
    report, _ = imported(tmp_path, files)
    assert {name: "without answers" in why for name, why in report.skipped} == {
        "test.json": True,
        "validation.json": True,
    }
    assert "train.json, line 2: the id a stands in train.json, line 1 too" in report.failed[0][1]
