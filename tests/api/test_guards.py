"""What every request passes: names, origins, keys, limits, and errors in one shape."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from programs import proctor, proctor_json, started
from served import PREFIX, Server, serving

pytestmark = pytest.mark.slow

RUN = {
    "project_id": 1,
    "suite": "glue",
    "config": {"provider": "simulator", "model": "sim", "data": "sample"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home"), "--no-worker") as running:
        yield running


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "{url}"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Host": "evil.example"}, 400),
        ({"Host": "127.0.0.1.evil.example:8420"}, 400),
        ({"Authorization": "Bearer anything"}, 200),  # without keys on loopback a key is ignored
        ({"X-API-Key": "anything"}, 200),
    ],
)
def test_who_may_change_something(server: Server, headers: dict[str, str], status: int) -> None:
    filled = {name: value.format(url=server.url) for name, value in headers.items()}
    answer = server.ask(
        "POST", "/api/v1/projects", {"name": f"p {sorted(filled.items())}"[:90].translate(_PLAIN)}, filled
    )
    assert answer.status == (201 if status == 200 else status), answer
    if status >= 400:
        assert answer.body.keys() == {"detail", "error", "request_id"}


_PLAIN = str.maketrans(dict.fromkeys("[](){}'\",:/=", "-"))


def test_other_forms_of_body_are_no_way_in(server: Server) -> None:
    for kind in ("text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"):
        sent = server.ask(
            "POST", f"{PREFIX}/run", RUN, {"Content-Type": kind, "Origin": "http://evil.example"}
        )
        assert sent.status == 403
    assert server.get(f"{PREFIX}/results")["total"] == 0


def test_a_body_without_a_length_is_told_that_it_is_too_large(server: Server) -> None:
    """It comes in pieces, so that nobody can say beforehand how long it is."""
    host = server.url.partition("://")[2]
    caller = HTTPConnection(host, timeout=30)
    pieces = (b" " * 1_000_000 for _ in range(11))
    caller.request("POST", f"{PREFIX}/run", pieces, {"Content-Type": "application/json"}, encode_chunked=True)
    answer = caller.getresponse()
    refused = json.loads(answer.read())
    caller.close()
    assert answer.status == 400 and refused["detail"] == "The body is larger than 10,000,000 bytes"


def test_errors_have_one_shape(server: Server) -> None:
    for method, path, body, status in (
        ("GET", "/api/v1/nowhere", None, 404),
        ("DELETE", f"{PREFIX}/run", None, 405),
        ("POST", f"{PREFIX}/run", {"suite": "glue"}, 400),
        ("POST", f"{PREFIX}/compare", {"model_ids": ["a", "b"]}, 400),
        ("GET", f"{PREFIX}/leaderboard?suite=unknown", None, 400),
    ):
        answer = server.ask(method, path, body)
        assert answer.status == status and answer.body.keys() >= {"detail", "error", "request_id"}, answer
        assert answer.headers["X-Request-ID"] == answer.body["request_id"]
    nobody = {**RUN, "config": {"provider": "openay", "model": "sim"}}
    unknown = server.ask("POST", f"{PREFIX}/run", nobody).body["detail"]
    assert unknown.startswith("Unknown provider 'openay'; choose from ollama, openai,")
    invalid = server.ask("POST", f"{PREFIX}/run", {**RUN, "project_id": "x", "surplus": 1})
    assert {e["field"] for e in invalid.body["errors"]} == {"project_id", "surplus"}
    assert (
        server.ask("GET", "/healthz", headers={"X-Request-ID": "my-own-id-1"}).headers["X-Request-ID"]
        == "my-own-id-1"
    )


def test_nothing_leaves_without_its_headers(server: Server) -> None:
    for path in ("/healthz", "/docs", "/api/v1/suites", "/api/v1/nowhere", "/docs/assets/docs.js"):
        headers = server.ask("GET", path).headers
        assert "default-src 'self'" in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "same-origin"


@pytest.mark.promise("A-24")
def test_requests_a_minute(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-worker", PROCTOR_REQUESTS_PER_MINUTE="5") as server:
        answers = [server.ask("GET", "/api/v1/suites") for _ in range(7)]
        for path in ("/healthz", "/metrics", "/docs"):
            assert server.ask("GET", path).status == 200
    assert [answer.status for answer in answers] == [200] * 5 + [429] * 2
    assert answers[-1].body["error"] == "too-many-requests"
    assert 0 < answers[-1].body["retry_after"] <= 60
    assert answers[-1].headers["Retry-After"] == str(answers[-1].body["retry_after"])


def test_keys_and_scopes(tmp_path: Path) -> None:
    keys = {
        scope: proctor_json(tmp_path, "keys", "create", "--user", f"u-{scope}", "--scope", scope)
        for scope in ("read", "run", "admin")
    }
    with serving(tmp_path, "--no-worker", PROCTOR_AUTH="keys") as server:

        def asked(scope: str, method: str, path: str, body: object = None) -> int:
            return server.ask(method, path, body, {"Authorization": f"Bearer {keys[scope]['key']}"}).status

        for path in ("/api/v1/suites", "/metrics"):
            none = server.ask("GET", path)
            assert none.status == 401 and none.headers["WWW-Authenticate"] == "Bearer"
        assert server.ask("GET", "/healthz").status == 200
        assert server.ask("GET", "/api/v1/suites", headers={"X-API-Key": keys["read"]["key"]}).status == 200
        assert [asked(s, "POST", f"{PREFIX}/run", RUN) for s in keys] == [403, 200, 200]
        assert [asked(s, "GET", "/api/v1/keys") for s in keys] == [403, 403, 200]
        own = server.ask("GET", "/api/v1/audit", headers={"X-API-Key": keys["read"]["key"]}).body["audit"]
        assert {deed["action"] for deed in own} == {"submit"}, "of its project, and nothing of keys"
        audit = server.ask("GET", "/api/v1/audit", headers={"X-API-Key": keys["admin"]["key"]}).body["audit"]
        assert [deed["user"] for deed in audit if deed["action"] == "submit"] == ["u-admin", "u-run"]
        assert asked("admin", "DELETE", f"/api/v1/keys/{keys['run']['id']}") == 200
        assert asked("run", "GET", "/api/v1/suites") == 401
    proctor(tmp_path, "keys", "list")
    with closing(sqlite3.connect(tmp_path / "proctor.db")) as database:
        kept = json.dumps(database.execute("SELECT * FROM api_key").fetchall())
    assert all(key["key"] not in kept for key in keys.values())


def test_other_addresses_want_keys(tmp_path: Path) -> None:
    process = started(tmp_path, ["serve", "--host", "0.0.0.0", "--port", "0"])
    _, said = process.communicate(timeout=30)
    assert process.returncode == 2 and "PROCTOR_AUTH" in said and "proctor keys create" in said


@pytest.mark.parametrize(
    ("name", "status"), [("127.0.0.3", 200), ("127.0.0.4", 400), ("box.example", 400), ("", 400)]
)
def test_a_server_on_every_address_answers_to_the_one_that_was_called(
    on_every_address: str, name: str, status: int
) -> None:
    """By number alone: a name may belong to a page that had it lead here."""
    port = on_every_address.rpartition(":")[2]
    there = Server(f"http://127.0.0.3:{port}")
    assert there.ask("GET", "/healthz", headers={"Host": name and f"{name}:{port}"}).status == status


@pytest.fixture(scope="module", params=["0.0.0.0", "::"])
def on_every_address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    if request.param == "::" and not Path("/proc/net/if_inet6").exists():
        pytest.skip("this machine has no IPv6")
    home = tmp_path_factory.mktemp("everywhere")
    with serving(home, "--host", request.param, "--no-worker", PROCTOR_AUTH="keys") as running:
        yield running.url


def test_a_refused_form_says_what_a_proxy_must_hand_on(server: Server) -> None:
    refused = server.ask("POST", "/login", headers={"Origin": "https://proctor.example.org"})
    assert refused.status == 403
    for word in (
        "'https://proctor.example.org'",
        f"'{server.url.partition('://')[2]}'",
        "reverse proxy",
        "Host",
    ):
        assert word in refused.body["detail"]


PLANTED = {
    "OPENAI_API_KEY": "planted-openai-4711",
    "GEMINI_API_KEY": "planted-gemini-4711",
    "GROK_API_KEY": "planted-grok-4711",
    "ANTHROPIC_API_KEY": "planted-anthropic-4711",
    "HF_TOKEN": "planted-hub-4711",
}


@pytest.mark.promise("A-28", "A-29")
def test_no_key_reaches_a_row_a_log_an_answer_or_an_export(tmp_path: Path) -> None:
    """Jobs that fail at every provider, and one that works: whatever was written or said, no key is in it."""
    nobody = "http://127.0.0.1:9"
    places = {"OPENAI_BASE_URL": f"{nobody}/v1", "GEMINI_BASE_URL": nobody, "XAI_BASE_URL": f"{nobody}/v1"}
    said = []
    with serving(
        tmp_path, PROCTOR_FIRST_RETRY="0.2s", ANTHROPIC_BASE_URL=nobody, **PLANTED, **places
    ) as server:
        for provider in ("openai", "gemini", "grok", "anthropic", "simulator"):
            job = server.submit(provider, "sim", limit=1)
            said.append(json.dumps(server.ended(job)))
            if provider != "simulator":
                assert (tmp_path / "logs" / f"{job}.log").stat().st_size > 0
        said.append(
            json.dumps(
                [server.get(path) for path in ("/api/v1/providers", "/api/v1/audit", f"{PREFIX}/results")]
            )
        )
    said.append(
        proctor(tmp_path, "export", json.loads(said[4])["job_id"], "--format", "json", **PLANTED).stdout
    )
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    with closing(sqlite3.connect(tmp_path / "proctor.db")) as database:
        files.append("\n".join(database.iterdump()).encode())
    assert len(files) > 5
    for key in PLANTED.values():
        assert not any(key in text for text in said)
        assert not any(key.encode() in content for content in files)


def test_a_server_without_its_database_is_alive_and_not_ready(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-worker") as server:
        assert server.get("/readyz") == {"status": "ok", "worker": "none seen"}
        with closing(sqlite3.connect(tmp_path / "proctor.db")) as database:
            database.execute("ALTER TABLE run RENAME TO put_aside")
        refused = server.ask("GET", "/readyz")
        assert server.ask("GET", "/healthz").status == 200
    assert refused.status == 503 and refused.body["error"] == "store", refused
    assert refused.body["request_id"] == refused.headers["X-Request-ID"]


@pytest.mark.promise("A-17")
def test_no_traceback_reaches_a_client(tmp_path: Path) -> None:
    """A row that no proctor ever wrote: the answer says that, and the rest stands in the log."""
    with serving(tmp_path, "--no-worker") as server:
        job = server.submit("simulator", "sim")
        with closing(sqlite3.connect(tmp_path / "proctor.db")) as database:
            database.execute("UPDATE run SET status = 'bogus'")
            database.commit()
        broken = server.ask("GET", f"{PREFIX}/results/{job}")
        assert server.ask("GET", "/healthz").status == 200
    assert broken.status == 500 and broken.body.keys() == {"detail", "error", "request_id"}
    assert broken.body["detail"].startswith("Benchmark execution failed: ")
    assert "bogus" not in json.dumps(broken.body) and "Traceback" not in json.dumps(broken.body)
    assert broken.headers["X-Request-ID"] == broken.body["request_id"]
