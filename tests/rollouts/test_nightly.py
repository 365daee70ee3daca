"""The nightly script and the weekly workflow: a benchmark run, held against the accepted one, kept with its commit."""

from __future__ import annotations

import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from boxed import image_in, need_bubblewrap
from trials import MEND, task_folder

from proctor.sandbox.places import sweep
from programs import HANG_S, environment

ROOT = Path(__file__).parents[2]
SCRIPT, WORKFLOW = ROOT / "scripts/run_nightly_benchmark.sh", ROOT / ".github/workflows/benchmark.yml"
CONFIG = """
name = "night"
parallel = 2
[limits]
memory_mb = 256
disk_mb = 64
[agents.mender]
kind = "scripted"
script = "{folder}/agent.sh"
[[tasks]]
prepared_dir = "{folder}/task"
agent = "mender"
"""


@dataclass
class Nights:
    """A home, a benchmark of one trial, and what one night leaves."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def agent(self, script: str) -> None:
        (self.folder / "agent.sh").write_text(script)

    def environ(self, **more: str) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        return {**environment(self.home), "PATH": path, **more}

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        argv = ["bash", str(SCRIPT), *words]
        given = {"env": self.environ(**more), "cwd": self.folder, "timeout": HANG_S}
        return subprocess.run(argv, text=True, capture_output=True, check=False, **given)  # type: ignore[call-overload,no-any-return]  # options by name

    def told(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads((self.home / "nightly/latest/nightly.json").read_text())
        return found


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    """After a first night."""
    need_bubblewrap()
    folder = tmp_path_factory.mktemp("nights")
    image_in(folder / "home")
    task_folder(folder / "task", told={"task_id": "double"})
    (folder / "night.toml").write_text(CONFIG.format(folder=folder))
    nights = Nights(folder)
    nights.agent(MEND)
    done = nights.run(str(folder / "night.toml"))
    assert done.returncode == 0, done.stdout + done.stderr
    yield nights
    sweep(folder / "home" / "boxes")


@pytest.mark.promise("C-33", "C-28")
def test_a_night_is_run_accepted_and_kept_with_its_commit_and_its_files(nights: Nights) -> None:
    told = nights.told()
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, text=True, capture_output=True, check=False
    ).stdout.strip()
    assert told["commit"].startswith(commit or "unknown")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ", told["date"])
    assert (told["exit"], told["worse"], len(told["runs"])) == (0, [], 1)
    kept = {each.name for each in (nights.home / "nightly/latest").iterdir()}
    assert {"bundle.zip", "results.json", "run.log", "config.toml", "gate.txt"} <= kept
    assert (nights.home / "accepted/night--agent-mender.zip").is_file()
    assert len((nights.home / "nightly/history.jsonl").read_text().splitlines()) == 1


def test_two_nights_do_not_overlap_and_a_file_that_is_not_there_is_named(nights: Nights) -> None:
    lock = nights.home / "nightly/.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        busy = nights.run(str(nights.folder / "night.toml"))
    assert (busy.returncode, "still at work" in busy.stderr) == (75, True)
    missing = nights.run("configs/none.toml")
    assert (missing.returncode, "configs/none.toml: no such file" in missing.stderr) == (2, True)


@pytest.mark.promise("C-33", "C-28")
def test_the_steps_of_the_workflow_fail_where_a_run_is_worse_and_keep_what_it_was(nights: Nights) -> None:
    nights.agent("exit 0")
    (job,) = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    temp = nights.folder / "runner"
    temp.mkdir()
    expressions = {
        "github.workspace": str(ROOT),
        "inputs.config || 'configs/nightly.toml'": str(nights.folder / "night.toml"),
        "inputs.gate": "--exclude-worse --worse-by 0.1",
    }
    codes: dict[str, int] = {}
    for step in job["steps"]:
        if "run" not in step or (any(codes.values()) and step.get("if") != "always()"):
            continue
        env = {name: filled(value, expressions) for name, value in step.get("env", {}).items()}
        given = nights.environ(
            **env, RUNNER_TEMP=str(temp), GITHUB_STEP_SUMMARY=str(temp / "summary.md"), CI="true"
        )
        words = ["bash", "-e", "-c", filled(step["run"], expressions)]
        done = subprocess.run(words, cwd=ROOT, env=given, text=True, capture_output=True, check=False)
        codes[step["name"]] = done.returncode
        assert done.returncode in (0, 4), done.stdout + done.stderr
    assert codes == {"Sandbox": 0, "proctor": 0, "Benchmark": 4, "What is kept": 0}
    assert nights.told()["worse"] == nights.told()["runs"]
    kept = temp / "benchmark"
    assert len(list(kept.glob("runs/*-0/record.json"))) == 2
    assert (kept / "night/bundle.zip").is_file()
    assert "proctor gate FAILED: night, agent/mender" in (temp / "summary.md").read_text()


def filled(text: str, expressions: Mapping[str, str]) -> str:
    """The runner's expressions by what they stand for; those that nothing is known of are empty, as secrets are."""
    return re.sub(r"\$\{\{ (.+?) \}\}", lambda found: expressions.get(found[1], ""), text)
