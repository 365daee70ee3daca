"""Runs of agents from end to end: a model over HTTP, boxes, verdicts, and what a resume does about its failures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from talking import LISTED, MEND, benchmark, block, described, playing, shell_at, usage

from odd_servers import odd_server, said
from opened import resume, start
from proctor.errors import AuthError, ConfigError
from proctor.findings import RunResult
from proctor.references import TrialLimits
from proctor.service.context import open_store
from proctor.service.results.outcome import PlanOutcome
from proctor.store import AttemptRow, Store
from proctor.trial_record import TrialRecord, record_from
from proctor.types import Outcome
from simulators import settings

MODEL = playing(block("cat sum.py"), block(MEND), "Mended.\n\nDONE")
KEY = {"OPENAI_API_KEY": "sk-tests-0123456789"}


def result_of(outcome: PlanOutcome) -> RunResult:
    assert outcome.evaluation is not None
    assert outcome.error is None
    (result,) = outcome.evaluation.results
    return result


def kept_of(home: Path, run: str) -> list[tuple[AttemptRow, TrialRecord | None]]:
    """The trials of a run in their order, each with its record where it has one."""
    with open_store(settings(home)) as store:
        rows = sorted(store.latest(run), key=lambda row: row.repeat)
        return [(row, record_of(store, run, row)) for row in rows]


def record_of(store: Store, run: str, row: AttemptRow) -> TrialRecord | None:
    said = store.payload(run, row.item_id, row.repeat, row.attempt)
    return None if row.error_slug else record_from(str(said["raw"]).encode())


def test_a_model_solves_a_task_and_what_it_took_is_kept(box_home: Path) -> None:
    def counted(request: Mapping[str, Any]) -> Any:
        return usage(MODEL(request), 100, 10)

    with odd_server(LISTED, counted) as server:
        outcome = start(benchmark(box_home, shell_at(server.url), rollouts=2), settings(box_home, **KEY))
    result = result_of(outcome)
    (row, record), (other, _) = kept_of(box_home, result.run.id)
    assert {row.outcome, other.outcome} == {Outcome.CORRECT}
    assert record is not None
    assert (row.input_tokens, row.output_tokens, record.calls) == (300, 30, 3)
    assert [step.ran for step in record.steps] == ["cat sum.py", MEND, ""]
    assert record.hashes["agent"]
    assert {request["seed"] for request in server.asked} == {0, 1}
    assert result.run.manifest.sampling.values.temperature == 0.7


def test_a_server_that_fails_one_trial_costs_no_score_and_a_resume_asks_that_one_alone(
    box_home: Path,
) -> None:
    dead = [True]

    def answer(request: Mapping[str, Any]) -> Any:
        if request["seed"] == 1 and dead[0] and len(request["messages"]) > 1:
            return 400, {"error": {"message": "an internal matter"}}
        return usage(MODEL(request), 50, 5)

    with odd_server(LISTED, answer) as server:
        outcome = start(benchmark(box_home, shell_at(server.url), rollouts=3), settings(box_home, **KEY))
        run = result_of(outcome).run
        (_, failed, _) = [row for row, _ in kept_of(box_home, run.id)]
        assert (failed.error_slug, failed.outcome, failed.score) == ("agent-model", Outcome.ERROR, None)
        assert (failed.unused_input_tokens, failed.unused_output_tokens) == (50, 5)
        before, dead[0] = len(server.asked), False
        resume([run.id], settings(box_home, **KEY))
        again = server.asked[before:]
    assert {request["seed"] for request in again} == {1}
    assert [row.outcome for row, _ in kept_of(box_home, run.id)] == [Outcome.CORRECT] * 3


def test_a_wrong_key_stops_the_whole_run(box_home: Path) -> None:
    with odd_server(LISTED, lambda _: (401, {"error": {"message": "bad key"}})) as server:
        outcome = start(benchmark(box_home, shell_at(server.url), rollouts=3), settings(box_home, **KEY))
    assert isinstance(outcome.error, AuthError)
    assert len(server.asked) <= 2  # the trials that had begun


@pytest.mark.promise("C-31")
def test_a_trial_that_meets_its_token_limit_is_scored_by_what_it_left(box_home: Path) -> None:
    def floods(request: Mapping[str, Any]) -> Any:
        reply = said(block(MEND), request["model"])
        return usage(reply, 500, 500)

    with odd_server(LISTED, floods) as server:
        plan = benchmark(box_home, shell_at(server.url), rollouts=1, token_limit=3_000)
        outcome = start(plan, settings(box_home, **KEY))
    ((row, record),) = kept_of(box_home, result_of(outcome).run.id)
    assert row.outcome is Outcome.CORRECT
    assert record is not None
    assert record.ended == "limit"
    assert "of 3,000 tokens were used" in record.limits_met[0]


def test_an_agents_simulator_is_started_for_the_run(box_home: Path) -> None:
    agent = described("shell", {}, "simulator/sim")[0]
    limits = TrialLimits(max_calls=2)
    plan = benchmark(box_home, agent, rollouts=1, limits=limits)
    outcome = start(plan, settings(box_home))
    ((_, record),) = kept_of(box_home, result_of(outcome).run.id)
    assert record is not None
    assert record.calls == 2


def test_a_task_without_a_solution_is_refused_to_the_reference_agent(box_home: Path) -> None:
    plan = benchmark(box_home, described("reference", {})[0], rollouts=1)
    with pytest.raises(ConfigError, match=r"agent reference: no reference patch .* in mend-the-sum"):
        start(plan, settings(box_home))
