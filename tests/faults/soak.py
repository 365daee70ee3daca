"""`make soak`: a day of mixed jobs in minutes, and whether anything grows that should not.

    PYTHONPATH=tests python -m faults.soak [--hours 24] [--seed 0]

Schedules fire every quarter of an hour. When nothing is at work the wall clock (clock.c) is moved to the next quarter,
so that a day takes as long as its work. Each quarter brings two scheduled exams, a batch, now and then a job that is
cancelled and restarted, and a look at the pages. A figure is flat where the second half of the day is no higher than
the first by more than a tenth.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from sqlalchemy import text

from faults.strokes import move_clock
from faults.world import World, world
from served import PREFIX
from uploads import upload

QUARTER_S = 900
LONGEST_S = 120.0  # a quarter's jobs
PAGES = ("/", "/runs", "/leaderboard", "/system", "/batches")
LOOKS = 4  # at each page, each quarter
BATCH = 100  # requests
FLAT = 1.10
MB = 1e6


@dataclass
class Quarter:
    """What was measured when the work of a quarter of an hour had ended."""

    jobs: int
    attempts: int
    server_mb: float
    worker_mb: float
    handles: int
    kept_mb: float
    pages_ms: list[float] = field(default_factory=list)


Figure = Callable[[Sequence[Quarter]], float]


def median_of(name: str) -> Figure:
    return lambda quarters: statistics.median(getattr(quarter, name) for quarter in quarters)


def bytes_an_attempt(quarters: Sequence[Quarter]) -> float:
    """What the database grew by, over the attempts that came to it."""
    began, ended = quarters[0], quarters[-1]
    return (ended.kept_mb - began.kept_mb) * MB / max(1, ended.attempts - began.attempts)


def pages_p95_ms(quarters: Sequence[Quarter]) -> float:
    return statistics.quantiles([took for quarter in quarters for took in quarter.pages_ms], n=20)[-1]


FIGURES: Sequence[tuple[str, Figure]] = (
    ("server MB", median_of("server_mb")),
    ("worker MB", median_of("worker_mb")),
    ("open handles", median_of("handles")),
    ("bytes an attempt", bytes_an_attempt),
    ("pages p95 ms", pages_p95_ms),
)


def scheduled(at: World) -> None:
    """Two exams every quarter of an hour."""
    for model in ("sim", "sim2"):
        config = {"provider": "ollama", "model": model, "parallel": 16}
        job = {"project_id": 1, "suite": "sums", "config": config}
        at.api.post(
            "/api/v1/schedules", {"name": f"{model} each quarter", "cron": "*/15 * * * *", "job": job}
        )


def batch_data(at: World) -> str:
    lines = [
        {
            "custom_id": f"request-{place}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {
                "model": "any",
                "messages": [{"role": "user", "content": f"What is {place} plus {place}?"}],
            },
        }
        for place in range(BATCH)
    ]
    body = "\n".join(map(json.dumps, lines)).encode()
    answer = upload(at.api, ("requests.jsonl", body), at="/admin/datasets/upload")
    assert answer.status == 200, answer
    return str(answer.body["dataset_id"])


def work(at: World, dataset: str) -> None:
    """A quarter's jobs beside the scheduled ones, until all have ended."""
    before = busy(at)[1]
    at.api.post("/admin/benchmarks/run", {"model_id": "ollama/sim", "dataset_id": dataset})
    if at.luck.random() < 0.3:
        job = at.submit()
        time.sleep(at.luck.uniform(0.0, 1.0))
        at.api.ask("POST", f"{PREFIX}/cancel/{job}")
        at.restart(job)
    deadline = time.monotonic() + LONGEST_S
    while True:
        waiting, jobs = busy(at)
        if not waiting and jobs >= before + 3:  # two of schedules, one batch
            return
        assert time.monotonic() < deadline, f"a quarter's jobs do not end: {waiting} wait or run"
        time.sleep(0.1)


def busy(at: World) -> tuple[int, int]:
    """Jobs that wait or run, and all there are."""
    query = text(
        "SELECT SUM(CASE WHEN status IN ('pending', 'running') THEN 1 ELSE 0 END), COUNT(*) "
        "FROM run WHERE :job = ''"
    )
    ((waiting, jobs),) = at.rows(query, "")
    return int(waiting or 0), int(jobs)


def looked(at: World) -> Iterator[float]:
    for _ in range(LOOKS):
        for page in PAGES:
            began = time.perf_counter()
            with urllib.request.urlopen(at.url + page, timeout=60) as answer:
                answer.read()
            yield 1000 * (time.perf_counter() - began)


def measured(at: World) -> Quarter:
    assert at.process is not None
    server = psutil.Process(at.process.pid)
    workers = at.processes("worker")
    ((attempts,),) = at.rows(text("SELECT COUNT(*) FROM attempt WHERE :job = ''"), "")
    kept = sum(path.stat().st_size for path in Path(at.home).glob("proctor.db"))
    return Quarter(
        busy(at)[1],
        attempts,
        server.memory_info().rss / MB,
        sum(each.memory_info().rss for each in workers) / MB,
        sum(each.num_fds() for each in (server, *workers)),
        kept / MB,
        list(looked(at)),
    )


def told(quarters: Sequence[Quarter]) -> Iterator[str]:
    """The day, hour by hour, and each figure's second half over its first."""
    yield f"{'hour':>4} {'jobs':>6} {'attempts':>9}" + "".join(f"{name:>18}" for name, _ in FIGURES)
    for start in range(0, len(quarters), 4):
        hour = quarters[start : start + 4]
        cells = "".join(f"{read(hour):>18,.1f}" for _, read in FIGURES)
        yield f"{start // 4 + 1:>4} {hour[-1].jobs:>6,} {hour[-1].attempts:>9,}{cells}"
    half = len(quarters) // 2
    # The first hours fill caches and pools.
    first, second = quarters[half // 3 : half], quarters[half:]
    for name, read in FIGURES:
        ratio = read(second) / read(first)
        yield f"{name}: second half of the day over the first x{ratio:.2f}, {'flat' if ratio <= FLAT else 'GROWS'}"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(words)
    quarters = []
    with world(clock=True, latency_s=0.005, PROCTOR_REQUESTS_PER_MINUTE="1000000") as at:
        at.luck = random.Random(asked.seed)
        scheduled(at)
        dataset = batch_data(at)
        for _ in range(4 * asked.hours):
            move_clock(at, QUARTER_S)
            work(at, dataset)
            quarters.append(measured(at))
    lines = list(told(quarters))
    print("\n".join(lines))
    return int(any("GROWS" in line for line in lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
