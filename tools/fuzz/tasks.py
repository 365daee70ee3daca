"""Tasks for agents and what is kept of trials: folders of prepared tasks, benchmarks in TOML, patches, records."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import orjson

from fuzz.answers import patches
from fuzz.contract import Parser, Read, Room, reads, words
from proctor.engine.agents.contract import AgentWork
from proctor.engine.trials.collecting import Collected, collected_bytes, collected_from
from proctor.engine.trials.metrics import CustomMetrics
from proctor.engine.trials.patch import apply_patch
from proctor.errors import ProctorError
from proctor.plan.rollouts import Surroundings, plan_of_table, plan_of_toml
from proctor.providers import PROVIDERS
from proctor.providers.prices import read_prices
from proctor.providers.served import read_commands
from proctor.rollouts import load_benchmark
from proctor.service.rollouts.allowed import allowed_by
from proctor.service.rollouts.folders import live_phase
from proctor.service.serving.orphans import end_orphans
from proctor.sources.rollouts.dockerfile import recipe_of
from proctor.sources.rollouts.reading import read_task
from proctor.trial_record import (
    Consumed,
    PhaseTime,
    RubricScore,
    TestResult,
    TrialRecord,
    TrialStep,
    record_bytes,
    record_from,
)
from proctor.types import Usage

META: Mapping[str, object] = {
    "task_id": "greet",
    "metadata": {"title": "Greet", "tags": ["t"], "difficulty": "easy"},
    "repo": {"git_url": "", "sparse_checkout": [], "branch": "main", "start_commit_sha": "a" * 40},
    "lm": {"instructions": "Greet by name."},
    "sensitivity": {"level": "safe"},
    "evaluation": {
        "rubrics": [
            {"id": "greets", "criterion": "It greets", "weight": 0.7, "evaluation_criteria": ["by name"]},
            {"id": "kept", "criterion": "The rest is kept", "weight": 0.3, "gate": True},
        ],
        "test_scripts": [
            {"path": "test_greets.py", "rubric_id": "greets"},
            {"path": "deep/test_kept.py", "rubric_id": "kept", "content": "import greeting\n"},
        ],
    },
    "proctor": {
        "timeout_s": 60,
        "environment": {"A": "b"},
        "protect": ["docs/*"],
        "pass_score": 0.5,
        "requires": ["git"],
    },
}
OVERRIDES: Mapping[str, object] = {
    "lm": {"instructions": "Greet twice.", "prompt": None},
    "remove_repo_paths": ["docs/*.md"],
    "inject_files": [{"path": "new/x.py", "content": "x = 1\n"}, {"path": "greeting.py", "content": "y"}],
    "environment_variables": {"B": "c"},
    "proctor": {"timeout_s": 9},
}
FILES: Mapping[str, str] = {
    "Dockerfile": "FROM proctor-base\nWORKDIR /app/repo\n",
    "overlay_repo_files/greeting.py": 'def greet(name):\n    return "Hello!"\n',
    "overlay_repo_files/docs/a.md": "a\n",
    "overlay_files/diff.patch": "--- a/greeting.py\n+++ b/greeting.py\n",
    "evaluation/test_greets.py": "assert True\n",
}
DOCKERFILES: Sequence[bytes] = [
    b'# syntax=x\nARG BASE=python:3.11\nFROM ${BASE:-x} AS one\nENV A=b C="d e" PATH=/x:$PATH\nWORKDIR /app\nCOPY --chown=1:1 overlay_files/ /app/\n'
    b'RUN apt-get update && \\\n    apt-get install -y git # no\nCOPY ["a b", "/c/"]\nADD http://x/y /z\nUSER root\nCMD ["sh"]\n',
    b"FROM proctor-base\nCOPY <<EOF /x\nhello\nEOF\nENV X y z\n",
]  # fmt: skip
SCRIPTS: Sequence[bytes] = [
    b"import unittest\n\nclass TestX(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(((1)))\n",
    b"def test_a():\n    assert 1 == 1\n\nif __name__ == '__main__':\n    test_a()\n",
    b"#!/bin/sh\nexit 0\n",
]
BENCHMARK = b"""name = "hello"
parallel = 4
sandbox = "bubblewrap"
pass_score = 0.5

[limits]
agent_s = 600
memory_mb = 512
max_cost_usd = 0.5

[agents.careful]
kind = "scripted"
script = "careful.sh"
environment = { A = "b" }

[agents.other]
kind = "command"
argv = ["x", "{instruction}", "{model}"]
log = "jsonl"
log_fields = { said = "message.text" }
temperature = 0.5
secrets = ["A_KEY"]

[[tasks]]
prepared_dir = "task"
agent = "careful"
rollouts = 3
environment_variables = { C = "d" }

[[tasks]]
prepared_dir = "task"
model = "ollama/m"
agent = "shell"
rollouts = 2
apply_overrides = false
timeout_s = 5.5
token_limit = 1000
"""
PROCTOR = b"""[serve.qwen]
command = ["llama-server", "-m", "/models/qwen.gguf", "--port", "{port}"]
address = "http://127.0.0.1:{port}/v1"
health = "/health"
model = "qwen"
wait = "10m"
env = ["HF_TOKEN"]

[serve.other]
command = "vllm serve m --port {port}"
address = "http://127.0.0.1:9/v1"

[agents.own]
kind = "scripted"
script = "a.sh"

[rollouts]
sandboxes = ["bubblewrap"]
parallel = 4
memory_mb = 512
"""
PRICES = b'["openai/gpt-x"]\ninput = 1.25\noutput = 10\n["ollama/m:8b"]\ninput = 0\noutput = 0.0\n'


def _metas() -> Sequence[bytes]:
    return [json.dumps(META).encode()]


def _prepared(room: Room) -> Path:
    for name, text in FILES.items():
        room.file(f"task/{name}", text.encode())
    room.file("task/tb_meta.json", json.dumps(META).encode())
    return room.folder / "task"


def _task(name: str) -> Callable[[Room], Read]:
    """A prepared task of which one file is what is tried."""

    def opened(room: Room) -> Read:
        folder, home = _prepared(room), room.folder / "home"

        def read(body: bytes) -> object:
            room.file(f"task/{name}", body)
            try:
                return read_task(folder, home)
            finally:
                shutil.rmtree(home, ignore_errors=True)

        return read

    return opened


def _overridden(room: Room) -> Read:
    folder, home = _prepared(room), room.folder / "home"

    def read(body: bytes) -> object:
        try:
            return read_task(folder, home, room.file("overrides.json", body))
        finally:
            shutil.rmtree(home, ignore_errors=True)

    return read


def _told(room: Room) -> Surroundings:
    room.file("careful.sh", b"echo x\n")
    return Surroundings("here", room.folder, tuple(PROVIDERS))


def _benchmark(room: Room) -> Read:
    _prepared(room)
    told = _told(room)
    folder = str(room.folder).encode()

    def read(body: bytes) -> object:
        placed = body.replace(b'"task"', b'"' + folder + b'/task"').replace(
            b'"careful.sh"', b'"' + folder + b'/careful.sh"'
        )
        return plan_of_toml(room.file("b.toml", placed), told)

    return read


def _body(room: Room) -> Read:
    _prepared(room)
    told = _told(room)

    def read(body: bytes) -> object:
        table = json.loads(body)
        return plan_of_table(table, told) if isinstance(table, dict) else None

    return read


def _bodies() -> Sequence[bytes]:
    return [json.dumps(tomllib.loads(BENCHMARK.decode())).encode()]


def _proctor_toml(room: Room) -> Read:
    def read(body: bytes) -> object:
        room.file("proctor.toml", body)
        refused: list[ProctorError] = []
        for one in (read_commands, allowed_by):
            try:
                one(room.folder)
            except ProctorError as error:
                refused.append(error)
        if refused:
            raise refused[0]
        return None

    return read


def _prices(room: Room) -> Read:
    def read(body: bytes) -> object:
        room.file("prices.toml", body)
        return read_prices(room.folder)

    return read


RECORD = TrialRecord(
    "r",
    "data/runs/r",
    "done",
    0.5,
    False,
    0,
    ("time",),
    (PhaseTime("agent", 1.0, 2.0),),
    (TrialStep(1.0, "x", "ls", "a", 0),),
    agent_used=Consumed(5, 0.1),
    rubrics={"a": RubricScore("c", 1.0, 0.5, 2, 1)},
    tests={"t.py": TestResult(True, "o", "a", 0.1, 0)},
    custom_metrics={"x": 1.5},
    hashes={"task": "a" * 64},
    deadlines={"agent": 5.0},
)


def _records() -> Sequence[bytes]:
    return [record_bytes(RECORD)]


def _works() -> Sequence[bytes]:
    work = AgentWork(steps=RECORD.steps, usage=Usage(1, 2, 0.5), calls=1, final="x")
    return [collected_bytes(Collected(work, "a", ("x",), ("n",), Consumed(5), RECORD.phases, {"agent": 5.0}))]


def _collected(body: bytes) -> object:
    return collected_from(body)


def _metrics(room: Room) -> Read:
    def read(body: bytes) -> object:
        room.file("artifacts/custom_metrics.json", body)
        found = CustomMetrics()
        found.take(room.folder / "artifacts", "t.py")
        found.take(room.folder, "t.py")
        return orjson.dumps(found.found)

    return read


def _live(room: Room) -> Read:
    def read(body: bytes) -> object:
        room.file("runs/x/state.json", body)
        return live_phase(room.folder, "x")

    return read


def _orphans(room: Room) -> Read:
    """Marks of processes that never were: what they name is looked for and ended only if it fits."""

    def read(body: bytes) -> object:
        room.file("kept/one-1.json", body.replace(b'"pid"', b'"pld"'))
        end_orphans(room.folder / "kept")
        return None

    return read


def _applied(room: Room) -> Read:
    def read(body: bytes) -> object:
        tree = room.folder / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        room.file("tree/x.py", b"a\nb\ne\n")
        room.file("tree/o", b"o\n")
        apply_patch(body, tree, room.folder / "private")
        return None

    return read


def _loaded(room: Room) -> Read:
    def read(body: bytes) -> object:
        room.file("bench/2026/manifest.json", body)
        return load_benchmark(room.folder / "bench/2026")

    return read


def _manifests() -> Sequence[bytes]:
    trial = {
        "run_id": "r",
        "run_dir": "d",
        "task_dir": "t",
        "rollout": 1,
        "score": 0.5,
        "custom_metrics": {"x": 1},
    }
    return [json.dumps({"name": "b", "created_at": "s", "results": [trial]}).encode()]


def _custom() -> Sequence[bytes]:
    return [b'{"x": 1, "y": 2.5}', b'{"custom_metrics": {"x": 1e5}}']


def _states() -> Sequence[bytes]:
    return [b'{"phase": "agent", "since": 1.5, "try": 1, "pid": 1, "error": null}']


PARSERS: Sequence[Parser] = [
    Parser("tb_meta", _metas, _task("tb_meta.json"), "json", share=0.3),
    Parser("overrides", lambda: [json.dumps(OVERRIDES).encode()], _overridden, "json", share=0.3),
    Parser("dockerfile", lambda: DOCKERFILES, words(recipe_of)),
    Parser("task dockerfile", lambda: DOCKERFILES, _task("Dockerfile"), share=0.3),
    Parser("globs of a task", lambda: [b"docs/*.md\n# no\n[a-z]*\n**/x\n"], _task("overlay_files/remove_repo_paths.txt"), share=0.3),
    Parser("benchmark toml", lambda: [BENCHMARK], _benchmark),
    Parser("benchmark body", _bodies, _body, "json", foreseen=(ProctorError, json.JSONDecodeError, UnicodeDecodeError, RecursionError)),
    Parser("proctor.toml", lambda: [PROCTOR], _proctor_toml),
    Parser("prices.toml", lambda: [PRICES], _prices),
    Parser("trial record", _records, reads(record_from), "json"),
    Parser("work.json", _works, reads(_collected), "json"),
    Parser("custom metrics", _custom, _metrics, "json"),
    Parser("state.json", _states, _live, "json"),
    Parser("marks of servers", lambda: [b'{"group": {"pid": 1, "began": 0.0}, "owner": {"pid": 1, "began": 0.0}}'], _orphans, "json", share=0.3),
    Parser("test script", lambda: SCRIPTS, _task("evaluation/test_greets.py"), share=0.3),
    Parser("load_benchmark", _manifests, _loaded, "json", share=0.5),
    Parser("patch applied", patches, _applied, share=0.01),
]  # fmt: skip
