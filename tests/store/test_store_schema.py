"""Opening a database: new, current, older, newer, foreign, broken or away; and what errors give away."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.engine import make_url

import proctor.store
from ports import nobodys_port
from postgres_server import Postgres
from proctor.errors import ConfigError, StoreError
from proctor.store import Store
from proctor.store.core.schema import HEAD, place
from proctor.types import Plan

SECRET = "open-sesame"


def version(store: Store) -> list[str]:
    with store.reading() as connection:
        return list(connection.execute(text("SELECT version_num FROM alembic_version")).scalars())


def schema(store: Store) -> dict[str, Any]:
    """Everything that SQLAlchemy can see of a schema, and on SQLite the statements themselves."""
    found: dict[str, Any] = {}
    with store.reading() as connection:
        seen = inspect(connection)
        for table in seen.get_table_names():
            columns = [{**column, "type": str(column["type"])} for column in seen.get_columns(table)]
            # As text: the condition of a partial index is another object each time.
            indexes = sorted(
                f"{index | {'dialect_options': {k: str(v) for k, v in index.get('dialect_options', {}).items()}}}"
                for index in seen.get_indexes(table)
            )
            uniques = seen.get_unique_constraints(table)
            found[table] = (
                columns,
                seen.get_pk_constraint(table),
                seen.get_foreign_keys(table),
                indexes,
                uniques,
            )
        if store.engine.name == "sqlite":
            rows = connection.execute(text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
            found["statements"] = {name: sorted(re.findall(r"[\w.]+", sql)) for name, sql in rows}
    return found


def test_a_new_database_is_stamped_with_head_and_keeps_what_it_holds_when_opened_again(
    database_url: str,
) -> None:
    first = Store.open(database_url)
    with first.writing() as connection:
        connection.execute(text("INSERT INTO plan VALUES ('p', '', '{}', 1.0)"))
    first.close()
    again = Store.open(database_url)
    with again.reading() as connection:
        assert connection.execute(text("SELECT id FROM plan")).scalars().all() == ["p"]
    assert version(again) == [HEAD]
    again.close()


def test_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(proctor.store.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_migrations_and_tables_give_the_same_schema(
    database_url: str, tmp_path: Path, postgres: Postgres
) -> None:
    direct = Store.open(database_url)
    if direct.engine.name == "sqlite":
        other = f"sqlite:///{tmp_path / 'migrated.db'}"
    else:
        other = postgres.url(postgres.new_database())
    # An empty stamp table is what Alembic leaves behind at "base": everything is still to be migrated.
    bare = create_engine(make_url(other).set(drivername=f"{direct.engine.name}+{direct.engine.driver}"))
    with bare.begin() as connection:
        connection.execute(
            text(
                "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
                "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
            )
        )
    bare.dispose()
    migrated = Store.open(other)
    assert version(migrated) == [HEAD]
    expected = schema(direct)
    assert len(expected) >= 7
    assert schema(migrated) == expected
    direct.close()
    migrated.close()


def test_opening_does_not_import_alembic(sqlite_url: str) -> None:
    program = (
        "import sys\nfrom proctor.store import Store\n"
        "Store.open(sys.argv[1]).close()\nStore.open(sys.argv[1]).close()\n"
        "print(sorted({'alembic', 'psycopg'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, sqlite_url], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_processes_that_open_a_new_database_together_all_succeed(database_url: str) -> None:
    program = (
        "import sys\nfrom proctor.store import Store\nfrom proctor.types import Plan\n"
        "print('ready', flush=True)\nsys.stdin.readline()\n"
        "store = Store.open(sys.argv[1])\nprint(store.add_plan(Plan(()), now=1.0))"
    )
    crowd = [
        subprocess.Popen(
            [sys.executable, "-c", program, database_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    for process in crowd:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", process.communicate()[1]
    for process in crowd:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate() for process in crowd]
    assert [error for _, error in told] == [""] * len(crowd)
    store = Store.open(database_url)
    with store.reading() as connection:
        plans = set(connection.execute(text("SELECT id FROM plan")).scalars())
    assert plans == {plan.strip() for plan, _ in told}
    assert version(store) == [HEAD]
    store.close()


def test_the_sqlite_file_has_its_modes(sqlite_url: str) -> None:
    store = Store.open(sqlite_url)
    names = ("journal_mode", "synchronous", "busy_timeout", "foreign_keys", "auto_vacuum")
    with store.reading() as connection:
        modes = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]
    assert modes == ["wal", 1, 30000, 1, 2]
    store.close()


def test_a_newer_database_is_refused_and_left_alone(database_url: str) -> None:
    store = Store.open(database_url)
    with store.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreError, match=rf"version 9999.*knows up to {HEAD}.*newer proctor") as caught:
        Store.open(database_url)
    assert SECRET not in str(caught.value)
    assert version(store) == ["9999"]
    store.close()


def test_tables_of_another_program_are_left_alone(database_url: str) -> None:
    driver = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}[database_url.partition(":")[0]]
    if driver == "sqlite":
        Path(str(make_url(database_url).database)).parent.mkdir()
    engine = create_engine(make_url(database_url).set(drivername=driver))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE run (kilometres INTEGER)"))
    with pytest.raises(StoreError, match=r"tables of another program \(run\)"):
        Store.open(database_url)
    with engine.begin() as connection:
        assert inspect(connection).get_table_names() == ["run"]
    engine.dispose()


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("I am a shopping list. " * 100)
    with pytest.raises(StoreError, match=rf"{re.escape(str(path))}.*not a database"):
        Store.open(f"sqlite:///{path}")
    assert path.read_text() == "I am a shopping list. " * 100


def test_a_folder_in_place_of_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=rf"{re.escape(str(tmp_path))}.*unable to open"):
        Store.open(f"sqlite:///{tmp_path}")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"proctor\.db: its folder cannot be used: Not a directory"):
        Store.open(f"sqlite:///{tmp_path}/file/below/proctor.db")


def test_a_damaged_database_is_named(sqlite_url: str) -> None:
    Store.open(sqlite_url).close()
    path = Path(str(make_url(sqlite_url).database))
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    with pytest.raises(StoreError, match=re.escape(str(path))):
        Store.open(sqlite_url)


def test_an_absent_server_is_named_without_its_password() -> None:
    with nobodys_port() as port, pytest.raises(StoreError) as caught:
        Store.open(f"postgresql://ann:{SECRET}@127.0.0.1:{port}/results")
    told = str(caught.value)
    assert f"127.0.0.1:{port}" in told
    assert "refused" in told
    assert SECRET not in told


def test_an_absent_database_is_named(postgres: Postgres) -> None:
    with pytest.raises(StoreError, match='database "nowhere" does not exist') as caught:
        Store.open(postgres.url("nowhere"))
    assert SECRET not in str(caught.value)


def test_a_password_that_the_database_repeats_is_blotted_out(postgres: Postgres) -> None:
    """Here the password is also the database's name, and the server quotes that."""
    with pytest.raises(StoreError, match=r'database "\*\*\*" does not exist'):
        Store.open(postgres.url(SECRET))


def test_neither_repr_nor_place_shows_a_password(store: Store) -> None:
    assert SECRET not in repr(store)
    assert type(store).__name__ in repr(store)
    assert SECRET not in place(make_url(f"postgresql://h/db?user=u&password={SECRET}"))


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://ann:{SECRET}@host/db",
        f"postgresql://ann:{SECRET}@host:port/db",
        f"postgresql://ann@host:{SECRET}/db",
        "sqlite://",
        "sqlite:///:memory:",
        "proctor.db",
        "",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_quoting_it(url: str) -> None:
    with pytest.raises(ConfigError, match=r"must look like sqlite:///") as caught:
        Store.open(url)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_an_error_does_not_quote_the_row(store: Store) -> None:
    with pytest.raises(StoreError, match=r"(?i)not.null constraint") as caught, store.writing() as connection:
        connection.execute(text("INSERT INTO plan VALUES (:id, NULL, '', 1.0)"), {"id": "private row"})
    assert "private row" not in str(caught.value)


def test_a_transaction_that_raises_leaves_nothing(store: Store) -> None:
    with pytest.raises(KeyError), store.writing() as connection:
        connection.execute(text("INSERT INTO plan VALUES ('p', '', '{}', 1.0)"))
        raise KeyError
    with store.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM plan")).scalar() == 0


def test_a_locked_database_is_waited_for_and_then_named(sqlite_url: str) -> None:
    store = Store.open(sqlite_url)
    with store.reading() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout=10")
    holder = sqlite3.connect(str(make_url(sqlite_url).database), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="database is locked"), store.writing():
        pass
    holder.execute("ROLLBACK")
    holder.close()
    with store.writing():
        pass
    store.close()


def test_a_new_file_is_its_owners_alone_with_those_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "proctor.db"
    before = os.umask(0)
    try:
        store = Store.open(f"sqlite:///{path}")
        store.add_plan(Plan(()), now=1.0)
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert modes == {"proctor.db": 0o600, "proctor.db-wal": 0o600, "proctor.db-shm": 0o600}


def test_a_file_that_others_can_read_is_narrowed_and_that_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "proctor.db"
    Store.open(f"sqlite:///{path}").close()
    path.chmod(0o664)
    for told in (1, 1):  # once
        Store.open(f"sqlite:///{path}").close()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert len([each for each in caplog.messages if "mode 0600" in each]) == told
