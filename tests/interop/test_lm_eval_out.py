"""Our runs in lm-eval's layout: its fields and hashes, and the same figures when they come back."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from logs_made import inspect, line, lm_eval, quiz, sample, written
from opened import compare_named, export_lm_eval, import_logs
from proctor.errors import ConfigError
from proctor.findings import RunResult
from proctor.settings import Settings
from simulators import settings


def sent(log: Path, home: Settings, folder: Path) -> tuple[RunResult, list[Path]]:
    """A log imported as a run, and the files of that run."""
    result = import_logs([log], home).imported[0].result
    return result, export_lm_eval(result.run.id, home, folder)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(each) for each in path.read_text().splitlines()]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_the_fields_are_those_of_a_real_log(shared: Path, tmp_path: Path) -> None:
    """Every field that we write stands in the real log, with the same kind of value."""
    (real,) = (shared / "data/predictions/lm_eval").rglob("results_*.json")
    _, files = sent(real, settings(tmp_path / "home"), tmp_path / "out")
    ours, theirs = json.loads(files[0].read_text()), json.loads(real.read_text())
    assert set(ours) <= set(theirs)
    assert {name: type(value) for name, value in ours.items()} == {name: type(theirs[name]) for name in ours}
    assert ours["results"] == theirs["results"]
    (samples,) = real.parent.glob("samples_*.jsonl")
    mine, original = lines_of(files[1]), lines_of(samples)
    assert set(mine[0]) == set(original[0])
    same = ("doc_id", "target", "target_hash", "acc")
    assert [[each[name] for name in same] for each in mine] == [[e[n] for n in same] for e in original]


def test_the_hashes_are_of_the_texts_that_lm_eval_hashes(tmp_path: Path) -> None:
    log = written(tmp_path / "log.json", inspect([sample(1, "C"), sample(2, "I")]))
    _, files = sent(log, settings(tmp_path / "home"), tmp_path / "out")
    lines = lines_of(files[1])
    for each in lines:
        assert each["doc_hash"] == sha256(json.dumps(each["doc"], indent=2, ensure_ascii=False))
        assert each["prompt_hash"] == sha256(each["arguments"]["gen_args_0"]["arg_0"])
        assert each["target_hash"] == sha256(each["target"])
    joined = "".join(each["doc_hash"] + each["prompt_hash"] + each["target_hash"] for each in lines)
    assert json.loads(files[0].read_text())["task_hashes"] == {"quiz": sha256(joined)}


def test_what_was_exported_comes_back_with_the_same_figures(tmp_path: Path) -> None:
    home, other = settings(tmp_path / "home"), settings(tmp_path / "other")
    for name, rights in (("good", [1.0] * 9 + [0.0]), ("poor", [0.0, 1.0] * 5)):
        result, _ = sent(quiz(tmp_path / name, f"org/{name}", rights), home, tmp_path / "out" / name)
        back = import_logs([tmp_path / "out" / name], other).imported[0]
        assert back.notes == () and back.result.scores == result.scores
        assert back.result.run.cell.model == result.run.cell.model
    models = ["lm-eval/org/good", "lm-eval/org/poor"]
    pairs = [compare_named(models, each).evaluation.comparisons[0].whole for each in (home, other)]
    assert pairs[0] == pairs[1] and (pairs[0].only_first, pairs[0].only_second) == (5, 1)


def test_graded_scores_and_repeats_come_back(tmp_path: Path) -> None:
    """lm-eval has one score an item: the mean of its askings."""
    samples = [sample(i, v, epoch=e) for i in (1, 2, 3) for e, v in enumerate((0.25 * i, 1.0), 1)]
    log = written(tmp_path / "log.json", inspect(samples, of={"task": "lab/quiz", "config": {"epochs": 2}}))
    result, files = sent(log, settings(tmp_path / "home"), tmp_path / "out")
    assert files[1].name.startswith("samples_lab_quiz_")  # a slash would be a folder
    assert [each["mean"] for each in lines_of(files[1])] == [0.625, 0.75, 0.875]
    assert [len(each["resps"][0]) for each in lines_of(files[1])] == [2, 2, 2]
    back = import_logs([tmp_path / "out"], settings(tmp_path / "other")).imported[0]
    assert back.notes == () and back.result.scores[0].estimate == result.scores[0].estimate


def test_further_metrics_come_back_as_tasks_of_their_own(tmp_path: Path) -> None:
    lines = [line(i, acc=float(i > 1), acc_norm=float(i > 2)) for i in range(5)]
    log = lm_eval(tmp_path / "a", "org/m", {"quiz": lines}, {"quiz": {"acc,none": 0.6, "acc_norm,none": 0.4}})
    result, files = sent(log, settings(tmp_path / "home"), tmp_path / "out")
    assert len(files) == 3
    back = import_logs([tmp_path / "out"], settings(tmp_path / "other")).imported[0].result
    tasks = {score.task: score.estimate for score in back.scores if score.task}
    assert tasks == {score.task: score.estimate for score in result.scores}


def test_items_that_ended_in_an_error_are_left_out(tmp_path: Path) -> None:
    samples = [sample(1, "C"), sample(2, "I", error={"message": "broke"}), sample(3, "I")]
    log = written(tmp_path / "log.json", inspect(samples))
    _, files = sent(log, settings(tmp_path / "home"), tmp_path / "out")
    assert [each["doc_id"] for each in lines_of(files[1])] == [1, 3]
    assert json.loads(files[0].read_text())["n-samples"] == {"quiz": {"original": 3, "effective": 2}}


def test_ids_without_numbers_become_places(tmp_path: Path) -> None:
    """The place in the run is the same for each model, so that items pair whichever of them had errors."""
    samples = [sample(0, "C", id=name) for name in ("b", "c")]
    order = {"dataset": {"sample_ids": ["a", "b", "c"]}}
    log = written(tmp_path / "log.json", inspect([sample(0, "C", id="a", error="x"), *samples], of=order))
    _, files = sent(log, settings(tmp_path / "home"), tmp_path / "out")
    assert [each["doc_id"] for each in lines_of(files[1])] == [1, 2]


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="--output"):
        sent(quiz(tmp_path / "a", "org/m", [1.0]), settings(tmp_path / "home"), tmp_path / "file")
