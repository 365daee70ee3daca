"""Files of requests as data sets: kept by content, shared, dropped, read otherwise, and in the documented tables."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from opened import over
from proctor.errors import BadLines, ConfigError, Conflict, DataMissing, DiskFull, NotFound
from proctor.plan.build import AS_WRITTEN
from proctor.references import BatchRef
from proctor.service.context import Context
from proctor.service.datasets import kept, requests
from proctor.service.datasets.arriving import Arrived, copied
from proctor.service.datasets.reading import Reading
from proctor.service.datasets.requests import Requests, RequestsWish
from proctor.service.kinds.batches import path_of
from proctor.service.opening.needs import bring
from proctor.settings import read_settings
from proctor.store import Store
from proctor.store.admin.access import add_project
from proctor.store.datasets import shelf
from proctor.store.queue.entries import Ticket, submit
from proctor.store.shared.opening import shared_of
from proctor.types import Cell, Model, Plan, Run
from request_files import line, lines

AS_IT_COMES = RequestsWish()


@pytest.fixture
def context(store: Store, tmp_path: Path) -> Context:
    return over(store, read_settings({"PROCTOR_HOME": str(tmp_path / "home"), "PROCTOR_DISK_FREE_MB": "1"}))


@contextmanager
def came(context: Context, body: bytes, name: str) -> Iterator[Arrived]:
    path = context.settings.home.parent / name
    path.write_bytes(body)
    with copied(path, context.settings) as arrived:
        yield arrived


def uploaded(
    context: Context, body: bytes, name: str = "batch.jsonl", wish: RequestsWish = AS_IT_COMES
) -> Requests:
    with came(context, body, name) as arrived:
        return requests.keep(context, arrived, wish)


def on_disk(context: Context) -> list[str]:
    return sorted(path.name for path in shelf.folder(context.settings).iterdir() if path.name != shelf.LOCK)


def queued(context: Context, ref: BatchRef) -> Run:
    plan = Plan((Cell(Model("simulator", "sim"), ref, AS_WRITTEN),))
    return submit(context.store, plan, Ticket("ann"), most_queued=10, now=1.0)


@pytest.mark.promise("B-03")
def test_a_file_lies_under_data_datasets_by_the_hash_of_its_bytes_for_its_owner_alone(
    context: Context,
) -> None:
    body = lines(5)
    made = uploaded(context, body)
    path = context.settings.home / "data" / "datasets" / made.content
    assert path.read_bytes() == body and path == path_of(made.ref, context.settings)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert on_disk(context) == [made.content], "nothing else was left beside it"
    assert (made.name, made.count, made.bytes) == ("batch.jsonl", 5, len(body))


def test_the_same_content_is_the_data_set_that_is_there_unless_it_is_given_another_name(
    context: Context,
) -> None:
    first = uploaded(context, lines(3))
    again = uploaded(context, lines(3), "copy.jsonl")
    assert (again.id, again.made, first.made) == (first.id, False, True)
    other = uploaded(context, lines(3), wish=RequestsWish("second"))
    assert (other.content, other.made) == (first.content, True) and other.id != first.id
    requests.remove(context, first.id)
    assert on_disk(context) == [first.content], "the other data set has it still"
    requests.remove(context, other.id)
    assert on_disk(context) == []


def test_another_file_of_the_same_name_gets_a_number_and_a_name_that_was_chosen_is_refused(
    context: Context,
) -> None:
    uploaded(context, lines(1))
    assert uploaded(context, lines(2)).name == "batch (2).jsonl"
    with pytest.raises(Conflict, match="There is a data set"):
        uploaded(context, lines(3), wish=RequestsWish("batch.jsonl"))
    assert len(on_disk(context)) == 2


@pytest.mark.parametrize(
    ("body", "faults"),
    [
        (
            lines(2) + b"not json\n" + line("request-0"),
            [(3, "invalid_json_line"), (4, "duplicate_custom_id")],
        ),
        (b'{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions"}\n', [(1, "missing")]),
        (b"", [(None, "empty_file")]),
        (lines(1) + b'{"custom_id": "\xff"}\n', [(2, "invalid")]),
    ],
)
def test_each_line_that_cannot_be_sent_is_named_and_nothing_is_kept(
    context: Context, body: bytes, faults: Sequence[tuple[int | None, str]]
) -> None:
    with pytest.raises(BadLines) as refused:
        uploaded(context, body)
    told = [(each["line"], each["code"]) for each in refused.value.faults]
    assert [line for line, _ in told] == [line for line, _ in faults]
    assert all(code.startswith(known) for (_, code), (_, known) in zip(told, faults, strict=True)), told
    assert on_disk(context) == [] and requests.listed(context) == ([], 0)


def test_leniently_bad_lines_are_left_out_and_told_but_one_must_be_left(context: Context) -> None:
    body = line("a", "one") + b"nothing\n" + line("a", "again") + line("b", "two")
    made = uploaded(context, body, wish=RequestsWish(reading=Reading(lenient=True)))
    assert (made.count, made.found.bad, made.ref.lenient) == (2, 2, True)
    assert [(row.line, row.prompt) for row in requests.rows_of(context, made)] == [(1, "one"), (4, "two")]
    assert b"".join(requests.content_of(context, made)()) == body, "the bytes stay as they came"
    with pytest.raises(BadLines):
        uploaded(context, b"nothing\n", wish=RequestsWish(reading=Reading(lenient=True)))


def test_rows_are_paged_and_the_fields_of_bodies_are_told(context: Context) -> None:
    made = uploaded(context, lines(30))
    page = requests.rows_of(context, made, offset=28, limit=5)
    assert [(row.line, row.custom_id) for row in page] == [(29, "request-28"), (30, "request-29")]
    assert [(field.name, field.types, field.bodies) for field in made.found.schema] == [
        ("model", ("string",), 30),
        ("messages", ("array",), 30),
    ]


def test_a_table_becomes_requests_by_its_columns_and_a_template_which_can_be_changed(
    context: Context,
) -> None:
    table = b"Nr;Satz\n1;Guten Tag\n2;Bis bald\n"
    wish = RequestsWish(reading=Reading(columns=("custom_id=Nr",), template="Translate: {Satz}"))
    made = uploaded(context, table, "saetze.csv", wish)
    assert (made.found.format, made.count) == ("CSV with semicolons", 2)
    assert [row.prompt for row in made.found.first] == ["Translate: Guten Tag", "Translate: Bis bald"]
    otherwise = replace(wish.reading, template="In French: {Satz}")
    changed = requests.change(context, made.id, reading=otherwise)
    assert (
        changed.found.first[0].prompt == "In French: Guten Tag"
        and changed.ref.template == "In French: {Satz}"
    )
    with pytest.raises((ConfigError, BadLines), match="Satze"):
        requests.change(context, made.id, reading=replace(otherwise, template="{Satze}"))
    assert requests.one(context, made.id).reading == otherwise


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "..\\..\\boot.ini", "$(rm -rf ~).jsonl", "<script>.jsonl"]
)
def test_a_file_name_is_data_and_no_path(context: Context, name: str, tmp_path: Path) -> None:
    with came(context, lines(1), "plain.jsonl") as arrived:
        made = requests.keep(
            context, replace(arrived, filename=name.replace("\\", "/").split("/")[-1]), RequestsWish()
        )
    assert on_disk(context) == [made.content] and "/" not in made.name and "\\" not in made.name


@pytest.mark.promise("B-05")
def test_a_data_set_that_runs_use_is_not_deleted_and_they_are_named(context: Context) -> None:
    made = uploaded(context, lines(2))
    run = queued(context, requests.batch_ref(context, made.name))
    with pytest.raises(Conflict, match=run.id):
        requests.remove(context, made.id)
    assert on_disk(context) == [made.content]
    with context.store.writing() as connection:
        connection.execute(text("UPDATE run SET status = 'completed'"))
    requests.remove(context, made.id)
    assert on_disk(context) == []
    with pytest.raises(NotFound, match="their data set was deleted"):
        bring(context, [run.cell.source])


def test_a_run_keeps_the_reading_it_was_submitted_with_and_follows_a_new_name(context: Context) -> None:
    made = uploaded(context, lines(2))
    run = queued(context, made.ref)
    requests.change(context, made.id, name="of May", reading=Reading(endpoint="/v1/chat/completions"))
    cell = context.store.run(run.id).cell
    assert isinstance(cell.source, BatchRef) and (cell.source.name, cell.source.endpoint) == ("of May", None)
    found = requests.of_ref(context, cell.source, 1)
    assert found is not None and found.id == made.id


def test_a_worker_without_the_file_says_where_it_is(context: Context) -> None:
    made = uploaded(context, lines(2))
    bring(context, [made.ref])
    elsewhere = replace(context.settings, home=context.settings.home.parent / "elsewhere")
    shared = shared_of(context.settings, context.store)
    if shared is not None:  # PostgreSQL has files that are not large; of a larger one it would not
        shared.drop(shelf.shared_name(made.content))
    with pytest.raises(DataMissing, match="on the disk of the server that took them"):
        bring(replace(context, settings=elsewhere), [made.ref])
    with pytest.raises(DataMissing, match="upload the file again here"):
        requests.batch_ref(replace(context, settings=elsewhere), made.name)


def test_a_name_means_requests_or_questions_and_neither_is_taken_for_the_other(context: Context) -> None:
    made = uploaded(context, lines(2), wish=RequestsWish("letters"))
    assert requests.batch_ref(context, made.id) == requests.batch_ref(context, "letters") == made.ref
    with pytest.raises(ConfigError, match="holds requests"):
        kept.ref_named(context, "letters")
    with pytest.raises(NotFound, match="holds requests"):
        kept.one(context, made.id)
    assert kept.listed(context) == []
    with pytest.raises(NotFound):
        requests.batch_ref(context, "nothing")
    with pytest.raises(ConfigError, match="of project 1"):
        requests.batch_ref(context, "letters", add_project(context.store, "other", now=1.0).id)


def test_what_a_killed_upload_left_is_swept_with_the_next_and_one_under_way_is_not(context: Context) -> None:
    program = (
        "import os, sys\nfrom pathlib import Path\nfrom proctor.settings import read_settings\n"
        "from proctor.store.datasets import shelf\n"
        "with shelf.arriving(read_settings({'PROCTOR_HOME': sys.argv[1]})) as room:\n"
        "    room.write(b'half of it')\n    room.settle()\n    os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(context.settings.home)], timeout=30, check=False
    )
    assert done.returncode == -9 and len(on_disk(context)) == 1
    with shelf.arriving(context.settings) as under_way:
        under_way.write(b"slowly")
        made = uploaded(context, lines(1))
        assert on_disk(context) == sorted([under_way.path.name, made.content])
    assert on_disk(context) == [made.content]


def test_a_full_disk_is_told_and_leaves_nothing(context: Context) -> None:
    with (
        Path("/dev/full").open("wb", buffering=0) as full,
        pytest.raises(DiskFull, match="No room is left"),
        shelf.arriving(context.settings) as room,
    ):
        replace(room, file=full).write(b"x" * 100)
    assert on_disk(context) == []
    free = os.statvfs(context.settings.home)
    with pytest.raises(DiskFull, match="must stay free"):
        shelf.check_room(context.settings, free.f_bavail * free.f_frsize + 1)


DOCUMENTED = {
    "datasets": "id name file_path count uploaded_at created_at",
    "benchmarks": "id model_id dataset_id status progress completed total throughput eta_seconds started_at "
    "completed_at total_time_seconds results_file metadata_file created_at",
}


def row_of(store: Store, view: str) -> dict[str, Any]:
    with store.reading() as connection:
        return dict(connection.execute(text(f"SELECT * FROM {view}")).mappings().one())


@pytest.mark.promise("B-09")
def test_the_documented_tables_have_the_documented_columns(context: Context) -> None:
    with context.store.reading() as connection:
        seen = inspect(connection)
        for view, columns in DOCUMENTED.items():
            assert " ".join(column["name"] for column in seen.get_columns(view)) == columns
        assert "model_registry" in seen.get_table_names()
    made = uploaded(context, lines(4))
    kept_row = row_of(context.store, "datasets")
    assert kept_row["id"] == made.id and kept_row["count"] == 4
    assert kept_row["file_path"] == f"data/datasets/{made.content}"
    assert str(kept_row["uploaded_at"])[:2] == "20"


@pytest.mark.promise("B-09")
def test_a_benchmark_is_a_batch_of_the_run_table_with_its_model_and_its_data_set(context: Context) -> None:
    made = uploaded(context, lines(4))
    run = queued(context, made.ref)
    row = row_of(context.store, "benchmarks")
    assert (row["id"], row["dataset_id"], row["status"]) == (f"bm_{run.id}", made.id, "pending")
    assert (row["model_id"], row["progress"], row["throughput"]) == ("simulator/sim", 0, 0)
    summary = json.dumps({"profile": {"output_tokens": 600}})
    values = (
        "status='completed', planned=4, settled=3, started_at=1.0, finished_at=31.0, elapsed_s=30, summary=:s"
    )
    with context.store.writing() as connection:
        connection.execute(text(f"UPDATE run SET {values}"), {"s": summary})
    row = row_of(context.store, "benchmarks")
    assert (row["progress"], row["completed"], row["total"], row["throughput"]) == (75, 3, 4, 20.0)
    assert (row["total_time_seconds"], row["eta_seconds"]) == (30, 0)
    assert str(row["completed_at"])[:19].replace("T", " ") == "1970-01-01 00:00:31"
    requests.remove(context, made.id)
    assert row_of(context.store, "benchmarks")["dataset_id"] == made.content
