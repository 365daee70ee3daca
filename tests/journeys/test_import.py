"""Other tools' runs as a user brings them in: import, compare, rank, report, and our own sent the other way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from logs_made import inspect, quiz, sample, written
from programs import proctor, proctor_json

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of two models by lm-eval and of one by Inspect, imported."""
    folder = tmp_path_factory.mktemp("home")
    quiz(folder / "logs/good", "org/good", [1.0] * 45 + [0.0] * 5)
    quiz(folder / "logs/poor", "org/poor", [1.0, 0.0] * 25)
    written(folder / "logs/log.json", inspect([sample(i, "C") for i in range(4)], status="cancelled"))
    said = proctor(folder, "import", "logs").stdout.splitlines()
    assert [line.split("  ")[1] for line in said if line[0] != " " and not line.startswith("To")] == [
        "lm-eval/org/good",
        "inspect/lab/m",
        "lm-eval/org/poor",
    ]
    return folder


def test_a_line_tells_each_run_and_the_last_what_to_do(home: Path) -> None:
    said = proctor(home, "import", "logs").stdout
    assert said.count("(imported before)") == 3
    assert "lm-eval/org/good  lm-eval quiz  accuracy 0.900 [0.786, 0.957]  n = 50" in said
    assert "Note: the log's own status is cancelled." in said
    ids = said.splitlines()[-1].removeprefix("To compare: proctor compare ").split()
    assert "org/good is better than lm-eval/org/poor" in proctor(home, "compare", *ids).stdout


def test_the_document_tells_the_same(home: Path) -> None:
    document = proctor_json(home, "import", "logs/good")
    (log,) = document["imported"]
    assert (log["before"], log["notes"], log["model"], document["failed"]) == (
        True,
        [],
        "lm-eval/org/good",
        [],
    )


def test_imported_runs_are_shown_ranked_and_reported(home: Path) -> None:
    runs = proctor_json(home, "list", "--model", "lm-eval/org/good")["runs"]
    assert len(runs) == 1
    shown = proctor(home, "show", runs[0]["run_id"][:8]).stdout
    assert "tool_version: 0.4.7" in shown and "log_sha256" in shown
    board = proctor(home, "leaderboard", "--suite", "lm-eval quiz").stdout
    assert board.index("org/good") < board.index("org/poor")
    report = proctor(home, "report", runs[0]["run_id"], "--format", "md", "--output", "-").stdout
    assert "imported from its log" in report


def test_what_needs_the_other_tool_is_refused(home: Path) -> None:
    run = proctor_json(home, "list", "--model", "lm-eval/org/good")["runs"][0]["run_id"]
    assert "imported from another tool" in proctor(home, "rerun", run, code=2).stderr
    failed = proctor(home, "import", "logs/good", "no-such-log", code=2).stderr
    assert "no-such-log: there is no such file or folder" in failed


def test_our_runs_go_to_lm_eval_and_come_back_with_the_same_pairs(home: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    rows = [
        {"question": f"Is {i} even?", "choices": ["yes", "no"], "answer": "AB"[i % 3 == 1]} for i in range(40)
    ]
    questions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    models = ("baseline/majority", "baseline/random")
    words = [word for model in models for word in ("--model", model)]
    proctor(home, "run", str(questions), *words)
    for model in models:
        run = proctor_json(home, "list", "--model", model)["runs"][0]["run_id"]
        proctor(home, "export", run, "--format", "lm-eval", "-o", str(tmp_path / model))
    (tmp_path / "other").mkdir()
    proctor(tmp_path / "other", "import", str(tmp_path / "baseline"))
    before = proctor_json(home, "compare", *models)["comparisons"][0]
    after = proctor_json(tmp_path / "other", "compare", *(f"lm-eval/{m}" for m in models))["comparisons"][0]
    same = ("metric", "shared", "only_first", "only_second", "difference", "p_value", "verdict")
    assert {name: before[name] for name in same} == {name: after[name] for name in same}


def test_a_whole_suite_goes_to_lm_eval(home: Path, tmp_path: Path) -> None:
    """Tasks of all kinds; those whose figure is no mean over items come back without a score of their own."""
    proctor(home, "run", "superglue", "--data", "sample", "--model", "baseline/majority")
    run = proctor_json(home, "list", "--source", "superglue")["runs"][0]
    proctor(home, "export", run["run_id"], "--format", "lm-eval", "-o", str(tmp_path / "out"))
    (tmp_path / "other").mkdir()
    (log,) = proctor_json(tmp_path / "other", "import", str(tmp_path / "out"))["imported"]
    ours = proctor_json(home, "show", run["run_id"])["runs"][0]["scores"]
    boolq = next(score["value"] for score in ours if score["task"] == "boolq")
    assert next(score["value"] for score in log["scores"] if score["task"] == "boolq") == boolq
