"""Rows and keys on several machines: two homes on one PostgreSQL; runs are left to workers that can do them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from jobs_world import World, with_rows
from proctor.errors import SharedError
from proctor.jobs.worker import Worker
from proctor.references import BatchRef, ExamRef, RolloutsRef, TaskEntry
from proctor.service.context import Context
from proctor.service.data.transfer import share_imported
from proctor.service.datasets import requests
from proctor.service.datasets.arriving import copied
from proctor.service.datasets.requests import Requests, RequestsWish
from proctor.service.opening import needs
from proctor.service.opening.sources import open_source
from proctor.service.runs import fleet
from proctor.service.watch import job_states
from proctor.settings import read_settings
from proctor.sources.exams.official.imports import Imported, ImportReport
from proctor.sources.exams.rows.normal_form import Row, read_rows, write_rows
from proctor.store.datasets import shelf
from proctor.store.queue import taking, workers
from proctor.types import Cell, Limits, Model, Run, Status
from request_files import lines

pytestmark = pytest.mark.slow

GEMINI = Cell(Model("gemini", "gemini-2.5-flash"), ExamRef("suite", "glue", rows="sample", limit=1))


class Machine(World):
    """One home; `worker` refuses what this machine lacks, as `proctor worker` does."""

    def worker_with(self, *, lease_s: float = 60.0, **variables: str) -> Worker:
        made = super().worker_with(lease_s=lease_s, **variables)
        context = Context(made.settings, self.store)
        return replace(made, lacking=lambda run: needs.lacking(context, run))

    def would_take(self, worker: Worker) -> str | None:
        may_take = worker.refusals.may_take
        found = taking.take_next(
            self.store, owner="it", now=time.time(), lease_s=60.0, most_running=9, may_take=may_take
        )
        return found and found.id

    def upload(self, name: str, body: bytes) -> Requests:
        path = self.home / name
        path.write_bytes(body)
        with copied(path, self.settings) as arrived:
            return requests.keep(self.context, arrived, RequestsWish())

    def import_rows(self, answer: str, *, at: float = 1000.0, share: bool = True) -> None:
        """Rows of boolq whose every answer is this one."""
        rows = [
            Row(f"boolq/{n}", "boolq", answer, {"passage": "It is so.", "question": f"is it {n}"})
            for n in range(4)
        ]
        write_rows(self.home, "boolq", "eval", rows, source=["made here"], now=at)
        if share:
            share_imported(
                self.context, ImportReport((Imported("boolq", "eval", 4, "made here"),), (), (), ())
            )


def machine(folder: Path, url: str) -> Machine:
    folder.mkdir()
    return Machine(folder / "home", url)


@pytest.fixture
def homes(tmp_path: Path, postgres_url: str) -> Iterator[tuple[Machine, Machine]]:
    one = machine(tmp_path / "one", postgres_url)
    try:
        other = machine(tmp_path / "other", postgres_url)
        yield one, other
        other.close()
    finally:
        one.close()


def suite(rows: str | None = None) -> Cell:
    return Cell(
        Model("ollama", "sim"),
        ExamRef("suite", "superglue", tasks=("boolq",), rows=rows),  # type: ignore[arg-type]  # a word of Rows
        limits=Limits(parallel=4),
    )


@pytest.mark.promise("G-28")
def test_a_worker_without_the_key_leaves_the_run_says_so_and_another_takes_it(
    homes: tuple[Machine, Machine],
) -> None:
    here, there = homes
    run = here.submit_cell(GEMINI)
    without, with_key = here.worker(), there.worker_with(GEMINI_API_KEY="never-to-be-told")
    without.step(time.time())
    assert here.run(run).status is Status.PENDING and not without.children
    told = f"no worker can take it: {without.name} lacks GOOGLE_API_KEY or GEMINI_API_KEY"
    assert job_states.state_of(here.context, run.id).step == told
    assert fleet.nobody_can_any(here.context, [run.id, "another"]) == {run.id: told}
    with_key._beat(time.time())  # as its first step does before it takes
    assert job_states.state_of(here.context, run.id).step == "waiting for a worker"
    assert here.would_take(without) is None
    assert there.would_take(with_key) == run.id
    with here.store.reading() as connection:
        said = "".join(connection.execute(text("SELECT said FROM worker")).scalars())
    assert "GEMINI_API_KEY" in said and "never-to-be-told" not in said


def test_a_key_is_not_missed_where_the_server_is_ones_own(homes: tuple[Machine, Machine]) -> None:
    here, _ = homes
    own = replace(GEMINI, model=replace(GEMINI.model, base_url="http://127.0.0.1:9"))
    run = here.submit_cell(own)
    assert here.would_take(here.worker()) == run.id


def test_imported_rows_reach_another_home_and_the_newest_import_counts(
    homes: tuple[Machine, Machine],
) -> None:
    here, there = homes
    waits = there.submit_cell(suite("imported"))
    assert needs.lacking(there.context, waits) == "the rows of superglue: `proctor data import PATH`"
    here.import_rows("yes")
    assert needs.lacking(there.context, waits) is None
    for answer, at in (("yes", 1000.0), ("no", 2000.0)):
        here.import_rows(answer, at=at)
        needs.bring(there.context, [waits.cell.source])
        found = read_rows("boolq", "imported", there.home)
        assert {row.target for row in found.rows} == {answer} and found.manifest is not None
        assert found.manifest.source == ("made here",)
    there.import_rows("yes", at=1500.0)  # older than what is shared: it goes nowhere, and gives way
    needs.bring(there.context, [waits.cell.source])
    assert {row.target for row in read_rows("boolq", "imported", there.home).rows} == {"no"}


def test_what_a_server_has_of_a_suite_is_what_its_run_asks_anywhere(homes: tuple[Machine, Machine]) -> None:
    here, there = homes
    here.import_rows("yes", share=False)
    run = here.submit_cell(suite())
    assert isinstance(run.cell.source, ExamRef) and run.cell.source.rows == "imported"
    needs.bring(there.context, [run.cell.source])
    assert len(open_source(run.cell.source, there.settings)) == 4


def batch(here: Machine, of: Requests) -> Run:
    return here.submit_cell(Cell(Model("ollama", "sim"), of.ref, limits=Limits(parallel=4)))


def test_requests_uploaded_on_one_machine_run_on_another_and_go_with_their_data_set(
    homes: tuple[Machine, Machine],
) -> None:
    here, there = homes
    kept = here.upload("asked.jsonl", lines(30))
    run = batch(here, kept)
    assert not shelf.here(there.settings, kept.content)
    assert needs.lacking(there.context, run) is None
    there.simulate()
    worker = there.worker()
    while not there.ended(run):
        worker.step(time.time())
        time.sleep(0.02)
    done = here.run(run)
    assert (done.status, done.settled) == (Status.COMPLETED, 30), there.log(run)
    copy = shelf.here(there.settings, kept.content)
    assert copy is not None and copy.read_bytes() == lines(30) and "cache" in copy.parts
    worker._beat(time.time())
    assert job_states.log_tail(here.context, run.id) is None
    assert job_states.log_elsewhere(here.context, run.id) == worker.name
    requests.remove(here.context, kept.id)
    shelf.drop_copies(there.store, there.settings)
    assert not shelf.here(there.settings, kept.content) and not shelf.here(here.settings, kept.content)
    with here.store.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM dataset_chunk")).scalar_one() == 0


def test_what_lies_on_one_machine_alone_is_named(homes: tuple[Machine, Machine], tmp_path: Path) -> None:
    here, there = homes
    (here.home / "asked.jsonl").write_bytes(lines(1))
    file = here.submit_cell(Cell(Model("ollama", "sim"), BatchRef(str(here.home / "asked.jsonl"))))
    assert needs.lacking(there.context, file) is None  # both homes are of this machine
    (here.home / "asked.jsonl").unlink()
    assert "asked.jsonl (upload it" in (needs.lacking(there.context, file) or "")
    tasks = RolloutsRef("bench", tasks=(TaskEntry(str(tmp_path / "gone")),), sandbox="local")
    trial = replace(file, cell=Cell(Model("baseline", "majority"), tasks))
    assert "gone" in (needs.lacking(there.context, trial) or "")
    away = with_rows(file.cell, content="0" * 64, name="asked")
    assert (
        needs.lacking(there.context, replace(file, cell=away))
        == "the requests of asked (larger than 100 MB, they need PROCTOR_SHARED)"
    )


def test_a_folder_that_is_not_mounted_is_named_and_shared_by_it_when_it_is(
    homes: tuple[Machine, Machine], tmp_path: Path
) -> None:
    here, there = homes
    for each in homes:
        each.set(PROCTOR_SHARED=str(tmp_path / "mounted"))
    kept = here.upload("asked.jsonl", lines(3))  # is taken, and stays this machine's own for now
    run = batch(here, kept)
    lacks = needs.lacking(there.context, run)
    assert lacks is not None and "mounted is not there (PROCTOR_SHARED)" in lacks
    (tmp_path / "mounted").mkdir()
    batch(here, kept)
    assert needs.lacking(there.context, run) is None
    needs.bring(there.context, [run.cell.source])
    assert shelf.here(there.settings, kept.content)
    (tmp_path / "mounted" / "requests" / kept.content).write_bytes(b"another file")
    shelf.copy_place(there.settings, kept.content).unlink()
    with pytest.raises(SharedError, match="is another file"):
        needs.bring(there.context, [run.cell.source])
    assert not shelf.here(there.settings, kept.content)
    assert not list((there.home / "data" / "datasets").glob(".arriving-*"))


def test_a_worker_whose_sign_cannot_be_kept_goes_on(homes: tuple[Machine, Machine]) -> None:
    here, _ = homes
    with here.store.writing() as connection:
        connection.execute(text("ALTER TABLE worker RENAME TO put_aside"))
    here.worker().step(time.time())
    workers.tidy(here.store, now=time.time())


def test_one_machine_with_a_database_of_its_own_shares_nothing_and_refuses_nothing(tmp_path: Path) -> None:
    settings = read_settings({"PROCTOR_HOME": str(tmp_path)})
    assert not settings.several_machines


def test_a_worker_that_ends_with_the_queue_does_not_wait_for_what_it_leaves_to_others(
    homes: tuple[Machine, Machine],
) -> None:
    here, _ = homes
    run = here.submit_cell(GEMINI)
    here.worker().work(once=True)
    assert here.run(run).status is Status.PENDING and not workers.lately(here.store, now=time.time())
