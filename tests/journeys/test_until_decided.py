"""`--until-decided` as a user meets it: what is asked, killed, gone on with, refused and said."""

from __future__ import annotations

import json
import random
import signal
import time
import urllib.request

import pytest

from proctor.service.context import open_store
from proctor.service.deciding import decision_of
from proctor.service.opening.simulate import known_answers
from proctor.simulator import spawn
from programs import HANG_S, csv_of_sums, proctor, proctor_json, started
from simulators import settings

pytestmark = pytest.mark.slow  # whole runs in processes of their own

N = 400
APART = ("--model", "good=0.9", "--model", "poor=0.5", "--latency", "0.03", "--sigma", "0.5")


@pytest.fixture
def world(tmp_path):
    """A home, a file of questions, and a server of two models far apart."""
    file = csv_of_sums(tmp_path / "sums.csv", N)
    home = tmp_path / "home"
    home.mkdir()
    with spawn(list(APART), known_answers(settings(home), [file])) as server:
        yield home, file, server


def words(file, server, *more):
    models = ("--model", "openai/good", "--model", "openai/poor", "--base-url", f"{server.url}/v1")
    return ["run", str(file), *models, "--until-decided", *more]


def calls(server) -> int:
    with urllib.request.urlopen(f"{server.url}/__stats", timeout=10) as answer:
        return json.load(answer)["seen"]


def plan_of(home):
    """The runs of the only plan, and what their kept rows decide."""
    with open_store(settings(home)) as store:
        (plan_id,) = {run.plan_id for run in store.runs(limit=9)}
        runs = store.plan_runs(plan_id)
        return runs, decision_of(store, runs)


def test_it_stops_when_it_is_decided_says_so_and_the_rest_can_be_asked_all_the_same(world):
    home, file, server = world
    done = proctor(home, *words(file, server))
    runs, decision = plan_of(home)
    assert "openai/good is better than openai/poor" in done.stdout
    assert f"proctor resume {runs[0].plan_id[:8]} --all" in done.stderr
    assert decision.over and all(run.stopped.startswith("stopped by --until-decided") for run in runs)
    asked = calls(server)
    assert 2 * 20 <= asked < N, "a part of the 2 x N"
    assert asked == sum(run.settled for run in runs)

    again = proctor_json(home, "resume", runs[1].id)
    assert calls(server) == asked, "it is decided: nothing more is asked"
    assert [run["settled"] for run in again["runs"]] == [run.settled for run in runs]

    proctor(home, "resume", runs[0].plan_id, "--all")
    assert calls(server) == 2 * N
    whole, after = plan_of(home)
    assert [run.settled for run in whole] == [N, N]
    assert after.paths == decision.paths, "what was decided stays as it was decided"


def test_killed_at_any_moment_and_gone_on_with_it_comes_to_the_undisturbed_verdict(world, tmp_path):
    home, file, server = world
    calm = tmp_path / "calm"
    calm.mkdir()
    proctor(calm, *words(file, server, "--parallel", "4"))
    draw = random.Random(7)
    process = started(home, words(file, server, "--parallel", "4"))
    for _ in range(3):
        while not (home / "proctor.db").exists():
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)  # another process's progress: there is nothing to wait on but the clock
        time.sleep(draw.uniform(0.1, 0.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with open_store(settings(home)) as store:
            runs = store.runs(limit=9)
        process = started(home, ["resume", runs[0].id] if runs else words(file, server, "--parallel", "4"))
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, err
    _, undisturbed = plan_of(calm)
    runs, disturbed = plan_of(home)
    (path,) = disturbed.paths.values()
    assert all(path.items <= run.settled <= path.items + 40 for run in runs), "asked no further than it took"
    assert [*disturbed.paths.values()] == [*undisturbed.paths.values()]
    assert disturbed.over


def test_ctrl_c_keeps_what_is_done_of_both_and_says_how_to_go_on(world):
    home, file, server = world
    process = started(home, words(file, server, "--parallel", "1"))
    while calls(server) < 8:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)  # until the other process has asked something
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=HANG_S)
    assert process.returncode == 130, err
    runs, decision = plan_of(home)
    assert [(run.status.value, run.stopped) for run in runs] == [("cancelled", "interrupted")] * 2
    assert all(run.settled for run in runs) and not decision.over
    assert "proctor resume" in err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--workers", "2"], "--until-decided does not go with --workers"),
        (["--shard", "1/2"], "--until-decided does not go with --shard"),
        (["--judge", "openai/good"], "a judge reads them when all are there"),
    ],
)
def test_what_does_not_go_with_it_is_said_before_anything_is_asked(world, more, said):
    home, file, server = world
    assert said in proctor(home, *words(file, server, *more), code=2).stderr
    assert calls(server) == 0


def test_one_model_and_scores_that_are_no_means_are_refused_with_what_to_do(world):
    home, file, _ = world
    one = proctor(home, "run", str(file), "--model", "baseline/random", "--until-decided", code=2)
    assert "give --model once for each" in one.stderr
    two = ("--model", "baseline/random", "--model", "baseline/majority")
    glue = proctor(home, "run", "glue", "--data", "sample", *two, "--until-decided", code=2)
    assert "CoLA: mcc" in glue.stderr
    assert "sst2" in glue.stderr, "a task that it goes with"
