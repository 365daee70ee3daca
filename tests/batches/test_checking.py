"""A check of a file of requests: every line that cannot be sent is named, at once, whatever the file is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lines_made import CHAT, checked, line, opened, real_inputs, write

from proctor.errors import DataError, DataMissing
from proctor.references import BatchRef
from proctor.sources.batches.checked import SENDABLE, Rules
from proctor.sources.batches.preview import first_requests
from programs import proctor, proctor_json

pytestmark = pytest.mark.slow


def faults(path: Path, rules: Rules = SENDABLE, **given: Any) -> list[tuple[int | None, str]]:
    return [(fault.line, fault.code) for fault in checked(path, rules, **given).faults]


BAD = {
    "invalid_json_line": b'{"custom_id": "x"',
    "invalid_encoding": b'{"custom_id": "x\xff"}',
    "missing_required_parameter": b'{"custom_id": "x"}',
    "invalid_type": b'{"custom_id": 7, "body": {"messages": [{}]}}',
    "invalid_method": b'{"custom_id": "x", "method": "GET", "body": {"messages": [{}]}}',
    "invalid_url": b'{"custom_id": "x", "url": "/v1/files", "body": {"messages": [{}]}}',
    "invalid_stream": b'{"custom_id": "x", "body": {"messages": [{}], "stream": true}}',
    "unsupported_dialect": b'{"custom_id": "x", "request": {"contents": []}}',
    "invalid_value": b'{"custom_id": "a\\u0000b", "body": {"messages": [{}]}}',
    "duplicate_custom_id": b'{"custom_id": "first", "body": {"messages": [{}]}}',
}


@pytest.mark.promise("B-02")
def test_every_bad_line_is_named_with_its_number_and_its_code(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [line("first"), b"", *BAD.values(), line("last")])
    found = checked(path)
    assert [(fault.line, fault.code) for fault in found.faults] == list(enumerate(BAD, 3))
    assert (found.lines, found.count, found.bad) == (len(BAD) + 2, 2, len(BAD))
    with pytest.raises(DataError, match="10 of 12 lines cannot be sent") as refused:
        opened(path)
    assert all(f"line {number}: " in str(refused.value) for number in range(3, 3 + len(BAD)))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (b"7", "invalid_json_line"),
        (b"\0", "invalid_json_line"),
        (b'{"custom_id": "x", "body": {"messages": [{"a": NaN}]}}', "invalid_json_line"),
        (b'{"a":' * 3000 + b"1" + b"}" * 3000, "invalid_json_line"),
        (b'{"custom_id": "", "body": {"messages": [{}]}}', "invalid_type"),
        (b'{"custom_id": "\\ud800", "body": {"messages": [{}]}}', "invalid_value"),
        (b'{"custom_id": "' + b"x" * 513 + b'", "body": {"messages": [{}]}}', "invalid_value"),
        (b'{"custom_id": "x", "body": []}', "invalid_type"),
        (b'{"custom_id": "x", "body": {"messages": []}}', "missing_required_parameter"),
        (b'{"custom_id": "x", "body": {"messages": "hi"}}', "invalid_type"),
        (
            b'{"custom_id": "x", "url": "/v1/embeddings", "body": {"messages": [{}]}}',
            "missing_required_parameter",
        ),
        (
            b'{"custom_id": "x", "url": "http://elsewhere/v1/chat/completions", "body": {"messages": [{}]}}',
            "invalid_url",
        ),
        (b'{"custom_id": "x", "url": "/v1/../admin", "body": {"messages": [{}]}}', "invalid_url"),
        (b'{"custom_id": "x", "body": {"input": "x"}}', "missing_required_parameter"),
        (
            b'{"custom_id": "x", "params": {"messages": [{}], "tools": [{"input_schema": {}}]}}',
            "unsupported_dialect",
        ),
        (b'{"body": {"messages": [{}]}}', "missing_required_parameter"),
        (b'{"hello": 1}', "missing_required_parameter"),
    ],
)
def test_what_cannot_be_sent_has_a_code(tmp_path: Path, text: bytes, code: str) -> None:
    assert faults(write(tmp_path / "in.jsonl", [text])) == [(1, code)]


def test_byte_order_mark_windows_ends_and_blank_lines_are_told_and_taken(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    texts = [json.dumps(line(f"r{n}")).encode() for n in range(3)]
    path.write_bytes(b"\xef\xbb\xbf" + texts[0] + b"\r\n\r\n \t\n" + texts[1] + b"\r\n" + texts[2])
    found = checked(path)
    assert found.ok
    assert {note.code: note.line for note in found.notes} == {
        "byte_order_mark": 1,
        "crlf": 1,
        "blank_line": 2,
    }
    assert [item.id for item in opened(path).items()] == ["r0", "r1", "r2"]
    assert [item.id for item in opened(path, order="random").items()].count("r0") == 1


def test_a_line_of_20_megabytes_is_sent_and_one_past_the_cap_is_named(tmp_path: Path) -> None:
    large = line("large", "x" * 20 * 2**20)
    path = write(tmp_path / "in.jsonl", [line("a"), large, line("b")])
    assert [len(item.ask.body) > 2**24 for item in opened(path).items()] == [False, True, False]
    with path.open("ab") as file:
        file.write(b'"' + b"y" * 65 * 2**20 + b'"\n')
        file.write(json.dumps(line("after")).encode())
    assert faults(path) == [(4, "line_too_large")]
    kept = opened(path, lenient=True, order="random")
    assert sorted(item.id for item in kept.items()) == ["a", "after", "b", "large"]


def test_faults_are_listed_up_to_a_cap_and_all_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [line("same") for _ in range(500)] + [b"{"] * 500 + [line("end")])
    found = checked(path, Rules(listed=7))
    assert (found.count, found.bad, len(found.faults)) == (2, 999, 7)
    assert [fault.line for fault in found.faults] == list(range(2, 9))
    with pytest.raises(DataError, match="and 979 more"):
        opened(path)


def test_one_of_many_ids_that_stands_twice_is_found_with_both_lines(tmp_path: Path) -> None:
    lines = [line(f"id-{n}") for n in range(20_000)]
    lines[17_123]["custom_id"] = "id-42"
    (fault,) = checked(write(tmp_path / "in.jsonl", lines)).faults
    assert (fault.line, fault.code) == (17_124, "duplicate_custom_id")
    assert "line 43" in fault.message


def test_two_endpoints_are_a_fault_unless_bad_lines_may_stay_out(tmp_path: Path) -> None:
    other = {"custom_id": "b", "url": "/v1/embeddings", "body": {"input": "x"}}
    path = write(tmp_path / "in.jsonl", [line("a"), other, line("c")])
    assert faults(path) == [(2, "invalid_url")]
    assert faults(path, lenient=True) == []
    source = opened(path, lenient=True)
    assert (len(source), source.facts.endpoint, source.facts.left_out) == (3, None, None)


def test_endpoints_that_nothing_is_known_of_are_asked_by_lenient_runs_alone(tmp_path: Path) -> None:
    other = {"custom_id": "a", "url": "/v1/rerank", "body": {"query": "x", "documents": ["y"]}}
    path = write(tmp_path / "in.jsonl", [other, {**other, "custom_id": "b", "url": "/v1/../admin"}])
    assert faults(path) == [(1, "invalid_url"), (2, "invalid_url")]
    (item,) = opened(path, lenient=True).items()
    assert item.id == "a"


def test_two_models_are_told_and_are_a_fault_where_openais_rules_hold(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [line("a"), line("b", model="n"), line("c", model="n")])
    found = checked(path)
    assert found.ok
    assert [(note.line, note.code) for note in found.notes] == [(2, "other_model")]
    assert found.models == {"m": 1, "n": 2}
    assert faults(path, Rules(one_model=True)) == [(2, "mismatched_model"), (3, "mismatched_model")]


def test_openais_rules_ask_for_every_field_for_one_endpoint_and_for_so_many_lines(tmp_path: Path) -> None:
    plain = write(tmp_path / "plain.jsonl", [{"custom_id": "a", "body": line()["body"]}])
    assert faults(plain, Rules(complete=True)) == [(1, "missing_required_parameter")]
    path = write(tmp_path / "in.jsonl", [line("a"), line("b")])
    assert faults(path, Rules(endpoint=CHAT)) == []
    assert faults(path, Rules(endpoint="/v1/embeddings")) == [(1, "invalid_url"), (2, "invalid_url")]
    assert faults(path, Rules(most=1)) == [(2, "too_many_tasks")]
    (fault,) = checked(path, Rules(most=1)).faults
    assert fault.openai() == {"code": "too_many_tasks", "message": fault.message, "param": None, "line": 2}


def test_an_empty_file_and_other_things_are_refused_as_a_whole(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty.jsonl", [b"", b""])
    assert faults(empty) == [(None, "empty_file")]
    with pytest.raises(DataError, match="no requests"):
        opened(empty)
    (tmp_path / "wide.jsonl").write_text(json.dumps(line()), encoding="utf-16")
    with pytest.raises(DataError, match="UTF-16"):
        checked(tmp_path / "wide.jsonl")
    (tmp_path / "page.jsonl").write_bytes(b"<!doctype html><html></html>")
    with pytest.raises(DataError, match="HTML"):
        checked(tmp_path / "page.jsonl")
    with pytest.raises(DataMissing, match="No such file"):
        checked(tmp_path / "nowhere.jsonl")


def test_a_lenient_run_does_without_bad_lines_and_says_so(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [line("a"), b"{", line("b"), line("a", "again"), line("c")])
    source = opened(path, lenient=True)
    assert [item.id for item in source.items()] == ["a", "b", "c"]
    assert source.facts.left_out is not None
    assert (source.facts.left_out.rows, source.facts.left_out.of) == (2, 5)
    assert len(source.facts.left_out.faults) == 2
    assert "2 of 5" in source.title


@pytest.mark.promise("B-02")
def test_real_files_are_sound_and_are_counted() -> None:
    counts = {path.parent.name + "/" + path.name: checked(path) for path in real_inputs()}
    assert all(found.ok for found in counts.values())
    assert {name: found.count for name, found in counts.items()} == {
        "batchlocallm/batch_input.jsonl": 3,
        "batchlocallm/demo_batch_10.jsonl": 10,
        "batchlocallm/synthetic_100.jsonl": 100,
        "genai_navirag/batch_input.jsonl": 65,
        "groq_example/batch_input.jsonl": 3,
    }


def test_the_first_requests_are_shown_without_a_look_at_the_rest(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [line("a", "x" * 1000), b"{", line("b"), line("c"), b"{"])
    ref = BatchRef(str(path))
    shown = first_requests(path, ref, 2)
    assert [(each.line, each.custom_id, each.url, each.model) for each in shown] == [
        (1, "a", CHAT, "m"),
        (3, "b", CHAT, "m"),
    ]
    assert len(shown[0].prompt) < 310
    assert [each.custom_id for each in first_requests(path, ref, 2, offset=2)] == ["c"]


def test_the_command_names_bad_lines_and_ends_with_1(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [line("a"), b"{", line("a")])
    check = ("batch", "check", str(path))
    said = proctor(tmp_path, *check, code=1)
    assert "line 2: not JSON" in said.stdout
    assert "line 3: the custom_id is a duplicate of that of line 1" in said.stdout
    proctor(tmp_path, *check, "--lenient")
    document = proctor_json(tmp_path, *check, "--json", "--faults", "1", code=1)
    assert (document["count"], document["bad"], len(document["faults"]), document["ok"]) == (1, 2, 1, False)
    proctor(tmp_path, "batch", "check", str(tmp_path / "nowhere"), code=2)


MEASURE = """
import resource, sys
from pathlib import Path
from proctor.references import BatchRef
from proctor.sources.batches.source import open_batch
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
path, order = Path(sys.argv[1]), sys.argv[2]
import numpy
before = peak()
count = sum(1 for _ in open_batch(BatchRef(str(path), order=order), path).items())
print(count, peak() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("order", ["file", "random"])
def test_memory_does_not_grow_with_what_the_lines_hold(tmp_path: Path, order: str) -> None:
    path = tmp_path / "in.jsonl"
    with path.open("w") as file:
        for n in range(50_000):
            file.write(json.dumps(line(f"request-{n}", "word " * 200)) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path), order], capture_output=True, text=True, check=True
    )
    count, grown_mb = done.stdout.split()
    assert int(count) == 50_000
    assert path.stat().st_size > 50e6
    assert float(grown_mb) < 25
