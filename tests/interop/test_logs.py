"""Logs of other tools: real ones, ones written here, damaged ones; and ours written as theirs."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from pathlib import Path

import pytest
import zstandard

from proctor.errors import ConfigError, DataError
from proctor.interop.inspect_log import read_inspect
from proctor.interop.zips import Archive
from proctor.service.compare import compare_named
from proctor.service.logs import import_logs
from proctor.service.runs import look, rerun
from proctor.service.transfer import export_lm_eval
from simulators import settings


def lm_eval(
    folder: Path, model: str, rights: list[float], *, metric: str = "acc", told: float | None = None
) -> Path:
    """A log as lm-eval writes it, of one task."""
    folder.mkdir(parents=True, exist_ok=True)
    mean = sum(rights) / len(rights) if told is None else told
    results = {
        "results": {"quiz": {"alias": "quiz", f"{metric},none": mean, f"{metric}_stderr,none": 0.1}},
        "configs": {"quiz": {"task": "quiz"}},
        "versions": {"quiz": 2.0},
        "n-shot": {"quiz": 0},
        "config": {"model": "hf", "model_args": f"pretrained={model}"},
        "model_name": model,
        "date": 1_700_000_000.0,
        "total_evaluation_time_seconds": "12.5",
    }
    (folder / "results_2024-01-01T00-00-00.json").write_text(json.dumps(results))
    lines = [
        {
            "doc_id": i,
            "doc": {"q": i},
            "target": "yes",
            "arguments": {"gen_args_0": {"arg_0": f"question {i}", "arg_1": {}}},
            "resps": [["I say yes" if right else "no"]],
            "filtered_resps": ["yes" if right else "no"],
            "doc_hash": f"d{i}",
            "target_hash": "t",
            metric: right,
        }
        for i, right in enumerate(rights)
    ]
    (folder / "samples_quiz_2024-01-01T00-00-00.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )
    return folder


def inspect(model: str, values: list[object], **more: object) -> dict[str, object]:
    """A log as Inspect writes it, of one task and one scorer."""
    samples = [
        {
            "id": i + 1,
            "epoch": 1,
            "input": f"question {i}",
            "target": "yes",
            "messages": [
                {"role": "user", "content": f"question {i}"},
                {"role": "assistant", "content": "yes"},
            ],
            "output": {"choices": [{"message": {"role": "assistant", "content": "yes"}}]},
            "scores": {"match": {"value": value, "answer": "yes"}},
            "model_usage": {model: {"input_tokens": 12, "output_tokens": 3}},
            "total_time": 0.5,
        }
        for i, value in enumerate(values)
    ]
    header = {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "quiz",
            "task_version": 0,
            "model": model,
            "created": "2025-01-02T03:04:05+00:00",
            "packages": {"inspect_ai": "0.3.1"},
        },
        "plan": {"steps": [{"solver": "generate", "params": {}}]},
        "results": {"total_samples": len(values), "scores": [{"name": "match", "metrics": {}}]},
        "stats": {"started_at": "2025-01-02T03:04:05+00:00", "completed_at": "2025-01-02T03:05:05+00:00"},
    }
    return {**header, "samples": samples, **more}


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    """A zip archive packed with zstd (method 93), which the standard library cannot write."""
    body, directory = b"", b""
    for name, content in members.items():
        packed, raw = zstandard.compress(content), name.encode()
        facts = struct.pack(
            "<HHHIIIHH", 93, 0, 0x21, zlib.crc32(content), len(packed), len(content), len(raw), 0
        )
        directory += b"PK\x01\x02" + struct.pack("<HHH", 63, 63, 0) + facts
        directory += struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + raw
        body += b"PK\x03\x04" + struct.pack("<HH", 63, 0) + facts + raw + packed
    end = struct.pack(
        "<4s4H2IH", b"PK\x05\x06", 0, 0, len(members), len(members), len(directory), len(body), 0
    )
    path.write_bytes(body + directory + end)
    return path


def test_the_real_lm_eval_log(shared: Path, tmp_path: Path) -> None:
    found = import_logs([shared / "data/predictions/lm_eval"], settings(tmp_path))
    (log,) = found.imported
    e = log.result.scores[0].estimate
    assert (e.value, e.stderr, e.scored) == (pytest.approx(0.7), pytest.approx(0.152753, abs=5e-7), 10)
    assert log.notes == () and log.result.run.cell.model.provider == "lm-eval" and not log.result.run.partial
    assert log.result.run.manifest["prompts"] == {"winogrande": "lm-eval winogrande version 1.0, 5-shot"}
    assert log.result.run.elapsed_s == pytest.approx(30.2586, abs=1e-3)


def test_the_real_inspect_logs(shared: Path, tmp_path: Path) -> None:
    found = import_logs([shared / "data/predictions/inspect_logs"], settings(tmp_path))
    assert [log.path.name for log in found.imported] == [
        "log_formats.eval",
        "log_formats.json",
        "mmlu-summary-choices.eval",
    ]
    assert [log.result.scores[0].estimate.value for log in found.imported] == [0.0, 0.0, 0.0]
    assert found.failed == ()
    assert found.imported[2].result.tally.input_tokens_per_item == 153


def test_two_models_of_another_tool_are_compared_like_ours(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    a = lm_eval(tmp_path / "a", "org/good", [1.0] * 45 + [0.0] * 5)
    b = lm_eval(tmp_path / "b", "org/poor", [1.0] * 25 + [0.0] * 25)
    import_logs([a, b], home)
    pair = compare_named(["lm-eval/org/good", "lm-eval/org/poor"], home).evaluation.comparisons[0]
    assert (pair.whole.test, pair.whole.shared, pair.whole.only_first, pair.whole.only_second) == (
        "exact McNemar",
        50,
        20,
        0,
    )
    assert pair.verdict == "first better"


def test_a_log_of_another_task_is_not_compared(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    lm_eval(tmp_path / "a", "org/good", [1.0] * 10)
    (tmp_path / "b.json").write_text(json.dumps(inspect("org/poor", ["C"] * 10)))
    import_logs([tmp_path], home)
    with pytest.raises(ConfigError, match="cannot be compared: they differ in their items"):
        compare_named(["lm-eval/org/good", "inspect/org/poor"], home)


def test_the_same_log_is_not_imported_twice(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    a = lm_eval(tmp_path / "a", "org/good", [1.0, 0.0])
    first, again = import_logs([a], home).imported[0], import_logs([a], home).imported[0]
    assert not first.before and again.before and first.result.run.id == again.result.run.id


def test_graded_scores_keep_their_range(tmp_path: Path) -> None:
    a = lm_eval(tmp_path / "a", "org/m", [0.25, 0.5, 1.0, 0.75], metric="rouge")
    score = import_logs([a], settings(tmp_path / "home")).imported[0].result.scores[0]
    assert (score.metric, score.title, score.estimate.value) == ("mean", "quiz rouge", 0.625)
    assert score.estimate.method == "Student's t"


def test_a_figure_that_its_items_do_not_give_is_told(tmp_path: Path) -> None:
    a = lm_eval(tmp_path / "a", "org/m", [1.0, 0.0], told=0.9)
    assert import_logs([a], settings(tmp_path / "home")).imported[0].notes == (
        "quiz acc: the log says 0.9000, its items give 0.5000",
    )


def test_grades_errors_and_epochs_of_inspect(tmp_path: Path) -> None:
    log = inspect("m", ["C", "I", "P", float("nan"), True])
    samples = log["samples"]
    assert isinstance(samples, list)
    samples[1]["error"] = {"message": "the tool broke"}
    samples.append({**samples[0], "epoch": 2, "scores": {"match": {"value": "I"}}})
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    read = read_inspect(path)
    assert [s.score for s in read.samples] == [1.0, 0.0, 0.5, None, 1.0, 0.0]
    assert read.samples[1].error == "the tool broke" and read.samples[5].repeat == 1
    result = import_logs([path], settings(tmp_path / "home")).imported[0].result
    assert (
        result.run.partial and result.scores[0].estimate.scored == 3
    )  # the error and the unscored measured nothing
    assert result.scores[0].estimate.value == pytest.approx((0.5 + 0.5 + 1) / 3)


def test_an_archive_packed_with_zstd(tmp_path: Path) -> None:
    log = inspect("m", ["C", "I"])
    samples = log.pop("samples")
    assert isinstance(samples, list)
    members = {"header.json": json.dumps(log).encode()}
    members |= {f"samples/{s['id']}_epoch_1.json": json.dumps(s).encode() for s in samples}
    path = zipped(tmp_path / "log.eval", members)
    with pytest.raises(NotImplementedError):
        zipfile.ZipFile(path).read("header.json")
    read = read_inspect(path)
    assert [s.score for s in read.samples] == [1.0, 0.0] and read.version == "0.3.1"
    path.write_bytes(path.read_bytes().replace(b"(\xb5/\xfd", b"(\xb5/\xfe", 1))
    with pytest.raises(DataError, match=r"header\.json is damaged"):
        read_inspect(path)


def test_members_that_are_missing_or_too_large_are_told(tmp_path: Path) -> None:
    path = zipped(tmp_path / "x.zip", {"a": b"1"})
    archive = Archive(path)
    with pytest.raises(DataError, match="b is missing"):
        archive.read("b")
    archive.close()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("results_1.json", "{", "not JSON"),
        ("results_1.json", "{}", "`results` and `config` are missing"),
        ("results_1.json", '{"results": {"x": {}}, "config": {}}', "no items to compare"),
        ("log.json", '{"eval": {}}', "`eval` with its `task` is missing"),
        ("log.eval", "no zip", "not a readable zip archive"),
    ],
)
def test_what_is_no_log_is_told(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    found = import_logs([tmp_path / name], settings(tmp_path / "home"))
    assert found.imported == () and said in found.failed[0][1]


def test_a_damaged_log_leaves_nothing_behind(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    a = lm_eval(tmp_path / "a", "org/m", [1.0, 0.0])
    samples = next(a.glob("samples_*"))
    samples.write_text(samples.read_text() + "{broken")
    assert "line 3 is not JSON" in import_logs([a], home).failed[0][1]
    with pytest.raises(DataError, match="no log"):
        import_logs([tmp_path / "home"], home)


def test_an_imported_run_cannot_be_asked_again(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    run = import_logs([lm_eval(tmp_path / "a", "org/m", [1.0, 0.0])], home).imported[0].result.run
    with pytest.raises(ConfigError, match="was imported from another tool"):
        rerun(run.id, home)


def test_our_export_comes_back_as_it_was(tmp_path: Path) -> None:
    home, other = settings(tmp_path / "home"), settings(tmp_path / "other")
    run = import_logs([lm_eval(tmp_path / "a", "org/m", [1.0, 0.0, 1.0])], home).imported[0].result.run
    files = export_lm_eval(run.id, home, tmp_path / "out")
    assert [path.name[:8] for path in files] == ["results_", "samples_"]
    back = import_logs([tmp_path / "out"], other).imported[0]
    assert (
        back.notes == ()
        and back.result.scores[0].estimate == look([run.id], home).results[0].scores[0].estimate
    )
