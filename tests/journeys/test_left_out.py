"""Rows that a run leaves out stand beside its score, wherever that is shown."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import pytest

import proctor as python_door
from pages import Browser
from proctor.errors import DataError
from programs import proctor, proctor_json
from served import serving

MARK = "3 of 13 rows left out"
GOOD = [{"question": f"Is it {n}?", "choices": ["yes", "no"], "answer": "AB"[n % 2]} for n in range(10)]
BAD = [{"question": "Is it?", "choices": ["yes", "no"], "answer": "perhaps"}, {"question": "Why?"}, "no row"]


def written(home: Path) -> Path:
    path = home / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, [*GOOD, *BAD])))
    return path


@pytest.mark.slow
def test_every_view_of_a_lenient_run_says_how_many_rows_it_left_out(tmp_path: Path) -> None:
    path = written(tmp_path)
    words = [str(path), "--model", "baseline/majority", "--model", "baseline/random", "--lenient"]
    done = proctor_json(tmp_path, "run", *words)
    ids = [run["run_id"] for run in done["runs"]]
    assert [run["left_out"] for run in done["runs"]] == [3, 3]
    assert done["runs"][0]["manifest"]["left_out"]["of"] == 13
    told = proctor(tmp_path, "plan", *words).stdout
    assert MARK in told and "line 11, column 'answer': the answer 'perhaps' names no choice" in told
    for command in (["show", ids[0]], ["list"], ["leaderboard", "--suite", "mine.jsonl"], ["compare", *ids]):
        assert MARK in proctor(tmp_path, *command).stdout, command
    report = proctor(tmp_path, "report", *ids, "--format", "md", "-o", "-").stdout
    assert MARK in report and "Rows left out: baseline/majority" in report
    with serving(tmp_path, "--no-worker") as server:
        browser = Browser(server.url)
        pages = ["/", "/runs", f"/runs/{ids[0]}", f"/runs/{ids[0]}/results", "/leaderboard?suite=mine.jsonl"]
        for page in [*pages, f"/compare?runs={ids[0]}&runs={ids[1]}", "/models/baseline/majority"]:
            text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", browser.get(page).text)).split())
            assert MARK in text, page
        assert MARK in json.dumps(server.get(f"/api/v1/benchmarking/results/{ids[0]}"))
        assert MARK in json.dumps(server.get("/api/v1/benchmarking/leaderboard?suite=mine.jsonl"))


def test_the_python_door_is_as_lenient_as_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    path = written(tmp_path)
    with pytest.raises(DataError, match="3 of 13 rows cannot be used"):
        python_door.evaluate(path, "baseline/majority")
    result = python_door.evaluate(path, "baseline/majority", lenient=True)
    assert (result.score.scored, result.runs[0].run.source_title) == (10, f"mine.jsonl ({MARK})")
    assert MARK in str(result)


@pytest.mark.slow
def test_copying_the_rows_of_a_file_narrows_no_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    rows = [{"question": f"Is it {n}?", "answer": "yes" if n % 3 else "no"} for n in range(60)]
    once, often = tmp_path / "once.jsonl", tmp_path / "often.jsonl"
    once.write_text("\n".join(map(json.dumps, rows)))
    often.write_text("\n".join(json.dumps({"id": f"r{n}", **rows[n % 60]}) for n in range(600)))
    one, ten = (python_door.evaluate(path, "baseline/majority").score for path in (once, often))
    assert one.value == ten.value
    assert ten.high - ten.low >= 0.95 * (one.high - one.low)
