"""Why items of a run failed: told in the server's words, with what mends it, also where there are few items."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from sqlalchemy import select, text, update

from opened import list_runs, look, resume, start
from proctor.cli.finish import exit_code
from proctor.cli.tables import on_resume, result_lines
from proctor.engine.retry import Retry
from proctor.errors import Exit
from proctor.findings import Cause, RunResult
from proctor.references import ExamRef
from proctor.service.opening.simulate import known_answers
from proctor.service.results import advice
from proctor.service.results.outcome import PlanOutcome
from proctor.simulator import Simulated, spawn
from proctor.store import Store
from proctor.store.core.tables import RUN
from proctor.types import Cell, Limits, Model, Plan
from simulators import settings

pytestmark = pytest.mark.slow  # whole runs on simulators

AT_ONCE = Retry(most=0, first_s=0.0)
CONTEXT = "100"


def csv_with_long_rows(path: Path, *, short: int, long: int) -> Path:
    """Questions of which some fit a context of 100 tokens and the others, all of another length, do not."""
    rows = [f"q{i},What is {i} plus {i}?,{2 * i},{2 * i + 1},A" for i in range(short)]
    rows += [f"long{i},What is {i} plus 1{' or so' * (80 + i)}?,{i + 1},{i},A" for i in range(long)]
    path.write_text("\n".join(["id,question,A,B,answer", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    return csv_with_long_rows(tmp_path_factory.mktemp("rows") / "mixed.csv", short=5, long=3)


@pytest.fixture(scope="module")
def server(file, tmp_path_factory) -> Iterator[Simulated]:
    with spawn(
        ["--context", CONTEXT], known_answers(settings(tmp_path_factory.mktemp("home")), [file])
    ) as running:
        yield running


def ran(file: Path, home: Path, *models: Model, **limits: int) -> PlanOutcome:
    cells = (Cell(model, ExamRef("file", str(file)), limits=Limits(**limits)) for model in models)
    return start(Plan(tuple(cells)), settings(home), retry=AT_ONCE)


def openai(server: Simulated, name: str = "sim-perfect") -> Model:
    return Model("openai", name, f"{server.url}/v1")


def only(ended: PlanOutcome) -> RunResult:
    assert ended.evaluation is not None
    (result,) = ended.evaluation.results
    return result


def test_a_partial_run_tells_the_servers_words_and_who_sets_the_context(file, server, tmp_path):
    ended = ran(file, tmp_path, openai(server))
    result = only(ended)
    (cause,) = result.causes
    assert (result.run.status, result.run.settled, cause.slug, cause.items) == (
        "completed",
        5,
        "context-overflow",
        3,
    )
    assert cause.said.startswith(
        "This model's maximum context length is 100 tokens. However, your messages resulted"
    )
    told = "\n".join(result_lines(result))
    assert f'3 of 8 items failed: context-overflow, "{cause.said}" (first mixed/long' in told, told
    assert "The server sets the context" in told and "-c" in told and "--max-model-len" in told
    (line,) = on_resume([result])
    assert (
        line == f"As things are, proctor resume {result.run.id[:8]} would fail again: mend the cause first."
    )
    assert exit_code(ended) is Exit.PART and ended.unfinished == (result.run.id,)
    assert look([result.run.id], settings(tmp_path)).results[0].causes == result.causes
    assert [each.causes for each in list_runs(settings(tmp_path))] == [result.causes]


def test_a_run_in_which_every_item_failed_is_failed_and_the_next_model_is_still_asked(server, tmp_path):
    rows = csv_with_long_rows(tmp_path / "long.csv", short=0, long=4)
    ended = ran(rows, tmp_path, openai(server), Model("baseline", "majority"))
    assert ended.evaluation is not None
    failed_run, other = (result.run for result in ended.evaluation.results)
    assert (failed_run.status, failed_run.error_slug, failed_run.partial) == (
        "failed",
        "context-overflow",
        True,
    )
    assert failed_run.error is not None
    assert failed_run.error.startswith("All 4 items that were asked failed: This model's maximum")
    assert (other.status, other.partial) == ("completed", False)
    assert (
        ended.error is not None
        and ended.error.slug == "context-overflow"
        and "server sets" in ended.error.cure
    )
    assert exit_code(ended) is Exit.PART, "one model was measured"
    again = resume([failed_run.id], settings(tmp_path))
    assert only(again).run.status == "failed" and exit_code(again) is Exit.NOTHING


def test_a_run_that_failed_whole_is_finished_by_resume_once_the_server_has_room(server, tmp_path):
    rows = csv_with_long_rows(tmp_path / "long.csv", short=0, long=4)
    with spawn(["--context", CONTEXT], known_answers(settings(tmp_path), [rows])) as small:
        port = small.url.rpartition(":")[2]
        run = only(ran(rows, tmp_path, openai(small))).run
    with spawn(["--port", port], known_answers(settings(tmp_path), [rows])):
        ended = resume([run.id], settings(tmp_path))
    done = only(ended)
    assert (done.run.status, done.run.error, done.causes) == ("completed", None, ())
    assert exit_code(ended) is Exit.DONE


def test_asking_again_is_offered_for_failures_that_may_pass(file, tmp_path):
    with spawn(["--error-rate", "0.5"], known_answers(settings(tmp_path), [file])) as server:
        result = only(ran(file, tmp_path, openai(server, "sim")))
    assert {cause.slug for cause in result.causes} == {"server-error"} and result.run.settled
    (line,) = on_resume([result])
    assert line == f"To go on: proctor resume {result.run.id[:8]}"
    assert all(cause.said for cause in result.causes), "a count of server errors is never all that is told"


def test_with_ollama_the_context_is_the_users_to_raise(file, server, tmp_path):
    cell = Cell(Model("ollama", "sim-perfect", server.url), ExamRef("file", str(file)))
    cell = replace(cell, sampling=replace(cell.sampling, context_tokens=100))
    result = only(start(Plan((cell,)), settings(tmp_path), retry=AT_ONCE))
    (cause,) = result.causes
    told = advice.advice(cause, result.run)
    assert cause.slug == "context-overflow" and "higher --context-tokens (now 100)" in told, cause
    assert "The server sets" not in told and "would fail again" in told


def test_a_bound_of_the_users_own_is_no_failure(file, tmp_path):
    with spawn(["--latency", "0.2"], known_answers(settings(tmp_path), [file])) as slow:
        ended = ran(file, tmp_path, openai(slow), for_s=0.5, parallel=1)
    run = only(ended).run
    assert run.stopped and 0 < run.settled < run.planned
    assert exit_code(ended) is Exit.DONE


def test_a_run_that_an_older_version_ended_has_its_causes_counted_when_it_is_shown(file, server, tmp_path):
    given = settings(tmp_path)
    result = only(ran(file, tmp_path, openai(server)))
    with closing(Store.open(given.database_url)) as store, store.writing() as connection:
        kept = orjson.loads(connection.execute(select(RUN.c.summary)).scalar_one())
        assert [Cause(**record) for record in kept.pop("causes")] == list(result.causes)
        connection.execute(update(RUN).values(summary=orjson.dumps(kept).decode()))
    assert look([result.run.id], given).results[0].causes == result.causes


def test_kept_causes_are_shown_although_the_messages_are_gone(file, server, tmp_path):
    given = settings(tmp_path)
    result = only(ran(file, tmp_path, openai(server)))
    with closing(Store.open(given.database_url)) as store, store.writing() as connection:
        connection.execute(text("DELETE FROM payload"))
    assert look([result.run.id], given).results[0].causes == result.causes
