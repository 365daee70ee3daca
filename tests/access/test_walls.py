"""Walls: two users with a key and a project each try every route of the application on what is not theirs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from difflib import unified_diff
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from select import select
from typing import Any
from urllib.parse import urlencode

import pytest
from sqlalchemy import update
from walls_probes import ACTS, NOTHING, PROBES, REFUSED, SEES, Key, Probe, routes
from walls_world import NOBODYS, Names, Owner, owner, state

from opened import over
from proctor.service.admin import access
from proctor.store import Store
from proctor.store.core.tables import RUN
from served import serving
from simulators import settings
from uploads import BOUNDARY, form

pytestmark = pytest.mark.slow
CHANGED = [b"event: changed\n", b"data: 1\n", b"\n"]


@dataclass(frozen=True)
class Answer:
    status: int
    text: str  # headers and body: both may tell


@dataclass(frozen=True)
class Caller:
    """Somebody who shows a key to the API, and a session that was opened with it to the pages."""

    address: str
    secret: str
    session: list[str] = field(default_factory=list)

    def ask(self, method: str, probe: Probe) -> Answer:
        cookie = self._cookie(anew=probe.path == "/logout")
        headers = {"Authorization": f"Bearer {self.secret}", "Accept": "text/html", "Cookie": cookie}
        body: str | bytes | None = None
        if probe.files:
            body = form(probe.files, **probe.form)
            headers["Content-Type"] = f"multipart/form-data; boundary={BOUNDARY}"
        elif probe.body is not None:
            body, headers["Content-Type"] = json.dumps(probe.body), "application/json"
        elif method == "POST" and probe.form is not None:
            body = urlencode(probe.form, doseq=True)
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        return self._send(method, probe, body, headers)

    def _send(self, method: str, probe: Probe, body: str | bytes | None, headers: dict[str, str]) -> Answer:
        with closing(HTTPConnection(self.address, timeout=60)) as caller:
            caller.request(method, probe.path, body, headers)
            with caller.getresponse() as answer:
                told = "".join(
                    f"{name}: {value}\n" for name, value in answer.getheaders() if name != "x-request-id"
                )
                return Answer(
                    answer.status, told + ("" if probe.endless else answer.read().decode("utf-8", "replace"))
                )

    @contextmanager
    def follow(self, path: str) -> Iterator[HTTPResponse]:
        """A stream of events, open."""
        with closing(HTTPConnection(self.address, timeout=30)) as caller:
            caller.request("GET", path, headers={"Cookie": self._cookie()})
            with caller.getresponse() as answer:
                yield answer

    def _cookie(self, *, anew: bool = False) -> str:
        """The caller's session; `anew` one of its own, for what ends it."""
        if anew or not self.session:
            self.session[:] = [self._opened()]
        return self.session.pop() if anew else self.session[0]

    def _opened(self) -> str:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        entered = self._send("POST", Probe("/login"), urlencode({"key": self.secret}), form)
        (cookie,) = re.findall(r"(proctor_session=[^;\s]+)", entered.text)
        return str(cookie)


@dataclass(frozen=True)
class World:
    """`api` and `pages` are the owners that routes are tried on, so that each deed finds its object as it was."""

    store: Store
    home: Path
    address: str
    stranger: Owner
    api: Owner
    pages: Owner
    routes: frozenset[Key]

    def owner(self, key: Key) -> Owner:
        return self.api if key[1].startswith(("/api/", "/admin/", "/v1/")) else self.pages

    def settle(self, of: Owner) -> None:
        """The owner's running run has one item more."""
        run = update(RUN).where(RUN.c.id == of.names.running)
        with self.store.writing() as connection:
            connection.execute(run.values(settled=RUN.c.settled + 1))

    def state(self) -> list[Any]:
        return [state(self.store, of, self.home) for of in (self.api, self.pages)]


@pytest.fixture
def world(database_url: str, tmp_path: Path) -> Iterator[World]:
    environ = {"PROCTOR_DATABASE_URL": database_url, "PROCTOR_AUTH": "keys"}
    known = settings(tmp_path, **environ)
    store = Store.open(database_url)
    people = [
        owner(store, known, word, user)
        for word, user in (("quokka", "annika"), ("wombat", "bertil"), ("numbat", "camilla"))
    ]
    calm = {"PROCTOR_REQUESTS_PER_MINUTE": "100000", "PROCTOR_MOST_QUEUED": "100"}
    with serving(tmp_path, "--no-worker", **environ, **calm) as server:
        address = server.url.partition("://")[2]
        yield World(store, tmp_path, address, *people, frozenset(routes(known)))
    store.close()


def unlikeness(one: str, two: str) -> str:
    return "\n".join(unified_diff(one.splitlines(), two.splitlines(), lineterm="", n=0))


def neutral(answer: Answer, of: Names) -> str:
    """The answer without the names that were asked for, numbers, and the request's own id."""
    text = f"{answer.status}\n{answer.text}"
    text = re.sub(r"\b[0-9a-f]{16}\b", "", text)
    for name, value in sorted(asdict(of).items(), key=lambda pair: -len(str(pair[1]))):
        if isinstance(value, str):
            text = text.replace(value, name).replace(value.replace("/", "%2F"), name)
            text = text.replace(value[:8], name) if len(value) == 36 else text
    return re.sub(r"\d+", "#", text)


def sent(probe: Probe) -> str:
    return " ".join((probe.path, json.dumps(probe.body), json.dumps(probe.form)))


def told(answer: Answer, marks: frozenset[str], probe: Probe) -> set[str]:
    """The marks in an answer that are no echo of what was asked."""
    return {mark for mark in marks if mark not in sent(probe) and mark in answer.text}


def pairs(world: World, key: Key) -> Iterator[tuple[Probe, Probe]]:
    """What asks for the owner's objects, and the same for what does not exist."""
    yield from zip(PROBES[key](world.owner(key).names), PROBES[key](NOBODYS), strict=True)


@pytest.mark.promise("X-18")
def test_nothing_of_a_project_is_seen_or_touched_with_another_projects_key(world: World) -> None:
    """On every route, what is another project's answers as what does not exist, and nothing of it has changed.

    The owners ask first, so that what is kept in memory is theirs; what they change, they change last.
    """
    assert world.routes == PROBES.keys(), "every route has an entry in walls_probes.py, and no other has one"
    reading = [key for key in PROBES if key[0] == "GET"]
    faults = owners(world, reading)
    assert not faults, "\n".join(faults)
    before = world.state()
    faults = strangers(world)
    assert not faults, "\n".join(faults)
    assert world.state() == before
    faults = owners(world, [key for key in PROBES if key[0] != "GET"])
    assert not faults, "\n".join(faults)


def strangers(world: World) -> list[str]:
    """What somebody with a key of another project learns on every route."""
    stranger, marks = Caller(world.address, world.stranger.secret), world.api.marks | world.pages.marks
    faults = []
    for key in PROBES:
        for theirs, nobodys in pairs(world, key):
            answer = stranger.ask(key[0], theirs)
            if seen := told(answer, marks, theirs):
                faults.append(f"{key} {theirs.path}: tells {sorted(seen)}")
            if theirs == nobodys:
                continue
            plain = stranger.ask(key[0], nobodys)
            if unlike := unlikeness(neutral(answer, world.owner(key).names), neutral(plain, NOBODYS)):
                faults.append(f"{key} {theirs.path} is not answered as if it did not exist:\n{unlike}")
    return faults


def owners(world: World, keys: Sequence[Key]) -> list[str]:
    """Where the owner of a project learns or does less with the same requests: then they would show nothing."""
    faults = []
    callers = {of.secret: Caller(world.address, of.secret) for of in (world.api, world.pages)}
    for key in keys:
        of = world.owner(key)
        caller = callers[of.secret]
        for probe, _ in pairs(world, key):
            before = state(world.store, of, world.home) if probe.owner == ACTS else None
            answer = caller.ask(key[0], probe)
            marks = frozenset({probe.word}) if probe.word else of.marks
            kept = {
                SEES: bool(told(answer, marks, probe)),
                ACTS: answer.status < 400 and before != state(world.store, of, world.home),
                REFUSED: answer.status == 403,
                NOTHING: answer.status < 500,
            }
            if not kept[probe.owner]:
                faults.append(f"{key} {probe.path}: {answer.status}; not {probe.owner}: {answer.text[-300:]}")
    return faults


def test_events_tell_of_the_own_project_alone(world: World) -> None:
    """What moves in another project moves nothing in a stream of events; its owner's stream shows that it moved."""
    with (
        Caller(world.address, world.pages.secret).follow("/active/events") as theirs,
        Caller(world.address, world.stranger.secret).follow("/active/events") as mine,
    ):
        for _ in range(2):  # streams look as often as each other: by the second time both have seen the first
            world.settle(world.pages)
            assert [theirs.readline() for _ in CHANGED] == CHANGED
        assert select([mine], [], [], 0)[0] == [], "nothing has been said here"
        world.settle(world.stranger)
        assert [mine.readline() for _ in CHANGED] == CHANGED


def test_metrics_count_the_runs_that_the_key_reaches(world: World) -> None:
    _, everybody = access.create_key(over(world.store), "root", "", ["admin"], by="root")
    found = {}
    for name, secret in (("one", world.stranger.secret), ("all", everybody)):
        text = Caller(world.address, secret).ask("GET", Probe("/metrics")).text
        found[name] = re.findall(r'(?m)^proctor_(?:runs\{status="running"\}|queue_running) (\S+)', text)
    assert found == {"one": ["1.0", "1.0"], "all": ["3.0", "3.0"]}
