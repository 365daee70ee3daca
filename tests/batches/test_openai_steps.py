"""Batches of OpenAI's API step by step: whoever is killed in between, each step is taken once, and none is lost."""

from __future__ import annotations

import json
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import update

from proctor.errors import Conflict, NotFound
from proctor.references import BatchRef
from proctor.service.admin import access, prune
from proctor.service.batches.openai import batches as openai_batches
from proctor.service.batches.openai import files as openai_files
from proctor.service.batches.openai import steps as openai_steps
from proctor.service.batches.openai.batches import BatchState, NewBatch
from proctor.service.batches.openai.files import FileFilter, NewFile
from proctor.service.batches.openai.models import ModelList
from proctor.service.context import Context
from proctor.service.datasets.arriving import copied
from proctor.service.runs import queue
from proctor.settings import read_settings
from proctor.store import Store
from proctor.store.batches import entries
from proctor.store.core.batch_tables import BATCH, BATCH_FILE
from proctor.store.core.walls import Reach
from proctor.store.datasets import shelf
from proctor.types import Status
from simulators import nearby

CHAT = "/v1/chat/completions"


@pytest.fixture
def context(store: Store, tmp_path: Path) -> Context:
    environ = {"PROCTOR_HOME": str(tmp_path / "home"), "PROCTOR_MOST_QUEUED": "1"}
    return Context(read_settings({**environ, "OLLAMA_HOST": "127.0.0.1:9"}), store)


def upload(context: Context, folder: Path, n: int = 3) -> str:
    path = folder / "requests.jsonl"
    body = {"model": "simulator/sim", "messages": [{"role": "user", "content": "hello"}]}
    lines = ({"custom_id": f"r{k}", "method": "POST", "url": CHAT, "body": body} for k in range(n))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with copied(path, context.settings) as arrived:
        return openai_files.keep(context, 1, arrived, NewFile("batch"), user="ann").id


def begun(context: Context, folder: Path) -> BatchState:
    new = NewBatch(upload(context, folder), CHAT, "24h")
    return openai_batches.create(context, 1, new, user="ann")


def test_a_batch_that_a_killed_server_left_unchecked_becomes_one_run(
    context: Context, tmp_path: Path
) -> None:
    batch = begun(context, tmp_path)
    assert batch.status == "validating"
    unseen = entries.one(context.store, batch.row.id)
    assert openai_steps.look(context)
    found = openai_batches.one(context, batch.row.id)
    assert (found.status, found.row.model, found.row.total) == ("in_progress", "simulator/sim", 3)
    # Another server that had read the row before tries the same, and nothing comes of it.
    openai_steps.forward(context, unseen, now=time.time())
    assert sum(queue.standing(context).waiting.values()) == 1
    (run,) = entries.runs(context.store, [found.row.run_num or 0]).values()
    assert isinstance(run.cell.source, BatchRef) and run.cell.source.content
    assert run.cell.limits.timeout_s == pytest.approx(86_400, abs=60), (
        "it has its window, not the time of a job"
    )


def test_a_batch_for_which_the_queue_has_no_room_waits_and_goes_on(context: Context, tmp_path: Path) -> None:
    first, second = begun(context, tmp_path), None
    openai_steps.look(context)
    second = begun(context, tmp_path)
    openai_steps.look(context)
    assert openai_batches.one(context, second.row.id).status == "validating"
    openai_batches.cancel(context, first.row.id)
    openai_steps.look(context)
    assert openai_batches.one(context, first.row.id).status == "cancelled"
    openai_steps.look(context)
    assert openai_batches.one(context, second.row.id).status == "in_progress"


def test_a_batch_that_is_cancelled_before_it_was_checked_never_becomes_a_run(
    context: Context, tmp_path: Path
) -> None:
    batch = begun(context, tmp_path)
    assert openai_batches.cancel(context, batch.row.id).status == "cancelling"
    assert openai_batches.cancel(context, batch.row.id).status == "cancelling", "once more does no harm"
    assert openai_steps.look(context) and not openai_steps.look(context)
    found = openai_batches.one(context, batch.row.id)
    assert (found.status, found.row.run_num) == ("cancelled", None)
    with pytest.raises(Conflict):
        openai_batches.cancel(context, batch.row.id)


def test_a_window_that_ends_before_anything_was_asked_leaves_a_file_of_errors_alone(
    context: Context, tmp_path: Path
) -> None:
    batch = begun(context, tmp_path)
    openai_steps.look(context)
    with context.store.writing() as connection:
        connection.execute(update(BATCH).values(expires_at=time.time() - 1))
    openai_steps.look(context)
    openai_steps.look(context)
    found = openai_batches.one(context, batch.row.id)
    assert (found.status, found.row.output_file_id) == ("expired", None)
    errors = openai_files.one(context, found.row.error_file_id or "")
    lines = [json.loads(line) for line in openai_files.written(context, errors)]
    assert [(each["custom_id"], each["error"]["code"]) for each in lines] == [
        (f"r{n}", "batch_expired") for n in range(3)
    ]
    assert (found.row.total, found.completed, found.failed) == (3, 0, 0)
    # The requests that were not sent are read off the file, which so outlives its own row.
    openai_files.remove(context, found.row.input_file_id)
    assert len(list(openai_files.written(context, errors))) == 3
    openai_files.remove(context, errors.id)
    assert not any(
        path.is_file() and path.name[0] != "." for path in shelf.folder(context.settings).iterdir()
    )


def test_a_file_is_not_deleted_while_a_batch_reads_it(context: Context, tmp_path: Path) -> None:
    batch = begun(context, tmp_path)
    with pytest.raises(Conflict, match=batch.row.id):
        openai_files.remove(context, batch.row.input_file_id)
    assert openai_files.one(context, batch.row.input_file_id)


def test_a_run_that_is_deleted_takes_its_files_with_it_and_its_batch_still_tells_how_it_ended(
    context: Context, tmp_path: Path
) -> None:
    batch = begun(context, tmp_path)
    openai_steps.look(context)
    openai_batches.cancel(context, batch.row.id)
    openai_steps.look(context)
    row = openai_batches.one(context, batch.row.id).row
    assert row.error_file_id is not None
    (run,) = entries.runs(context.store, [row.run_num or 0]).values()
    assert run.status is Status.CANCELLED
    prune.delete(context, run.id)
    found = openai_batches.one(context, batch.row.id)
    assert (found.status, found.row.run_num, found.row.error_file_id) == ("cancelled", None, None)
    with pytest.raises(NotFound):
        openai_files.one(context, row.error_file_id)


def test_files_whose_time_is_over_are_gone_and_swept_away(context: Context, tmp_path: Path) -> None:
    ident = upload(context, tmp_path)
    with context.store.writing() as connection:
        connection.execute(update(BATCH_FILE).values(expires_at=time.time() - 1))
    with pytest.raises(NotFound):
        openai_files.one(context, ident)
    assert openai_files.listed(context, FileFilter()) == ([], False)
    openai_files.sweep(context, now=time.time())
    assert not any(
        path.is_file() and path.name[0] != "." for path in shelf.folder(context.settings).iterdir()
    )


def test_whoever_reaches_another_project_sees_no_file_and_no_batch(context: Context, tmp_path: Path) -> None:
    batch = begun(context, tmp_path)
    access.create_project(context, "other", by="ann")
    stranger = context.within(Reach(frozenset({2})))
    for look in (openai_batches.one, openai_batches.cancel):
        with pytest.raises(NotFound):
            look(stranger, batch.row.id)
    for look_at in (openai_files.one, openai_files.remove):
        with pytest.raises(NotFound):
            look_at(stranger, batch.row.input_file_id)
    own = context.within(Reach(frozenset({1})))
    assert openai_batches.one(own, batch.row.id).status == "validating"
    openai_steps.look(context)
    assert begun(own, tmp_path).status == "validating"


@pytest.mark.slow
def test_providers_that_are_away_cost_the_list_of_models_a_moment_in_all(tmp_path: Path) -> None:
    """Two that take a connection and never answer are asked beside one that does, and none a second time at once."""
    with ExitStack() as ending:
        silent = [ending.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        one, two = (f"http://127.0.0.1:{each.getsockname()[1]}" for each in silent)
        there = ending.enter_context(nearby([]))
        environ = {"PROCTOR_HOME": str(tmp_path), "OPENAI_BASE_URL": f"{there}/v1", "XAI_API_KEY": "k"}
        models = ModelList(read_settings({**environ, "OLLAMA_HOST": one, "XAI_BASE_URL": two}))
        began = time.monotonic()
        listed = {str(each.model) for each in models.now()}
        first_s = time.monotonic() - began
        assert "openai/sim" in listed and not any(
            name.startswith(("baseline/", "replay/")) for name in listed
        )
        assert first_s < 20, "one after the other, as long as each may take, would be a minute"
        assert models.now() is models.now(), "kept for a moment"
