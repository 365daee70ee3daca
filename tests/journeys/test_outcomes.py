"""Well and badly behaved servers end in exactly the outcome counts they should, from file to store."""

from __future__ import annotations

from pathlib import Path

import pytest

from opened import look, resume, start
from proctor.engine.retry import Retry
from proctor.errors import ErrorBudget
from proctor.plan import cell_from_json, cell_to_json
from proctor.references import ExamRef
from proctor.service.opening.simulate import known_answers
from proctor.simulator import spawn
from proctor.types import Cell, Limits, Model, Plan
from simulators import settings

pytestmark = pytest.mark.slow  # whole commands and runs; make test-fast leaves them out

N = 60
QUICK = Retry(most=2, most_refusals=30, first_s=0.0)


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "sums.csv"
    lines = [f"What is {i} plus {i}?,{2 * i},{2 * i + 1},{2 * i + 2},A" for i in range(N)]
    path.write_text("\n".join(["question,A,B,C,answer", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def server(file, tmp_path_factory):
    with spawn([], known_answers(settings(tmp_path_factory.mktemp("home")), [file])) as running:
        yield running


def plan(file, server, name, shape="openai", **limits):
    url = f"{server.url}/v1" if shape == "openai" else server.url
    return Plan((Cell(Model(shape, name, url), ExamRef("file", str(file)), limits=Limits(**limits)),))


@pytest.mark.parametrize("shape", ["openai", "ollama"])
@pytest.mark.parametrize(
    ("name", "outcomes"),
    [
        ("sim-perfect", {"correct": N}),
        ("sim-wrong", {"wrong": N}),
        ("sim-silent", {"no_answer": N}),
        ("sim-unclear", {"no_answer": N}),
        ("sim-truncating", {"truncated": N}),
        ("sim-thinking", None),
        ("sim-ratelimited", None),
    ],
)
def test_outcome_counts(file, server, tmp_path, shape, name, outcomes):
    ended = start(plan(file, server, name, shape), settings(tmp_path), retry=QUICK)
    tally = ended.evaluation.results[0].tally
    assert ended.error is None and ended.unfinished == ()
    if outcomes:
        assert dict(tally.outcomes) == outcomes
        assert tally.answer_rate == (1.0 if {"correct", "wrong"} & outcomes.keys() else 0.0)
    else:
        # Models of accuracy 0.8: the faults they add must not change a single answer.
        assert tally.outcomes.keys() == {"correct", "wrong"}
        assert sum(tally.outcomes.values()) == N
    assert (tally.retries > 0) == (name == "sim-ratelimited")


def test_refusals_count_as_wrong_and_are_told_apart(file, server, tmp_path):
    ended = start(plan(file, server, "sim-refusing"), settings(tmp_path), retry=QUICK)
    result = ended.evaluation.results[0]
    assert dict(result.tally.outcomes) == {"refused": N}
    assert result.scores[0].estimate.value == 0.0


def test_a_server_that_fails_a_fifth_of_the_time_changes_no_answer(file, server, tmp_path):
    steady = start(plan(file, server, "sim-flaky"), settings(tmp_path), retry=Retry(most=20, first_s=0.0))
    tally = steady.evaluation.results[0].tally
    assert sum(tally.outcomes.values()) == N and "error" not in tally.outcomes
    assert tally.retries > 0


@pytest.mark.parametrize("shape", ["openai", "ollama"])
@pytest.mark.parametrize(
    ("name", "slug", "limits"),
    [
        ("sim-crashing", "network", {}),
        ("sim-garbage", "bad-reply", {}),
        ("sim-endless", "request-timeout", {"request_timeout_s": 0.3, "parallel": 32}),
    ],
)
def test_a_server_that_never_replies_stops_the_run_and_scores_nothing(
    file, server, tmp_path, shape, name, slug, limits
):
    given = settings(tmp_path)
    ended = start(plan(file, server, name, shape, **limits), given, retry=Retry(most=1, first_s=0.0))
    assert isinstance(ended.error, ErrorBudget)
    result = ended.evaluation.results[0]
    assert result.tally.outcomes.keys() == {"error"}
    assert result.tally.errors.keys() == {slug}
    assert result.scores[0].estimate.value is None, "an outage says nothing about the model"
    assert result.run.status == "failed" and result.run.partial
    assert ended.unfinished == (result.run.id,)


def test_a_run_that_failed_is_finished_by_resume_once_the_server_is_well(file, tmp_path):
    given = settings(tmp_path)
    answers = known_answers(given, [file])
    with spawn(["--crash-rate", "1"], answers) as sick:
        port = sick.url.rpartition(":")[2]
        failed = start(plan(file, sick, "sim"), given, retry=Retry(most=0, first_s=0.0))
    run_id = failed.unfinished[0]
    with spawn(["--port", port], answers):
        ended = resume([run_id[:8]], given)
    result = ended.evaluation.results[0]
    assert sum(result.tally.outcomes.values()) == N and "error" not in result.tally.outcomes
    assert (result.run.status, result.run.partial, result.run.error) == ("completed", False, None)
    assert look([run_id], given).results[0].scores == result.scores


def test_a_budget_of_time_stops_early_and_scores_a_gapless_prefix(file, tmp_path):
    given = settings(tmp_path)
    with spawn(["--latency", "0.1", "--sigma", "1"], known_answers(given, [file])) as slow:
        ended = start(plan(file, slow, "sim-perfect", for_s=0.6, parallel=4), given)
        result = ended.evaluation.results[0]
        assert result.run.status == "completed" and result.run.partial
        assert "--for" in result.run.stopped
        asked = sum(result.tally.outcomes.values())
        assert 0 < asked < N
        assert result.scores[0].estimate.asked == asked, "all that was drawn was finished: no gap"
        again = resume([result.run.id], given, limits=Limits(parallel=16))
    assert sum(again.evaluation.results[0].tally.outcomes.values()) == N
    assert not again.evaluation.results[0].run.partial


def test_a_budget_of_cost_stops_early(file, server, tmp_path):
    (tmp_path / "prices.toml").write_text('["openai/sim-perfect"]\ninput = 1000.0\noutput = 1000.0\n')
    ended = start(plan(file, server, "sim-perfect", max_cost_usd=1.0, parallel=2), settings(tmp_path))
    result = ended.evaluation.results[0]
    assert "--max-cost" in result.run.stopped
    assert 0.5 < result.tally.cost_usd < 1.2
    assert result.run.partial


def test_a_cost_budget_that_nobody_can_watch_is_refused(file, server, tmp_path):
    ended = start(plan(file, server, "sim-perfect", max_cost_usd=1.0, parallel=1), settings(tmp_path))
    assert ended.error is not None and "prices.toml" in str(ended.error)


def test_a_run_that_takes_too_long_is_given_up_and_resumable(file, tmp_path):
    given = settings(tmp_path)
    with spawn(["--latency", "0.1"], known_answers(given, [file])) as slow:
        ended = start(plan(file, slow, "sim", timeout_s=1.5, parallel=2), given)
        assert ended.error.slug == "run-timeout"
        assert 0 < ended.evaluation.results[0].run.settled < N
        done = resume(ended.unfinished, given, limits=Limits(parallel=32))
    assert done.error is None and done.unfinished == ()


def test_a_cell_survives_its_json(file, server):
    cell = plan(file, server, "sim", for_s=3.5).cells[0]
    assert cell_from_json(cell_to_json(cell)) == cell
