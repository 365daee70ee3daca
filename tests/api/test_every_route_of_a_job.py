"""Every GET route of a job, for jobs of which nothing was ever asked: none answers with an error of the server's."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.api.app import PREFIX as API
from proctor.api.app import ROUTERS
from proctor.web.app import ROOMS
from served import PREFIX, Server, serving

pytestmark = pytest.mark.slow

ENDLESS = ("/stream", "/events")
IDS = ("{run_id}", "{job_id}")
# Routes that take a run in their query.
QUERIES = (
    "/compare?runs={id}",
    "/compare?runs={id}&runs={id}",
    "/compare/report?runs={id}",
    "/runs/new?like={id}",
)
TABS = ("summary", "timeline", "log", "config")


def get_routes() -> Iterator[str]:
    for prefix, routers in ((API, ROUTERS), ("", [room.ROUTER for room in ROOMS])):
        for router in routers:
            yield from (prefix + route.path_format for route in router.routes if "GET" in route.methods)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, str]]]:
    """A server, and jobs of which nothing was asked: one that failed, one that was cancelled, one that waits."""
    home: Path = tmp_path_factory.mktemp("home")
    with serving(home) as server:
        failed = server.submit("simulator", "sim", data="imported")  # no rows are here
        assert server.ended(failed)["status"] == "failed"
    with serving(home, "--no-worker", PROCTOR_REQUESTS_PER_MINUTE="100000") as server:
        cancelled, waiting = server.submit("simulator", "sim"), server.submit("simulator", "sim")
        server.post(f"{PREFIX}/cancel/{cancelled}")
        yield server, {"failed": failed, "cancelled": cancelled, "waiting": waiting}


def status(server: Server, path: str) -> int:
    """How a browser's request is answered. Of a stream only the head is read: it may have no end."""
    caller = http.client.HTTPConnection(server.url.partition("://")[2], timeout=30)
    try:
        caller.request("GET", path, headers={"Accept": "text/html"})
        answer = caller.getresponse()
        if not path.endswith(ENDLESS):
            answer.read()
        return answer.status
    finally:
        caller.close()


@pytest.mark.parametrize("state", ["failed", "cancelled", "waiting"])
def test_no_route_of_a_job_that_was_asked_nothing_answers_500(
    jobs: tuple[Server, dict[str, str]], state: str
) -> None:
    server, ids = jobs
    routes = [route for route in get_routes() if any(name in route for name in IDS)]
    assert len(routes) >= 12, "the routes of a job are found by their names"
    filled = [route.replace("{item_id}", "sums/1").replace("/poll", "/poll?timeout=0") for route in routes]
    filled += [f"/runs/{{run_id}}?tab={tab}" for tab in TABS] + [*QUERIES, "/runs/{run_id}/export?form=jsonl"]
    found = {}
    for path in filled:
        for name in (*IDS, "{id}"):
            path = path.replace(name, ids[state])
        found[path] = status(server, path)
    assert {path: code for path, code in found.items() if code >= 500} == {}
    shown = f"/runs/{ids[state]}/diagnosis"
    assert found[shown] == 200
