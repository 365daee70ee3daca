"""`proctor sandbox`: images and checks from the command line, in words and as JSON."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import forks


def proctor(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "PROCTOR_HOME": str(home)}
    return forks.run(words, env, home, timeout_s=120)


def test_a_sandbox_that_works_here_says_what_it_holds(box_home: Path) -> None:
    done = proctor(box_home, "sandbox", "check")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("It works here: bubblewrap, no network.")
    assert "2048 MB of memory, 1 cores, 256 processes" in done.stdout
    told = json.loads(proctor(box_home, "sandbox", "check", "local", "--json").stdout)
    assert "not contained" in told["told"]


def test_an_image_that_is_there_is_told_with_its_hash(box_home: Path) -> None:
    done = proctor(box_home, "sandbox", "image", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["made_of"] == "this machine's programs"
    assert (Path(told["folder"]) / "bin/sh").exists()
    assert len(told["sha256"]) == 64


def test_what_cannot_be_is_refused_with_what_to_do(box_home: Path) -> None:
    missing = proctor(box_home, "sandbox", "check", "--image", "mine")
    assert missing.returncode != 0
    assert "proctor sandbox image --name mine" in missing.stderr
    both = proctor(box_home, "sandbox", "image", "--debian", "bookworm", "--with", "pytest")
    assert both.returncode == 2
    assert "not into another root" in both.stderr
