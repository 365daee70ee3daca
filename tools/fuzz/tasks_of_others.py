"""Tasks of other makers: task.toml, Dockerfiles as steps, what scripts want, rewards, instances, series of patches."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from fuzz.contract import Parser, Read, Room, reads, words
from proctor.engine.trials.others.reward import reward_in
from proctor.engine.trials.others.series import joined, parted
from proctor.sources.rollouts.faults import TaskFaults
from proctor.sources.rollouts.harbor.building import build_of
from proctor.sources.rollouts.harbor.instruction import without_canary
from proctor.sources.rollouts.harbor.places import parts_of
from proctor.sources.rollouts.harbor.reading import read_harbor
from proctor.sources.rollouts.harbor.spec import read_spec
from proctor.sources.rollouts.harbor.wants import Wants, wants_of
from proctor.sources.rollouts.swebench.instance import find_instance

SPECS: Sequence[bytes] = [
    b"""version = "1.0"
multi_step_reward_strategy = "final"
[task]
name = "org/name"
keywords = ["a"]
[verifier]
timeout_sec = 120
env = { A = "${X:-y}", B = "${HOST}" }
[agent]
timeout_sec = 1.5
user = "agent"
[agent.network]
mode = "allowlist"
[environment]
memory = "2G"
storage_mb = 10240
cpus = 1
workdir = "/app"
[environment.healthcheck]
command = "true"
retries = 3
[[steps]]
name = "one"
min_reward = { reward = 1.0, other = 0.5 }
[[steps]]
name = "two"
min_reward = 0.5
"""
]
DOCKERFILES: Sequence[bytes] = [
    b'ARG V=1\nFROM --platform=x ubuntu:24.04 AS a\nSHELL ["/bin/bash", "-c"]\nENV A=$V B="c d"\nWORKDIR app\n'
    b"RUN --mount=type=cache,target=/x apt-get update && \\\n  # no\n  apt-get install -y a\nRUN <<EOF\necho 1\nEOF\n"
    b'COPY --chmod=755 a *.txt d/ /x/\nCOPY . .\nCOPY <<E /y\nz\nE\nADD http://x/y /z\nUSER root\nRUN ["a", "b"]\n'
]
SCRIPTS: Sequence[bytes] = [
    b"#!/bin/bash\napt-get install -y curl jq=1.6 && curl -LsSf https://astral.sh/uv/0.9.7/install.sh | sh\n"
    b'source $HOME/.local/bin/env\nuvx -p 3.13 \\\n  -w pytest==8.4.1 --with "a>=1" pytest --ctrf /x /tests/t.py -rA\n'
    b"pip install -r x.txt b[c]==2\nif curl -s http://localhost:80/; then git clone https://x/y; fi\ncat <<'E'\nnpm i\nE\n"
]
ROWS: Sequence[bytes] = [
    json.dumps(
        {
            "instance_id": "a__b-1",
            "repo": "a/b",
            "base_commit": "f" * 40,
            "problem_statement": "p",
            "patch": "",
            "test_patch": "--- a/x\n+++ b/x\n",
            "FAIL_TO_PASS": '["x::y[a b]"]',
            "PASS_TO_PASS": ["x::z"],
            "version": 3.0,
        }
    ).encode()
]


def _spec(body: bytes) -> object:
    return read_spec(body, TaskFaults(Path("task")))


def _wants(text: str) -> object:
    wants = Wants()
    wants_of(text, "tests/test.sh", wants)
    return wants


def _folder(name: str) -> Callable[[Room], Read]:
    """A folder of Harbor's format of which one file is what is tried."""

    def opened(room: Room) -> Read:
        for each, body in {
            "task.toml": SPECS[0].split(b"[[steps]]")[0],
            "instruction.md": b"Do it in /app and /data/x.\n",
            "environment/Dockerfile": DOCKERFILES[0],
            "environment/a": b"a",
            "tests/test.sh": SCRIPTS[0],
        }.items():
            room.file(f"harbor/{each}", body)

        def read(body: bytes) -> object:
            room.file(f"harbor/{name}", body)
            return read_harbor(room.folder / "harbor", room.folder / "home")

        return read

    return opened


def _reward(name: str) -> Callable[[Room], Read]:
    def opened(room: Room) -> Read:
        def read(body: bytes) -> object:
            room.file(f"logs/{name}", body)
            return reward_in(room.folder / "logs", "test.sh").share

        return read

    return opened


def _instance(room: Room) -> Read:
    return lambda body: find_instance(room.file("rows.jsonl", body), None)


PARSERS: Sequence[Parser] = [
    Parser("task.toml", lambda: SPECS, reads(_spec)),
    Parser("dockerfile steps", lambda: DOCKERFILES, words(lambda text: build_of(text, ["a", "d/e"]))),
    Parser("wants of a script", lambda: SCRIPTS, words(_wants)),
    Parser("instruction", lambda: [b"<!-- canary -->\n# canary\nDo it.\n"], words(without_canary)),
    Parser("places", lambda: [b"Write /data/x, /var/www/y.\n"], words(lambda text: parts_of("/app", [], text, [text]))),
    Parser("harbor folder", lambda: [SPECS[0].split(b"[[steps]]")[0]], _folder("task.toml"), share=0.1),
    Parser("harbor dockerfile", lambda: DOCKERFILES, _folder("environment/Dockerfile"), share=0.1),
    Parser("reward.json", lambda: [b'{"reward": 1, "x": 0.5}', b"1.0"], _reward("reward.json"), "json"),
    Parser("reward.txt", lambda: [b"1.0\n", b"-1e3"], _reward("reward.txt"), share=0.3),
    Parser("instance", lambda: ROWS, _instance, "json"),
    Parser("patches in series", lambda: [joined([("a", b"x\n"), ("b", b"")])], reads(parted), share=0.3),
]  # fmt: skip
