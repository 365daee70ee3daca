"""Every route of the real server asked without a key and with a key of each scope: the table in scopes.py holds.

What a key of another project finds is held by test_walls.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from scopes import SCOPES
from starlette.routing import Mount, Route
from test_walls import Caller
from walls_probes import PROBES, routes
from walls_world import NOBODYS

from opened import over
from proctor.api.app import create_app
from proctor.service.admin import access
from proctor.store import Store
from proctor.web.app import add_pages
from served import serving
from simulators import settings

pytestmark = pytest.mark.slow
ORDER = ("none", "read", "label", "run", "admin")
PLAIN = {"PROCTOR_REQUESTS_PER_MINUTE": "100000", "PROCTOR_MOST_QUEUED": "100"}
# What the application has beside the routes of the table: files of its own, and the document of the API.
FILES = {"/docs/assets/docs.js", "/assets/app.css", "/openapi.json"}
SAFE = ("GET", "HEAD", "OPTIONS")


@dataclass(frozen=True)
class Doors:
    """A server that wants keys, and a caller for each scope."""

    address: str
    callers: dict[str, Caller]


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    home = tmp_path_factory.mktemp("doors")
    known = settings(home, PROCTOR_AUTH="keys")
    store = Store.open(known.database_url)
    keys = {
        scope: access.create_key(over(store), f"u-{scope}", "", [scope], by="root")[1] for scope in ORDER[1:]
    }
    store.close()
    with serving(home, "--no-worker", PROCTOR_AUTH="keys", **PLAIN) as server:
        address = server.url.partition("://")[2]
        yield Doors(address, {scope: Caller(address, key) for scope, key in keys.items()})


@pytest.fixture(scope="module")
def without_keys(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("open"), "--no-worker", **PLAIN) as server:
        yield server.url.partition("://")[2]


def asked(address: str, method: str, path: str, **headers: str) -> tuple[int, str]:
    """The status and where it leads, of a request that shows nothing; the body is left unread, it may be endless."""
    with closing(HTTPConnection(address, timeout=30)) as caller:
        caller.request(
            method, path, headers={name.replace("_", "-"): value for name, value in headers.items()}
        )
        answer = caller.getresponse()
        return answer.status, answer.getheader("Location") or ""


def let_in(status: int, place: str) -> bool:
    """Whether a caller came as far as the route itself; the page of /login is where pages send who is not."""
    return status not in (401, 403) and not place.startswith("/login?to=")


@pytest.mark.parametrize("scope", ORDER)
def test_each_route_lets_in_the_scope_of_its_row_and_no_lesser_one(doors: Doors, scope: str) -> None:
    faults = []
    for key in SCOPES:
        if key == ("POST", "/login"):
            continue  # is how one gets in: see test_guards.py
        probe = replace(PROBES[key](NOBODYS)[0], endless=True)
        if scope == "none":
            found = asked(doors.address, key[0], probe.path, Accept="text/html")
        else:
            answer = doors.callers[scope].ask(key[0], probe)
            places = [line[10:] for line in answer.text.splitlines() if line.lower().startswith("location: ")]
            found = answer.status, "".join(places)
        expected = ORDER.index(scope) >= ORDER.index(SCOPES[key])
        if let_in(*found) != expected:
            faults.append(f"{' '.join(key)} is {SCOPES[key]}, and {scope} found {found}")
    assert not faults, "\n".join(faults)


def test_every_route_has_a_row_that_says_whom_it_lets_in(tmp_path: Path) -> None:
    assert routes(settings(tmp_path)) == SCOPES.keys(), "tests/access/scopes.py has a row for each route"


def test_nothing_else_is_mounted_than_files_of_the_program(tmp_path: Path) -> None:
    app: FastAPI = add_pages(create_app(settings(tmp_path)))
    mounted = [route for route in app.routes if isinstance(route, Mount | Route)]
    beside = {route.path for route in mounted if not isinstance(route, APIRoute)}
    assert beside == {"/assets", "/docs/assets", "/openapi.json"}


def test_files_of_the_program_are_open_and_no_path_leads_out_of_them(doors: Doors) -> None:
    for path in FILES:
        assert asked(doors.address, "GET", path)[0] == 200, path
    for path in (
        "/assets/../app.py",
        "/assets/%2e%2e/app.py",
        "/docs/assets/..%2f..%2fapp.py",
        "/assets//etc/passwd",
    ):
        assert asked(doors.address, "GET", path)[0] in (303, 404), path


def test_without_keys_no_page_of_another_site_and_no_other_name_reaches_any_route(without_keys: str) -> None:
    """With PROCTOR_AUTH off everybody on loopback is let in everywhere: a browser there must not be a way in."""
    faults = []
    for method, path in SCOPES:
        place = PROBES[method, path](NOBODYS)[0].path
        named, _ = asked(without_keys, method, place, Host="evil.example")
        if named != 400:
            faults.append(f"{method} {path}: {named} by another name")
        if method in SAFE:
            continue
        for headers in ({"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "cross-site"}):
            status, _ = asked(without_keys, method, place, **headers)
            if status != 403:
                faults.append(f"{method} {path}: {status} for {headers}")
    assert not faults, "\n".join(faults)


def test_with_keys_a_session_changes_nothing_for_a_page_of_another_site(doors: Doors) -> None:
    caller = doors.callers["admin"]
    cookie = caller._cookie()
    for method, path in SCOPES:
        if method not in SAFE and path != "/logout":
            place = PROBES[method, path](NOBODYS)[0].path
            assert (
                asked(doors.address, method, place, Cookie=cookie, Origin="http://evil.example")[0] == 403
            ), path


def test_a_session_is_no_key_to_the_api(doors: Doors) -> None:
    """A cookie travels by itself, so programs' routes do not look at it."""
    cookie = doors.callers["admin"]._cookie()
    for method, path in SCOPES:
        if path.startswith(("/api/", "/admin/", "/v1/")):
            place = PROBES[method, path](NOBODYS)[0].path
            assert asked(doors.address, method, place, Cookie=cookie)[0] == 401, path
