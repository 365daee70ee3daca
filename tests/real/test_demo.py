"""`make run-real` shows what the README shows, but for the figures, and leaves its results where it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import console
from programs import environment, proctor_json
from real import NotHere, fetch

ROOT = Path(__file__).parents[2]
# Figures and ids, what a small model says, and what only the first time shows vary.
VARIES = re.compile(r"\b[0-9a-f]{8}\b|\d[\d.]*")
LEFT_OUT = ("$ make", "Fetch", "    questions/")


def readme_shows(home: Path) -> tuple[str, ...]:
    (block,) = [
        b[2] for b in console.BLOCK.finditer((ROOT / "README.md").read_text()) if "make run-real" in b[2]
    ]
    lines = [line for line in block.splitlines() if not line.startswith(LEFT_OUT)]
    places = (line.replace(".cache/real/home", "@") for line in lines)
    return tuple(VARIES.sub("...", line).replace("@", str(home)) for line in places)


@pytest.mark.slow
@pytest.mark.in_full
@pytest.mark.timeout(1200)
def test_a_real_model_sits_its_exams_as_the_readme_shows(tmp_path: Path) -> None:
    try:
        fetch()
    except NotHere as reason:
        pytest.skip(str(reason))
    home = tmp_path / "home"
    words = [sys.executable, str(ROOT / "tools" / "real_demo.py"), "--home", str(home)]
    done = subprocess.run(words, env=environment(tmp_path / "unused"), text=True, capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not console.missing(readme_shows(home), done.stdout)
    assert (home / "report.html").stat().st_size > 10_000
    runs = proctor_json(home, "list")["runs"]
    assert [run["status"] for run in runs] == ["completed"] * 6
