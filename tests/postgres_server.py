"""A PostgreSQL server of the tests' own, in a temporary folder, from the programs on this machine."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ports import free_port

INSTALL = (
    "no PostgreSQL server: install it (Debian: apt-get install postgresql) or put postgres and initdb on PATH"
)
READY = "database system is ready to accept connections"


@dataclass
class Postgres:
    """One server of the tests' own, in a temporary folder."""

    process: subprocess.Popen[str]
    port: int
    start: Callable[[int], subprocess.Popen[str] | None]
    databases: int = 0

    @property
    def pid(self) -> int:
        return self.process.pid

    def url(self, database: str) -> str:
        # The server believes everybody; the password is there to be found if it leaks.
        return f"postgresql://proctor:open-sesame@127.0.0.1:{self.port}/{database}"

    def run(self, statement: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement)

    def new_database(self) -> str:
        self.databases += 1
        name = f"test_{os.getpid()}_{self.databases}"
        self.run(f"CREATE DATABASE {name} TEMPLATE template0")
        return name

    def drop(self, name: str) -> None:
        self.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def stop(self) -> None:
        """End the server at once, as a crash would."""
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGQUIT)
            self.process.wait()

    def crash_and_recover(self) -> None:
        """End the server as a crash would, and start it again on what it had written."""
        self.stop()
        assert self.process.stderr is not None
        self.process.stderr.close()
        again = self.start(self.port)
        assert again is not None, f"port {self.port} is another's by now"
        self.process = again


def _binary(name: str) -> str | None:
    versions = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda p: int(p.parts[4]))
    return shutil.which(name) or (str(versions[-1]) if versions else None)


def _account() -> pwd.struct_passwd | None:
    """Who the server runs as: it refuses root."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    return names.get("postgres") or names["nobody"]


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    initdb, postgres = _binary("initdb"), _binary("postgres")
    if initdb is None or postgres is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(INSTALL)
    account = _account()
    folder = tempfile.mkdtemp(prefix="proctor-pg-")
    identity: dict[str, Any] = {"cwd": folder, "env": {"PATH": os.environ["PATH"], "LC_ALL": "C"}}
    if account is not None:
        os.chown(folder, account.pw_uid, account.pw_gid)
        identity |= {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    try:
        make = [initdb, "-D", f"{folder}/data", "-U", "proctor", "-A", "trust", "-E", "UTF8", "--no-sync"]
        done = subprocess.run(make, capture_output=True, text=True, check=False, **identity)
        assert done.returncode == 0, done.stderr
        server = _started(postgres, folder, identity)
        try:
            yield server
        finally:
            server.stop()
            assert server.process.stderr is not None
            server.process.stderr.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(postgres: str, folder: str, identity: dict[str, Any]) -> Postgres:
    options = ["fsync=off", "full_page_writes=off", "max_connections=60", "shared_buffers=32MB"]
    options += ["listen_addresses=127.0.0.1", f"unix_socket_directories={folder}"]
    told: list[str] = []

    def start(port: int) -> subprocess.Popen[str] | None:
        command = [postgres, "-D", f"{folder}/data", "-p", str(port)]
        command += [part for option in options for part in ("-c", option)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **identity)
        assert process.stderr is not None
        for line in process.stderr:
            told.append(line)
            if READY in line:
                # Read on, or the server would wait for somebody to empty the pipe.
                threading.Thread(target=_drain, args=(process.stderr,), daemon=True).start()
                return process
        process.wait()
        process.stderr.close()
        return None

    for _ in range(5):  # another process may take the port between our look and the server's
        port = free_port()
        if (process := start(port)) is not None:
            return Postgres(process, port, start)
    raise AssertionError(f"PostgreSQL did not start: {''.join(told)}")


def _drain(lines: Iterator[str]) -> None:
    try:
        for _ in lines:
            pass
    except ValueError:
        pass  # closed at the end of the tests
