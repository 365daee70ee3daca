"""What a trial costs beside the bare sandbox, agent and verifier: bubblewrap on the same image, and nothing of proctor.

    python rollouts.py FOLDER ROUNDS

Prints one JSON object of values by round: seconds of a trial at one place (median), and trials a second at 1, 4 and 8
places, ours and bare. The agent writes one line and the verifier is a script that succeeds. Needs root and bubblewrap.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from proctor.sandbox.image import make_image

PLACES = (1, 4, 8)
TRIALS = 32
META = {
    "task_id": "bench",
    "metadata": {"title": "Bench"},
    "repo": {},
    "lm": {"instructions": "Write a line into note.txt."},
    "evaluation": {
        "rubrics": [{"id": "done", "criterion": "There is a line", "weight": 1.0}],
        "test_scripts": [{"path": "done.sh", "rubric_id": "done"}],
    },
}
TOML = """name = "bench"
parallel = {places}

[[tasks]]
prepared_dir = "{task}"
agent = "writer"
rollouts = {trials}

[agents.writer]
kind = "scripted"
script = "{script}"
"""


def write_task(folder: Path) -> None:
    """A task of one file, and the script of its agent."""
    task = folder / "task"
    for name in ("overlay_repo_files", "evaluation"):
        (task / name).mkdir(parents=True, exist_ok=True)
    (task / "tb_meta.json").write_text(json.dumps(META))
    (task / "Dockerfile").write_text("FROM proctor-base\n")
    (task / "overlay_repo_files/README").write_text("A repository.\n")
    (task / "evaluation/done.sh").write_text("grep -q line note.txt\n")
    (folder / "agent.sh").write_text("echo a line > note.txt\n")


def ours(folder: Path, home: Path, places: int) -> tuple[float, float]:
    """Median seconds of a trial, and trials a second of the whole run without start and end of the program."""
    task, script = folder / "task", folder / "agent.sh"
    config = folder / f"bench{places}.toml"
    config.write_text(TOML.format(places=places, task=task, trials=TRIALS, script=script))
    database = home / "proctor.db"
    for each in home.glob("proctor.db*"):
        each.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "proctor", "rollouts", "run", str(config)],
        env={**os.environ, "PROCTOR_HOME": str(home)},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise SystemExit(f"exit code {done.returncode}: {done.stderr[-1_000:]}")
    with sqlite3.connect(database) as kept:
        rows = kept.execute("SELECT latency_s, at, outcome FROM attempt").fetchall()
    kept.close()
    if len(rows) != TRIALS or {row[2] for row in rows} != {"correct"}:
        raise SystemExit(f"{len(rows)} trials of {TRIALS} ended, as {sorted({row[2] for row in rows})}")
    began, ended = min(at - took for took, at, _ in rows), max(at for _, at, _ in rows)
    return statistics.median(row[0] for row in rows), TRIALS / (ended - began)


def bare_trial(folder: Path, image: Path, number: int) -> float:
    """The agent in a copy on write of the image, then the verifier in another, on what the agent left."""
    task, script = folder / "task", folder / "agent.sh"
    start = time.perf_counter()
    left = folder / f"left{number}"
    shutil.copytree(task / "overlay_repo_files", left)
    bare_box(folder / f"a{number}", image, left, ["--ro-bind", str(script), "/opt/agent.sh"], "/opt/agent.sh")
    bare_box(
        folder / f"v{number}",
        image,
        left,
        ["--ro-bind", str(task / "evaluation"), "/opt/tests"],
        "/opt/tests/done.sh",
    )
    shutil.rmtree(left)
    return time.perf_counter() - start


def bare_box(place: Path, image: Path, repo: Path, shown: list[str], script: str) -> None:
    for name in ("u", "w", "m"):
        (place / name).mkdir(parents=True)
    layers = f"lowerdir={image},upperdir={place}/u,workdir={place}/w"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, f"{place}/m"], check=True)
    try:
        words = ["bwrap", "--bind", f"{place}/m", "/", "--bind", str(repo), "/app/repo", "--proc", "/proc"]
        words += [
            "--dev",
            "/dev",
            *shown,
            "--unshare-all",
            "--die-with-parent",
            "--new-session",
            "--clearenv",
        ]
        words += ["--setenv", "PATH", "/usr/bin:/bin", "--chdir", "/app/repo", "sh", script]
        subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    finally:
        subprocess.run(["umount", f"{place}/m"], check=True)
        shutil.rmtree(place)


def bare(folder: Path, image: Path, places: int) -> tuple[float, float]:
    start = time.perf_counter()
    with ThreadPoolExecutor(places) as pool:
        took = list(pool.map(lambda number: bare_trial(folder, image, number), range(TRIALS)))
    return statistics.median(took), TRIALS / (time.perf_counter() - start)


def main(folder: Path, rounds: int) -> None:
    home = folder / "rollouts-home"
    write_task(folder)
    image = make_image("base", home).root
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for places in PLACES:
            for name, (took, rate) in (
                ("bare", bare(folder, image, places)),
                ("ours", ours(folder, home, places)),
            ):
                found.setdefault(f"{name}_trials_per_s_{places}", []).append(rate)
                if places == 1:
                    found.setdefault(f"{name}_trial_ms", []).append(1000 * took)
    pairs = zip(found["ours_trial_ms"], found["bare_trial_ms"], strict=True)
    found["trial_overhead_ms"] = [mine - plain for mine, plain in pairs]
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
