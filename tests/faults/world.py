"""The world of a fault: a server with its worker, a model server behind a proxy, a database, and one job at a time."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from faults.proxy import Proxy
from ports import free_port
from postgres_server import Postgres, running_postgres
from proctor.service.opening.simulate import known_answers
from proctor.settings import read_settings
from proctor.simulator import spawn
from programs import command, environment
from served import PREFIX, Server
from uploads import csv_of, upload

ITEMS = 300
LATENCY_S = 0.1
PARALLEL = 8
LONGEST_S = 180.0  # from a fault to the job's end; then it counts as not recovered


@dataclass
class World:
    """`environ` is what the server is started with. What is killed here is started again as systemd would do it."""

    home: Path
    environ: dict[str, str]
    file: Path
    model: Proxy
    database: Proxy | None = None
    postgres: Postgres | None = None
    luck: random.Random = field(default_factory=random.Random)
    process: subprocess.Popen[str] | None = None
    url: str = ""
    port: int = field(default_factory=free_port)

    def serve(self) -> None:
        """Start the server on the port that it had."""
        words = command("serve", "--port", str(self.port))
        log = (self.home.parent / "server.log").open("a")
        self.process = subprocess.Popen(
            words, env=self.environ, cwd=self.home, text=True, stdout=subprocess.PIPE, stderr=log
        )
        log.close()
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert "http://" in line, f"the server does not start: {self.home.parent}/server.log"
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        self.url = line.partition("proctor serves at ")[2].split()[0]

    def serve_again(self) -> None:
        """What watches over a server starts it anew until it stays up."""
        for _ in range(60):
            try:
                return self.serve()
            except AssertionError:
                time.sleep(0.5)
        raise AssertionError("the server does not come back")

    @property
    def api(self) -> Server:
        return Server(self.url)

    def submit(self) -> str:
        config = {"provider": "ollama", "model": "sim", "parallel": PARALLEL, "request_timeout": "5s"}
        body = {"project_id": 1, "suite": "sums", "config": config}
        job: str = self.api.post(f"{PREFIX}/run", body)["job_id"]
        return job

    def processes(self, word: str) -> list[psutil.Process]:
        """Of this world's server and its descendants, those whose command has the word."""
        assert self.process is not None
        found = []
        for each in psutil.Process(self.process.pid).children(recursive=True):
            try:
                if word in each.cmdline():
                    found.append(each)
            except psutil.Error:
                continue
        return found

    def kept(self, job: str) -> list[tuple[Any, ...]]:
        """Every attempt of a job, as the database has it: item, repeat, outcome, answer."""
        query = text(
            "SELECT item_id, repeat, outcome, answer FROM attempt JOIN run ON run.num = attempt.run_num "
            "WHERE run.id = :job"
        )
        return self.rows(query, job)

    def rows(self, query: Any, job: str) -> list[tuple[Any, ...]]:
        """Past the proxy; waits for a database that is being started again."""
        for tries in range(100):
            try:
                engine = create_engine(self.straight)
                with engine.connect() as connection:
                    return [tuple(row) for row in connection.execute(query, {"job": job})]
            except DBAPIError:
                if tries == 99:
                    raise
                time.sleep(0.2)
            finally:
                engine.dispose()
        raise AssertionError

    @property
    def straight(self) -> str:
        """The database's address past any proxy."""
        if self.postgres is None:
            return f"sqlite:///{self.home}/proctor.db"
        return self.postgres.url("faults").replace("postgresql:", "postgresql+psycopg:")

    def state(self, job: str) -> tuple[str, int]:
        """The job's status, and how many of its items have an outcome."""
        (found,) = self.rows(text("SELECT status, settled FROM run WHERE id = :job"), job)
        return str(found[0]), int(found[1])

    def settled(self, job: str) -> int:
        return self.state(job)[1]

    def restart(self, job: str) -> None:
        """As a user does it who sees that the job has failed; patient with a server that is just coming back."""
        for _ in range(100):
            try:
                if self.api.ask("POST", f"/api/v1/jobs/restart/{job}").status < 500:
                    return
            except OSError:
                pass  # not up again yet
            time.sleep(0.2)

    def close(self) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()


def moved_clock(folder: Path) -> dict[str, str]:
    """Variables by which processes read a wall clock that is as far ahead as the file `clock` says (clock.c)."""
    library, ahead = folder / "clock.so", folder / "clock"
    source = Path(__file__).with_name("clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", str(library), str(source)], check=True)
    ahead.write_bytes((0).to_bytes(8, sys.byteorder))
    return {"LD_PRELOAD": str(library), "FAULTS_CLOCK": str(ahead)}


@contextmanager
def world(
    *,
    postgres: bool = False,
    room_mb: int = 0,
    clock: bool = False,
    latency_s: float = LATENCY_S,
    **more: str,
) -> Iterator[World]:
    """A served world with the data set `sums` in it.

    `room_mb`: its home is a disk of that size. `clock`: its wall clock can be moved.
    """
    with ExitStack() as ending:
        folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="proctor-faults-")))
        home = folder / "home"
        home.mkdir()
        if room_mb:
            mount = ["mount", "-t", "tmpfs", "-o", f"size={room_mb}m", "tmpfs", str(home)]
            subprocess.run(mount, check=True)
            ending.callback(subprocess.run, ["umount", "-l", str(home)], check=True)
        file = folder / "sums.csv"
        file.write_bytes(csv_of(ITEMS))
        environ = environment(home, PROCTOR_FIRST_RETRY="1s", PROCTOR_DISK_FREE_MB="1", **more)
        server = ending.enter_context(
            spawn(["--latency", str(latency_s)], known_answers(read_settings(environ), [file]))
        )
        model = Proxy(("127.0.0.1", urlsplit(server.url).port or 0))
        ending.callback(model.close)
        environ["OLLAMA_HOST"] = f"http://127.0.0.1:{model.port}"
        if clock:
            environ |= moved_clock(folder)
        made = World(home, environ, file, model)
        if postgres:
            made.postgres = ending.enter_context(running_postgres())
            made.postgres.run("CREATE DATABASE faults")
            made.database = Proxy(("127.0.0.1", made.postgres.port))
            ending.callback(made.database.close)
            url = made.postgres.url("faults").replace(f":{made.postgres.port}/", f":{made.database.port}/")
            environ["PROCTOR_DATABASE_URL"] = url
        ending.callback(made.close)
        made.serve()
        answer = upload(made.api, ("sums.csv", file.read_bytes()), name="sums", project_id=1)
        assert answer.status in (200, 201), answer
        yield made
