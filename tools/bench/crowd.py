"""A crowd at the server with 10,000 runs and a million results: 50 pollers, 100 streams, a reader of pages, 3 jobs.

    python crowd.py FOLDER ROUNDS [--seconds 60] [--profile PATH ...]

Builds its store in FOLDER/crowd unless it is there (about two minutes), measures the jobs alone, then all together,
and ends by itself. Prints one JSON object: what requests and pages took in milliseconds, beside /healthz asked in the
same seconds; how late workers' signs were, resident memory, items a second, seconds of processor. A table of all that
goes to standard error. With --profile nothing is loaded: the CPU milliseconds of the server for each address.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import dashboard
from crowd_clients import API, JOBS, PAGES, POLLED, Crowd, Seen, everybody
from sqlalchemy import text

import served
from proctor.service.opening.simulate import known_answers
from proctor.settings import read_settings
from proctor.simulator import spawn
from proctor.store import Store

ITEMS = 50  # of each of the 10,000 runs; another run has a million
ALONE_S, WARM_S, CROWD_S = 15.0, 8.0, 60.0
LATENCY = ("--latency", "0.05", "--sigma", "0.3")
END_S = 60.0  # for a server to end
NICE = 15  # of the simulated models, which stand for other machines
TICK_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


# The store --------------------------------------------------------------------------------------


def build(home: Path) -> None:
    url = f"sqlite:///{home / 'proctor.db'}"
    home.mkdir(parents=True, exist_ok=True)
    served.fill(url, ITEMS)
    with closing(Store.open(url)) as store:
        dashboard.spread(store)
        rows_of_copies(store)
        dashboard.fill(store)


def rows_of_copies(store: Store) -> None:
    """Each copied run gets the attempts of its model's first, with what was said."""
    with store.writing() as connection:
        for table in ("attempt", "payload"):
            names = [
                row[1]
                for row in connection.exec_driver_sql(f"PRAGMA table_info({table})")
                if row[1] != "run_num"
            ]
            columns = ", ".join(names)
            values = ", ".join(f"a.{name}" for name in names)
            connection.execute(
                text(
                    f"INSERT INTO {table} (run_num, {columns}) SELECT run.num, {values} FROM run "  # noqa: S608 - names of our own
                    f"JOIN run first ON first.model = run.model AND first.source = 'bench' AND first.num <= :models "
                    f"JOIN {table} a ON a.run_num = first.num WHERE run.source = 'bench' AND run.num > :models"
                ),
                {"models": served.MODELS},
            )


# What the machine says ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Used:
    """Resident megabytes and seconds of the processor of processes, by what they are."""

    mb: dict[str, float]
    cpu_s: dict[str, float]


def used(server: int, simulator: int) -> Used:
    """Of the server, its worker, the processes of jobs, and the simulated models."""
    mb: dict[str, float] = {}
    cpu_s: dict[str, float] = {}
    for pid, kind in processes(server, simulator):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue
        mb[kind] = mb.get(kind, 0.0) + pages * PAGE_BYTES / 1e6
        cpu_s[kind] = (
            cpu_s.get(kind, 0.0) + sum(map(int, stat[11:15])) / TICK_S
        )  # with children that have ended
    return Used(mb, cpu_s)


def processes(server: int, simulator: int) -> Iterator[tuple[int, str]]:
    yield server, "server"
    yield simulator, "models"
    for worker in children(server):
        yield worker, "worker"
        for job in children(worker):
            yield job, "jobs"


def children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


# Measuring ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Measured:
    """A crowd of `seconds`: what it saw, what was used at its begin, middle and end, and the jobs' items a second."""

    seen: Seen
    seconds: float
    used: Sequence[Used]
    items_per_s: float
    alone_per_s: float


async def crowd(port: int, pids: tuple[int, int], home: Path, models: str, seconds: float) -> Measured:
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=300)
    async with aiohttp.ClientSession(
        f"http://127.0.0.1:{port}", connector=connector, timeout=timeout
    ) as http:
        here = Crowd(http, home, names(home), models)
        here.jobs = [await here.submit(place) for place in range(JOBS)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(here.keep_jobs())]
            alone_per_s = await rate(here, ALONE_S)
            tasks += [group.create_task(each) for each in everybody(here)]
            await asyncio.sleep(WARM_S)
            here.counted, began, before = True, time.monotonic(), here.settled()
            said = [used(*pids)]
            for _ in range(2):
                await asyncio.sleep(seconds / 2)
                said.append(used(*pids))
            took = time.monotonic() - began
            here.counted = False
            found = Measured(here.seen, took, said, (here.settled() - before) / took, alone_per_s)
            for task in tasks:
                task.cancel()
        for job in here.jobs:
            async with http.post(f"{API}/cancel/{job}") as answer:
                await answer.read()
    return found


async def rate(here: Crowd, seconds: float) -> float:
    """The jobs' items a second by themselves, once all three ask."""
    await asyncio.sleep(5.0)
    before, began = here.settled(), time.monotonic()
    await asyncio.sleep(seconds)
    return (here.settled() - before) / (time.monotonic() - began)


def names(home: Path) -> dict[str, str]:
    with closing(sqlite3.connect(f"file:{home / 'proctor.db'}?mode=ro", uri=True)) as database:
        ended = database.execute(
            "SELECT id FROM run WHERE source = 'bench' AND model = 'm0' LIMIT 1"
        ).fetchone()[0]
        other = database.execute(
            "SELECT id FROM run WHERE source = 'bench' AND model = 'm1' LIMIT 1"
        ).fetchone()[0]
        large = database.execute("SELECT id FROM run WHERE source = 'large'").fetchone()[0]
    return {"ended": ended, "other": other, "large": large}


def figures(of: Measured) -> dict[str, list[float]]:
    seen = of.seen
    api = [ms for what, times in seen.ms.items() if what in POLLED for ms in times]
    pages = [ms for what, times in seen.ms.items() if what.startswith("page ") for ms in times]
    first, _, last = of.used
    return {
        "health_p95_ms": [p95(seen.ms["healthz"])],
        "crowd_api_p95_ms": [p95(api)],
        "crowd_api_max_ms": [max(api)],
        "crowd_page_max_ms": [max(pages)],
        "crowd_signs_late": [float(seen.signs_late + seen.leases_late)],
        "crowd_server_mb": [last.mb["server"]],
        "crowd_server_grown_mb": [last.mb["server"] - first.mb["server"]],
        "crowd_items_share": [of.items_per_s / of.alone_per_s] if of.alone_per_s else [],
        "crowd_server_cores": [(last.cpu_s["server"] - first.cpu_s["server"]) / of.seconds],
    }


def p95(values: Sequence[float]) -> float:
    return sorted(values)[int(0.95 * len(values))]


def table(of: Measured) -> str:
    seen = of.seen
    lines = [f"{'asked':42} {'times':>6} {'p50':>8} {'p95':>8} {'max':>8}  ms"]
    for what, times in sorted(seen.ms.items()):
        if what != "-":
            row = (statistics.median(times), p95(times), max(times))
            lines.append(f"{what:42} {len(times):6} " + " ".join(f"{value:8.1f}" for value in row))
    late = sorted(seen.late_ms)
    lines += [
        f"a loop that does nothing is called late by {statistics.median(late):.1f} ms, 95 % {p95(late):.1f} ms",
        f"failed: {seen.failed or 'none'}; streams {seen.streams}, events {seen.events}, ends {seen.ends}, "
        f"pieces {seen.pieces}",
        f"worker's sign at most {seen.longest_sign_s:.1f} s old ({seen.signs_late} looks late); "
        f"least left of a lease {seen.least_lease_s:.1f} s ({seen.leases_late} late)",
        f"jobs: {of.items_per_s:.0f} items/s, alone {of.alone_per_s:.0f}",
    ]
    for kind in of.used[0].cpu_s:
        mb = " ".join(f"{each.mb.get(kind, 0.0):.0f}" for each in of.used)
        cores = (of.used[-1].cpu_s.get(kind, 0.0) - of.used[0].cpu_s[kind]) / of.seconds
        lines.append(f"{kind}: MB at begin, middle, end {mb}; {cores:.2f} cores")
    return "\n".join(lines)


@contextmanager
def serving(home: Path) -> Iterator[tuple[int, int]]:
    """`proctor serve`; its port and its process."""
    environ = {**os.environ, "PROCTOR_HOME": str(home), "PROCTOR_REQUESTS_PER_MINUTE": "1000000"}
    environ["PROCTOR_MOST_RUNNING"] = str(JOBS)
    command = [sys.executable, "-m", "proctor", "serve", "--port", "0"]
    with (home / "server.log").open("w") as log:
        server = subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert server.stdout is not None
        yield (
            int(server.stdout.readline().split("http://")[1].split()[0].rpartition(":")[2].strip("/")),
            server.pid,
        )
    finally:
        server.terminate()
        try:
            server.wait(timeout=END_S)
        except subprocess.TimeoutExpired:
            print(f"the server did not end within {END_S:g} s and was killed", file=sys.stderr)
            server.kill()
            server.wait()


def profile(port: int, pid: int, home: Path, paths: Sequence[str]) -> None:
    """CPU milliseconds of the server a request: of the first, and of thirty more."""
    named = names(home)
    for path in paths:
        filled = path.format(job=named["ended"], **named)
        before = used(pid, pid).cpu_s["server"]
        first = served.ask(port, filled, 1)[0]
        middle = used(pid, pid).cpu_s["server"]
        times = served.ask(port, filled, 30)
        after = used(pid, pid).cpu_s["server"]
        print(
            f"{path:44} first {1000 * (middle - before):6.0f} CPU ms, {first:7.1f} ms; then "
            f"{1000 * (after - middle) / 30:6.1f} CPU ms, {statistics.median(times):7.1f} ms",
            flush=True,
        )


def main(folder: Path, rounds: int, seconds: float, profiled: Sequence[str] | None) -> None:
    home = folder / "crowd"
    if not (home / "proctor.db").exists():
        began = time.perf_counter()
        making = folder / "crowd-making"
        shutil.rmtree(making, ignore_errors=True)
        build(making)
        making.rename(home)
        print(f"crowd: filled in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    if profiled is not None:
        with serving(home) as (port, pid):
            profile(port, pid, home, profiled or [*(path for _, path in POLLED.values()), *PAGES])
        return
    found: dict[str, list[float]] = {}
    known = known_answers(read_settings({"PROCTOR_HOME": str(home)}), [])
    for _ in range(min(rounds, 1)):  # which takes two minutes
        with spawn([*LATENCY], known) as simulated, serving(home) as (port, pid):
            os.setpriority(os.PRIO_PROCESS, simulated.pid, NICE)
            of = asyncio.run(crowd(port, (pid, simulated.pid), home, simulated.url, seconds))
            print(table(of), file=sys.stderr)
        for name, values in figures(of).items():
            found.setdefault(name, []).extend(values)
    print(json.dumps(found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("rounds", type=int)
    parser.add_argument("--seconds", type=float, default=CROWD_S)
    parser.add_argument("--profile", nargs="*")
    given = parser.parse_args()
    main(given.folder, given.rounds, given.seconds, given.profile)
