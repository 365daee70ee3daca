"""The simulator as a child process: found by its line, ended with its parent, quiet when stopped."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from proctor.simulator import SimulatorDied, spawn, write_answers


def ask(url: str, prompt: str, model: str = "sim-perfect") -> str:
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": prompt}]}).encode()
    with build_opener(ProxyHandler({})).open(Request(f"{url}/v1/chat/completions", body)) as response:
        return json.load(response)["choices"][0]["message"]["content"]


def begin(*options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "proctor.simulator", *options]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def first_line(child: subprocess.Popen[str]) -> str:
    assert child.stdout
    return child.stdout.readline()


def test_a_spawned_simulator_knows_the_answers_and_ends_when_closed(known: Any) -> None:
    with spawn(["--seed", "1", "--model", "mine=1"], known("Well?", right="yes")) as simulated:
        assert simulated.url.startswith("http://127.0.0.1:")
        assert ask(simulated.url, "Well?").endswith("Answer: yes")
        assert ask(simulated.url, "Well?", "mine").endswith("Answer: yes")
    with pytest.raises(OSError, match="refused"):
        ask(simulated.url, "Well?")
    simulated.close()


def test_why_a_simulator_did_not_start_is_told() -> None:
    with pytest.raises(SimulatorDied, match=r"exit code 2\)(.|\n)*--slots 0: at least 1"):
        spawn(["--slots", "0"], {})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_quietly(number: signal.Signals) -> None:
    child = begin("--until-stdin-closes", "--latency", "60")
    assert first_line(child).startswith("simulator listening on http://127.0.0.1:")
    child.send_signal(number)
    # Not communicate(): it would close stdin, and that too is an end.
    assert child.wait(60) == 0
    rest, complaints = child.communicate()
    assert (rest, complaints) == ("", "")


def test_it_ends_when_stdin_does() -> None:
    child = begin("--until-stdin-closes")
    assert first_line(child)
    rest, complaints = child.communicate(timeout=60)
    assert (rest, complaints, child.returncode) == ("", "", 0)


def test_it_ends_when_the_one_who_started_it_is_killed() -> None:
    """kill -9 leaves nobody to close anything; the pipe closes all the same."""
    code = (
        "import sys\nfrom proctor.simulator import spawn\n"
        "simulated = spawn([], {})\nprint(simulated.url, flush=True)\nsys.stdin.read()\n"
    )
    pipe = subprocess.PIPE
    parent = subprocess.Popen([sys.executable, "-c", code], stdin=pipe, stdout=pipe, text=True)
    assert parent.stdout
    url = parent.stdout.readline().strip()
    port = int(url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        parent.kill()
        parent.communicate()
        # Nothing was asked, so the first thing to come is the end.
        connection.settimeout(60)
        assert connection.recv(1) == b""


def test_a_port_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        child = begin("--port", str(port))
        _, complaints = child.communicate(timeout=60)
    assert child.returncode == 2
    assert complaints.startswith("simulator: ")
    assert str(port) in complaints
    assert "Traceback" not in complaints


def test_an_answers_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nonsense\n")
    for path, words in [(bad, "bad.jsonl:1: not JSON"), (tmp_path / "none.jsonl", "none.jsonl")]:
        child = begin("--answers", str(path))
        _, complaints = child.communicate(timeout=60)
        assert (child.returncode, words in complaints) == (2, True)


def test_it_runs_without_a_watch_on_stdin_until_it_is_told(tmp_path: Path, known: Any) -> None:
    write_answers(tmp_path / "a.jsonl", known("Well?", right="yes"))
    child = begin("--answers", str(tmp_path / "a.jsonl"))
    assert child.stdin
    child.stdin.close()
    url = first_line(child).split()[-1]
    assert ask(url, "Well?").endswith("Answer: yes")
    child.terminate()
    assert child.wait(60) == 0
    assert child.stdout
    assert child.stderr
    assert child.stderr.read() == ""
    child.stdout.close()
    child.stderr.close()
