"""Benchmarks of small tasks, run by the documented script as a user would, in a working directory of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boxed import image_in
from trials import MEND, task_folder

import forks
from programs import HANG_S, environment, with_ctrl_c

SCRIPT = Path(__file__).parents[2] / "scripts/eval_rollouts.py"
HEAD = "[limits]\nmemory_mb = 256\ndisk_mb = 64\nagent_s = 60\n"


@dataclass(frozen=True)
class Desk:
    """A working directory with tasks in tasks/, agents' scripts in agents/, and its PROCTOR_HOME in ./data."""

    place: Path

    @classmethod
    def made(cls, place: Path) -> Desk:
        image_in(place / "data")
        return cls(place)

    @property
    def data(self) -> Path:
        return self.place / "data"

    def task(self, name: str, **given: Any) -> str:
        task_folder(self.place / "tasks" / name, told={"task_id": name}, **given)
        return f"tasks/{name}"

    def agent(self, name: str, script: str = MEND) -> str:
        """A table of an agent that runs this script."""
        path = self.place / "agents" / f"{name}.sh"
        path.parent.mkdir(exist_ok=True)
        path.write_text(script)
        return f'[agents.{name}]\nkind = "scripted"\nscript = "agents/{name}.sh"\n'

    def config(self, name: str, *parts: str, parallel: int = 2) -> str:
        path = self.place / f"configs/{name}.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'name = "{name}"\nparallel = {parallel}\n{HEAD}' + "".join(parts))
        return f"configs/{name}.toml"

    def script(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """The documented script, to its end."""
        return subprocess.run(
            [sys.executable, str(SCRIPT), *words],
            cwd=self.place,
            env=self.environment(**more),
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=True,
        )

    def rollouts(self, *words: str, code: int = 0, **more: str) -> subprocess.CompletedProcess[str]:
        """`proctor rollouts`, which is what the script calls."""
        done = forks.run(("rollouts", *words), self.environment(**more), self.place, timeout_s=HANG_S)
        assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def begun(self, *words: str, **more: str) -> subprocess.Popen[str]:
        """The same left running, in a group of its own."""
        return subprocess.Popen(
            [sys.executable, str(SCRIPT), *words],
            cwd=self.place,
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=with_ctrl_c,
        )

    def environment(self, **more: str) -> dict[str, str]:
        return {
            **{k: v for k, v in environment(self.data, **more).items() if k != "PROCTOR_HOME"},
            "PYTHONUNBUFFERED": "1",
        }

    def folder(self, name: str) -> Path:
        """The folder of a benchmark's newest rollout."""
        return max((self.data / "rollouts" / name).iterdir(), key=lambda each: each.name)

    def manifest(self, name: str) -> Mapping[str, Any]:
        told: Mapping[str, Any] = json.loads((self.folder(name) / "manifest.json").read_text())
        return told


def entry(task: str, agent: str, rollouts: int = 1, more: str = "") -> str:
    return f'[[tasks]]\nprepared_dir = "{task}"\nagent = "{agent}"\nrollouts = {rollouts}\n{more}'
