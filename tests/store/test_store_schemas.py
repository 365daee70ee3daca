"""A store of every schema that ever was is opened by this version, on both databases, and shows what it showed then.

`kept/schema-NNNN.sql.xz` is what the last version with that schema made, as SQLite tells it in text, and
`kept/schema-NNNN.json` what that version said of its runs; of 0007 there is more, in test_store_kept.py. They are never
made anew: a later version that cannot read them is the fault. A new migration wants a store of the schema before it.
"""

from __future__ import annotations

import json
import lzma
import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import MetaData, create_engine, insert, select

from opened import item_records, look, rescore
from proctor.service.results import documents
from proctor.settings import Settings, read_settings
from proctor.store import Store
from proctor.store.core import schema

KEPT = Path(__file__).parent / "kept"
SCHEMAS = sorted(path.name[7:11] for path in KEPT.glob("schema-*.json"))
MIGRATIONS = Path(schema.__file__).parents[1] / "migrations"
FIGURES = ("task", "metric", "value", "low", "high", "scored", "asked")


@cache
def told_of(number: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((KEPT / f"schema-{number}.json").read_text(encoding="utf-8"))
    return told


@pytest.fixture
def old(
    tmp_path: Path, number: str, database: str, sqlite_url: str, request: pytest.FixtureRequest
) -> Settings:
    """A database as the last version with this schema left it."""
    database_url = sqlite_url if database == "sqlite" else request.getfixturevalue("postgres_url")
    place = tmp_path / "proctor.db"
    with closing(sqlite3.connect(place)) as there:
        there.executescript(lzma.decompress((KEPT / f"schema-{number}.sql.xz").read_bytes()).decode())
    if database_url.startswith("sqlite"):
        database_url = f"sqlite:///{place}"
    else:
        laid(database_url, number, place)
    return read_settings({"PROCTOR_HOME": str(tmp_path), "PROCTOR_DATABASE_URL": database_url})


def laid(url: str, number: str, place: Path) -> None:
    """The tables of that time in an empty PostgreSQL database, with the rows of a SQLite file."""
    engine, before = schema.Database(schema._parse(url)).engine, create_engine(f"sqlite:///{place}")
    with engine.begin() as connection, before.connect() as rows:
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, number)
        there, here = MetaData(), MetaData()
        there.reflect(connection)
        here.reflect(rows)
        for table in there.sorted_tables:
            connection.execute(table.delete())
            if found := [dict(row) for row in rows.execute(select(here.tables[table.name])).mappings()]:
                connection.execute(insert(table), found)
    engine.dispose()
    before.dispose()


def test_there_is_a_store_of_every_schema() -> None:
    numbers = [path.name[:4] for path in (MIGRATIONS / "versions").glob("0*.py")]
    before = {number for number in numbers if number < schema.HEAD} - {"0007"}
    assert before <= set(SCHEMAS), "keep a store of the schema before the new one, as the others were kept"


# Each migration is run on rows of PostgreSQL as well; for that not every store has to be laid there.
EVERY = [(number, "sqlite") for number in SCHEMAS] + [
    (number, "postgresql") for number in ("0001", "0005", "0010")
]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "database"), EVERY)
def test_runs_scores_items_and_comparisons_are_what_they_were(old: Settings, number: str) -> None:
    told = told_of(number)
    for name, run in told["runs"].items():
        (found,) = documents.evaluation(look([run["id"]], old))["runs"]
        assert found["run_id"] == run["id"] and found["source_title"] == run["title"], name
        for fact in ("status", "model", "planned", "settled", "outcomes"):
            assert found[fact] == run[fact], (name, fact)
        scores = [[score[figure] for figure in FIGURES] for score in found["scores"]]
        assert [score[:2] for score in scores] == [score[:2] for score in run["scores"]], name
        for now, then in zip(scores, run["scores"], strict=True):
            assert now[2:] == pytest.approx(then[2:]), (name, then[:2])
        items = list(item_records([run["id"]], old))
        assert len(items) == run["planned"] and all(item["prompt"] for item in items), name
    for pair, comparison in told["comparisons"].items():
        found = documents.evaluation(look([told["runs"][name]["id"] for name in pair.split()], old))
        (now,) = found["comparisons"]
        assert now["verdict"] == comparison["verdict"], pair
        # Comparisons are computed when they are looked at: intervals of combined scores have another method since.
        figures = ("value", "low", "high")[: 3 if pair.startswith("file") else 1]
        difference = [now["difference"][name] for name in figures]
        assert difference == pytest.approx(comparison["difference"][: len(figures)]), pair
    again = rescore(told["runs"]["file.0"]["id"], ["proctor/2"], old)
    assert again.by[-1].outcomes == told["runs"]["file.0"]["outcomes"]
    with closing(Store.open(old.database_url)) as store, store.reading() as connection:
        assert schema._version(connection) == schema.HEAD
