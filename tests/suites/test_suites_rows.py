"""Stored rows come back as they were, or are refused."""

from __future__ import annotations

import os

import orjson
import pytest

from proctor.errors import DataError, DataMissing
from proctor.sources.exams.rows.forms import FIELDS
from proctor.sources.exams.rows.normal_form import (
    Row,
    item_set_sha256,
    manifest_path,
    read_rows,
    read_tasks,
    rows_path,
    write_rows,
)
from proctor.sources.exams.tables.exams import MMLU
from proctor.sources.exams.tables.tasks import TASKS

ROWS = [
    Row("boolq/0", "boolq", "yes", {"question": "is it", "passage": "It is.\u2028So."}),
    Row("boolq/1", "boolq", "no", {"question": "was it", "passage": "“No”"}),
]


def store(home, rows=ROWS, now=5.0):
    return write_rows(home, "boolq", "eval", rows, source=["val.jsonl"], now=now)


def test_rows_come_back_as_they_were(tmp_path):
    manifest, changed = store(tmp_path)
    assert changed
    found = read_rows("boolq", "imported", tmp_path)
    assert list(found.rows) == ROWS
    assert found.sha256 == manifest.sha256
    assert found.manifest == manifest
    assert (manifest.n, manifest.labels, manifest.source) == (2, {"no": 1, "yes": 1}, ("val.jsonl",))
    assert (manifest.imported_at, manifest.revision) == (5.0, None)


def test_the_same_rows_again_change_no_file(tmp_path):
    store(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    manifest, changed = store(tmp_path, now=9.0)
    assert not changed
    assert manifest.imported_at == 5.0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_other_rows_replace_them_and_leave_no_scraps(tmp_path):
    store(tmp_path)
    _, changed = store(tmp_path, ROWS[:1])
    assert changed
    assert len(read_rows("boolq", "imported", tmp_path).rows) == 1
    assert sorted(path.name for path in (tmp_path / "suites/boolq").iterdir()) == [
        "eval.jsonl",
        "eval.manifest.json",
    ]


def test_changed_bytes_are_refused(tmp_path):
    store(tmp_path)
    path = rows_path(tmp_path, "boolq", "eval")
    path.write_bytes(path.read_bytes().replace(b'"yes"', b'"no"'))
    with pytest.raises(
        DataError, match=r"eval\.jsonl: the rows are not those that were imported.*import PATH"
    ):
        read_rows("boolq", "imported", tmp_path)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("n", 3, "2 rows, the manifest says 3"),
        ("labels", {"yes": 2}, "answers .* the manifest says"),
    ],
)
def test_a_manifest_that_disagrees_is_refused(tmp_path, field, value, message):
    store(tmp_path)
    path = manifest_path(tmp_path, "boolq", "eval")
    path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), field: value}))
    with pytest.raises(DataError, match=message):
        read_rows("boolq", "imported", tmp_path)


@pytest.mark.parametrize("body", [None, b"{", b"[]", b"{}"])
def test_rows_without_a_manifest_are_refused_and_can_be_imported_again(tmp_path, body):
    store(tmp_path)
    path = manifest_path(tmp_path, "boolq", "eval")
    path.unlink()
    if body is not None:
        path.write_bytes(body)
    with pytest.raises(DataError, match=r"manifest eval\.manifest\.json is missing or unreadable"):
        read_rows("boolq", "imported", tmp_path)
    assert store(tmp_path)[1]
    assert len(read_rows("boolq", "imported", tmp_path).rows) == 2


def test_missing_rows_name_the_tasks_and_the_cures(tmp_path):
    with pytest.raises(DataMissing, match="No imported rows for boolq in " + str(tmp_path / "suites")):
        read_rows("boolq", "imported", tmp_path)
    assert "proctor data import PATH" in DataMissing.cure
    assert "--data sample" in DataMissing.cure
    with pytest.raises(DataMissing, match=r"abstract_algebra, .* and 52 more"):
        read_tasks(sorted(MMLU), "imported", tmp_path)


def test_a_folder_that_cannot_be_written_is_an_error_with_its_name(tmp_path):
    (tmp_path / "suites").write_text("in the way")
    with pytest.raises(DataError, match=r"boolq/eval\.jsonl: "):
        store(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home_is_an_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(DataError, match="Permission denied"):
        store(tmp_path)


def is_answer(task, row):
    """Whether the target is an answer that the task's kind allows for this row."""
    kind, target = TASKS[task].kind, row.target
    letters = [chr(ord("A") + n) for n in range(len(row.fields.get("choices", ())))]
    allowed = {
        "labels": lambda: target in {label.name for label in TASKS[task].labels},
        "choices": lambda: target in letters,
        "number": lambda: 0 <= float(target) <= 5,
        "letters": lambda: target == "none" or set(target.split(",")) <= set(letters),
        "entity": lambda: {target, *row.aliases} <= set(row.fields["entities"]),
    }
    return allowed[kind]()


@pytest.mark.parametrize("split", ["eval", "dev"])
@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_sample_rows_in_the_normal_form(tmp_path, task, split):
    found = read_tasks([task], "sample", tmp_path, split=split)[task]
    assert found.rows
    assert found.origin == "sample"
    assert len({row.id for row in found.rows}) == len(found.rows)
    for row in found.rows:
        assert row.task == task
        assert is_answer(task, row)
        assert row.fields.get("subject", task) == task


def test_the_fields_of_sample_rows_are_those_of_published_ones(tmp_path):
    for task, fields in FIELDS.items():
        for row in read_tasks([task], "sample", tmp_path)[task].rows:
            assert row.fields.keys() - {"half"} == fields.keys()


def test_hidden_targets_and_aliases_come_back(tmp_path):
    rows = [
        Row("boolq/0", "boolq", None, {"question": "q", "passage": "p"}),
        Row("boolq/1", "boolq", "yes", {"question": "q", "passage": "p"}, ("sure", "so")),
    ]
    manifest, _ = store(tmp_path, rows)
    assert list(read_rows("boolq", "imported", tmp_path).rows) == rows
    assert manifest.labels == {"": 1, "yes": 1}


def test_the_hubs_rows_lie_apart_and_come_second(tmp_path):
    for rows, revision in ((ROWS, "a" * 40), (ROWS[:1], None)):
        write_rows(tmp_path, "boolq", "eval", rows, source=["x"], now=1.0, revision=revision)
    assert rows_path(tmp_path, "boolq", "eval", "hub") == tmp_path / "hub/boolq/eval.jsonl"
    assert len(read_rows("boolq", "hub", tmp_path).rows) == 2
    found = read_rows("boolq", None, tmp_path)
    assert (len(found.rows), found.origin) == (1, "imported")
    # One origin for all tasks of a run: with a task that only the hub has, the hub's rows are taken.
    write_rows(tmp_path, "wnli", "eval", ROWS, source=["x"], now=1.0, revision="a" * 40)
    both = read_tasks(["boolq", "wnli"], None, tmp_path)
    assert {row_set.origin for row_set in both.values()} == {"hub"}
    with pytest.raises(DataMissing, match="No imported rows for copa"):
        read_tasks(["boolq", "copa"], None, tmp_path)
    with pytest.raises(DataMissing, match=r"No downloaded rows for copa in .*hub"):
        read_tasks(["boolq", "copa"], "hub", tmp_path)


def test_another_revision_of_the_same_rows_is_recorded(tmp_path):
    options = {"source": ["hub:x"], "now": 1.0}
    for commit in ("a" * 40, "b" * 40):
        manifest, changed = write_rows(tmp_path, "boolq", "eval", ROWS, revision=commit, **options)
        assert (changed, manifest.revision) == (True, commit)


def test_the_item_set_hash_is_of_the_set():
    assert item_set_sha256(ROWS) == item_set_sha256(ROWS[::-1])
    assert item_set_sha256(ROWS) != item_set_sha256(ROWS[:1])
    other = Row("boolq/1", "boolq", "yes", ROWS[1].fields)
    assert item_set_sha256(ROWS) != item_set_sha256([ROWS[0], other])
