"""The judge on the command line: `proctor grade`, `proctor run --judge`, a suite's [judge], batches, and kill -9."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from killed import killed_judging

from proctor.simulator import Simulated, spawn
from programs import proctor, proctor_json

ROWS = [{"id": f"q{n}", "question": f"What of {n}?", "answer": f"Good {n} is kept."} for n in range(12)]
CRITERIA = """
[[criteria]]
name = "right"
asks = "Right?"
weight = 2
[[criteria]]
name = "tone"
asks = "Kind?"
scale = "1-5"
"""


@dataclass(frozen=True)
class Desk:
    """A folder with questions, requests, a rubric and a suite, and a server that judges."""

    home: Path
    server: Simulated

    @property
    def judge(self) -> list[str]:
        return ["--grader", "judge", "--judge", "openai/judge", "--base-url", f"{self.server.url}/v1"]

    @property
    def model(self) -> list[str]:
        return ["--model", "openai/sim", "--base-url", f"{self.server.url}/v1"]

    def run(self, *words: str, code: int = 0) -> str:
        done = proctor(self.home, *words, code=code, OPENAI_API_KEY="none")
        return f"{done.stdout}\n{done.stderr}"

    def run_json(self, *words: str) -> dict:
        found: dict = proctor_json(self.home, *words, OPENAI_API_KEY="none")
        return found


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    home = tmp_path_factory.mktemp("desk")
    (home / "open.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    (home / "rubric.toml").write_text(CRITERIA)
    requests = [
        {
            "custom_id": row["id"],
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {
                "model": "m",
                "messages": [{"role": "user", "content": row["question"]}],
                "metadata": {"gold": row["answer"]},
            },
        }
        for row in ROWS
    ]
    (home / "requests.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in requests))
    with spawn([], {}) as server:
        suite = '[suite]\nname = "shop"\n[[tasks]]\nkey = "open"\nfile = "open.jsonl"\ngrader = "none"\n'
        judge = f'[judge]\nmodel = "openai/judge"\nbase_url = "{server.url}/v1"\nrubric = "rubric.toml"\nlimit = 5\n'
        (home / "own.toml").write_text(suite + judge)
        yield Desk(home, server)


@pytest.mark.slow
def test_a_run_is_judged_shown_by_its_judge_and_not_judged_again(desk: Desk) -> None:
    ran = desk.run_json("run", "open.jsonl", *desk.model, "--grader", "none")
    run = ran["runs"][0]["run_id"]
    ahead = desk.run("grade", run, *desk.judge, "--rubric", "rubric.toml", "--plan")
    assert "12 replies, 2 criteria, 24 calls" in ahead
    told = desk.run("grade", run, *desk.judge, "--rubric", "rubric.toml")
    assert "12 replies are graded" in told and f"Next: proctor label {run[:8]}" in told
    again = desk.run("grade", run, *desk.judge, "--rubric", "rubric.toml")
    assert "has judged this already (openai/judge): nothing is asked again." in again
    shown = desk.run("show", run, "--grader", "judge")
    assert "mean 0." in shown and "rubric=rubric#" in shown and "score=mean" in shown
    assert "is for --grader judge" in desk.run("grade", run, "--grader", "contains", "--votes", "3", code=2)
    assert "stands alone" in desk.run("grade", run, *desk.judge, "--grader", "contains", code=2)


@pytest.mark.slow
def test_a_suite_names_its_judge_and_the_command_line_may_name_another(desk: Desk) -> None:
    told = desk.run_json("run", "own.toml", *desk.model)
    (judging,) = told["judgings"]
    assert judging["graded"] == 5 and judging["asked"] == 10 and "rubric=rubric#" in judging["grader"]
    told = desk.run_json("run", "own.toml", *desk.model, "--judge", "openai/judge", "--votes", "3")
    (judging,) = told["judgings"]
    assert judging["graded"] == 12 and judging["asked"] == 36 and judging["grader"].endswith("votes=3")
    (desk.home / "bad.toml").write_text((desk.home / "own.toml").read_text().replace("limit", "limits"))
    assert "[judge]: unknown key 'limits'" in desk.run("run", "bad.toml", *desk.model, code=2)


@pytest.mark.slow
def test_replies_of_a_batch_are_judged_by_the_right_answers_of_its_requests(desk: Desk) -> None:
    words = [
        "batch",
        "run",
        "requests.jsonl",
        "--model",
        "simulator/sim",
        "--gold",
        "body.metadata.gold",
        "--grader",
        "none",
    ]
    ran = desk.run_json(*words)
    told = desk.run_json("grade", ran["runs"][0]["run_id"], *desk.judge)
    assert told["judgings"][0]["graded"] == 12
    items = desk.run("export", told["judgings"][0]["run_id"], "--format", "jsonl")
    assert "What of 3?" in items and "Good 3 is kept." in items, (
        "the judge saw no question, or no right answer"
    )


@pytest.mark.slow
def test_a_judging_killed_twice_and_begun_again_asks_nothing_twice_that_was_kept(tmp_path: Path) -> None:
    found = killed_judging(tmp_path, 160, (0.2, 0.6))
    assert found.asked == {1: 160} and found.graded == 160
    assert 0 <= found.sent[0] - found.kept[0] <= found.twice <= 2 * (16 + 256)
    assert found.cost_usd == pytest.approx((found.kept[1] + 2 * found.kept[2]) / 1e6)
