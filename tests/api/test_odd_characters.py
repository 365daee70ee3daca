"""Control characters, however they are written, are refused with 400 on both databases and reach no log."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from jobs_world import end
from opened import over
from proctor.errors import ConfigError, ServerError, in_one_line
from proctor.providers.wire.http import HttpResponse
from proctor.providers.wire.refusals import Place, refusal
from proctor.references import ExamRef
from proctor.service.opening.sources import model_named
from proctor.service.runs import schedules
from proctor.service.runs.schedules import NewSchedule
from proctor.store import Store
from proctor.store.queue import runlog
from proctor.types import Cell, Model
from programs import proctor, started
from served import PREFIX, Server
from simulators import settings

ODD = ["\0", "\x1b[2J", "\x08", "\x7f", "\x85"]
FORGED = "x\n2026-11-22T03:00:00Z all is well"
PLACES = [
    ("POST", f"{PREFIX}/run", {"project_id": 1, "suite": "ODD", "config": {"provider": "simulator", "model": "m"}}),
    ("POST", f"{PREFIX}/run", {"project_id": 1, "suite": "glue", "config": {"provider": "simulator", "model": "ODD"}}),
    ("POST", f"{PREFIX}/run", {"project_id": 1, "suite": "glue", "ODD": 1}),
    ("POST", f"{PREFIX}/compare", {"model_ids": ["a", "ODD"]}),
    ("POST", "/api/v1/projects", {"name": "ODD"}),
    ("POST", "/api/v1/plan", {"project_id": 1, "config": {"provider": "ollama", "model": "m", "tasks": ["ODD"]}}),
]  # fmt: skip
QUERIES = [
    f"{PREFIX}/results?model_name=",
    f"{PREFIX}/history?suite=",
    f"{PREFIX}/leaderboard?suite=",
    "/api/v1/audit?user=",
    f"{PREFIX}/results/",
    "/api/v1/jobs/status/",
    "/api/v1/providers/",
    "/runs?q=",
    "/runs/",
    "/models/simulator/",
    "/login?to=",
]
FORMS = ["/projects", "/schedules", "/runs/new", "/runs/new/plan", "/settings/keys", "/login"]


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory, postgres) -> Iterator[dict[str, str]]:
    name = postgres.new_database()
    home = tmp_path_factory.mktemp("home")
    yield {"sqlite": f"sqlite:///{home}/proctor.db", "postgresql": postgres.url(name)}
    postgres.drop(name)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def door(request, databases, tmp_path_factory) -> Iterator[tuple[Server, list[str]]]:
    """A server, and the lines of its log as they come."""
    home = tmp_path_factory.mktemp("served")
    environ = {"PROCTOR_DATABASE_URL": databases[request.param], "PROCTOR_REQUESTS_PER_MINUTE": "100000"}
    process = started(home, ["serve", "--port", "0", "--no-worker"], **environ)
    said: list[str] = []
    assert process.stdout is not None and process.stderr is not None
    url = process.stdout.readline().partition("proctor serves at ")[2].split()[0]
    reader = threading.Thread(target=lambda: said.extend(process.stderr), daemon=True)
    reader.start()
    yield Server(url), said
    end(process)


def put(value: object, odd: str) -> object:
    """The value with the odd text wherever it says ODD."""
    if isinstance(value, dict):
        return {str(put(name, odd)): put(each, odd) for name, each in value.items()}
    if isinstance(value, list):
        return [put(each, odd) for each in value]
    return value.replace("ODD", f"a{odd}b") if isinstance(value, str) else value


@pytest.mark.slow
def test_no_control_character_comes_in(door: tuple[Server, list[str]]) -> None:
    server, said = door
    found = {}
    for odd in [*ODD, "\ud800"]:
        for method, path, body in PLACES:
            answer = server.ask(method, path, put(body, odd))
            found[odd, path, json.dumps(body)] = answer.status
            assert answer.body["error"] == "config" and "U+" in answer.body["detail"], answer
    for odd in [*ODD, "\n", "\r\n"]:
        for path in QUERIES:
            found[odd, path, "address"] = server.ask("GET", path + quote(f"a{odd}b")).status
    for odd in ODD:
        for path in FORMS:
            form = f"name={quote(f'a{odd}b')}&cron=0+2+*+*+*&model={quote(odd)}"
            found[odd, path, "form"] = raw(server, "POST", path, form.encode(), FORM)
    for odd in (b"\x1b", b"\x7f", b"\x01"):
        found[odd, "header", ""] = raw(
            server, "GET", "/healthz", None, {"X-Request-ID": b"abc" + odd + b"defgh"}
        )
    assert {place: status for place, status in found.items() if status != 400} == {}
    assert not [line for line in said if any(odd in line.rstrip("\n") for odd in ODD)]


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def raw(server: Server, method: str, path: str, body: bytes | None, headers: dict[str, str | bytes]) -> int:
    """The status. By hand, because no client sends such headers."""
    host, _, port = server.url.partition("://")[2].partition(":")
    sent = {
        "Host": f"{host}:{port}",
        "Connection": "close",
        "Content-Length": str(len(body or b"")),
        **headers,
    }
    lines = [f"{method} {path} HTTP/1.1".encode()]
    lines += [
        name.encode() + b": " + (value if isinstance(value, bytes) else value.encode())
        for name, value in sent.items()
    ]
    with socket.create_connection((host, int(port)), timeout=30) as caller:
        caller.sendall(b"\r\n".join([*lines, b"", body or b""]))
        return int(caller.makefile("rb").readline().split()[1])


@pytest.mark.slow
def test_texts_may_have_lines_and_names_may_not(door: tuple[Server, list[str]]) -> None:
    server, said = door
    config = {"provider": "ollama", "model": "m", "ollama_params": {"stop": ["\n\n", "\t"]}, "data": "sample"}
    job = {"project_id": 1, "suite": "glue", "config": config}
    assert server.ask("POST", f"{PREFIX}/run", job).status == 200
    for name in (FORGED, "a\u2028b", "a\u202eb"):
        named = {**job, "config": {**config, "model": name}}
        answer = server.ask("POST", f"{PREFIX}/run", named)
        assert answer.status == 400 and "one line of printable" in answer.body["detail"], answer
        assert server.ask("POST", "/api/v1/projects", {"name": name}).status == 400
        nightly = {"name": name, "cron": "0 2 * * *", "job": job}
        assert server.ask("POST", "/api/v1/schedules", nightly).status == 400
    assert not any(line.startswith("2026-11-22T03:00:00Z") for line in said)


@pytest.mark.slow
def test_names_are_one_line_on_the_command_line_too(tmp_path: Path, sqlite_url: str) -> None:
    given = settings(tmp_path)
    for name in ("ollama/a\nb", "ollama/a\x1b[2Jb", "simulator/\0", "gpt-\u2028"):
        with pytest.raises(ConfigError, match="one line of printable"):
            model_named(name, given)
    with pytest.raises(ConfigError, match="one line of printable"):
        model_named("ollama/m", given, base_url="http://127.0.0.1/\x1b")
    told = proctor(tmp_path, "run", "glue", "--model", f"simulator/{FORGED}", "--data", "sample", code=2)
    assert "one line of printable" in told.stderr and FORGED not in told.stderr
    store = Store.open(sqlite_url)
    cell = Cell(Model("simulator", "sim"), ExamRef("suite", "glue"))
    with pytest.raises(ConfigError, match="one line of printable"):
        schedules.add(over(store, given), NewSchedule(FORGED, "0 2 * * *", cell, "ann", 1))
    store.close()


def test_what_a_server_says_is_quoted_without_its_control_characters(tmp_path: Path) -> None:
    body = json.dumps({"error": {"message": f"no\0such\x1b[2Jmodel {FORGED}"}}).encode()
    error = refusal(HttpResponse(500, {}, body, 0.1), Place("ollama", "http://127.0.0.1:1", "m"))
    assert isinstance(error, ServerError) and str(error).isprintable()
    runlog.say(tmp_path, "run", FORGED + "\0\x1b")
    first, second = (tmp_path / "logs" / "run.log").read_text().splitlines()
    assert second.startswith("  2026") and (first + second).isprintable()
    assert in_one_line(FORGED).count("\n") == 0
