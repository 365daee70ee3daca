"""What a server refuses of single lines is theirs alone; a run still ends where no line can be answered."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from opened import start
from proctor.engine.retry import Retry
from proctor.errors import AuthError, ErrorBudget, ModelNotFound, NetworkError
from proctor.references import BatchRef
from proctor.service.context import open_context
from proctor.service.results.outcome import PlanOutcome
from proctor.settings import Settings
from proctor.store.read import said
from proctor.types import Cell, Limits, Model, Plan, Run, Sampling, Status
from scripted import Said, scripted
from simulators import nearby, settings

FREE = Sampling(temperature=None, max_tokens=None, context_tokens=None, seed=None)
QUICK = Retry(first_s=0.001)
BAD, GOOD = "forbidden words", "Is it A or B?"


def file_of(folder: Path, *prompts: str) -> str:
    path = folder / "requests.jsonl"
    lines = [
        {
            "custom_id": f"r{n}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"messages": [{"role": "user", "content": prompt}]},
        }
        for n, prompt in enumerate(prompts)
    ]
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return str(path)


def ran(known: Settings, file: str, model: Model, parallel: int = 4) -> PlanOutcome:
    limits = Limits(parallel=parallel, wait_for_server_s=0.0)
    outcome: PlanOutcome = start(Plan((Cell(model, BatchRef(file), FREE, limits),)), known, retry=QUICK)
    return outcome


def run_of(outcome: PlanOutcome) -> Run:
    assert outcome.evaluation is not None
    return outcome.evaluation.results[0].run


@pytest.mark.promise("B-11")
def test_many_refused_lines_do_not_end_a_batch(tmp_path: Path) -> None:
    known = settings(tmp_path)
    file = file_of(tmp_path, *[BAD] * 120, *[GOOD] * 5)
    with nearby({}, "--decline", BAD) as url:
        outcome = ran(known, file, Model("openai", "sim", f"{url}/v1"))
    run = run_of(outcome)
    assert (run.status, run.settled, run.planned) == (Status.COMPLETED, 5, 125)
    with open_context(known) as context:
        rows = {row.item_id: row for row, _ in said.in_order(context.store, run.id)}
    assert {rows[f"r{n}"].error_slug for n in range(120)} == {"bad-request"}
    assert {rows[f"r{n}"].status for n in range(120)} == {400}


def test_a_server_that_goes_away_in_the_middle_still_ends_it(tmp_path: Path) -> None:
    answered = 0

    def answer(_path: str, _body: bytes) -> Said:
        nonlocal answered
        answered += 1
        if answered <= 30:  # refused, which does not count
            return Said([b'{"error": {"message": "not this"}}'], status=400, gap_s=0.0)
        return Said([b'{"error": {"message": "gone"}}'], status=501, gap_s=0.0)

    with scripted(answer) as server:
        outcome = ran(
            settings(tmp_path), file_of(tmp_path, *[GOOD] * 400), Model("openai", "m", server.url), 1
        )
    assert isinstance(outcome.error, ErrorBudget | NetworkError)
    assert run_of(outcome).status is Status.FAILED
    assert answered < 400


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (401, "wrong key", AuthError),
        (403, "not yours", AuthError),
        (404, "The model 'm' does not exist", ModelNotFound),
    ],
)
def test_a_wrong_key_or_model_ends_it_at_once(
    status: int, words: str, kind: type[Exception], tmp_path: Path
) -> None:
    refusal = Said([orjson.dumps({"error": {"message": words}})], status=status, gap_s=0.0)
    with scripted(lambda _path, _body: refusal) as server:
        outcome = ran(
            settings(tmp_path), file_of(tmp_path, *[GOOD] * 50), Model("openai", "m", server.url), 1
        )
    assert isinstance(outcome.error, kind)
    assert len(server.bodies) == 1


def test_an_endpoint_that_is_not_there_ends_it_after_a_while(tmp_path: Path) -> None:
    nothing = Said([b'{"detail": "Not Found"}'], status=404, gap_s=0.0)
    with scripted(lambda _path, _body: nothing) as server:
        outcome = ran(
            settings(tmp_path), file_of(tmp_path, *[GOOD] * 100), Model("openai", "m", server.url), 1
        )
    assert isinstance(outcome.error, ErrorBudget)
    assert "answered 404" in str(outcome.error)
    assert len(server.bodies) == 20


def test_a_server_that_asks_to_slow_down_is_waited_for(tmp_path: Path) -> None:
    file = file_of(tmp_path, *[f"{GOOD} {n}" for n in range(40)])
    with nearby({}, "--rate-limit-rate", "0.3", "--retry-after", "0.01") as url:
        outcome = ran(settings(tmp_path), file, Model("openai", "sim", f"{url}/v1"))
    assert run_of(outcome).settled == 40


def test_a_batch_claims_no_setting_that_was_not_sent(tmp_path: Path) -> None:
    with nearby({}) as url:
        outcome = ran(settings(tmp_path), file_of(tmp_path, GOOD), Model("openai", "sim", f"{url}/v1"))
    manifest = run_of(outcome).manifest
    assert manifest.not_sent == ()
    assert not any(manifest.sampling.sent(name) for name in ("temperature", "max_tokens", "seed", "mode"))
