"""Stored rows come back as they were, or are refused."""

from __future__ import annotations

import os

import orjson
import pytest

from proctor.errors import DataError, DataMissing
from proctor.suites.rows import (
    Row,
    item_set_sha256,
    manifest_path,
    read_rows,
    read_tasks,
    rows_path,
    write_rows,
)
from proctor.suites.tasks import MMLU, TASKS

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


@pytest.mark.parametrize("split", ["eval", "dev"])
def test_every_task_has_sample_rows_in_the_normal_form(tmp_path, split):
    for task, found in read_tasks(list(TASKS), "sample", tmp_path, split=split).items():
        assert found.rows
        assert len({row.id for row in found.rows}) == len(found.rows)
        for row in found.rows:
            assert row.task == task
            allowed = {label.name for label in TASKS[task].labels} or set("ABCD")
            assert row.target in allowed
            assert row.fields.get("subject", task) == task


def test_the_item_set_hash_is_of_the_set():
    assert item_set_sha256(ROWS) == item_set_sha256(ROWS[::-1])
    assert item_set_sha256(ROWS) != item_set_sha256(ROWS[:1])
    other = Row("boolq/1", "boolq", "yes", ROWS[1].fields)
    assert item_set_sha256(ROWS) != item_set_sha256([ROWS[0], other])
