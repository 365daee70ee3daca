"""Commands of proctor.toml that serve a model: they come up for a run, and nothing of them outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import psutil
import pytest

from odd_servers import models, odd_server
from opened import start
from proctor.errors import ConfigError, Conflict, EndpointNotFound, ModelNotFound
from proctor.providers.served import ServeCommand, read_commands
from proctor.references import BatchRef
from proctor.service.opening.offers import offers
from proctor.service.serving.served import _only_model, with_served
from proctor.types import Cell, Limits, Model, Plan, Sampling, Status
from simulators import settings

pytestmark = pytest.mark.slow

FREE = Sampling(temperature=None, max_tokens=None, context_tokens=None, seed=None)
SIMULATOR = [sys.executable, "-m", "proctor.simulator", "--port", "{port}"]
# A command that serves by a child of its own, as servers with workers do.
IN_A_SHELL = ["sh", "-c", f"{' '.join(SIMULATOR)} & wait"]
PATIENCE_S = 100.0


def toml(home: Path, command: list[str], **more: object) -> Path:
    home.mkdir(exist_ok=True)
    told = {"command": command, "address": "http://127.0.0.1:{port}/v1", "model": "sim", **more}
    lines = [f"{name} = {orjson.dumps(value).decode()}" for name, value in told.items()]
    (home / "proctor.toml").write_text("\n".join(["[serve.mine]", *lines]) + "\n", encoding="utf-8")
    return home


def requests(folder: Path, count: int = 3) -> Path:
    path = folder / "requests.jsonl"
    line = {
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"messages": [{"role": "user", "content": "Hm"}]},
    }
    path.write_bytes(b"".join(orjson.dumps({"custom_id": f"r{n}", **line}) + b"\n" for n in range(count)))
    return path


def cell(file: Path) -> Cell:
    return Cell(Model("serve", "mine"), BatchRef(str(file)), FREE, Limits(parallel=2))


def group_of(home: Path) -> int:
    """The process group of the command that runs now."""
    (record,) = (home / "serving").glob("*.json")
    return int(orjson.loads(record.read_bytes())["group"]["pid"])


def members(group: int) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.Error):
            continue
    return found


def gone(processes: list[psutil.Process]) -> bool:
    """Whether all of them end, within the patience of a test."""
    until = time.monotonic() + PATIENCE_S
    while any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in processes):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def asking(home: Path, file: Path) -> Iterator[tuple[subprocess.Popen[bytes], list[psutil.Process]]]:
    """`proctor batch run` in the middle of its requests, and the processes of the command that it has started."""
    command = [
        sys.executable,
        "-m",
        "proctor",
        "batch",
        "run",
        str(file),
        "--model",
        "serve/mine",
        "--parallel",
        "1",
    ]
    with subprocess.Popen(
        command, env={**os.environ, "PROCTOR_HOME": str(home)}, stderr=subprocess.DEVNULL
    ) as child:
        try:
            log = home / "serving" / "mine.log"
            until = time.monotonic() + PATIENCE_S
            while not (log.exists() and b"listening" in log.read_bytes()):
                assert child.poll() is None, "it ended before it asked"
                assert time.monotonic() < until
                time.sleep(0.02)
            yield child, members(group_of(home))
        finally:
            child.kill()


def test_a_command_serves_a_run_and_ends_with_it(tmp_path: Path) -> None:
    known = settings(toml(tmp_path / "home", IN_A_SHELL))
    with with_served([cell(requests(tmp_path))], known) as (served,):
        running = members(group_of(known.home))
        assert served.model.name == "sim"
        assert len(running) >= 3  # the keeper, the shell, the server
    assert gone(running)
    outcome = start(Plan((cell(requests(tmp_path)),)), known)
    run = outcome.evaluation.results[0].run
    assert (run.status, run.settled, str(run.cell.model)) == (Status.COMPLETED, 3, "serve/mine")
    assert run.cell.model.base_url is None  # a resume starts it anew
    assert b"listening" in (known.home / "serving" / "mine.log").read_bytes()
    assert not list((known.home / "serving").glob("*.json"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_of_a_command_outlives_a_killed_proctor(number: signal.Signals, tmp_path: Path) -> None:
    home = toml(tmp_path / "home", [*IN_A_SHELL[:2], IN_A_SHELL[2].replace(" & wait", " --latency 1 & wait")])
    with asking(home, requests(tmp_path, 500)) as (child, running):
        assert running
        child.send_signal(number)
        assert gone(running)


def test_what_a_killed_keeper_left_is_ended_at_the_next_start(tmp_path: Path) -> None:
    home = toml(tmp_path / "home", [*SIMULATOR, "--latency", "1"])
    with asking(home, requests(tmp_path, 500)) as (child, running):
        keeper = psutil.Process(group_of(home))
        left = [each for each in running if each.pid != keeper.pid]
        child.send_signal(signal.SIGSTOP)  # it cannot end anything by itself
        keeper.kill()
        child.kill()
        child.wait()
    assert left
    assert all(each.is_running() for each in left)
    with with_served([cell(requests(tmp_path))], settings(toml(home, SIMULATOR))):
        assert gone(left)


def test_the_only_model_that_a_server_lists_needs_no_name(tmp_path: Path) -> None:
    with odd_server({"/v1/models": models("org/model-7b")}) as other:
        command = ServeCommand("mine", ("sleep", "100"), other.url)
        assert _only_model(command) == "org/model-7b"
    with odd_server({"/v1/models": models("a", "b")}) as other:
        assert _only_model(ServeCommand("mine", ("sleep", "100"), other.url)) is None


def test_a_command_that_ends_is_quoted(tmp_path: Path) -> None:
    known = settings(toml(tmp_path, ["sh", "-c", "echo no such model >&2; exit 3"]))
    with (
        pytest.raises(EndpointNotFound, match=r"no such model.*exit code 3"),
        with_served([cell(tmp_path)], known),
    ):
        pass


def test_a_command_that_does_not_get_ready_is_ended(tmp_path: Path) -> None:
    known = settings(toml(tmp_path, ["sh", "-c", "echo $$; sleep 100"], wait=1.5))
    with (
        pytest.raises(EndpointNotFound, match=r"not ready after 1\.5 s"),
        with_served([cell(tmp_path)], known),
    ):
        pass
    pid = int((tmp_path / "serving" / "mine.log").read_text().split()[0])
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_keys_reach_a_command_only_where_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one-for-the-test")
    monkeypatch.setenv("HF_TOKEN", "hf-one-for-the-test")
    known = settings(toml(tmp_path, ["sh", "-c", "env; exit 1"], env=["HF_TOKEN"]))
    with pytest.raises(EndpointNotFound), with_served([cell(tmp_path)], known):
        pass
    said = (tmp_path / "serving" / "mine.log").read_text()
    assert ("HF_TOKEN=" in said, "OPENAI_API_KEY=" in said) == (True, False)


def test_an_address_that_somebody_has_is_not_taken_for_the_commands(tmp_path: Path) -> None:
    with subprocess.Popen([*SIMULATOR[:-1], "0"], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        url = other.stdout.readline().split()[-1]
        known = settings(toml(tmp_path, SIMULATOR, address=f"{url}/v1"))
        try:
            with pytest.raises(Conflict, match="something answers"), with_served([cell(tmp_path)], known):
                pass
        finally:
            other.terminate()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[serve.mine]\naddress = 'http://x/v1'", "command is needed"),
        ("[serve.mine]\ncommand = ['x']", "address is needed"),
        ("[serve.mine]\ncommand = ['x']\naddress = 'http://x/v1'\nhelth = '/'", "unknown key 'helth'"),
        ("[serve.mine]\ncommand = 'x \"'\naddress = 'http://x/v1'", "command: No closing quotation"),
        ("[serve.mine]\ncommand = ['x', 3]\naddress = 'http://x/v1'", "command is needed"),
        ("[serve.'../x']\ncommand = ['x']\naddress = 'http://x/v1'", "a table whose name"),
        ("[server.mine]\ncommand = ['x']", "unknown table 'server'"),
        ("serve = 3", "tables"),
        ("[serve", "not TOML"),
    ],
)
def test_a_fault_in_the_file_is_named(text: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "proctor.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=fault):
        read_commands(tmp_path)


def test_the_commands_are_listed_and_others_are_not_there(tmp_path: Path) -> None:
    known = settings(toml(tmp_path, SIMULATOR))
    (offer,) = offers(known, ("serve",))
    assert [str(each.model) for each in offer.models] == ["serve/mine"]
    other = Cell(Model("serve", "other"), BatchRef(str(tmp_path)), FREE)
    with pytest.raises(ModelNotFound, match=r"no table \[serve.other\]"), with_served([other], known):
        pass
