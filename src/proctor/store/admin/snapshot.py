"""A whole store as one SQLite file, as it stood at one moment, and back into either database: what backups hold.

A snapshot is a store like any other: migrations bring an older one up to date, and rows go from it to PostgreSQL.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, LargeBinary, Table, func, insert, select, text

from proctor.errors import Conflict
from proctor.store.core.schema import OWNER_ALONE, Database
from proctor.store.core.tables import METADATA, PROJECT

ROWS, WIDE_ROWS = 1_000, 50  # that are carried at once; wide are those with bodies of up to a megabyte
COUNTED = ("run", "attempt", "dataset")
# What a database has that nobody has used: workers that were there, and the project that everybody begins with.
UNUSED = ("worker", "audit")


def write_snapshot(store: Database, path: Path) -> dict[str, int]:
    """Write all rows into a new file at `path` while others write to the store; what is written there now is not in it.

    Gives how many rows there are of each of `COUNTED`. Raises StoreError, DiskFull.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, OWNER_ALONE))
    if store.engine.name == "sqlite":
        _vacuumed(store, path)
    else:
        _drawn(store, path)
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as made:
        return {name: made.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in COUNTED}  # noqa: S608  # names above


def _vacuumed(store: Database, path: Path) -> None:
    """One statement of SQLite's, which reads what was committed when it began and blocks nobody who writes."""
    with store.in_words(), store.engine.connect() as connection:
        # The driver's own connection: SQLAlchemy would begin a transaction, in which VACUUM is refused.
        driver: Any = connection.connection.driver_connection
        try:
            driver.execute("VACUUM INTO ?", (str(path),))
        except sqlite3.Error as error:
            raise store.trouble(error, store.words(error)) from error


def _drawn(store: Database, path: Path) -> None:
    """From PostgreSQL, in one transaction that sees one moment."""
    target = Database.open(f"sqlite:///{path}")
    with closing(target):
        plain_journal(target)
        with store.in_words(), store.engine.connect() as connection:
            moment = connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
            with target.writing() as into:
                _pour(moment, into)


def open_snapshot(path: Path) -> None:
    """Bring a snapshot of an older version up to date. Raises StoreError for one of a newer version."""
    Database.open(f"sqlite:///{path}").close()


def settle(path: Path) -> None:
    """Make a snapshot that is up to date into a store for many: a file that readers and writers share."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
    path.chmod(OWNER_ALONE)


def read_snapshot(path: Path, store: Database, *, replace: bool) -> None:
    """Put all rows of a snapshot that is up to date into a store on PostgreSQL, in one transaction.

    Raises Conflict if there are rows and `replace` does not say that they may go, or if others have it open.
    """
    source = Database.open(f"sqlite:///{path}")
    with closing(source), source.reading() as rows, store.writing() as into:
        if replace:
            _refuse_company(into)
        elif told := _used(into):
            raise Conflict(told)
        names = ", ".join(f'"{table.name}"' for table in METADATA.sorted_tables)
        into.execute(text(f"TRUNCATE {names}"))
        _pour(rows, into)


def used(store: Database) -> str | None:
    """What a store holds, in words; None for one that nobody has used."""
    with store.reading() as connection:
        return _used(connection)


def plain_journal(store: Database) -> None:
    """Fold what a SQLite store has beside its file into it. Raises Conflict while anybody else has it open."""
    with store.in_words(), store.engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        try:
            (mode,) = driver.execute("PRAGMA journal_mode=DELETE").fetchone()
        except sqlite3.OperationalError:
            mode = "wal"
    if mode == "wal":
        raise Conflict(f"{store.url.database} is open elsewhere: stop the server and its workers first")


def _used(connection: Connection) -> str | None:
    for table in METADATA.sorted_tables:
        rows = connection.execute(select(func.count()).select_from(table)).scalar_one()
        if rows > (table is PROJECT) and table.name not in UNUSED:
            return f"the database is not empty: {rows:,} rows of {table.name}, for one"
    return None


def _refuse_company(connection: Connection) -> None:
    others = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
        "AND application_name = 'proctor' AND pid <> pg_backend_pid()"
    )
    if connection.execute(others).scalar_one():
        raise Conflict("The database is open elsewhere: stop the server and its workers first")


def _pour(source: Connection, into: Connection) -> None:
    """Every row of every table, in the order in which they refer to each other, and how far ids were counted."""
    for table in METADATA.sorted_tables:
        into.execute(table.delete())  # the project that a new store begins with
        size = WIDE_ROWS if any(isinstance(each.type, LargeBinary) for each in table.c) else ROWS
        found = source.execution_options(yield_per=size).execute(select(table))
        for part in found.mappings().partitions():
            into.execute(insert(table), [dict(row) for row in part])
        _carry_count(table, source, into)


def _carry_count(table: Table, source: Connection, into: Connection) -> None:
    """The highest id that was ever given, so that no id of a deleted row is given again."""
    column = table.autoincrement_column
    if column is None:
        return
    words = {"table": table.name, "column": column.name}
    given = source.execute(text(_GIVEN[source.dialect.name]), words).scalar()
    if given:
        for statement in _GIVE_ON[into.dialect.name]:
            into.execute(text(statement), {**words, "given": given})


_GIVEN = {
    "sqlite": "SELECT max(seq) FROM sqlite_sequence WHERE name = :table AND :column IS NOT NULL",
    "postgresql": "SELECT pg_sequence_last_value(pg_get_serial_sequence(:table, :column)::regclass)",
}
_GIVE_ON = {
    "sqlite": (
        "DELETE FROM sqlite_sequence WHERE name = :table AND :column IS NOT NULL",
        "INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :given)",
    ),
    "postgresql": ("SELECT setval(pg_get_serial_sequence(:table, :column)::regclass, :given)",),
}
