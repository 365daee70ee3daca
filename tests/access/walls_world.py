"""Users with a key and a project each, and everything that a project can hold: for tests of the walls."""

from __future__ import annotations

import time
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
from judging_world import judged
from openai_world import files_and_batch
from rollouts_world import NOBODYS as NOBODYS_ROLLOUTS
from rollouts_world import benchmarks
from sqlalchemy import select, update

from opened import over, start
from proctor.plan import cell_to_json
from proctor.plan.build import AS_WRITTEN
from proctor.references import BatchRef, ExamRef
from proctor.service.admin import access
from proctor.service.admin.access import Reach, User
from proctor.service.datasets.arriving import copied
from proctor.service.datasets.kept import Uploaded, Wish, upload
from proctor.service.datasets.requests import RequestsWish, keep
from proctor.service.giving import shares
from proctor.service.results import notes
from proctor.service.runs import queue, schedules
from proctor.service.runs.queue import Ticket
from proctor.service.runs.schedules import NewSchedule
from proctor.settings import Settings
from proctor.store import Store
from proctor.store.core.batch_tables import BATCH, BATCH_FILE, LABEL
from proctor.store.core.share_tables import SHARE
from proctor.store.core.tables import (
    API_KEY,
    ATTEMPT,
    AUDIT,
    DATASET,
    GRADE,
    JOB,
    KEY_PROJECT,
    NOTE,
    PLAN,
    PROJECT,
    PULSE,
    RUN,
    SCHEDULE,
    SCORE,
)
from proctor.store.queue import runlog
from proctor.types import Cell, Model, Plan, Run, Status
from request_files import line

SUITE = "superglue"
ROWS = ExamRef("suite", SUITE, rows="sample", limit=2)


@dataclass(frozen=True)
class Names:
    """How somebody's objects are called: what a caller must know to ask for them."""

    project: int
    model: str  # of the first complete run, without its provider
    other: str
    done: str
    beside: str
    failed: str
    waiting: str
    running: str
    judging: str  # that waits, of the run that is done
    schedule: int
    note: int
    item: str
    user: str
    key: int
    dataset: str
    file: str  # of OpenAI's API, read by its batch
    loose_file: str  # read by none
    openai_batch: str
    batch: str  # runs of a file of requests
    other_batch: str
    requests: str  # a data set of requests
    request: str  # the custom_id of one in both
    share: str  # a link to the run that is done
    rollouts: str  # benchmarks of tasks, by the ids of their plans
    rollouts_row: str  # the run of the first
    rollouts_waiting: str
    rollouts_partial: str
    rollouts_doomed: str
    rollouts_task: str


NOBODYS = Names(
    project=990,
    model="nobody-1",
    other="nobody-2",
    done="11111111-0000-4000-8000-111111111111",
    beside="22222222-0000-4000-8000-222222222222",
    failed="33333333-0000-4000-8000-333333333333",
    waiting="44444444-0000-4000-8000-444444444444",
    running="55555555-0000-4000-8000-555555555555",
    judging="bbbbbbbb-0000-4000-8000-bbbbbbbbbbbb",
    schedule=991,
    note=992,
    item="boolq/none",
    user="nobody",
    key=993,
    dataset="66666666-0000-4000-8000-666666666666",
    file="file-nobodys",
    loose_file="file-nobodys-other",
    openai_batch="batch_nobodys",
    batch="77777777-0000-4000-8000-777777777777",
    other_batch="88888888-0000-4000-8000-888888888888",
    requests="ds_999999990000400080009999",
    request="nobody/request",
    share="cccccccc-0000-4000-8000-cccccccccccc",
    **NOBODYS_ROLLOUTS._asdict(),
)


@dataclass(frozen=True)
class Owner:
    """A user: the secret of the key, the names, and every word that tells of something in the project."""

    secret: str
    names: Names
    marks: frozenset[str]


def owner(store: Store, settings: Settings, word: str, user: str) -> Owner:
    """A project with complete runs, a failed, a waiting and a running one, notes, a schedule, a log and deeds."""
    project = access.create_project(over(store), f"{word} project", by="root")
    key, secret = access.create_key(over(store), user, "", ["run"], by="root", projects=[project.id])
    done, beside, failed = _runs(store, settings, word, project.id)
    plan, ticket = Plan((_cell(word, "1"),)), Ticket(user, project.id)
    waiting, running = (queue.submit(over(store, settings), plan, ticket) for _ in range(2))
    broken = {"error": f"{word} has broken", "error_slug": "config"}
    _set(store, failed, status=Status.FAILED.value, settled=1, **broken)
    far = {"owner": f"{word}-host:1", "lease_until": time.time() + 9000.0, "started_at": time.time()}
    _set(store, running, status=Status.RUNNING.value, planned=9, **far)
    row = next(store.latest(done.id))
    note = notes.add(over(store), done.id, row.item_id, 0, user=user, text=f"{word} remark", flag=True)
    _traced(store, settings, word, user, done)
    batches = [_batch(store, settings, word, project.id, model) for model in ("sim", "sim-small")]
    file, loose_file, openai_batch = files_and_batch(over(store, settings), word, user, project.id)
    rollouts = benchmarks(store, settings, word, user, project.id)
    names = Names(
        project=project.id,
        model=f"{word}-1",
        other=f"{word}-2",
        done=done.id,
        beside=beside.id,
        failed=failed.id,
        waiting=waiting.id,
        running=running.id,
        judging=judged(store, settings, word, ticket, [done, beside]),
        schedule=_scheduled(store, settings, word, user, project.id),
        note=note.id,
        item=row.item_id,
        user=user,
        key=key.id,
        dataset=_dataset(store, settings, word, user, project.id),
        file=file,
        loose_file=loose_file,
        openai_batch=openai_batch,
        batch=batches[0].id,
        other_batch=batches[1].id,
        requests=_requests(store, settings, word, user, project.id),
        request=f"{word}/request",
        share=_shared(store, settings, user, project.id, done.id),
        **rollouts._asdict(),
    )
    runs = [run.id for run in (done, beside, failed, waiting, running, *batches)]
    ids = {names.share, names.dataset, names.requests, names.judging, *runs, *rollouts[:-1]}
    return Owner(
        secret, names, frozenset({word, user, file, openai_batch, *ids, *(ident[:8] for ident in ids)})
    )


def _scheduled(store: Store, settings: Settings, word: str, user: str, project_id: int) -> int:
    wanted = NewSchedule(f"{word} nightly", "0 2 * * *", _cell(word, "1"), user, project_id)
    return schedules.add(over(store, settings), wanted).id


def _traced(store: Store, settings: Settings, word: str, user: str, run: Run) -> None:
    runlog.say(settings.home, run.id, f"{word} was logged")
    access.note(over(store), user, "submit", run.id, f"{word} was submitted")


def _shared(store: Store, settings: Settings, user: str, project: int, run_id: str) -> str:
    by = User(user, "run", Reach(frozenset({project})))
    context = over(store, settings).within(by.reach)
    return shares.give(context, by, f"/runs/{run_id}", 7, now=time.time()).share.id


def _dataset(store: Store, settings: Settings, word: str, user: str, project: int) -> str:
    rows = f"question,answer\nWhat does a {word} eat?,grass\n".encode()
    wish = Wish(f"{word} questions", project_id=project, user=user)
    return upload(over(store, settings), [Uploaded(f"{word}.csv", BytesIO(rows))], wish).id


def _requests(store: Store, settings: Settings, word: str, user: str, project: int) -> str:
    path = settings.home / f"{word} requests.jsonl"
    path.write_bytes(line(f"{word}-1", f"What does a {word} fear?"))
    with copied(path, settings) as arrived:
        return keep(over(store, settings), arrived, RequestsWish(project_id=project, user=user)).id


def _batch(store: Store, settings: Settings, word: str, project: int, model: str) -> Run:
    """A batch of one request, of which everything has the owner's word in it."""
    path = settings.home / f"{word}.jsonl"
    body = {"messages": [{"role": "user", "content": f"What does a {word} drink?"}]}
    path.write_bytes(
        orjson.dumps({"custom_id": f"{word}/request", "url": "/v1/chat/completions", "body": body})
    )
    asked = Cell(Model("simulator", model), BatchRef(str(path)), AS_WRITTEN)
    outcome = start(Plan((asked,)), settings)
    assert outcome.evaluation is not None
    (result,) = outcome.evaluation.results
    _set(store, result.run, project_id=project)
    return result.run


def _runs(store: Store, settings: Settings, word: str, project: int) -> list[Run]:
    """Three runs on the same sample rows as everybody's, under models of their own."""
    made = []
    for kinds in (("majority", "random"), ("majority",)):
        outcome = start(Plan(tuple(Cell(Model("baseline", kind), ROWS) for kind in kinds)), settings)
        assert outcome.evaluation is not None
        made += [result.run for result in outcome.evaluation.results]
    for run, number in zip(made, ("1", "2", "1"), strict=True):
        cell = _cell(word, number)
        title = f"SuperGLUE of {word}"
        _set(
            store,
            run,
            cell=cell_to_json(cell),
            provider="ollama",
            model=cell.model.name,
            source_title=title,
            project_id=project,
        )
        _hand_over(store, run)
    return made


def _cell(word: str, number: str) -> Cell:
    return Cell(Model("ollama", f"{word}-{number}"), ROWS)


def _set(store: Store, run: Run, **values: Any) -> None:
    with store.writing() as connection:
        connection.execute(update(RUN).where(RUN.c.id == run.id).values(**values))


def _hand_over(store: Store, run: Run) -> None:
    row = {"run_num": store.number(run.id), "user": "x", "priority": 0, "run_after": 0.0, "tries": 1}
    with store.writing() as connection:
        connection.execute(JOB.insert(), row)


def state(store: Store, of: Owner, home: Path) -> dict[str, list[Any]]:
    """Every row that is the owner's, and what the server keeps of all; without when keys were last used."""
    project = of.names.project
    nums = select(RUN.c.num).where(RUN.c.project_id == project)
    whole = {"project": PROJECT, "key_project": KEY_PROJECT}
    by_run = {"job": JOB, "note": NOTE, "grade": GRADE, "score": SCORE, "attempt": ATTEMPT, "pulse": PULSE}
    by_run["label"] = LABEL
    queries = {name: select(table) for name, table in whole.items()}
    queries |= {name: select(table).where(table.c.run_num.in_(nums)) for name, table in by_run.items()}
    by_project = {"run": RUN, "schedule": SCHEDULE, "audit": AUDIT, "dataset": DATASET}
    for name, table in {**by_project, "batch": BATCH, "batch_file": BATCH_FILE}.items():
        queries[name] = select(table).where(table.c.project_id == project)
    queries["plan"] = select(PLAN).where(
        PLAN.c.id.in_(select(RUN.c.plan_id).where(RUN.c.project_id == project))
    )
    queries["share"] = select(SHARE.c.id, SHARE.c.revoked_at).where(SHARE.c.user == of.names.user)
    queries["keys"] = select(API_KEY.c.id, API_KEY.c.revoked_at)
    with store.reading() as connection:
        found = {name: sorted(map(repr, connection.execute(query))) for name, query in queries.items()}
    return {**found, "logs": sorted(path.name for path in (home / "logs").glob("*"))}
