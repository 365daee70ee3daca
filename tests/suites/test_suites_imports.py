"""Official files are found wherever they lie, and everything else is accounted for."""

from __future__ import annotations

import io
import json
import re
import tarfile
import zipfile

import pytest
from import_files import run, what, write_all

from proctor.errors import DataError
from proctor.sources.exams.rows.normal_form import read_rows
from proctor.sources.exams.tables.exams import MMLU

pytestmark = pytest.mark.slow

BOOLQ = '{"question": "is it", "passage": "It is.", "idx": 0, "label": true}\n' * 1
MMLU_CSV = 'What is it?,a,"b, c",d,"e\nf",B\r\nWho?,"say ""hi""",x,y,z,D'


def an_article(decision):
    return {
        "QUESTION": "Does it?",
        "CONTEXTS": ["One.", "Two."],
        "final_decision": decision,
        "LONG_ANSWER": "Yes!",
    }


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


# What SOURCES.md says is there: rows by task and split, and answers where it counts them.
SHARED_SETS = {
    ("wnli", "eval"): 71,
    ("wnli", "dev"): 635,
    ("qnli", "eval"): 5463,
    ("mnli", "eval"): 9815,
    ("boolq", "eval"): 3270,
    ("copa", "eval"): 100,
    ("copa", "dev"): 368,
    ("wsc", "eval"): 104,
    ("wsc", "dev"): 554,
    ("axg", "eval"): 356,
    ("pubmedqa", "eval"): 500,
    ("pubmedqa", "dev"): 500,
    ("medqa", "eval"): 1273,
    ("medmcqa", "eval"): 4183,
}
SHARED_ANSWERS = {
    ("qnli", "eval"): {"entailment": 2702, "not_entailment": 2761},
    ("mnli", "eval"): {"entailment": 3479, "neutral": 3123, "contradiction": 3213},
    ("boolq", "eval"): {"yes": 2033, "no": 1237},
    ("pubmedqa", "eval"): {"yes": 276, "no": 169, "maybe": 55},
    ("pubmedqa", "dev"): {"yes": 276, "no": 169, "maybe": 55},
    # Counted in the files themselves: WNLI's 0 is not_entailment, MedMCQA's cop counts from 1.
    ("wnli", "eval"): {"not_entailment": 40, "entailment": 31},
    ("wnli", "dev"): {"not_entailment": 323, "entailment": 312},
    ("axg", "eval"): {"entailment": 178, "not_entailment": 178},
    ("wsc", "eval"): {"no": 66, "yes": 38},
    ("copa", "eval"): {"A": 55, "B": 45},
    ("medqa", "eval"): {"A": 353, "B": 309, "C": 346, "D": 265},
    ("medmcqa", "eval"): {"A": 1348, "B": 1085, "C": 925, "D": 825},
}


def test_the_real_files_below_one_folder(shared, home):
    report = run(shared / "data", home)
    found = what(report)
    subjects = {key: n for key, n in found.items() if key[0] in MMLU}
    assert sum(n for (_, split), n in subjects.items() if split == "eval") == 14_042
    assert sum(n for (_, split), n in subjects.items() if split == "dev") == 285
    assert {task for task, _ in subjects} == set(MMLU)
    assert {key: n for key, n in found.items() if key not in subjects} == SHARED_SETS
    assert report.failed == ()
    for (task, split), n in found.items():
        rows = read_rows(task, "imported", home, split=split)
        assert len(rows.rows) == n
        if (task, split) in SHARED_ANSWERS:
            assert rows.manifest.labels == SHARED_ANSWERS[task, split]
    # One half of MNLI and a part of COPA's train split are here; nothing else is short or different.
    assert [warning.partition(": ")[0] for warning in report.warnings] == [
        "glue/mnli/mnli_development_set_number_of_correct_responses.txt",
        "superglue/copa/train_0-367.jsonl",
    ]
    assert "mmlu/LICENSE" in dict(report.skipped)
    again = run(shared / "data", home, now=2.0)
    assert what(again) == found
    assert not any(row.changed for row in again.imported)


def test_real_rows_are_in_the_normal_form(shared, home):
    run(shared / "data", home)
    wsc = read_rows("wsc", "imported", home).rows
    for row in wsc:
        words = row.fields["text"].split()
        first = row.fields["span1_text"].split()[0]
        assert words[row.fields["span1_index"]].lower().startswith(first.lower())
    medqa = read_rows("medqa", "imported", home).rows
    assert [row.id for row in medqa] == [f"medqa/{n}" for n in range(1273)]
    assert {len(row.fields["choices"]) for row in medqa} == {4}
    pairs = [row.fields for row in read_rows("axg", "imported", home).rows]
    assert all(a["hypothesis"] == b["hypothesis"] for a, b in zip(pairs[::2], pairs[1::2], strict=True))
    assert {row.fields["half"] for row in read_rows("mnli", "imported", home).rows} == {"m"}


def test_real_targets_agree_with_golds_recorded_elsewhere(shared, home):
    """MIRAGE keeps the gold letter of every question it asked: ours must be the same ones."""
    run(shared / "data" / "medical", home)
    for task, name in (("medqa", "medqa"), ("medmcqa", "medmcqa")):
        path = shared / f"data/predictions/mirage/{name}__cot__gpt-35-turbo-16k.jsonl"
        gold = {r["id"]: r["gold"] for r in map(json.loads, path.read_text("utf-8").split("\n")[:-1])}
        rows = read_rows(task, "imported", home).rows
        ours = {
            row.id.partition("/")[2].zfill(4) if task == "medqa" else row.id.partition("/")[2]: row.target
            for row in rows
        }
        assert ours == gold


def test_ids_and_fields(tmp_path, home):
    truth = {"12": "yes"}
    articles = {"11": an_article("no"), "12": an_article("yes")}
    write_all(
        tmp_path / "in",
        {
            "b/train.jsonl": BOOLQ,
            "m/anatomy_test.csv": MMLU_CSV,
            "p/ori_pqal.json": json.dumps(articles),
            "p/test_ground_truth.json": json.dumps(truth),
        },
    )
    run(tmp_path / "in", home)
    (boolq,) = read_rows("boolq", "imported", home, split="dev").rows
    assert (boolq.id, boolq.target, boolq.fields) == (
        "boolq/0",
        "yes",
        {"question": "is it", "passage": "It is."},
    )
    first, second = read_rows("anatomy", "imported", home).rows
    assert (first.id, first.target) == ("anatomy/0", "B")
    assert first.fields == {
        "subject": "anatomy",
        "question": "What is it?",
        "choices": ["a", "b, c", "d", "e\nf"],
    }
    assert (second.id, second.fields["choices"][0]) == ("anatomy/1", 'say "hi"')
    (article,) = read_rows("pubmedqa", "imported", home).rows
    assert (article.id, article.target) == ("pubmedqa/12", "yes")
    assert article.fields == {"question": "Does it?", "contexts": ["One.", "Two."]}  # never the long answer
    assert read_rows("pubmedqa", "imported", home, split="dev").rows[0].id == "pubmedqa/11"


@pytest.mark.parametrize(
    "body",
    [
        '{"question": "q", "passage": "p", "label": "true"}\n{"question": "q", "passage": "p", "label": "False"}\n',
        '{"question": "q", "title": "t", "answer": true, "passage": "p"}\n'
        '{"question": "q", "title": "t", "answer": false, "passage": "p"}',
        '\ufeff{"question": "q", "passage": "p", "label": true}\r\n\r\n{"question": "q", "passage": "p", "label": 0}',
    ],
)
def test_copies_of_boolq_differ_in_form(tmp_path, home, body):
    path = write_all(tmp_path, {"dev.jsonl": body}) / "dev.jsonl"
    report = run(path, home)
    assert report.failed == ()
    rows = read_rows("boolq", "imported", home).rows
    assert [(row.id, row.target) for row in rows] == [("boolq/0", "yes"), ("boolq/1", "no")]
    assert "2 rows, the official set 3,270" in report.warnings[0]


def test_an_index_that_is_not_the_row_order_becomes_the_id(tmp_path, home):
    lines = [{"question": "q", "passage": "p", "label": True, "idx": index} for index in (5, 3)]
    path = write_all(tmp_path, {"val.jsonl": "\n".join(map(json.dumps, lines))}) / "val.jsonl"
    run(path, home)
    assert [row.id for row in read_rows("boolq", "imported", home).rows] == ["boolq/5", "boolq/3"]


@pytest.mark.parametrize(
    ("name", "body", "message"),
    [
        ("boolq/val.jsonl", BOOLQ + '{"question": "q"', r"boolq/val\.jsonl, line 2, column \d+: not JSON"),
        ("boolq/val.jsonl", BOOLQ + "[]", r"boolq/val\.jsonl, line 2: not a JSON object"),
        ("val.jsonl", BOOLQ + BOOLQ, r"val\.jsonl, line 2: idx 0 stands in line 1 too"),
        ("val.jsonl", BOOLQ.replace("0", '"0"'), "line 1: idx is '0'"),
        ("val.jsonl", BOOLQ.replace("true", "7"), "line 1: the label is 7; it has to be true or false"),
        ("val.jsonl", BOOLQ.replace('"is it"', '" "'), "line 1: no text in 'question'"),
        ("boolq/val.jsonl", "", "the file is empty"),
        ("anatomy_test.csv", "q,a,b,c,d,A\nq,a,b,c,d\n", r"anatomy_test\.csv, line 2: 5 columns"),
        ("anatomy_test.csv", "q,a,b,c,d,E\n", r"line 1: the answer is 'E'; it has to be A, B, C or D"),
        ("anatomy_test.csv", 'q,"a,b,c,d,A\n', r"anatomy_test\.csv, line \d: unexpected end"),
        ("anatomy_test.csv", b"q,a,b,c,d,A\nq,\xff,b,c,d,A", r"anatomy_test\.csv, line 2: not UTF-8"),
        ("anatomy_test.csv", "", "the file is empty"),
    ],
)
def test_a_damaged_file_is_named_with_its_line_and_the_others_are_imported(
    tmp_path, home, name, body, message
):
    folder = write_all(tmp_path / "in", {name: body, "virology_test.csv": "q,a,b,c,d,A"})
    report = run(folder, home)
    ((failed, reason),) = report.failed
    assert failed == name
    assert re.search(message, reason)
    assert what(report) == {("virology", "eval"): 1}


@pytest.mark.parametrize(
    ("name", "body", "reason"),
    [
        ("LICENSE", "words", "not a CSV"),
        ("table.csv", "a,b", "not named after a subject"),
        ("alchemy_test.csv", "q,a,b,c,d,A", "not named after a subject"),
        ("x.json", "[1, 2]", "not rows of a known set"),
        ("x.json", '{"a": 1, "b": 2}', "rows of no known set (keys a, b)"),
        ("x.jsonl", "", "not rows of a known set"),
        ("test.jsonl", '{"question": "q", "passage": "p", "idx": 0}', "BoolQ without answers"),
        ("some.jsonl", '{"question": "q", "passage": "p", "label": true}', "does not say which split"),
        ("test_ground_truth.json", "{}", "ori_pqal.json is not beside it"),
        ("ori_pqal.json", "{}", "test_ground_truth.json is missing beside it"),
        ("ori_pqaa.json", json.dumps({"1": an_article("yes")}), "not the official ori_pqal.json"),
    ],
)
def test_other_files_are_skipped_with_a_reason(tmp_path, home, name, body, reason):
    report = run(write_all(tmp_path / "in", {name: body}), home)
    assert (report.imported, report.failed) == ((), ())
    ((skipped, why),) = report.skipped
    assert skipped == name
    assert reason in why


@pytest.mark.parametrize(
    ("articles", "truth", "message"),
    [
        ({"1": an_article("yes")}, {"2": "yes"}, r"test_ground_truth\.json: article 2 is not in"),
        ({"1": an_article("yes")}, {"1": "no"}, "article 1 is 'no', in .* 'yes'"),
        ({"1": an_article("perhaps")}, {"1": "yes"}, "article 1: final_decision is 'perhaps'"),
        ({"1": {"QUESTION": "q", "final_decision": "yes"}}, {"1": "yes"}, "article 1: QUESTION or CONTEXTS"),
        ({"1": 3}, {"1": "yes"}, "article 1: not a JSON object"),
        ([], {}, "not a JSON object by article number"),
    ],
)
def test_damaged_pubmedqa_files(tmp_path, home, articles, truth, message):
    files = {"ori_pqal.json": json.dumps(articles), "test_ground_truth.json": json.dumps(truth)}
    report = run(write_all(tmp_path / "in", files), home)
    assert re.search(message, report.failed[0][1])


def test_a_single_file_finds_its_companion(tmp_path, home):
    files = {"ori_pqal.json": json.dumps({"1": an_article("yes")}), "test_ground_truth.json": '{"1": "yes"}'}
    write_all(tmp_path / "in", files)
    report = run(tmp_path / "in/ori_pqal.json", home)
    assert what(report) == {("pubmedqa", "eval"): 1, ("pubmedqa", "dev"): 0}


def archive_names():
    return {
        "data/test/anatomy_test.csv": "q,a,b,c,d,A",
        "data/dev/anatomy_dev.csv": "q,a,b,c,d,A",
        "data/val/anatomy_val.csv": "q,a,b,c,d,A",
        "data/README.txt": "read me",
        "__MACOSX/data/test/._anatomy_test.csv": "junk",
        "../virology_test.csv": "q,a,b,c,d,A",
    }


def write_zip(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in archive_names().items():
            archive.writestr(name, body)


def write_tar(path):
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        for name, body in archive_names().items():
            member = tarfile.TarInfo(name)
            member.size = len(body)
            archive.addfile(member, io.BytesIO(body.encode()))
        link = tarfile.TarInfo("data/test/virology_test.csv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)


@pytest.mark.parametrize(
    ("name", "write"), [("a.zip", write_zip), ("a.tar", write_tar), ("a.tar.gz", write_tar)]
)
def test_archives_are_read_without_unpacking(tmp_path, home, name, write):
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / name)
    for path, prefix in ((tmp_path / "in" / name, ""), (tmp_path / "in", f"{name}/")):
        report = run(path, home)
        assert what(report) == {("anatomy", "eval"): 1, ("anatomy", "dev"): 1, ("anatomy", "val"): 1}
        assert dict(report.skipped) == {
            f"{prefix}data/README.txt": "not a CSV, TSV, JSON or JSONL file",
            f"{prefix}../virology_test.csv": "its path leads out of the archive",
        }
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "in"]


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz"])
def test_a_damaged_archive_is_a_failed_file(tmp_path, home, name):
    folder = write_all(tmp_path / "in", {name: b"PK\x03\x04 no archive", "virology_test.csv": "q,a,b,c,d,A"})
    report = run(folder, home)
    assert [(file, "not a readable archive" in why) for file, why in report.failed] == [(name, True)]
    assert what(report) == {("virology", "eval"): 1}


def test_a_damaged_member_is_a_failed_file(tmp_path, home):
    (tmp_path / "in").mkdir()
    path = tmp_path / "in/a.zip"
    write_zip(path)
    body = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        start = (
            archive.getinfo("data/test/anatomy_test.csv").header_offset
            + 30
            + len("data/test/anatomy_test.csv")
        )
    path.write_bytes(body[:start] + b"\xff\xff\xff" + body[start + 3 :])
    report = run(path, home)
    assert [name for name, _ in report.failed] == ["data/test/anatomy_test.csv"]
    assert ("anatomy", "dev") in what(report)


def test_a_second_copy_is_skipped_and_says_whether_it_differs(tmp_path, home):
    rows = "q,a,b,c,d,A"
    folder = write_all(
        tmp_path / "in",
        {
            "1/anatomy_test.csv": rows,
            "2/anatomy_test.csv": rows,
            "3/anatomy_test.csv": rows.replace("A", "B"),
        },
    )
    report = run(folder, home)
    assert [row.source for row in report.imported] == ["1/anatomy_test.csv"]
    reasons = dict(report.skipped)
    assert reasons["2/anatomy_test.csv"] == "the same rows as 1/anatomy_test.csv"
    assert "these rows differ" in reasons["3/anatomy_test.csv"]


def test_a_histogram_that_is_not_the_official_one_is_a_warning(tmp_path, home):
    lines = [{"question": "q", "passage": "p", "label": index % 2 == 0} for index in range(3270)]
    report = run(write_all(tmp_path / "in", {"val.jsonl": "\n".join(map(json.dumps, lines))}), home)
    assert what(report) == {("boolq", "eval"): 3270}
    assert "has the answers {'no': 1635, 'yes': 1635}" in report.warnings[0]


def test_nothing_at_the_path(tmp_path, home):
    with pytest.raises(DataError, match="no such file or folder"):
        run(tmp_path / "nowhere", home)
