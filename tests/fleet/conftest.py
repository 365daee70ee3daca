"""Fixtures for tests of many machines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from valkeys import Valkey, running_valkey


@pytest.fixture(scope="session")
def valkey_server() -> Iterator[Valkey]:
    """A Valkey server for the whole session, which nobody ends."""
    with running_valkey() as server:
        yield server


@pytest.fixture
def valkey(valkey_server: Valkey) -> Valkey:
    """The session's server, empty."""
    with valkey_server.client() as connection:
        connection.flushall()
    return valkey_server


@pytest.fixture
def own_valkey() -> Iterator[Valkey]:
    """A server for one test, which may kill it and start it again."""
    with running_valkey() as server:
        yield server
