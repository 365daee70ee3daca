"""SuperGLUE's JSON lines are told by their keys and give rows in the normal form."""

from __future__ import annotations

import json
import re
import zipfile

import pytest
from import_files import imported, jsonl, run, stored, what

from proctor.sources.exams.rows.normal_form import read_rows

PASSAGE = "Ann met Bo.\n@highlight\nBo left Oslo with Ann"


def span(text, start):
    return {"start": start, "end": start + len(text) - 1}


RECORD = {
    "source": "news",
    "idx": 4,
    "passage": {
        "text": PASSAGE,
        "entities": [span("Bo", 8), span("Ann", 0), span("Oslo", 31), span("Bo", 23), span("Ann", 41)],
    },
    "qas": [
        {
            "query": "@placeholder went away",
            "idx": 9,
            "answers": [{"text": "Oslo", "start": 31, "end": 34}, {"text": "Bo", "start": 8, "end": 9}],
        },
        {"query": "It is in @placeholder", "idx": 10, "answers": [{"text": "Oslo", "start": 31, "end": 34}]},
    ],
}
MULTIRC = {
    "idx": 3,
    "version": 1.1,
    "passage": {
        "text": "Ann fed the cat and the dog.",
        "questions": [
            {
                "question": "Who was fed?",
                "idx": 7,
                "answers": [
                    {"text": "the cat", "idx": 20, "label": 1},
                    {"text": "Ann", "idx": 21, "label": 0},
                    {"text": "the dog", "idx": 22, "label": 1},
                ],
            },
            {
                "question": "Who slept?",
                "idx": 8,
                "answers": [
                    {"text": "the cat", "idx": 23, "label": 0},
                    {"text": "Bo", "idx": 24, "label": 0},
                ],
            },
        ],
    },
}
ENTITIES = ["Ann", "Bo", "Oslo"]
FILES = {
    "cb": (
        "val.jsonl",
        [
            {"premise": "p", "hypothesis": "h", "label": "neutral", "idx": 0},
            {"premise": "q", "hypothesis": "h", "label": "contradiction", "idx": 1},
            {"premise": "r", "hypothesis": "h", "label": "entailment", "idx": 2},
        ],
        [
            ("cb/0", "neutral", {"premise": "p", "hypothesis": "h"}),
            ("cb/1", "contradiction", {"premise": "q", "hypothesis": "h"}),
            ("cb/2", "entailment", {"premise": "r", "hypothesis": "h"}),
        ],
    ),
    "copa": (
        "val.jsonl",
        [
            {
                "premise": "It rained.",
                "choice1": "a",
                "choice2": "b",
                "question": "effect",
                "idx": 0,
                "label": 1,
            },
            {
                "premise": "It fell.",
                "choice1": "c",
                "choice2": "d",
                "question": "cause",
                "idx": 1,
                "label": 0,
            },
        ],
        [
            ("copa/0", "B", {"premise": "It rained.", "question": "effect", "choices": ["a", "b"]}),
            ("copa/1", "A", {"premise": "It fell.", "question": "cause", "choices": ["c", "d"]}),
        ],
    ),
    "multirc": (
        "val.jsonl",
        [MULTIRC],
        [
            (
                "multirc/3-7",
                "A,C",
                {
                    "paragraph": "Ann fed the cat and the dog.",
                    "question": "Who was fed?",
                    "choices": ["the cat", "Ann", "the dog"],
                },
            ),
            (
                "multirc/3-8",
                "none",
                {
                    "paragraph": "Ann fed the cat and the dog.",
                    "question": "Who slept?",
                    "choices": ["the cat", "Bo"],
                },
            ),
        ],
    ),
    "record": (
        "val.jsonl",
        [RECORD],
        [
            (
                "record/4-9",
                "Bo",
                {"passage": PASSAGE, "query": "@placeholder went away", "entities": ENTITIES},
            ),
            (
                "record/4-10",
                "Oslo",
                {"passage": PASSAGE, "query": "It is in @placeholder", "entities": ENTITIES},
            ),
        ],
    ),
    "rte": (
        "RTE/val.jsonl",
        [{"premise": "p", "hypothesis": "h", "label": "not_entailment", "idx": 0}],
        [("rte/0", "not_entailment", {"sentence1": "p", "sentence2": "h"})],
    ),
    "wic": (
        "val.jsonl",
        [
            {
                "word": "bank",
                "sentence1": "s",
                "sentence2": "t",
                "idx": 0,
                "label": False,
                "start1": 0,
                "end1": 1,
                "start2": 0,
                "end2": 1,
                "version": 1.1,
            }
        ],
        [("wic/0", "no", {"word": "bank", "sentence1": "s", "sentence2": "t"})],
    ),
    "wsc": (
        "val.jsonl",
        [
            {
                "text": "Ann saw that she won .",
                "target": {"span1_text": "Ann", "span1_index": 0, "span2_text": "she", "span2_index": 3},
                "idx": 0,
                "label": True,
            }
        ],
        [
            (
                "wsc/0",
                "yes",
                {
                    "text": "Ann saw that she won .",
                    "span1_text": "Ann",
                    "span1_index": 0,
                    "span2_text": "she",
                    "span2_index": 3,
                },
            )
        ],
    ),
    "axb": (
        "AX-b/AX-b.jsonl",
        [
            {"sentence1": "No.", "sentence2": "Yes.", "idx": 0, "label": "not_entailment"},
            {"sentence1": "A.", "sentence2": "B.", "idx": 1, "label": "entailment", "logic": "Negation"},
        ],
        [
            ("axb/0", "not_entailment", {"sentence1": "No.", "sentence2": "Yes."}),
            ("axb/1", "entailment", {"sentence1": "A.", "sentence2": "B."}),
        ],
    ),
    "axg": (
        "some.jsonl",
        [{"premise": "p", "hypothesis": "h", "pair_id": 551, "idx": 0, "label": "entailment"}],
        [("axg/0", "entailment", {"premise": "p", "hypothesis": "h"})],
    ),
}


@pytest.mark.parametrize("task", FILES)
def test_each_file_gives_its_rows(tmp_path, task):
    name, lines, rows = FILES[task]
    report, home = imported(tmp_path, {name: jsonl(*lines)})
    assert (report.failed, report.skipped) == ((), ())
    assert what(report) == {(task, "eval"): len(rows)}
    assert stored(home, task) == rows


def test_all_in_one_zip_as_the_official_download_is(tmp_path):
    folders = {
        "cb": "CB",
        "copa": "COPA",
        "multirc": "MultiRC",
        "record": "ReCoRD",
        "wic": "WiC",
        "wsc": "WSC",
    }
    path = tmp_path / "combined.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for task, folder in folders.items():
            archive.writestr(f"{folder}/val.jsonl", jsonl(*FILES[task][1]))
            archive.writestr(f"{folder}/train.jsonl", jsonl(*FILES[task][1]))
            archive.writestr(f"__MACOSX/{folder}/._val.jsonl", "junk")
    report = run(path, tmp_path / "home")
    assert set(what(report)) == {(task, split) for task in folders for split in ("eval", "dev")}
    assert (report.failed, report.skipped) == ((), ())


def test_other_right_answers_of_record_are_aliases_in_the_order_of_the_passage(tmp_path):
    _, home = imported(tmp_path, {"val.jsonl": jsonl(RECORD)})
    first, second = read_rows("record", "imported", home).rows
    assert (first.target, first.aliases) == ("Bo", ("Oslo",))
    assert (second.target, second.aliases) == ("Oslo", ())


def test_rte_of_both_suites_is_one_task(tmp_path):
    rows = [("0", "p", "h", "entailment")]
    glue = "index\tsentence1\tsentence2\tlabel\n" + "\n".join("\t".join(row) for row in rows)
    superglue = jsonl({"premise": "p", "hypothesis": "h", "label": "entailment", "idx": 0})
    report, _ = imported(tmp_path, {"glue/RTE/dev.tsv": glue, "superglue/RTE/val.jsonl": superglue})
    assert what(report) == {("rte", "eval"): 1}
    assert report.skipped == (("superglue/RTE/val.jsonl", "the same rows as glue/RTE/dev.tsv"),)


def test_diagnostics_without_labels_are_kept_without_answers(tmp_path):
    report, home = imported(
        tmp_path, {"AX-g/AX-g.jsonl": jsonl({"premise": "p", "hypothesis": "h", "idx": 0})}
    )
    assert stored(home, "axg") == [("axg/0", None, {"premise": "p", "hypothesis": "h"})]
    assert report.failed == ()


@pytest.mark.parametrize(
    ("name", "rows", "reason"),
    [
        ("CB/test.jsonl", [{"premise": "p", "hypothesis": "h", "idx": 0}], "CB without answers"),
        ("CB/val.jsonl", [{"premise": "p", "hypothesis": "h", "label": -1}], "CB without answers"),
        ("x/val.jsonl", [{"premise": "p", "hypothesis": "h", "label": "entailment"}], "RTE, CB or AX-g"),
        ("val.jsonl", [{"sentence1": "p", "sentence2": "h", "label": 1}], "rows of no known set"),
        ("record.jsonl", [RECORD], "ReCoRD, but the name does not say which split"),
    ],
)
def test_other_lines_are_skipped_with_a_reason(tmp_path, name, rows, reason):
    report, _ = imported(tmp_path, {name: jsonl(*rows)})
    assert (report.imported, report.failed) == ((), ())
    assert reason in report.skipped[0][1]


def changed(nested, **values):
    """A deep copy with other values on the top level."""
    return {**json.loads(json.dumps(nested)), **values}


def half_hidden():
    copy = changed(MULTIRC)
    del copy["passage"]["questions"][0]["answers"][0]["label"]
    return copy


def with_query(**values):
    copy = changed(RECORD)
    copy["qas"][0].update(values)
    return copy


def with_entity(end):
    copy = changed(RECORD)
    copy["passage"]["entities"][0]["end"] = end
    return copy


WSC = FILES["wsc"][1][0]


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("val.jsonl", half_hidden(), "some answers of question 7 have a label and some have none"),
        ("val.jsonl", changed(MULTIRC, idx=None), "line 1: paragraph is None"),
        ("val.jsonl", with_query(query="no blank"), "line 1: the query has no @placeholder"),
        ("val.jsonl", with_entity(99), "an entity from 8 to 99 in a passage of 44 characters"),
        ("val.jsonl", {**FILES["copa"][1][0], "question": "why"}, "the question is 'why'"),
        (
            "val.jsonl",
            {**FILES["copa"][1][0], "label": 2},
            "the label is 2; it has to be 0 to 1 or one of A, B",
        ),
        ("val.jsonl", {**WSC, "target": {**WSC["target"], "span2_index": 6}}, "after the last word"),
        ("CB/val.jsonl", {"premise": "", "hypothesis": "h", "label": "neutral"}, "no text in 'premise'"),
    ],
)
def test_a_damaged_row_is_named(tmp_path, name, row, message):
    report, _ = imported(tmp_path, {name: jsonl(row)})
    assert re.search(message, report.failed[0][1])


def test_a_row_without_its_answer_among_others_is_damage(tmp_path):
    rows = [{**FILES["cb"][1][0], "idx": 0}, {**FILES["cb"][1][1], "idx": 1, "label": -1}]
    report, _ = imported(tmp_path, {"CB/val.jsonl": jsonl(*rows)})
    assert "CB/val.jsonl, line 2: no answer is given" in report.failed[0][1]
