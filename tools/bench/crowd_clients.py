"""The crowd of crowd.py: pollers, streams, a reader of pages, and what is heard of the workers meanwhile."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

POLLERS, STREAMS, BROWSERS, JOBS = 50, 100, 10, 3
MODELS = ("sim", "sim-small", "sim-perfect")
API = "/api/v1/benchmarking"
SIGN_LATE_S, LEASE_LATE_S = 5.0, 12.0  # a worker signs every second; a lease of 30 s is renewed every 10 s
# Route: how many of the pollers ask it, and where.
POLLED = {
    "status": (18, "/api/v1/jobs/status/{job}"),
    "runs": (9, f"{API}/results?limit=100"),
    "history": (6, f"{API}/history?limit=100"),
    "history of a model": (4, f"{API}/history?model_name=m0&days=90"),
    "leaderboard": (6, f"{API}/leaderboard?suite=bench"),
    "leaderboard of the jobs": (4, f"{API}/leaderboard?suite=glue"),
    "results of a job": (3, f"{API}/results/{{job}}"),
}
PAGES = (
    "/",
    "/?days=90&suite=all",
    "/overview/board",
    "/runs",
    "/runs?model=m1&status=completed",
    "/runs/{large}",
    "/runs/{large}/results",
    "/runs/{large}/results?show=wrong",
    "/runs/{job}",
    "/runs/{ended}",
    "/compare?runs={ended}&runs={other}",
    "/leaderboard?suite=bench",
    "/models",
    "/batches",
    "/rollouts",
    "/system",
)


@dataclass(slots=True)
class Seen:
    """What the crowd has seen: milliseconds by route, events, and how late signs and leases were."""

    ms: dict[str, list[float]] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    events: int = 0
    ends: int = 0
    streams: int = 0
    pieces: int = 0
    signs_late: int = 0
    longest_sign_s: float = 0.0
    leases_late: int = 0
    least_lease_s: float = 99.0
    late_ms: list[float] = field(default_factory=list)

    def took(self, what: str, began: float) -> None:
        self.ms.setdefault(what, []).append(1000 * (time.perf_counter() - began))


@dataclass(slots=True)
class Crowd:
    """Everything that asks. `names` fill the addresses; `jobs` are the runs at work just now."""

    http: aiohttp.ClientSession
    home: Path
    names: dict[str, str]
    models: str
    jobs: list[str] = field(default_factory=list)
    seen: Seen = field(default_factory=Seen)
    counted: bool = False
    submitted: list[str] = field(default_factory=list)

    def path(self, path: str) -> str:
        return path.format(job=random.choice(self.jobs), **self.names)

    async def ask(self, what: str, path: str, headers: dict[str, str] | None = None) -> bytes:
        began = time.perf_counter()
        async with self.http.get(path, headers=headers) as answer:
            body = await answer.read()
            if self.counted and answer.status != 200:
                self.seen.failed[f"{what}: {answer.status}"] = (
                    self.seen.failed.get(f"{what}: {answer.status}", 0) + 1
                )
        if self.counted:
            self.seen.took(what, began)
        return body

    async def poll(self, what: str, path: str) -> None:
        await asyncio.sleep(random.random())
        while True:
            due = time.monotonic() + 1.0
            await self.ask(what, self.path(path))
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def read_pages(self) -> None:
        while True:
            for page in PAGES:
                await self.ask(f"page {page}", self.path(page), {"Accept": "text/html"})
                await asyncio.sleep(0.3)

    async def follow(self, place: int) -> None:
        """A stream as a page has it, opened again when it ends; those of browsers fetch the piece at each change."""
        await asyncio.sleep(2 * random.random())
        while True:
            job = self.jobs[place % len(self.jobs)]
            path, piece = f"/runs/{job}/events", f"/runs/{job}/live"
            if place % 2:
                path, piece = "/active/events", "/active"
            async with self.http.get(path, timeout=aiohttp.ClientTimeout(total=None)) as answer:
                self.seen.streams += 1
                await self.hear(answer, piece if place < BROWSERS else None)
                self.seen.streams -= 1

    async def hear(self, answer: aiohttp.ClientResponse, piece: str | None) -> None:
        """Until the end that a run's stream tells."""
        async for line in answer.content:
            if line.startswith(b"event: end\n"):
                self.seen.ends += 1
                return
            if line.startswith(b"event: "):
                self.seen.events += 1
                if piece is not None:
                    self.seen.pieces += 1
                    what = "piece /active" if piece == "/active" else "piece of a run"
                    await self.ask(what, piece, {"HX-Request": "true"})

    async def keep_jobs(self) -> None:
        """Three at work at all times: one that has ended is followed by the next."""
        while True:
            for place, job in enumerate(self.jobs):
                state = json.loads(await self.ask("-", f"/api/v1/jobs/status/{job}"))
                if state["status"] == "failed":
                    raise SystemExit(f"a job failed: {state['error']}")
                if state["ended"]:
                    self.jobs[place] = await self.submit(place)
            await asyncio.sleep(1.0)

    async def submit(self, place: int) -> str:
        config = {
            "provider": "openai",
            "model": MODELS[place],
            "base_url": f"{self.models}/v1",
            "data": "sample",
            "repeats": 100,
        }
        body = {"project_id": 1, "suite": "glue", "config": config}
        async with self.http.post(f"{API}/run", json=body) as answer:
            if answer.status != 200:
                raise SystemExit(f"a job was refused: {await answer.text()}")
            job: str = (await answer.json())["job_id"]
        self.submitted.append(job)
        return job

    async def watch_signs(self) -> None:
        """Heartbeats as the database has them: what other machines would take for dead."""
        with closing(
            sqlite3.connect(f"file:{self.home / 'proctor.db'}?mode=ro", uri=True, timeout=30)
        ) as database:
            while True:
                now = time.time()
                signs = database.execute("SELECT max(seen_at) FROM worker").fetchone()[0]
                leases = database.execute("SELECT lease_until FROM run WHERE status = 'running'").fetchall()
                if self.counted and signs:
                    self.seen.longest_sign_s = max(self.seen.longest_sign_s, now - signs)
                    self.seen.signs_late += now - signs > SIGN_LATE_S
                    for (until,) in leases:
                        self.seen.least_lease_s = min(self.seen.least_lease_s, until - now)
                        self.seen.leases_late += until - now < LEASE_LATE_S
                await asyncio.sleep(0.5)

    async def bare(self) -> None:
        """How late a loop that does nothing is called: what the machine's load alone costs."""
        while True:
            due = time.perf_counter() + 0.02
            await asyncio.sleep(0.02)
            if self.counted:
                self.seen.late_ms.append(1000 * (time.perf_counter() - due))

    def settled(self) -> int:
        with closing(
            sqlite3.connect(f"file:{self.home / 'proctor.db'}?mode=ro", uri=True, timeout=30)
        ) as database:
            found = database.execute("SELECT sum(settled) FROM run WHERE source = 'glue'").fetchone()[0]
        return int(found or 0)


def everybody(here: Crowd) -> list[Any]:
    pollers = [here.poll(what, path) for what, (count, path) in POLLED.items() for _ in range(count)]
    assert len(pollers) == POLLERS
    streams = [here.follow(place) for place in range(STREAMS)]
    return [
        *pollers,
        *streams,
        here.poll("healthz", "/healthz"),
        here.read_pages(),
        here.watch_signs(),
        here.bare(),
    ]
