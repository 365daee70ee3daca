"""What is stored is listed, shown and checked against its manifests and the official sets."""

from __future__ import annotations

import orjson
import pytest

from proctor.errors import DataError, DataMissing, NotFound
from proctor.sources.exams.official.imports import import_path
from proctor.sources.exams.rows.normal_form import Row, manifest_path, read_manifest, rows_path, write_rows
from proctor.sources.exams.rows.stored import differences, show_task, stored_sets, verify_stored
from proctor.sources.exams.tables.tasks import TASKS

COMMIT = "a" * 40


def official(task, *, less=0):
    """As many rows as the official set has, with its answers."""
    targets = [target for target, n in TASKS[task].histogram.items() for _ in range(n)]
    return [Row(f"{task}/{n}", task, target, {"x": "y"}) for n, target in enumerate(targets[less:])]


def store(home, task, rows, **options):
    return write_rows(home, task, "eval", rows, **{"source": ["file"], "now": 1.0, **options})


def faults(home):
    return {(v.stored.origin, v.stored.task): list(v.faults) for v in verify_stored(home)}


def test_imported_and_downloaded_rows_are_listed_apart(tmp_path):
    store(tmp_path, "wnli", official("wnli"))
    store(tmp_path, "wnli", official("wnli"), source=["hub:x"], revision=COMMIT)
    store(tmp_path, "copa", official("copa"))
    assert [(s.origin, s.task, s.manifest.revision) for s in stored_sets(tmp_path)] == [
        ("imported", "copa", None),
        ("imported", "wnli", None),
        ("hub", "wnli", COMMIT),
    ]


def test_a_task_is_shown_with_its_first_rows(tmp_path):
    rows = official("wnli")
    store(tmp_path, "wnli", rows)
    (shown,) = show_task(tmp_path, "wnli", first=2)
    assert shown.first == tuple(rows[:2])
    assert shown.stored.manifest.labels == {"entailment": 31, "not_entailment": 40}


def test_what_cannot_be_shown_says_why(tmp_path):
    with pytest.raises(NotFound, match="No task 'wnly'"):
        show_task(tmp_path, "wnly")
    with pytest.raises(DataMissing, match="No rows for wnli"):
        show_task(tmp_path, "wnli")
    store(tmp_path, "wnli", official("wnli"))
    rows_path(tmp_path, "wnli", "eval").write_bytes(b"{}")
    with pytest.raises(DataError, match="not those that were imported"):
        show_task(tmp_path, "wnli")


def test_official_rows_are_without_fault(tmp_path):
    store(tmp_path, "wnli", official("wnli"))
    store(tmp_path, "wnli", official("wnli"), source=["hub:x"], revision=COMMIT)
    assert faults(tmp_path) == {("imported", "wnli"): [], ("hub", "wnli"): []}


def test_each_fault_names_its_file(tmp_path):
    store(tmp_path, "wnli", official("wnli", less=1))
    store(tmp_path, "copa", [*official("copa")[:-1], Row("copa/99", "copa", "A", {"x": "y"})])
    store(tmp_path, "qnli", official("qnli"))
    path = rows_path(tmp_path, "qnli", "eval")
    path.write_bytes(path.read_bytes().replace(b'"y"', b'"z"', 1))
    store(tmp_path, "wsc", official("wsc"))
    rows_path(tmp_path, "wsc", "eval").unlink()
    store(tmp_path, "axg", official("axg"), source=["hub:x"], revision=COMMIT)
    manifest_path(tmp_path, "axg", "eval", "hub").write_bytes(b"{")
    store(tmp_path, "boolq", [*official("boolq")[:-1], official("boolq")[-2]])
    store(tmp_path, "strange", official("wnli"))
    found = faults(tmp_path)
    told = {
        ("imported", "wnli"): "wnli/eval.jsonl: WNLI (eval) has 70 rows, the official set 71.",
        ("imported", "copa"): "has the answers {'A': 56, 'B': 44}, the official set {'A': 55, 'B': 45}",
        ("imported", "qnli"): "qnli/eval.jsonl: the rows are not those that were imported",
        ("imported", "wsc"): "wsc/eval.jsonl: the rows are gone",
        ("hub", "axg"): "axg/eval.jsonl: its manifest eval.manifest.json is missing or unreadable",
        ("imported", "boolq"): "boolq/eval.jsonl: an id stands in it twice",
        ("imported", "strange"): "'strange' is no task of a suite",
    }
    assert found.keys() == told.keys()
    for key, text in told.items():
        assert any(text in fault for fault in found[key]), (key, found[key])


def test_rows_without_answers_are_measured_by_their_number_only(tmp_path):
    hidden = [Row(f"axg/{n}", "axg", None, {"x": "y"}) for n in range(356)]
    store(tmp_path, "axg", hidden)
    assert faults(tmp_path) == {("imported", "axg"): []}
    assert differences(read_manifest(tmp_path, "axg", "eval")) == []


@pytest.mark.slow
def test_the_real_rows_pass_but_for_the_half_that_is_missing(shared, tmp_path):
    import_path(shared / "data", tmp_path, now=1.0)
    wrong = {(v.stored.task, v.stored.split) for v in verify_stored(tmp_path) if v.faults}
    assert wrong == {("mnli", "eval"), ("copa", "dev")}  # one half of MNLI, and 368 of COPA's 400 train rows


def test_too_many_different_answers_make_no_histogram(tmp_path):
    rows = [Row(f"record/0-{n}", "record", f"name {n}", {"x": "y"}, ("other",)) for n in range(101)]
    store(tmp_path, "record", rows)
    assert orjson.loads(manifest_path(tmp_path, "record", "eval").read_bytes())["labels"] == {}
    (shown,) = show_task(tmp_path, "record")
    assert shown.first[0].aliases == ("other",)
