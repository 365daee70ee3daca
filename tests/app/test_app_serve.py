"""`proctor serve`: one command for API and worker, which end together and come back to what was under way."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from jobs_world import World, children_of, until, world
from proctor.app import program
from proctor.app.server import bind, check_address, url_of
from proctor.app.supervisor import Supervisor
from proctor.errors import ConfigError
from proctor.settings import read_settings
from proctor.types import Status
from programs import HANG_S, proctor
from served import PREFIX, Server

slow = pytest.mark.slow  # servers and runs in processes of their own


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        yield made


def serving(here: World, *words: str) -> tuple[subprocess.Popen[str], Server]:
    process = here.program("serve", "--port", "0", *words)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("proctor serves at http://127.0.0.1:"), process.communicate()[1]
    return process, Server(line.split()[3])


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The live ones."""
    found = []
    for child in psutil.Process(process.pid).children():
        with contextlib.suppress(psutil.NoSuchProcess):  # a zombie too
            if "worker" in child.cmdline():
                found.append(child.pid)
    return found


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_server_does_jobs_and_ends_in_good_order(here: World, number: int) -> None:
    here.simulate()
    process, server = serving(here)
    job_id = server.submit("ollama", "sim", tasks=["cola"], limit=5)
    assert server.ended(job_id)["status"] == "completed"
    (worker,) = workers_of(process)
    process.send_signal(number)
    _, said = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, said
    assert gone(worker)
    assert "Traceback" not in said


@slow
def test_a_stream_does_not_hold_up_the_end_and_the_job_goes_on_when_the_server_is_back(here: World) -> None:
    here.simulate("--latency", "0.4")
    process, server = serving(here)
    job_id = server.submit("ollama", "sim", tasks=["cola"], limit=20, parallel=2)
    until(lambda: here.store.run(job_id).settled > 0, "it has begun")
    with urllib.request.urlopen(f"{server.url}/api/v1/jobs/status/{job_id}/stream", timeout=30) as stream:
        assert stream.readline().startswith(b"event: progress")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, said
    assert "Traceback" not in said, said
    run = here.store.run(job_id)
    assert run.status is Status.PENDING and 0 < run.settled < 20
    assert children_of(run) == []
    _, again = serving(here)
    done = again.ended(job_id)
    assert done["status"] == "completed"
    rows = list(here.store.latest(job_id))
    assert len(rows) == 20 and {row.attempt for row in rows} == {0}


@slow
@pytest.mark.promise("G-32")
def test_a_worker_that_dies_is_replaced_and_one_whose_server_dies_ends(here: World) -> None:
    process, _ = serving(here)
    until(lambda: len(workers_of(process)) == 1, "the worker is there")
    (first,) = workers_of(process)
    os.kill(first, signal.SIGKILL)
    until(lambda: [pid for pid in workers_of(process) if pid != first], "the next is there")
    (second,) = workers_of(process)
    process.kill()
    process.communicate()
    until(lambda: gone(second), "the worker has ended too")


@slow
@pytest.mark.promise("G-13")
def test_a_job_outlives_a_server_that_is_killed(here: World) -> None:
    here.simulate("--latency", "0.2")
    process, server = serving(here)
    job_id = server.submit("ollama", "sim", tasks=["cola"], limit=20, parallel=2)
    until(lambda: here.store.run(job_id).settled > 0, "it has begun")
    process.kill()
    process.communicate()
    _, again = serving(here)
    done = again.ended(job_id)
    assert (done["status"], len(list(here.store.latest(job_id)))) == ("completed", 20)


@slow
def test_as_many_workers_as_asked_for_or_none(here: World) -> None:
    process, _ = serving(here, "--workers", "2")
    until(lambda: len(workers_of(process)) == 2, "two workers")
    alone, server = serving(here, "--no-worker")
    assert server.get("/healthz") == {"status": "ok"}
    assert workers_of(alone) == []
    assert server.get(f"{PREFIX}/results")["total"] == 0


def test_a_port_that_is_taken_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = proctor(tmp_path, "serve", "--port", str(port), code=2)
    assert f"--port {port}: another program listens there on 127.0.0.1" in done.stderr
    assert "0 for a free one" in done.stderr


def test_an_address_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot listen there"):
        bind("192.0.2.1", 8420)
    with pytest.raises(ConfigError, match="cannot listen there"):
        bind("no such host", 8420)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "box.example"])
def test_others_are_let_in_only_with_keys(host: str, tmp_path: Path) -> None:
    home = {"PROCTOR_HOME": str(tmp_path)}
    with pytest.raises(ConfigError, match="proctor keys create") as caught:
        check_address(host, read_settings(home))
    assert "PROCTOR_AUTH=keys" in str(caught.value)
    check_address(host, read_settings({**home, "PROCTOR_AUTH": "keys"}))
    check_address("127.0.0.1", read_settings(home))


def test_the_command_refuses_an_open_address(tmp_path: Path) -> None:
    done = proctor(tmp_path, "serve", "--host", "0.0.0.0", "--port", "0", code=2)
    assert "PROCTOR_AUTH=keys" in done.stderr
    assert list(tmp_path.iterdir()) == [], "nothing was made"


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_a_free_port_is_found_and_told(host: str) -> None:
    with contextlib.ExitStack() as stack:
        try:
            listening = stack.enter_context(bind(host, 0))
        except ConfigError:
            pytest.skip(f"{host} is no address of this machine")
        url = url_of(listening)
        assert url.startswith("http://[::1]:" if host == "::1" else "http://127.0.0.1:")
        assert int(url.rpartition(":")[2]) > 0


def test_the_help_lists_server_and_worker_but_not_what_they_start() -> None:
    said = CliRunner().invoke(program(), ["--help"], prog_name="proctor").output
    assert "\n  serve " in said and "\n  worker " in said and "\n  run " in said
    assert "work-on" not in said


@pytest.mark.slow
def test_a_worker_that_dies_at_once_is_started_again_later_and_later() -> None:
    told: list[str] = []
    command = [sys.executable, "-c", "raise SystemExit(7)"]
    supervisor = Supervisor(command, dict(os.environ), 1, told.append)
    supervisor.start()
    until(lambda: len(told) >= 2, "it has died twice")
    supervisor.close()
    pauses = [float(line.rpartition("another starts in ")[2].split()[0]) for line in told]
    assert pauses[:2] == [1.0, 2.0]
    assert "ended with code 7" in told[0]


def test_a_worker_that_does_not_listen_is_killed() -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)"
    ticks = iter(range(0, 10_000, 100))
    supervisor = Supervisor(
        [sys.executable, "-c", deaf], dict(os.environ), 1, print, clock=lambda: float(next(ticks))
    )
    supervisor.start()
    until(lambda: supervisor.places[0].process is not None, "it is there")
    process = supervisor.places[0].process
    supervisor.close()
    assert process is not None and process.returncode in (-signal.SIGKILL, -signal.SIGTERM)
