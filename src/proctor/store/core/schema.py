"""The database is opened here: connections, pragmas, first tables, migrations, and errors in words."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from sqlalchemy import Connection, Engine, Table, create_engine, event, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from proctor.errors import ConfigError, DiskFull, StoreError
from proctor.store.core.documented_views import VIEWS, create_views
from proctor.store.core.tables import METADATA, PROJECT, STAMP, STAMPS
from proctor.store.core.walls import WALL, Reach, hold

HEAD = "0015"  # newest file of migrations/versions

LOG = logging.getLogger("proctor.store")
OWNER_ALONE = 0o600

# One number for "proctor changes its tables", for PostgreSQL's advisory locks.
_SCHEMA_LOCK = 0x70726F63746F72

# Per connection; WAL and auto_vacuum belong to the file and are set once, when it is made.
_PRAGMAS = (
    "PRAGMA busy_timeout=30000",
    "PRAGMA foreign_keys=ON",
    "PRAGMA synchronous=NORMAL",
)
_DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
}
# Rows hold prompts and replies: they do not belong into error texts.
_POOL: dict[str, Any] = {"hide_parameters": True, "pool_size": 5, "max_overflow": 25}
_POSTGRES_OPTIONS = {
    "connect_timeout": 10,
    "tcp_user_timeout": 30_000,  # ms: a host that vanished is noticed
    "client_encoding": "utf8",
    "application_name": "proctor",
}
LEAST_ROOM_BYTES = 1_000_000  # with less on its disk, SQLite cannot be expected to write anything
_LOOKS = "sqlite:///FOLDER/proctor.db or postgresql://USER@HOST:5432/NAME"


class Database:
    """Short transactions on one database, from any thread; trouble comes out as StoreError."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self.reach = Reach()
        self.engine = _engine(url)
        # Writers take SQLite's write lock at BEGIN: two that first read and then write would
        # otherwise meet a lock that no waiting can resolve.
        self._writer = self.engine.execution_options(writes=True)

    @classmethod
    def open(cls, url: str) -> Self:
        """Connect; create the tables of a new database, bring an older one up to date.

        Raises ConfigError if the URL cannot be used, StoreError if the database cannot.
        """
        database = cls(_parse(url))
        try:
            if database.engine.name == "sqlite":
                _keep_for_owner(Path(str(database.url.database)))
            _prepare(database)
        except StoreError:
            database.close()
            raise
        return database

    @classmethod
    def open_to_read(cls, path: Path) -> Self:
        """A SQLite file as it is, of this version's tables; nothing of it is written. Raises StoreError."""
        told = f"file:{quote(str(path.absolute()))}?mode=ro&uri=true"
        # Beside a log of SQLite's a file needs a folder that can be written; without one it is whole by itself.
        if not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists():
            told += "&immutable=1"
        database = cls(make_url(f"{_DRIVERS['sqlite']}:///{told}"))
        try:
            with database.reading() as connection:
                version = _version(connection)
        except StoreError:
            database.close()
            raise
        if version != HEAD:
            database.close()
            raise StoreError(
                f"{path} has tables of version {version or 'none'}, and this proctor reads those of {HEAD}: "
                f"`PROCTOR_HOME={path.parent} proctor list` brings an older one up to date"
            )
        return database

    def within(self, reach: Reach) -> Self:
        """The same database, in which only rows of these projects are seen and touched; see walls.py."""
        narrow = copy(self)
        narrow.reach = reach
        narrow.engine = self.engine.execution_options(**{WALL: reach.projects})
        narrow._writer = narrow.engine.execution_options(writes=True)
        return narrow

    @property
    def whole(self) -> Self:
        """Every project, for what is no user's to see: the audit trail's writing, cleaning up after a deletion."""
        return self.within(Reach())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({place(self.url)}, projects: {self.reach})"

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.in_words(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction: all of it is kept when the block ends, nothing of it if the block raises."""
        with self.in_words(), self.raw_writing() as connection:
            yield connection

    @contextmanager
    def raw_writing(self) -> Iterator[Connection]:
        """`writing` for callers who want to see the driver's errors and try again."""
        with self._writer.begin() as connection:
            yield connection

    def insert(self, table: Table) -> Any:
        """An INSERT of this database's own dialect, which can say what becomes of rows that are there already."""
        return import_module(f"sqlalchemy.dialects.{self.engine.name}").insert(table)

    @contextmanager
    def in_words(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, PoolTimeout, UnicodeEncodeError) as error:
            raise self.trouble(error, self.words(error)) from error

    def trouble(self, error: Exception, text: str) -> StoreError:
        """What to raise for an error of the driver: DiskFull where that is what it says, else StoreError."""
        driver = getattr(error, "orig", None) or error
        return DiskFull(text) if self._is_full(driver) else StoreError(text)

    def _is_full(self, driver: object) -> bool:
        name = getattr(driver, "sqlite_errorname", "")
        if getattr(driver, "sqlstate", None) == "53100" or name == "SQLITE_FULL":
            return True
        # To make or grow one of its side files on a full disk fails as if the disk were broken.
        if not name.startswith(("SQLITE_IOERR", "SQLITE_CANTOPEN")):
            return False
        try:
            return shutil.disk_usage(Path(str(self.url.database)).parent).free < LEAST_ROOM_BYTES
        except OSError:
            return False

    def words(self, error: Exception) -> str:
        """What the database said and which one it was, without statement, row or password."""
        # SQLAlchemy's text would quote the statement, and PostgreSQL's second line the row.
        driver = getattr(error, "orig", None) or error
        told = getattr(getattr(driver, "diag", None), "message_primary", None) or str(driver)
        told = " ".join(told.split())  # the log has a line an event
        for secret in _secrets(self.url):
            told = told.replace(secret, "***")
        return f"{place(self.url)}: {told}"


def place(url: URL) -> str:
    """Which database a URL means, for people; never its user's password.

    >>> place(make_url("postgresql://ann:secret@db.example/results"))
    'PostgreSQL at db.example:5432, database results'
    """
    if url.get_backend_name() == "sqlite":
        return f"SQLite file {url.database}"
    host = url.host or url.query.get("host") or "the local socket"
    port = url.port or url.query.get("port") or 5432
    return f"PostgreSQL at {host}:{port}, database {url.database or url.username}"


def _secrets(url: URL) -> list[str]:
    asked = [url.password, url.query.get("password"), url.query.get("sslpassword")]
    return [str(secret) for secret in asked if secret]


def _parse(text_url: str) -> URL:
    """Raises ConfigError; the URL is not quoted in it, because it may hold a password."""
    scheme = text_url.partition(":")[0].partition("+")[0]
    if scheme not in _DRIVERS:
        raise ConfigError(f"The database URL begins with {scheme[:20]!r}; it must look like {_LOOKS}")
    try:
        url = make_url(text_url)
    except (ArgumentError, ValueError):
        # `from None`: the reason quotes pieces of the URL.
        raise ConfigError(f"The database URL cannot be read; it must look like {_LOOKS}") from None
    url = url.set(drivername=_DRIVERS[scheme])
    if scheme == "sqlite" and url.database in (None, "", ":memory:"):
        raise ConfigError(f"The database URL names no file; it must look like {_LOOKS}")
    return url


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, **_POOL)
        event.listen(engine, "connect", _set_pragmas)
        event.listen(engine, "begin", _begin)
        event.listen(engine, "before_execute", hold, retval=True)
        return engine
    # Imported here, because SQLite needs no psycopg.
    from psycopg import RawCursor, RawServerCursor

    # Statements with the server's own $1: psycopg would look for each %s of a long INSERT anew,
    # and that costs more than all the rest of it (55 us an attempt instead of 8).
    raw = {**_POSTGRES_OPTIONS, "cursor_factory": RawCursor}
    # A query of one round trip before each use finds connections that the server has ended.
    engine = create_engine(
        url,
        **_POOL,
        pool_pre_ping=True,
        paramstyle="numeric_dollar",
        use_native_hstore=False,
        connect_args=raw,
    )

    def read_raw(connection: Any, _record: object) -> None:
        # What is read piece by piece has a cursor of another kind, which must know $1 as well.
        connection.server_cursor_factory = RawServerCursor

    event.listen(engine, "connect", read_raw)
    event.listen(engine, "before_execute", hold, retval=True)
    return engine


def _set_pragmas(connection: Any, _record: object) -> None:
    # Transactions are begun by `_begin`; the driver's own would begin too late, at the first write.
    connection.isolation_level = None
    for pragma in _PRAGMAS:
        connection.execute(pragma)


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _prepare(database: Database) -> None:
    if _ready(database):
        return
    with _only_one(database.url):
        if database.engine.name == "sqlite":
            _make_file(Path(str(database.url.database)))
            _set_file_modes(database)
        with database.writing() as connection:
            if database.engine.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _SCHEMA_LOCK})
            _bring_to_head(connection, database.url)


def _ready(database: Database) -> bool:
    # To connect would make the file, before its folder is sure to be there.
    if database.engine.name == "sqlite" and not Path(str(database.url.database)).exists():
        return False
    with database.reading() as connection:
        return _version(connection) == HEAD


def _version(connection: Connection) -> str | None:
    """The schema's version; None for a database without one."""
    if not inspect(connection).has_table(STAMP.name):
        return None
    return connection.execute(select(STAMP.c.version_num)).scalars().first() or "base"


def _make_file(path: Path) -> None:
    """An empty file for its owner alone. SQLite gives the files that it makes beside it the same mode."""
    with suppress(OSError):  # it is there, or it cannot be made, which SQLite will say in its own words
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWNER_ALONE))


def _keep_for_owner(path: Path) -> None:
    """A file of an older version may be readable by others: prompts, replies and addresses are nobody else's."""
    for file in (path, *(path.with_name(path.name + ending) for ending in ("-wal", "-shm", "-journal"))):
        with suppress(OSError):
            found = file.stat()
            if found.st_mode & 0o077 and found.st_uid == os.geteuid():
                file.chmod(OWNER_ALONE)
                if file == path:
                    LOG.warning("%s could be read by others; it is its owner's alone now (mode 0600)", path)


def _set_file_modes(database: Database) -> None:
    """Once per file. auto_vacuum counts only before the first table is made."""
    with database.in_words(), database.engine.connect() as connection:
        # The driver's own connection: SQLAlchemy would begin a transaction, where these have no effect.
        driver: Any = connection.connection.driver_connection
        driver.execute("PRAGMA auto_vacuum=INCREMENTAL")
        driver.execute("PRAGMA journal_mode=WAL")


def _bring_to_head(connection: Connection, url: URL) -> None:
    version = _version(connection)  # again: another process may have been quicker
    if version == HEAD:
        return
    if version is not None:
        _migrate(connection, url, version)
        return
    _refuse_strangers(connection, url)
    METADATA.create_all(connection, checkfirst=False)
    STAMPS.create_all(connection, checkfirst=False)
    create_views(connection)
    connection.execute(STAMP.insert(), {"version_num": HEAD})
    # Project 1 is there from the start; without an id, so that PostgreSQL's counter knows it is taken.
    connection.execute(PROJECT.insert(), {"name": "default", "created_at": time.time()})


def _refuse_strangers(connection: Connection, url: URL) -> None:
    """A database of another program stays as it is. On PostgreSQL only equal names are in the way."""
    there = set(inspect(connection).get_table_names())
    if connection.dialect.name == "postgresql":
        there &= METADATA.tables.keys() | VIEWS.keys()
    if there:
        raise StoreError(
            f"{place(url)} holds tables of another program ({', '.join(sorted(there)[:5])}); "
            "name a database of proctor's own in PROCTOR_DATABASE_URL"
        )


def _migrate(connection: Connection, url: URL, version: str) -> None:
    # Imported here: Alembic takes a quarter of a second, and a database at HEAD does not need it.
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    folder = str(Path(__file__).parents[1] / "migrations")
    config.set_main_option("script_location", folder.replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if version not in known | {"base"}:
        raise StoreError(
            f"{place(url)} has schema version {version}, and this proctor knows up to {HEAD}: "
            "a newer proctor has written it; install that version or a later one"
        )
    command.upgrade(config, "head")


@contextmanager
def _only_one(url: URL) -> Iterator[None]:
    """Hold other processes back while a SQLite file is made; PostgreSQL has advisory locks for that.

    The switch to WAL does not wait for its turn, so SQLite's own locks are not enough. The folder
    is locked, not the file: to close a second handle on the file would drop SQLite's locks on it.
    """
    if url.get_backend_name() != "sqlite":
        yield
        return
    folder = Path(str(url.database)).absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise StoreError(f"{place(url)}: its folder cannot be used: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
