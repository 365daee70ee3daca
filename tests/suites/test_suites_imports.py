"""Official files are found wherever they lie, and everything else is accounted for."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile

import pytest

from proctor.errors import DataError
from proctor.suites.imports import import_path
from proctor.suites.rows import read_rows
from proctor.suites.tasks import MMLU, TASKS

BOOLQ = '{"question": "is it", "passage": "It is.", "idx": 0, "label": true}\n' * 1
MMLU_CSV = 'What is it?,a,"b, c",d,"e\nf",B\r\nWho?,"say ""hi""",x,y,z,D'


def an_article(decision):
    return {
        "QUESTION": "Does it?",
        "CONTEXTS": ["One.", "Two."],
        "final_decision": decision,
        "LONG_ANSWER": "Yes!",
    }


def write_all(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def run(path, home, now=1.0):
    return import_path(path, home, now=now)


def what(report):
    return {(row.task, row.split): row.n for row in report.imported}


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def test_the_real_files_below_one_folder(shared, home):
    report = run(shared / "data", home)
    found = what(report)
    assert found.pop(("boolq", "eval")) == 3270
    assert found.pop(("pubmedqa", "eval")) == 500
    assert found.pop(("pubmedqa", "dev")) == 500
    assert sum(n for (_, split), n in found.items() if split == "eval") == 14_042
    assert sum(n for (_, split), n in found.items() if split == "dev") == 285
    assert {task for task, _ in found} == set(MMLU)
    assert (report.failed, report.warnings) == ((), ())
    skipped = dict(report.skipped)
    assert "COPA" in skipped["superglue/copa/val.jsonl"]
    assert "WSC" in skipped["superglue/wsc/val.jsonl"]
    assert "MedMCQA" in skipped["medical/medmcqa/dev.json"]
    assert "mmlu/LICENSE" in skipped
    for task in TASKS:
        rows = read_rows(task, "imported", home)
        assert len(rows.rows) == TASKS[task].official_size
        assert TASKS[task].histogram in ({}, rows.manifest.labels)
    again = run(shared / "data", home, now=2.0)
    assert what(again) == what(report)
    assert not any(row.changed for row in again.imported)


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
    with pytest.raises(DataError, match=message):
        raise DataError(reason)
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
    with pytest.raises(DataError, match=message):
        raise DataError(report.failed[0][1])


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
