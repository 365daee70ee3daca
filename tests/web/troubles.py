"""A store in which everything went wrong that can: one of each kind, made by the code that makes them for real."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.engine.retry import Retry
from proctor.plan.build import AS_WRITTEN
from proctor.references import BatchRef, ExamRef
from proctor.service.context import Context
from proctor.service.opening.simulate import known_answers
from proctor.service.runs import queue, schedules
from proctor.service.runs.lifecycle import start
from proctor.service.runs.queue import Ticket
from proctor.service.runs.schedules import NewSchedule
from proctor.settings import Settings, read_settings
from proctor.simulator import spawn
from proctor.store import Store
from proctor.store.queue import schedules as kept_schedules
from proctor.store.queue import taking
from proctor.store.queue.endings import Verdict, end
from proctor.types import Cell, Limits, Model, Plan, Run, Status
from programs import HANG_S, csv_of_sums, proctor_json, started
from rollouts_made import made
from served import Server, serving

ITEMS = 60
ONCE = Retry(most=1)
QUICK = Limits(parallel=4)
NIGHTLY = "GLUE every night"
LACKS = "no key for gemini: set GEMINI_API_KEY"


@dataclass(frozen=True)
class Troubles:
    """The ids of what went wrong; the run `good` went well."""

    home: Path
    good: str
    failed: str
    partial: str
    killed: str
    batch: str
    rollouts: str
    waiting: str

    @property
    def runs(self) -> dict[str, str]:
        """What each is called in the list, by its id."""
        return {
            self.failed: "failed",
            self.partial: "partial",
            self.killed: "killed",
            self.batch: "partial",
            self.rollouts: "partial",
            self.waiting: "waiting",
        }


def build(home: Path) -> Troubles:
    home.mkdir(parents=True, exist_ok=True)
    file = csv_of_sums(home / "sums.csv", ITEMS)
    settings = read_settings({"PROCTOR_HOME": str(home), "PROCTOR_DATA": "sample"})
    killed = _killed(home, settings, file)
    with closing(Store.open(settings.database_url)) as store:
        with _models(settings, file, "--crash-rate", "0.3") as there:
            partial = _run(store, there, ExamRef("file", str(file)), "sim-small")
            batch = _run(store, there, BatchRef(str(_requests(home))), "sim-small")
        with _models(settings, file) as there:
            good = _run(store, there, ExamRef("file", str(file)), "sim-perfect")
        failed = _run(store, settings, ExamRef("file", str(file)), "sim-crashing", "simulator")
        lost, _ = made(
            store, home, "mend the code", lambda row, _task, _n: "network" if row == 0 else "passed"
        )
        context = Context(settings, store)
        waiting = _waiting(context, file)
        _schedule(context)
    return Troubles(home, good.id, failed.id, partial.id, killed, batch.id, lost.id, waiting.id)


@contextmanager
def _models(settings: Settings, file: Path, *options: str) -> Iterator[Settings]:
    with spawn(options, known_answers(settings, [file])) as server:
        yield replace(settings, ollama_host=server.url.rstrip("/"))


def _run(
    store: Store, settings: Settings, source: ExamRef | BatchRef, model: str, provider: str = "ollama"
) -> Run:
    cell = Cell(Model(provider, model), source, limits=QUICK)
    if isinstance(source, BatchRef):
        cell = replace(cell, sampling=AS_WRITTEN)
    start(Context(settings, store), Plan((cell,)), retry=ONCE)
    return next(iter(store.runs(limit=1)))


def _requests(home: Path) -> Path:
    path = home / "tickets.jsonl"
    lines = [
        {"custom_id": f"t-{n}", "body": {"messages": [{"role": "user", "content": f"What is {n} plus {n}?"}]}}
        for n in range(ITEMS)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def _killed(home: Path, settings: Settings, file: Path) -> str:
    """The id of a run whose terminal was closed on it."""
    with spawn(["--latency", "0.1"], known_answers(settings, [file])) as server:
        words = [
            "run",
            "sums.csv",
            "--model",
            "openai/sim",
            "--base-url",
            f"{server.url}/v1",
            "--parallel",
            "2",
        ]
        process = started(home, words)
        for _ in range(600):
            runs = proctor_json(home, "list")["runs"]
            if runs and runs[0]["settled"]:
                break
            time.sleep(0.05)  # until the other process has committed something
        process.kill()
        process.communicate(timeout=HANG_S)
    return str(runs[0]["run_id"])


def _waiting(context: Context, file: Path) -> Run:
    """A job that a worker took and gave back, because it lacks a key."""
    cell = Cell(Model("simulator", "sim"), ExamRef("file", str(file)), limits=QUICK)
    run = queue.submit(context, Plan((cell,)), Ticket("ann"))
    now = time.time()
    assert taking.take_next(context.store, owner="worker", now=now, lease_s=60.0, most_running=10) is not None
    put_off = Verdict(Status.PENDING, error=LACKS, error_slug="auth", run_after=now + 3600.0)
    assert end(context.store, run.id, put_off, owner="worker", now=now)
    return run


def _schedule(context: Context) -> None:
    """One whose last time led to no run."""
    cell = Cell(Model("simulator", "sim"), ExamRef("suite", "glue", rows="sample"))
    kept = schedules.add(context, NewSchedule(NIGHTLY, "0 3 * * *", cell, "ann"))
    now = time.time()
    assert kept_schedules.passed_over(
        context.store,
        kept,
        "ann has 100 runs waiting, and 100 may wait at once",
        next_at=now + 3600.0,
        now=now,
    )


@contextmanager
def troubled(home: Path) -> Iterator[tuple[Server, Troubles]]:
    """A server on such a store; nothing works in its queue."""
    found = build(home)
    with serving(home, "--no-worker", PROCTOR_REQUESTS_PER_MINUTE="100000", PROCTOR_DATA="sample") as server:
        yield server, found
