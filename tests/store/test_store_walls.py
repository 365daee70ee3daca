"""A store within projects: every statement is held to them, on both databases, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, delete, func, select, text, update
from sqlalchemy.engine import make_url
from store_examples import CELL, new_run

import proctor.store
from opened import over
from proctor.errors import NotFound
from proctor.service.admin import access
from proctor.store import Store
from proctor.store.core.tables import API_KEY, ATTEMPT, JOB, NOTE, PLAN, PROJECT, RUN, SCHEDULE, SCORE
from proctor.store.core.walls import WHOLE, Reach
from proctor.store.read import lists
from proctor.store.read.lists import RunFilter
from proctor.types import Plan, Run

HERE = Reach(frozenset({1}))
NOWHERE = Reach(frozenset())


@pytest.fixture
def both(store: Store) -> tuple[Run, Run]:
    """A run in project 1, and one in project 2."""
    access.create_project(over(store), "Red", by="root")
    here, there = new_run(store), new_run(store)
    with store.writing() as connection:
        connection.execute(update(RUN).where(RUN.c.id == there.id).values(project_id=2))
    return here, there


def test_only_rows_of_the_projects_are_found(store: Store, both: tuple[Run, Run]) -> None:
    here, there = both
    narrow = store.within(HERE)
    assert [run.id for run in narrow.runs()] == [here.id]
    assert len(store.runs()) == len(narrow.whole.runs()) == 2 and not store.within(NOWHERE).runs()
    assert lists.run_lines(narrow, RunFilter(project_id=2))[1] == 0
    for name in (there.id, there.id[:8]):
        with pytest.raises(NotFound):
            narrow.run(name)
        with pytest.raises(NotFound):
            narrow.plan_runs(there.plan_id)
    assert store.number(there.id)
    with pytest.raises(NotFound):
        narrow.number(there.id)
    with narrow.reading() as connection:
        nested = select(func.count()).select_from(select(RUN.c.num).subquery())
        aliased = select(func.count()).select_from(RUN.alias("other"))
        joined = select(func.count()).select_from(PLAN.join(RUN, RUN.c.plan_id == PLAN.c.id))
        plans = select(func.count()).select_from(PLAN)
        assert [connection.execute(each).scalar() for each in (nested, aliased, joined, plans)] == [
            1,
            1,
            1,
            1,
        ]
        assert connection.execute(plans.execution_options(**WHOLE)).scalar() == 2
        assert connection.execute(select(PROJECT.c.id)).scalars().all() == [1]


def test_a_number_that_was_learnt_elsewhere_leads_nowhere(store: Store, both: tuple[Run, Run]) -> None:
    """Tables of a run are asked by its number: the wall asks whose that is."""
    num = store.number(both[1].id)
    with store.writing() as connection:
        connection.execute(
            JOB.insert(), {"run_num": num, "user": "x", "priority": 0, "run_after": 0, "tries": 0}
        )
    with store.within(HERE).writing() as connection:
        of_run = JOB.c.run_num == num
        assert connection.execute(select(JOB.c.user).where(of_run)).all() == []
        assert connection.execute(update(JOB).where(of_run).values(user="y")).rowcount == 0
        assert connection.execute(delete(JOB).where(of_run)).rowcount == 0
        assert connection.execute(update(RUN).values(error="seen")).rowcount == 1
    assert store.run(both[1].id).error is None


@pytest.mark.parametrize(
    "statement",
    [
        select(ATTEMPT.c.item_id),
        select(func.count()).select_from(SCORE),
        select(SCORE.c.value).join(ATTEMPT, ATTEMPT.c.run_num == SCORE.c.run_num),
        select(ATTEMPT.c.item_id).where(
            ATTEMPT.c.item_id.in_(select(NOTE.c.item_id).where(NOTE.c.run_num == 1))
        ),
        delete(NOTE),
        select(API_KEY.c.digest),
        update(API_KEY).values(name="x"),
        text("SELECT * FROM run"),
        PROJECT.insert().values(name="x", created_at=0.0),
    ],
    ids=str,
)
def test_what_cannot_be_held_is_refused(store: Store, statement: Any) -> None:
    with (
        pytest.raises(RuntimeError, match="within projects"),
        store.within(HERE).writing() as connection,
    ):
        connection.execute(statement)


def test_no_row_is_added_outside(store: Store, both: tuple[Run, Run]) -> None:
    usual = {
        "name": "x",
        "user": "x",
        "cron": "@daily",
        "body": "{}",
        "enabled": True,
        "next_at": 0.0,
        "created_at": 0.0,
    }
    note = {"item_id": "a", "repeat": 0, "user": "x", "at": 0.0, "flag": False, "text": "x"}
    here, there = (store.number(run.id) for run in both)
    narrow = store.within(HERE)
    with narrow.writing() as connection:
        connection.execute(SCHEDULE.insert(), {**usual, "project_id": 1})
        connection.execute(NOTE.insert(), {**note, "run_num": here})
    for table, row in ((SCHEDULE, {**usual, "project_id": 2}), (NOTE, {**note, "run_num": there})):
        with pytest.raises(RuntimeError, match="cannot add"), narrow.writing() as connection:
            connection.execute(table.insert(), row)


# As the tables had it then; those of now have more columns.
RUN_OF_BEFORE = """
INSERT INTO run (id, plan_id, status, cell, provider, model, source, source_title, sample, planned, settled,
                 manifest, created_at, elapsed_s, project_id)
VALUES ('a run', :plan_id, 'completed', '{}', 'p', 'm', 's', 'S', FALSE, 1, 1, '{}', 0.0, 0.0, 2)
"""


def test_keys_of_before_keep_the_projects_that_there_are(database_url: str) -> None:
    """An older database: each key reaches what it could see, and nothing that is made later."""
    store = Store(make_url(database_url).set(drivername=_driver(database_url)))
    if store.engine.name == "sqlite":
        Path(str(store.url.database)).parent.mkdir()
    with store.writing() as connection:
        _upgrade(connection, "0003")
        connection.execute(PROJECT.insert(), {"name": "Red", "created_at": 0.0})
        for number, scopes in ((1, "read,run"), (2, "admin")):
            key = {"user": "ann", "name": "", "prefix": "p", "digest": str(number), "scopes": scopes}
            connection.execute(API_KEY.insert(), {**key, "created_at": 0.0})
    plan_id = store.add_plan(Plan((CELL,)), now=0.0)
    with store.writing() as connection:
        connection.execute(text(RUN_OF_BEFORE), {"plan_id": plan_id})
        for target in ("a run", "1"):
            deed = {"at": 0.0, "user": "ann", "action": "x", "target": target, "detail": ""}
            values = "VALUES (:at, :user, :action, :target, :detail)"
            insert = text(f'INSERT INTO audit (at, "user", action, target, detail) {values}')
            connection.execute(insert, deed)
    store.close()
    store = Store.open(database_url)
    later = access.create_project(over(store), "Later", by="root")
    assert [key.projects for key in access.keys(over(store))] == [(1, 2), ()]
    assert later.id not in (access.user_with(access.keys(over(store))[0]).reach.projects or ())
    assert [deed.project_id for deed in access.deeds(over(store))] == [None, None, 2]
    store.close()


def _driver(url: str) -> str:
    return "sqlite+pysqlite" if url.startswith("sqlite") else "postgresql+psycopg"


def _upgrade(connection: Connection, version: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(proctor.store.__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, version)
