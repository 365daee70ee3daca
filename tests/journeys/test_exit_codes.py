"""What scripts rely on: exit codes and causes of partial and failed runs, on this machine and at a server."""

from __future__ import annotations

import json

import pytest

from proctor.service.opening.simulate import known_answers
from proctor.simulator import spawn
from programs import csv_of_sums, proctor, proctor_json
from served import serving
from simulators import settings

pytestmark = pytest.mark.slow  # whole commands, and a server

SAID = "This model's maximum context length is 100 tokens"


def test_a_script_tells_everything_part_and_nothing_apart(tmp_path):
    rows = csv_of_sums(tmp_path / "sums.csv", 3)
    long = f"What is 1 plus 1{' or so' * 90}?,2,3,4,A"
    mixed, overlong = tmp_path / "mixed.csv", tmp_path / "long.csv"
    mixed.write_text(rows.read_text() + long + "\n")
    overlong.write_text(f"question,A,B,C,answer\n{long}\n")
    with spawn(["--context", "100"], known_answers(settings(tmp_path), [mixed])) as server:
        asked = ("--model", "openai/sim-perfect", "--base-url", f"{server.url}/v1")
        some = proctor(tmp_path, "run", str(mixed), *asked, code=3)
        none = proctor_json(tmp_path, "run", str(overlong), *asked, code=5)
    assert f'1 of 4 items failed: context-overflow, "{SAID}' in some.stdout
    assert "would fail again" in some.stderr and "To go on" not in some.stderr
    (run,) = none["runs"]
    assert (run["status"], run["error_slug"], none["error"]["slug"]) == ("failed", *["context-overflow"] * 2)
    (cause,) = run["causes"]
    assert cause["said"].startswith(SAID) and not cause["asking_again_may_help"]
    assert "--max-model-len" in cause["advice"] == none["error"]["cure"]
    listed = proctor(tmp_path, "list").stdout.splitlines()
    assert "  failed  " in listed[1] and "1 of 1 not measured (1 failed: context-overflow)" in listed[1]
    assert (
        "  completed (partial)  " in listed[2]
        and "1 of 4 not measured (1 failed: context-overflow)" in listed[2]
    )


def test_a_server_says_of_its_jobs_what_the_command_line_says_of_its_runs(tmp_path):
    home, here = tmp_path / "server", tmp_path / "client"
    home.mkdir()
    here.mkdir()
    glue = ("run", "glue", "--data", "sample", "--model", "openai/sim-perfect", "--wait")
    with spawn(["--context", "100"], known_answers(settings(home), [])) as simulator:
        environ = {"OPENAI_BASE_URL": f"{simulator.url}/v1", "OPENAI_API_KEY": "EMPTY"}
        with serving(home, **environ) as server:
            client = ("--server", server.url)
            ended = proctor(here, *client, *glue, "--tasks", "rte,sst2", "--limit", "6", code=3)
            listed = proctor(here, *client, "list").stdout.splitlines()[1]
            (row,) = server.get("/api/v1/benchmarking/results")["results"]
            job = row["job_id"]
            page = server.ask("GET", f"/runs/{job}").body
            history = server.ask("GET", "/runs").body
    assert (
        f'5 of 12 items failed: context-overflow, "{SAID}' in ended.stdout
        and "--max-model-len" in ended.stdout
    )
    assert "completed (partial)" in listed and "5 of 12 not measured (5 failed: context-overflow)" in listed
    assert [(each["slug"], each["items"]) for each in row["causes"]] == [("context-overflow", 5)]
    assert "maximum context length is 100 tokens" in page and "Why items failed" in page
    assert "5 failed: context-overflow" in history and "maximum context length is 100 tokens" in history
    assert "proctor resume" not in json.dumps(row)
