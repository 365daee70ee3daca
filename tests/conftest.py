"""Fixtures for all tests: the shared material, and an empty database on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from postgres_server import Postgres, running_postgres
from proctor.store import Store


@pytest.fixture(scope="session")
def shared() -> Path:
    """The material beside the checkout: real rows, designs. It is no part of the project."""
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for the whole session (with pytest-xdist: for this worker)."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for one test, which may stop it."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """An empty database on PostgreSQL."""
    name = postgres.new_database()
    yield postgres.url(name)
    postgres.drop(name)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A database file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'store' / 'proctor.db'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """An empty database, on SQLite and on PostgreSQL in turn."""
    fixture = {"sqlite": "sqlite_url", "postgresql": "postgres_url"}[request.param]
    url: str = request.getfixturevalue(fixture)
    return url


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    opened = Store.open(database_url)
    yield opened
    opened.close()
