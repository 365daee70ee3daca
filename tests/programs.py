"""The proctor program in processes of its own, as a user starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import forks

# A bound that ends a hang. It judges no speed: the machine may be busy with anything.
HANG_S = 200.0

# Nothing of this machine's own settings may leak into a test.
PASSED_ON = ("PATH", "HOME", "LANG", "TMPDIR", "SYSTEMROOT")

# Addresses where nobody listens: no test may reach beyond this machine.
NOBODY = {"OLLAMA_HOST": "http://127.0.0.1:9", "HF_ENDPOINT": "http://127.0.0.1:9"}


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    return {**kept, "PROCTOR_HOME": str(home), "NO_COLOR": "1", **NOBODY, **more}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "proctor", *words]


def proctor(
    home: Path, *words: str, code: int = 0, cwd: Path | None = None, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; fails with its output when the exit code is another."""
    done = forks.run(words, environment(home, **more), cwd or home, timeout_s=HANG_S)
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def proctor_json(home: Path, *words: str, code: int = 0, **more: str) -> Any:
    """A command's --json document: all of standard output."""
    return json.loads(proctor(home, *words, "--json", code=code, **more).stdout)


def with_ctrl_c() -> None:
    # A test run in the background of a shell has Ctrl-C ignored, and its children would inherit that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(home: Path, words: Sequence[str], **more: str) -> subprocess.Popen[str]:
    """A command left running; the test ends it."""
    return forks.start(words, environment(home, **more), home)


def csv_of_sums(path: Path, n: int) -> Path:
    lines = [f"What is {i} plus {i}?,{2 * i},{2 * i + 1},{2 * i + 2},A" for i in range(n)]
    path.write_text("\n".join(["question,A,B,C,answer", *lines]) + "\n")
    return path
