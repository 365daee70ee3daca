"""A server's world for tests of jobs: a home, questions, simulated models, and workers for real."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil

from proctor.jobs.worker import Worker
from proctor.references import ExamRef
from proctor.service.context import Context
from proctor.service.opening.simulate import known_answers
from proctor.service.opening.sources import open_source
from proctor.service.runs import queue
from proctor.service.runs.queue import Ticket
from proctor.settings import Settings, read_settings
from proctor.simulator import Simulated, prompt_key, spawn
from proctor.store import Store
from proctor.types import Cell, Limits, Model, Plan, Run, Status
from programs import HANG_S, csv_of_sums, environment, started

ENDED = (Status.COMPLETED, Status.FAILED, Status.CANCELLED)
QUICK = {"PROCTOR_FIRST_RETRY": "0.2s"}


def until(there: Callable[[], object], what: str, *, step: Callable[[], object] = bool) -> None:
    """Wait for what other processes do, however long that takes on a busy machine."""
    deadline = time.monotonic() + HANG_S
    while not there():
        step()
        assert time.monotonic() < deadline, f"it hangs: {what}"
        time.sleep(0.02)


@dataclass
class World:
    """One home with its database. What is started here ends with `close`."""

    home: Path
    database_url: str
    n: int = 40
    environ: dict[str, str] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    _ending: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self.file = csv_of_sums(self.home.parent / "sums.csv", self.n)
        self.environ = environment(self.home, PROCTOR_DATABASE_URL=self.database_url, **QUICK)
        self.store = self._ending.enter_context(contextlib.closing(Store.open(self.database_url)))

    def close(self) -> None:
        self._ending.close()

    def set(self, **variables: str) -> None:
        self.environ |= variables

    @property
    def settings(self) -> Settings:
        return read_settings(self.environ)

    @property
    def context(self) -> Context:
        return Context(self.settings, self.store)

    def simulate(self, *options: str) -> Simulated:
        """Simulated models; OLLAMA_HOST leads to them from now on."""
        server = spawn(options, known_answers(self.settings, [self.file]))
        self._ending.enter_context(server)
        self.set(OLLAMA_HOST=server.url)
        return server

    def submit(self, model: str = "ollama/sim", *, user: str = "ann", **limits: float) -> Run:
        given = Limits(**{"parallel": 4, **limits})  # type: ignore[arg-type]  # the fields' own types vary
        provider, _, name = model.partition("/")
        cell = Cell(Model(provider, name), ExamRef("file", str(self.file)), limits=given)
        return self.submit_cell(cell, user=user)

    def submit_cell(self, cell: Cell, *, user: str = "ann") -> Run:
        return queue.submit(self.context, Plan((cell,)), Ticket(user))

    def worker(self, *, lease_s: float = 60.0) -> Worker:
        """A worker in this process, to be moved on by `step`; its children are real."""
        return self.worker_with(lease_s=lease_s)

    def worker_with(self, *, lease_s: float = 60.0, **variables: str) -> Worker:
        """A worker whose own settings differ from those of its children."""
        own = read_settings(self.environ | variables)
        made = Worker(self.store, own, self.environ, self.said.append, lease_s=lease_s)
        self._ending.callback(made.end_all)
        return made

    def program(self, *words: str) -> subprocess.Popen[str]:
        """`proctor worker` and the like in a process of its own."""
        process = started(self.home, words, **{k: v for k, v in self.environ.items() if k != "PROCTOR_HOME"})
        self._ending.callback(end, process)
        return process

    def mkfifo(self) -> None:
        """In place of the questions a pipe that nobody writes to: who opens it waits for ever."""
        self.file.unlink()
        os.mkfifo(self.file)

    def run(self, run: Run) -> Run:
        return self.store.run(run.id)

    def ended(self, run: Run) -> bool:
        return self.run(run).status in ENDED

    def log(self, run: Run) -> str:
        path = self.home / "logs" / f"{run.id}.log"
        return path.read_text() if path.exists() else ""

    def asked(self, server: Simulated) -> dict[str, int]:
        """How often the server saw the question of each item."""
        with urllib.request.urlopen(f"{server.url}/__stats?keys=1", timeout=10) as answer:
            seen: dict[str, int] = json.load(answer)["by_key"]
        source = open_source(ExamRef("file", str(self.file)), self.settings)
        keys = {
            item.id: prompt_key([(m.role, m.content) for m in item.ask.messages]) for item in source.items()
        }
        return {item_id: seen.get(key, 0) for item_id, key in keys.items()}


def end(process: subprocess.Popen[str]) -> None:
    """End a program of the tests' own, and wait for it."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.communicate(timeout=HANG_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def children_of(run: Run) -> list[int]:
    """The processes that say in their command line that they work on the run."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline"]):
        words = process.info["cmdline"] or []
        if "work-on" in words and run.id in words:
            found.append(process.info["pid"])
    return found


def kill(pids: Sequence[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def world(folder: Path, database_url: str | None = None, n: int = 40) -> Iterator[World]:
    made = World(folder / "home", database_url or f"sqlite:///{folder / 'home' / 'proctor.db'}", n)
    try:
        yield made
    finally:
        made.close()


def with_rows(cell: Cell, **source: object) -> Cell:
    return replace(cell, source=replace(cell.source, **source))  # type: ignore[arg-type]  # passed on as given


def step(worker: Worker) -> None:
    worker.step(time.time())


class Broken(BaseHTTPRequestHandler):
    """Answers everything with 500."""

    def do_GET(self) -> None:
        self.send_error(500, "out of order")

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        return


@contextlib.contextmanager
def broken_server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Broken) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@dataclass
class Machine:
    """A worker in a home of its own, with all that it has started."""

    home: Path
    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stderr is not None
        self.said.extend(self.process.stderr)

    def hold(self) -> None:
        """As when the machine hangs: nothing of it moves any more."""
        for pid in self._pids():
            os.kill(pid, signal.SIGSTOP)

    def kill(self) -> int:
        """As when the machine loses its power; how many processes that were."""
        pids = self._pids()
        kill(pids)
        self.process.wait()
        return len(pids)

    def _pids(self) -> list[int]:
        worker = psutil.Process(self.process.pid)
        return [each.pid for each in [worker, *worker.children(recursive=True)]]
