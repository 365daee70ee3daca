"""A runner that is killed the moment its command begins in a box leaves nothing of it behind, however often."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys

import psutil
import pytest
from boxed import need_bubblewrap

from proctor.sandbox.bubblewrap import HOLDING, INNER

AT_ONCE, ROUNDS = 8, 6
# Begins a command as a box does, and is killed as soon as it is told that the command has come so far. The descriptors
# are for bubblewrap to close: they make the moment long in which it has not yet asked to end with its runner.
RUNNER = """
import json, os, signal, socket, subprocess, sys
ours, theirs = socket.socketpair()
words = ["/bin/sh", "-c", 'exec 9>&2; exec "$@"', "sh", *json.loads(sys.argv[1])]
nobody = subprocess.DEVNULL
for number in range(100, 900):
    os.dup2(0, number)
subprocess.Popen(
    words, stdin=nobody, stdout=nobody, stderr=theirs.fileno(), start_new_session=True, close_fds=False
)
theirs.close()
ours.recv(1)
os.kill(os.getpid(), signal.SIGKILL)
"""
ROOT = ("bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev")


@pytest.mark.slow
def test_nothing_outlives_a_runner_that_is_killed_while_its_command_begins() -> None:
    need_bubblewrap()
    seconds = str(1_000_000 + secrets.randbelow(100_000_000))
    daemon = ("sh", "-c", f"(setsid sleep {seconds} &); sleep {seconds}")
    words = [*ROOT, *HOLDING, "--setenv", "PATH", os.environ["PATH"], "sh", "-c", INNER, "sh", "/", *daemon]
    for _ in range(ROUNDS):
        runners = [
            subprocess.Popen([sys.executable, "-c", RUNNER, json.dumps(words)]) for _ in range(AT_ONCE)
        ]
        assert [each.wait(timeout=60) for each in runners] == [-9] * AT_ONCE
    ours = ["sleep", seconds]
    left = [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == ours]
    _, alive = psutil.wait_procs(left, timeout=60)
    for each in alive:
        each.kill()
    assert alive == []
