"""Files of requests over HTTP on a real server: as documented, under keys, broken off, too large, killed."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import urllib.request
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from jobs_world import until
from programs import proctor_json, started
from request_files import line, lines
from served import Answer, Server, serving
from uploads import BOUNDARY, csv_of, form, upload

pytestmark = pytest.mark.slow

AT = "/admin/datasets"
STAMP = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    limits = {"PROCTOR_REQUESTS_PER_MINUTE": "100000", "PROCTOR_BATCH_UPLOAD_MB": "3"}
    with serving(home, OLLAMA_HOST="127.0.0.1:1", **limits) as running:
        yield running


def uploaded(server: Server, body: bytes, called: str = "batch.jsonl", **fields: Any) -> Answer:
    return upload(server, (called, body), at=f"{AT}/upload", **fields)


def shelf(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "data" / "datasets").iterdir() if path.name != ".lock")


@pytest.mark.promise("B-02")
@pytest.mark.promise("B-04")
@pytest.mark.promise("B-05")
def test_a_file_is_uploaded_listed_looked_at_downloaded_and_deleted_as_documented(
    server: Server, home: Path
) -> None:
    body = b"\xef\xbb\xbf" + lines(40).replace(b"\n", b"\r\n") + b"\r\n"
    made = uploaded(server, body, "batch_5k.jsonl")
    assert made.status == 200, made
    documented = {name: made.body[name] for name in ("dataset_id", "name", "count", "uploaded_at")}
    ident = documented["dataset_id"]
    assert (documented["name"], documented["count"]) == ("batch_5k.jsonl", 40)
    assert STAMP.fullmatch(documented["uploaded_at"]) and ident.startswith("ds_")
    (listed,) = server.get(AT)["datasets"]
    assert (
        listed.items() >= {"id": ident, **{k: v for k, v in documented.items() if k != "dataset_id"}}.items()
    )
    one = server.get(f"{AT}/{ident}")
    assert one["sha256"] == made.body["sha256"] and len(one["preview"]) == 10
    assert {note["code"] for note in one["notes"]} >= {"byte_order_mark", "crlf", "blank_line"}
    assert [row["custom_id"] for row in server.get(f"{AT}/{ident}/rows?offset=38&limit=9")["rows"]] == [
        "request-38",
        "request-39",
    ]
    with urllib.request.urlopen(f"{server.url}{AT}/{ident}/content", timeout=30) as answer:
        assert answer.read() == body
        assert "attachment" in answer.headers["Content-Disposition"]
    assert server.ask("PATCH", f"{AT}/{ident}", {"name": "of May"}).body["name"] == "of May"
    assert server.ask("DELETE", f"{AT}/{ident}").status == 200
    assert server.ask("GET", f"{AT}/{ident}").status == 404 and shelf(home) == []


def test_lists_are_paged_and_questions_are_not_among_them(server: Server) -> None:
    idents = [uploaded(server, lines(2, f"file {n}"), f"{n}.jsonl").body["dataset_id"] for n in range(3)]
    questions = upload(server, ("sums.csv", csv_of(3))).body["id"]
    whole = server.get(AT)
    assert [each["id"] for each in whole["datasets"]] == idents[::-1] and whole["total"] == 3
    page = server.get(f"{AT}?limit=1&offset=1")
    assert [each["id"] for each in page["datasets"]] == [idents[1]] and page["total"] == 3
    assert server.ask("GET", f"{AT}/{questions}").status == 404
    assert server.ask("GET", f"{AT}?colour=red").status == 400
    for ident in idents:
        server.ask("DELETE", f"{AT}/{ident}")


def test_bad_lines_are_named_by_number_and_code_and_nothing_stays(server: Server, home: Path) -> None:
    body = (
        line("a")
        + b"{torn\n"
        + line("a")
        + b'{"custom_id":"c","method":"POST","url":"/v1/chat/completions"}\n'
    )
    refused = uploaded(server, body)
    assert (refused.status, refused.body["error"]) == (400, "bad-lines")
    told = {each["line"]: each["code"] for each in refused.body["errors"]}
    assert set(told) == {2, 3, 4} and told[2] == "invalid_json_line" and told[3] == "duplicate_custom_id"
    assert "line 3" in refused.body["detail"] and shelf(home) == []
    lenient = uploaded(server, body, lenient="true").body
    assert (lenient["count"], lenient["bad"], lenient["lines"]) == (1, 3, 4)
    server.ask("DELETE", f"{AT}/{lenient['dataset_id']}")


HOSTILE = [
    "../../../etc/cron.d/x",
    "..\\..\\x.jsonl",
    "$(touch pwned).jsonl",
    "<img src=x onerror=alert(1)>.jsonl",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_kept_as_data_or_refused(server: Server, home: Path, name: str) -> None:
    made = uploaded(server, lines(1, name), name)
    assert made.status == 200, made
    assert "/" not in made.body["name"] and "\\" not in made.body["name"]
    assert shelf(home) == [made.body["sha256"]] and not (home / "pwned").exists()
    server.ask("DELETE", f"{AT}/{made.body['dataset_id']}")


@pytest.mark.parametrize(
    ("called", "fields", "said"),
    [
        (".hidden", {}, "cannot be called"),
        ("a\x07b.jsonl", {}, "printable"),
        ("a.jsonl", {"project_id": "99"}, "Project 99"),
        ("a.jsonl", {"project_id": "one"}, "the number of a project"),
        ("a.jsonl", {"lenient": "perhaps"}, "write true or false"),
        ("a.jsonl", {"colour": "red"}, "No field 'colour'"),
        ("a.jsonl", {"gold": "/etc/passwd"}, "/etc/passwd"),
        ("a.jsonl", {"name": "glue"}, "one of proctor's own suites"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(
    server: Server, home: Path, called: str, fields: dict[str, str], said: str
) -> None:
    refused = uploaded(server, lines(1), called, **fields)
    assert refused.status in (400, 404) and said in refused.body["detail"], refused
    assert shelf(home) == []


def test_too_large_a_file_is_told_so_whether_it_says_its_length_or_not(server: Server, home: Path) -> None:
    body = lines(30_000)
    assert len(body) > 3_100_000
    large = uploaded(server, body)
    assert (large.status, large.body["error"]) == (413, "too-large") and "3 MB" in large.body["detail"]
    caller = HTTPConnection(server.url.partition("://")[2], timeout=30)
    whole = form([("big.jsonl", body)])
    pieces = (whole[at : at + 100_000] for at in range(0, len(whole), 100_000))
    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    caller.request("POST", f"{AT}/upload", pieces, kind, encode_chunked=True)
    answer = caller.getresponse()
    assert (answer.status, json.loads(answer.read())["error"]) == (413, "too-large")
    caller.close()
    assert shelf(home) == []


@pytest.mark.parametrize(
    "kind", ["application/json", "multipart/form-data", "multipart/form-data; boundary=other"]
)
def test_what_is_no_such_form_is_refused(server: Server, home: Path, kind: str) -> None:
    request = urllib.request.Request(f"{server.url}{AT}/upload", form([("a.jsonl", lines(2))]), method="POST")
    request.add_header("Content-Type", kind)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)
    assert refused.value.code == 400
    refused.value.close()
    assert shelf(home) == []


def half_sent(url: str, body: bytes) -> socket.socket:
    """A connection on which half of an upload has been sent."""
    host, _, port = url.partition("://")[2].partition(":")
    head = (
        f"POST {AT}/upload HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(body)}\r\n"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n"
    )
    caller = socket.create_connection((host, int(port)), timeout=30)
    caller.sendall(head.encode() + body[: len(body) // 2])
    return caller


def arriving(folder: Path) -> list[Path]:
    return [path for path in folder.glob(".arriving-*") if path.stat().st_size]


def test_an_upload_that_breaks_off_or_is_killed_leaves_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "datasets"
    body = form([("cut.jsonl", lines(5000))])
    process = started(tmp_path, ["serve", "--port", "0", "--no-worker"])
    try:
        assert process.stdout is not None
        url = process.stdout.readline().partition("proctor serves at ")[2].split()[0]
        with half_sent(url, body):
            until(lambda: arriving(folder), "half of the upload")
        until(lambda: not arriving(folder), "its end")
        with half_sent(url, body):
            until(lambda: arriving(folder), "half of the upload")
            os.kill(process.pid, signal.SIGKILL)
            process.wait(30)
        assert arriving(folder), "a killed process cannot have deleted it"
    finally:
        process.kill()
        process.communicate(timeout=30)
    with serving(tmp_path, "--no-worker") as server:
        made = uploaded(server, lines(2))
        assert shelf(tmp_path) == [made.body["sha256"]]


def test_without_a_key_nothing_is_told_and_a_reader_changes_nothing(tmp_path: Path) -> None:
    def key(scope: str) -> dict[str, str]:
        made = proctor_json(tmp_path, "keys", "create", "--user", "ann", "--scope", scope)
        return {"Authorization": f"Bearer {made['key']}"}

    reads, runs = key("read"), key("run")
    with serving(tmp_path, "--no-worker", PROCTOR_AUTH="keys") as server:
        assert server.ask("GET", AT).status == 401 and uploaded(server, lines(2)).status == 401
        assert uploaded(server, lines(2), headers=reads).status == 403
        made = uploaded(server, lines(2), headers=runs)
        assert made.status == 200, made
        assert server.ask("GET", AT, headers=reads).body["total"] == 1
        assert server.ask("DELETE", f"{AT}/{made.body['dataset_id']}", headers=reads).status == 403
        edited = server.ask("POST", "/admin/models", {"model_id": "simulator/sim"}, headers=runs)
        assert edited.status == 403, "models are everybody's: only an administrator changes them"


def test_models_are_listed_edited_and_forgotten(server: Server) -> None:
    listed = server.get("/admin/models")
    sim = next(each for each in listed["models"] if each["model_id"] == "simulator/sim")
    assert sim["offered"] and not sim["edited"]
    assert "ollama" in {each["provider"] for each in listed["away"]}
    told = {"model_id": "openai/allenai/OLMo-2-1124-7B-Instruct", "name": "OLMo 2 7B", "parameters": "7B"}
    made = server.post("/admin/models", told)
    assert (made["memory_bytes"], made["memory_from"], made["edited"]) == (14e9, "parameters", True)
    assert server.ask("POST", "/admin/models", {"model_id": "nobody"}).status == 400
    path = "/admin/models/openai/allenai/OLMo-2-1124-7B-Instruct"
    assert server.ask("DELETE", path).status == 200 and server.ask("DELETE", path).status == 404
