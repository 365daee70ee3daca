"""`kill -9`, Ctrl-C and SIGTERM at any moment: nothing committed is asked again, lost or doubled."""

from __future__ import annotations

import json
import random
import signal
import time
import urllib.request
from pathlib import Path

import pytest

from proctor.references import ExamRef
from proctor.service.context import open_store
from proctor.service.opening.simulate import known_answers
from proctor.service.opening.sources import open_source
from proctor.simulator import prompt_key, spawn
from programs import HANG_S, csv_of_sums, proctor, proctor_json, started
from simulators import settings

pytestmark = pytest.mark.slow  # whole runs in processes of their own

N = 2500
KILLS = 10


@pytest.fixture
def world(tmp_path):
    """A home, a file of questions, and a server that counts how often it saw each prompt."""
    file = csv_of_sums(tmp_path / "sums.csv", N)
    home = tmp_path / "home"
    home.mkdir()
    given = settings(home)
    with spawn(["--latency", "0.05", "--sigma", "0.5"], known_answers(given, [file])) as server:
        yield home, file, server, given


def seen(server) -> dict[str, int]:
    with urllib.request.urlopen(f"{server.url}/__stats?keys=1", timeout=10) as answer:
        return json.load(answer)["by_key"]


def keys_of_items(file: Path, given) -> dict[str, str]:
    source = open_source(ExamRef("file", str(file)), given)
    return {i.id: prompt_key([(m.role, m.content) for m in i.ask.messages]) for i in source.items()}


def committed(given, run_id: str) -> set[str]:
    with open_store(given) as store:
        return {item for item, _ in store.settled(run_id)}


def wait_for_run(home: Path, given, process) -> str:
    """The id of the run once the program has made its row."""
    for _ in range(round(HANG_S / 0.01)):
        if (home / "proctor.db").exists():
            with open_store(given) as store:
                if runs := store.runs(limit=1):
                    return runs[0].id
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)  # another process's progress: there is nothing to wait on but the clock
    raise AssertionError("no run appeared")


def test_ten_kills_lose_nothing_and_ask_nothing_committed_again(world):
    home, file, server, given = world
    draw = random.Random(20261120)
    words = ["run", str(file), "--model", "openai/sim", "--base-url", f"{server.url}/v1", "--parallel", "16"]
    process = started(home, words)
    run_id = wait_for_run(home, given, process)
    keys = keys_of_items(file, given)
    most_lost = 0
    for _ in range(KILLS):
        time.sleep(draw.uniform(0.0, 0.9))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        process.stderr.close()
        kept = committed(given, run_id)
        before = seen(server)
        most_lost = max(most_lost, sum(before.get(keys[i], 0) > 0 for i in keys.keys() - kept))
        process = started(home, ["resume", run_id])
        while sum(seen(server).values()) == sum(before.values()) and process.poll() is None:
            time.sleep(0.02)  # until the other process has asked something
        after = seen(server)
        assert [i for i in kept if after[keys[i]] > before[keys[i]]] == [], "asked again although committed"
        assert kept <= committed(given, run_id), "lost"
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, err
    assert most_lost <= 16 + 256, "more than what was in flight and one batch was asked and lost"
    document = proctor_json(home, "show", run_id)
    run = document["runs"][0]
    assert (run["status"], run["partial"], run["settled"]) == ("completed", False, N)
    with open_store(given) as store:
        rows = list(store.latest(run_id))
    assert len(rows) == len({row.item_id for row in rows}) == N
    assert [row.position for row in rows] == list(range(N))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_keeps_what_is_done_and_says_how_to_go_on(world, number):
    home, file, server, given = world
    words = ["run", str(file), "--model", "openai/sim", "--base-url", f"{server.url}/v1", "--parallel", "8"]
    process = started(home, words)
    run_id = wait_for_run(home, given, process)
    while not committed(given, run_id):
        time.sleep(0.02)  # until the other process has committed something
    process.send_signal(number)
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 130, err
    assert f"proctor resume {run_id[:8]}" in err
    run = proctor_json(home, "show", run_id)["runs"][0]
    assert (run["status"], run["partial"], run["stopped"]) == ("cancelled", True, "interrupted")
    assert 0 < run["settled"] < N
    assert "PARTIAL" in proctor(home, "show", run_id).stdout


def test_a_run_that_is_running_cannot_be_resumed_beside_itself(world):
    home, file, server, given = world
    words = ["run", str(file), "--model", "openai/sim", "--base-url", f"{server.url}/v1", "--parallel", "2"]
    process = started(home, words)
    try:
        run_id = wait_for_run(home, given, process)
        while not committed(given, run_id):
            time.sleep(0.02)  # until the other process has committed something
        refused = proctor(home, "resume", run_id, code=2)
        assert "running" in refused.stderr
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=HANG_S)
