"""Real servers for the tests below: each is started once a session (with pytest-xdist: for this worker)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import servers
from servers import Server

from real import NotHere


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`make test` has the short part only; `make test-real` has everything."""
    if servers.in_full():
        return
    left = [item for item in items if item.get_closest_marker("in_full")]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if not item.get_closest_marker("in_full")]


@pytest.fixture(scope="session", params=servers.chosen())
def session_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    kind = servers.SERVERS[request.param]
    log = tmp_path_factory.mktemp("servers") / f"{kind.name}.log"
    with ExitStack() as ending:
        try:
            running = ending.enter_context(servers.started(kind, log))
        except NotHere as reason:
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(f"no {kind.name}: {reason}")
        yield running


@pytest.fixture
def server(request: pytest.FixtureRequest, session_server: Server) -> Server:
    """A server that runs. A test of what it lacks must fail; one that would show nothing is skipped."""
    kind = session_server.kind
    for (topic,) in [marker.args for marker in request.node.iter_markers("topic")]:
        if reason := kind.pointless.get(topic):
            pytest.skip(f"{topic} on {kind.name}: {reason}")
        if reason := kind.lacks.get(topic):
            request.applymarker(pytest.mark.xfail(strict=True, reason=f"{kind.name}: {reason}"))
    return session_server


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A PROCTOR_HOME with nothing in it."""
    made = tmp_path / "home"
    made.mkdir()
    return made
