"""A benchmark of tasks for screenshots: agents on the tasks of examples/, run by the real command in bubblewrap."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
TASKS = ("mend-the-mean", "write-a-slug", "split-the-bill", "document-the-tool")
# It mends one of the tasks, in two rollouts of three by the clock, and leaves a note in the others.
SCRIPT = """#!/bin/sh
if [ -f figures.py ] && [ $(( $(date +%N | sed 's/^0*//') % 3 )) -ne 0 ]; then
  sed -i 's/^def mean(numbers):/def mean(numbers):\\n    if not numbers:\\n        return None/' figures.py
  sed -i 's/{mean(numbers):.2f}/{format(mean(numbers) or 0, \\x27.2f\\x27) if numbers else \\x27-\\x27}/' report.py
fi
echo "I have looked at $(ls | wc -l) files." | tee NOTES.md
"""


def build(home: Path) -> None:
    """Fill an empty folder, which becomes a PROCTOR_HOME. Takes about a minute."""
    home.mkdir(parents=True, exist_ok=True)
    script = home / "sometimes.sh"
    script.write_text(SCRIPT)
    table = [
        'name = "examples"',
        "parallel = 4",
        "[agents.sometimes]",
        'kind = "scripted"',
        f'script = "{script}"',
    ]
    for agent in ("reference", "sometimes", "null"):
        for task in TASKS:
            folder = ROOT / "examples" / "tasks" / task
            table += ["[[tasks]]", f'prepared_dir = "{folder}"', f'agent = "{agent}"', "rollouts = 3"]
    config = home / "examples.toml"
    config.write_text("\n".join(table) + "\n")
    environ = {**os.environ, "PROCTOR_HOME": str(home)}
    words = [sys.executable, "-m", "proctor", "rollouts", "run", str(config)]
    done = subprocess.run(words, env=environ, cwd=home, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(words)}: {done.stderr[-2000:]}")


def screens(url: str) -> tuple[tuple[str, str, str], ...]:
    """Name, title and address of each screen on a server of that folder."""
    (line,) = _get(f"{url}/api/v1/rollouts")["benchmarks"]
    ident = line.get("id") or line["benchmark_id"]
    trials = _get(f"{url}/api/v1/rollouts/{ident}/trials?agent=sometimes&task={TASKS[0]}")["trials"]
    shown = next((each for each in trials if each["state"] == "passed"), trials[0])
    run = shown.get("run") or shown["job_id"]
    trial = f"/rollouts/{ident}/trials/{run}/{shown['rollout']}?task={TASKS[0]}"
    return tuple(
        (name, title, where)
        for (name, title), where in zip(
            TITLES, ("/rollouts", "/rollouts/new", f"/rollouts/{ident}", trial), strict=True
        )
    )


TITLES = (
    ("rollouts", "Rollouts"),
    ("rollouts-new", "Run tasks"),
    ("rollouts-benchmark", "A benchmark of tasks"),
    ("rollouts-trial", "A trial"),
)


def _get(address: str) -> dict[str, list[dict[str, str]]]:
    with urllib.request.urlopen(address, timeout=60) as answer:
        found: dict[str, list[dict[str, str]]] = json.load(answer)
    return found
