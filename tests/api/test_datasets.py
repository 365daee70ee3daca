"""One's own questions on a real server: from the upload over the run to the deletion, and what must not come in."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from programs import proctor
from served import PREFIX, Server, serving
from uploads import BOUNDARY, DATASETS, csv_of, form, upload, workbook

pytestmark = pytest.mark.slow

SUITE = b"""
[suite]
name = "kitchen"
title = "Kitchen knowledge"
[[tasks]]
key = "sums"
file = "sums.csv"
[[tasks]]
key = "colours"
file = "colours.jsonl"
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with serving(home, PROCTOR_REQUESTS_PER_MINUTE="100000", PROCTOR_UPLOAD_MB="2") as running:
        yield running


def run(server: Server, suite: str, **config: object) -> str:
    whole = {"provider": "simulator", "model": "sim", **config}
    body = {"project_id": 1, "suite": suite, "config": whole}
    job: str = server.post(f"{PREFIX}/run", body)["job_id"]
    return job


def test_a_file_is_uploaded_understood_asked_ranked_renamed_and_deleted(server: Server) -> None:
    made = upload(server, ("sums.csv", csv_of(30)), name="Sums")
    assert made.status == 201, made
    ident, found = made.body["id"], made.body["found"]
    assert (found["rows"], found["items"], found["answer_type"], found["error"]) == (30, 30, "text", None)
    assert found["first"][0] == {"where": "line 2", "cells": ["What is 0 plus 0?", "0"]}
    assert 0 < found["half_width"] < found["detectable"] < 1
    again = upload(server, ("sums.csv", csv_of(30)))
    assert (again.body["id"], again.body["name"], again.body["made"]) == (ident, "Sums", False)
    part = server.get(f"{DATASETS}/{ident}/rows?offset=28&limit=5")
    assert part["total"] == 30 and [row["where"] for row in part["rows"]] == ["line 30", "line 31"]

    plan = {"project_id": 1, "suite": "Sums", "config": {"provider": "simulator", "model": "sim"}}
    assert server.post("/api/v1/plan", plan)["power"]["items"] == 30
    jobs = [run(server, "Sums"), run(server, ident, limit=20)]
    assert [server.ended(job)["status"] for job in jobs] == ["completed", "completed"]
    board = server.get(f"{PREFIX}/leaderboard?suite=Sums&metric=accuracy")
    assert [place["model_id"] for place in board["leaderboard"]] == ["simulator/sim"]
    assert server.get(f"{PREFIX}/history?suite=Sums")["total_runs"] == 2

    renamed = server.ask("PATCH", f"{DATASETS}/{ident}", {"name": "Additions"})
    assert renamed.body["name"] == "Additions"
    assert server.get(f"{PREFIX}/results?suite=Additions")["total"] == 2
    assert server.ask("DELETE", f"{DATASETS}/{ident}").status == 200
    assert server.ask("GET", f"{DATASETS}/{ident}").status == 404
    assert server.get(f"{PREFIX}/results/{jobs[0]}")["status"] == "completed"
    gone = server.ask("POST", f"{PREFIX}/run", {**plan, "suite": "Additions"})
    assert gone.status == 400 and gone.body["detail"].startswith("Invalid benchmark suite")


def test_columns_that_no_name_tells_are_chosen_and_runs_under_way_keep_their_own(server: Server) -> None:
    rows = csv_of(12, question="Frage", answer="Antwort")
    made = upload(server, ("german.csv", rows)).body
    assert made["found"]["error"].startswith(
        "german.csv: no column with questions. Its columns: Frage, Antwort"
    )
    body = {"project_id": 1, "suite": "german", "config": {"provider": "simulator", "model": "sim"}}
    refused = server.ask("POST", f"{PREFIX}/run", body)
    assert refused.status == 400 and "cannot be asked as it is read" in refused.body["detail"]
    layout = {"columns": ["question=Frage", "answer=Antwort"]}
    read = server.ask("PATCH", f"{DATASETS}/{made['id']}", {"layout": layout}).body
    assert read["found"]["error"] is None and read["found"]["parts"]["answer"] == ["Antwort"]
    job = run(server, "german")
    assert server.ended(job)["status"] == "completed"
    server.ask(
        "PATCH", f"{DATASETS}/{made['id']}", {"layout": {"columns": ["question=Frage", "answer=Frage"]}}
    )
    server.post(f"/api/v1/jobs/cancel/{run(server, 'german', repeats=100)}")
    odd = server.ask("PATCH", f"{DATASETS}/{made['id']}", {"layout": {"columns": ["Frage"]}})
    assert odd.status == 400 and "write PART=COLUMN" in odd.body["detail"]


def test_the_grader_of_a_data_set_is_chosen_and_opens_no_file_of_the_server(
    server: Server, home: Path
) -> None:
    made = upload(server, ("capitals.csv", b"question,answer\nThe capital of Australia?,Canberra\n")).body
    at = f"{DATASETS}/{made['id']}"
    read = server.ask("PATCH", at, {"layout": {"grader": "number"}}).body["found"]
    assert "'Canberra' is no single number" in read["error"]
    read = server.ask("PATCH", at, {"layout": {"grader": "contains"}}).body
    assert read["layout"]["grader"] == "contains" and read["found"]["error"] is None
    assert any(told.startswith("Grader contains") for told in read["found"]["understood"])
    (home / "schema.json").write_text('{"type": "object"}')
    for words in (f"json:schema={home}/schema.json", "kindness"):
        odd = server.ask("PATCH", at, {"layout": {"grader": words}})
        assert odd.status == 422 or odd.status == 400, odd
        assert "object" not in json.dumps(odd.body)
    ended = server.ended(run(server, made["name"], model="sim-perfect"))
    assert (ended["status"], ended["performance_data"][made["name"]]["capitals"]["accuracy"]["mean"]) == (
        "completed",
        1.0,
    )


def test_results_and_comparisons_are_of_any_kept_grader(server: Server, home: Path) -> None:
    made = upload(server, ("rivers.csv", b"question,answer\nThe longest river of Europe?,Volga\n")).body
    jobs = [run(server, made["name"], model=model) for model in ("sim-perfect", "sim-wrong")]
    for job in jobs:
        server.ended(job)
        missing = server.ask("GET", f"{PREFIX}/results/{job}?grader=exact")
        assert missing.status == 404 and "proctor grade" in missing.body["detail"]
        proctor(home, "grade", job, "--grader", "exact:read=whole")
    shown = [server.get(f"{PREFIX}/results/{job}?grader=exact") for job in jobs]
    figures = [each["performance_data"][made["name"]]["rivers"]["accuracy"] for each in shown]
    assert [each["mean"] for each in figures] == [0.0, 0.0], "sentences around an answer are no answer"
    body = {"model_ids": jobs}
    first = server.post(f"{PREFIX}/compare", body)["comparison"]["verdict"]
    by_exact = server.post(f"{PREFIX}/compare", {**body, "grader": "exact"})["comparison"]["verdict"]
    assert by_exact != first


def test_a_data_set_in_use_is_not_deleted_and_its_users_are_named(server: Server) -> None:
    ident = upload(server, ("used.csv", csv_of(5))).body["id"]
    job = {"project_id": 1, "suite": "used", "config": {"provider": "simulator", "model": "sim"}}
    made = server.post("/api/v1/schedules", {"name": "nightly", "cron": "0 2 * * *", "job": job})
    slow = run(server, "used", repeats=100, max_tokens=5)
    refused = server.ask("DELETE", f"{DATASETS}/{ident}")
    assert refused.status == 409 and f"{made['id']} (nightly)" in refused.body["detail"]
    server.ask("POST", f"/api/v1/jobs/cancel/{slow}")
    server.ended(slow)
    server.ask("DELETE", f"/api/v1/schedules/{made['id']}")
    assert server.ask("DELETE", f"{DATASETS}/{ident}").status == 200


def test_a_suite_comes_with_its_files_and_names_no_others(server: Server) -> None:
    colours = b'{"question": "The sky?", "answer": "blue"}\n{"question": "Grass?", "answer": "green"}\n'
    toml = ("kitchen.toml", SUITE)
    alone = upload(server, toml)
    assert alone.status == 400 and "names 'sums.csv', which was not uploaded with it" in alone.body["detail"]
    outside = upload(
        server, ("bad.toml", SUITE.replace(b"sums.csv", b"/etc/passwd")), ("sums.csv", csv_of(3))
    )
    assert outside.status == 400 and "/etc/passwd" in outside.body["detail"]
    made = upload(server, toml, ("sums.csv", csv_of(10)), ("colours.jsonl", colours)).body
    assert made["found"]["tasks"] == ["sums", "colours"] and made["found"]["items"] == 12
    result = server.ended(run(server, "kitchen"))
    assert result["status"] == "completed" and set(next(iter(result["performance_data"].values()))) == {
        "sums",
        "colours",
    }


def test_what_cannot_be_a_data_set_is_refused_and_leaves_nothing(server: Server, home: Path) -> None:
    before = server.get(DATASETS)
    for files, fields, said in (
        ([("a.csv", b"")], {}, "the file is empty"),
        ([("a.xlsx", workbook([["question"]])[:-40])], {}, "no workbook that can be read"),
        ([("a.parquet", b"PAR1" + b"x" * 100 + b"\x10\0\0\0PAR1")], {}, "a.parquet"),
        ([("a.csv", csv_of(2)), ("b.csv", csv_of(2))], {}, "Several files are one data set where one"),
        ([("glue.csv", csv_of(2))], {}, "one of proctor's own suites"),
        ([("a.csv", csv_of(2))], {"name": "x" * 150}, "a name of 1 to 100 characters"),
        ([("a.csv", csv_of(2))], {"layout": {"columns": ["frage"]}}, "write PART=COLUMN"),
        ([("a.csv", csv_of(2))], {"project_id": "99"}, "Project 99"),
    ):
        refused = upload(server, *files, **fields)
        assert refused.status in (400, 404) and said in refused.body["detail"], (refused, said)
    assert server.get(DATASETS) == before
    assert not [each for each in (home / "datasets").iterdir() if each.name.startswith("tmp")]


def test_an_upload_that_is_too_large_is_told_so_whether_it_says_its_length_or_not(server: Server) -> None:
    large = upload(server, ("big.csv", csv_of(2) + b" " * 2_200_000))
    assert (large.status, large.body["error"]) == (413, "too-large")
    assert "larger than 2 MB" in large.body["detail"]
    caller = HTTPConnection(server.url.partition("://")[2], timeout=30)
    body = form([("big.csv", csv_of(2) + b" " * 2_200_000)])
    pieces = (body[at : at + 100_000] for at in range(0, len(body), 100_000))
    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    caller.request("POST", DATASETS, pieces, kind, encode_chunked=True)
    answer = caller.getresponse()
    told = json.loads(answer.read())
    caller.close()
    assert (answer.status, told["error"]) == (413, "too-large")


def test_an_upload_that_breaks_off_leaves_nothing_and_the_server_goes_on(server: Server) -> None:
    before = server.get(DATASETS)
    host, _, port = server.url.partition("://")[2].partition(":")
    body = form([("cut.csv", csv_of(500))])
    head = (
        f"POST {DATASETS} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(body)}\r\n"
        f"Content-Type: multipart/form-data; boundary={BOUNDARY}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=10) as caller:
        caller.sendall(head.encode() + body[: len(body) // 2])
    assert server.get(DATASETS) == before
