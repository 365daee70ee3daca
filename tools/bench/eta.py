"""A batch against a server that takes its time: how far the time left, as told on the way, was from the truth.

    python eta.py FOLDER ROUNDS

Prints one JSON object: at 25, 50 and 90 % of the lines the middle of the range that was told over the time that was
really left, or the other way round, whichever is above 1; the share of all looks whose range held the truth; and 1.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from proctor.references import BatchRef
from proctor.service.context import open_context
from proctor.service.runs.lifecycle import start
from proctor.service.runs.pace.progress import Progress
from proctor.settings import read_settings
from proctor.simulator import spawn
from proctor.types import Cell, Limits, Model, Plan, Run

LINES, PARALLEL = 4_000, 64
SERVER = ("--latency", "0.2", "--sigma", "0.5")
MARKS = (25, 50, 90)
NAMES = (*(f"eta_{mark}" for mark in MARKS), "eta_inside", "perfect")


def asked(folder: Path, url: str, number: int) -> list[tuple[float, int, float | None, float | None]]:
    """What was told on the way: when, how many were done, and the time left from ... to."""
    told: list[tuple[float, int, float | None, float | None]] = []

    def watch(_run: Run, seen: Progress) -> None:
        told.append((time.monotonic(), seen.done, seen.low_s, seen.high_s))

    settings = read_settings({**os.environ, "PROCTOR_HOME": str(folder / f"home{number}")})
    cell = Cell(
        Model("openai", "sim", f"{url}/v1"),
        BatchRef(str(folder / "eta.jsonl")),
        limits=Limits(parallel=PARALLEL),
    )
    with open_context(settings) as context:
        start(context, Plan((cell,)), watch=watch)
    return told


def errors(told: list[tuple[float, int, float | None, float | None]]) -> tuple[dict[str, float], float]:
    """By mark how many times too long or too short, and the share of looks that held the truth."""
    end = next(at for at, done, _, _ in told if done >= LINES)
    known = [(at, done, low, high) for at, done, low, high in told if low is not None and high is not None]
    found = {}
    for mark in MARKS:
        at, _, low, high = next(look for look in known if look[1] >= LINES * mark / 100)
        said, true = (low + high) / 2, end - at
        found[f"eta_{mark}"] = max(said / true, true / said)
    inside = [low <= end - at <= high for at, _, low, high in known]
    return found, sum(inside) / len(inside)


def main(folder: Path, rounds: int) -> None:
    with (folder / "eta.jsonl").open("w") as file:
        for number in range(LINES):
            body = {"model": "sim", "messages": [{"role": "user", "content": f"How many are {number}?"}]}
            line = {"custom_id": f"l{number}", "method": "POST", "url": "/v1/chat/completions", "body": body}
            file.write(json.dumps(line) + "\n")
    found: dict[str, list[float]] = {name: [] for name in NAMES}
    with spawn(list(SERVER), {}) as simulated:
        for number in range(rounds):
            by_mark, inside = errors(asked(folder, simulated.url, number))
            for name, value in {**by_mark, "eta_inside": inside, "perfect": 1.0}.items():
                found[name].append(value)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
