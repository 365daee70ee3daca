"""Two models asked side by side until it is decided: how much of the items is asked, and what an item costs.

    python abreast.py FOLDER ROUNDS

Prints one JSON object: the share of 1,200 items that is asked of models 30 points apart and of equal ones, each round
with another luck; the CPU ms of an item, and of one in a plain run of the same two models on as many items; and 1.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.references import ExamRef
from proctor.service.context import open_context
from proctor.service.opening.simulate import known_answers
from proctor.service.results.outcome import PlanOutcome
from proctor.service.runs.lifecycle import start
from proctor.settings import Settings, read_settings
from proctor.simulator import spawn
from proctor.types import Cell, Limits, Model, Plan

FEW, MANY = 1_200, 6_000
LATENCY = ("--latency", "0.02", "--sigma", "0.3")
APART, EQUAL = {"one": 0.85, "other": 0.55}, {"one": 0.75, "other": 0.75}
LEAST_AT_EQUALITY = 11  # rounds, of which the median counts
PARALLEL = 16


def questions(folder: Path, count: int) -> Path:
    file = folder / f"sums-{count}.csv"
    rows = (f"What is {n} plus {n}?,{2 * n},{2 * n + 1},{2 * n + 2},{2 * n + 3},A" for n in range(count))
    file.write_text("\n".join(["question,A,B,C,D,answer", *rows]) + "\n")
    return file


@contextmanager
def server(settings: Settings, file: Path, seed: int, models: dict[str, float], *more: str) -> Iterator[str]:
    told = [f"--model={name}={share}" for name, share in models.items()]
    with spawn([*told, "--seed", str(seed), *more], known_answers(settings, [file])) as simulated:
        yield f"{simulated.url}/v1"


def run(settings: Settings, file: Path, url: str, limits: Limits, most: int | None = None) -> PlanOutcome:
    source = ExamRef("file", str(file), limit=most)
    cells = (Cell(Model("openai", name, url), source, limits=limits) for name in APART)
    with open_context(settings) as context:
        return start(context, Plan(tuple(cells)))


def asked(outcome: PlanOutcome) -> int:
    """Items that have an outcome, of both models together."""
    assert outcome.evaluation is not None
    return sum(result.run.settled for result in outcome.evaluation.results)


def share(settings: Settings, file: Path, seed: int, models: dict[str, float]) -> float:
    with server(settings, file, seed, models, *LATENCY) as url:
        done = asked(run(settings, file, url, Limits(parallel=PARALLEL, until_decided=True)))
    return done / (2 * FEW)


def cpu_ms(settings: Settings, file: Path, url: str, limits: Limits, most: int | None) -> tuple[float, int]:
    """CPU ms of this process for an item, and how many items each model was asked."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    done = asked(run(settings, file, url, limits, most))
    after = resource.getrusage(resource.RUSAGE_SELF)
    spent_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * spent_s / done, done // 2


def main(folder: Path, rounds: int) -> None:
    settings = read_settings({**os.environ, "PROCTOR_HOME": str(folder / "home"), "OPENAI_API_KEY": "none"})
    few, many = questions(folder, FEW), questions(folder, MANY)
    found: dict[str, list[float]] = {"apart_asked": [share(settings, few, n, APART) for n in range(rounds)]}
    equal = range(max(rounds, LEAST_AT_EQUALITY))
    found["equal_asked"] = [share(settings, few, n, EQUAL) for n in equal]
    found |= {"abreast_cpu_ms": [], "plain_cpu_ms": []}
    for number in range(-1, rounds):  # the first one warms up
        with server(settings, many, number % 100, EQUAL) as url:
            until = Limits(parallel=PARALLEL, until_decided=True)
            ours, items = cpu_ms(settings, many, url, until, None)
            plain, _ = cpu_ms(settings, many, url, Limits(parallel=PARALLEL), items)
        if number >= 0:
            found["abreast_cpu_ms"].append(ours)
            found["plain_cpu_ms"].append(plain)
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
