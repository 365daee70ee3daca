"""Calls of agents in their file: only what is new is written, and every body comes back as it was."""

from __future__ import annotations

import json
import os
import stat
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.errors import DataError
from proctor.replies import calls
from proctor.replies.calls import CallLog, kept_calls, read_calls, without
from proctor.replies.turns import turns_of
from proctor.trial_record import AgentCall
from proctor.types import Usage

NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
# Whole numbers, floats and truth values that Python takes for equal are among them on purpose.
LEAVES = st.none() | st.booleans() | st.sampled_from([0, 1, 0.0, 1.0]) | NUMBERS | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES, lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each, max_size=3)
)
FIELDS = st.dictionaries(
    st.sampled_from(["model", "input", "tools", "store"]), st.lists(LEAVES, max_size=4) | VALUES, max_size=4
)
BODIES = (FIELDS | VALUES).map(lambda value: json.dumps(value).encode())
OTHERS = st.binary(max_size=20) | st.sampled_from([b"", b'"\\ud800"', b"1e999", b"[1, 2"])


def _meaning(body: bytes) -> object:
    """A value of JSON in which 1, 1.0 and true are three; what is none, as text."""
    try:
        return json.dumps(orjson.loads(body), sort_keys=True)
    except ValueError:
        return body.decode("utf-8", "replace")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(BODIES | OTHERS, BODIES), max_size=12))
def test_every_body_comes_back_with_the_meaning_that_it_had(bodies: list[tuple[bytes, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "calls.jsonl"
        with CallLog(path) as log:
            for number, (request, response) in enumerate(bodies):
                log.add(AgentCall(number, 0.5, "/v1/responses", "answered", 200, request, response))
        found = list(read_calls(path)) if bodies else []
    assert [each.number for each in found] == list(range(len(bodies)))
    told = [(_meaning(each.request), _meaning(each.response)) for each in found]
    assert told == [(_meaning(request), _meaning(response)) for request, response in bodies]


def _talk(number: int, turns: int, **more: object) -> AgentCall:
    """The call of a conversation that repeats all that was said."""
    said = [{"role": "user", "content": f"turn {each} " + "x" * 1_000} for each in range(turns)]
    body = {"model": "m", "tools": [{"name": "run"}] * 20, "input": said, **more}
    return AgentCall(
        number, 1.0, "/v1/responses", "answered", request=orjson.dumps(body), response=b'{"output":[]}'
    )


def test_a_file_grows_with_what_was_said_and_not_with_its_square(tmp_path: Path) -> None:
    made = [_talk(each, each + 1) for each in range(200)]
    made[50:50] = [_talk(1_000, 3, model="titles")]  # another conversation of the same agent between them
    with CallLog(tmp_path / "calls.jsonl") as log:
        for call in made:
            log.add(call)
    said, kept = sum(len(each.request) for each in made), (tmp_path / "calls.jsonl").stat().st_size
    assert said > 20_000_000
    assert kept < 400_000
    assert [orjson.loads(each.request) for each in read_calls(tmp_path / "calls.jsonl")] == [
        orjson.loads(each.request) for each in made
    ]


def test_numbers_of_a_call_come_back_as_they_were(tmp_path: Path) -> None:
    call = AgentCall(
        7, 3.25, "/v1/chat/completions", "cut", 502, b"{}", b"{}", "resp_1", Usage(10, 2, 0.5),
        Usage(3, None), 2, 0.125, 9.0, False, "the server went away",
    )  # fmt: skip
    with CallLog(tmp_path / "calls.jsonl") as log:
        log.add(call)
    assert list(read_calls(tmp_path / "calls.jsonl")) == [call]


def test_a_line_that_was_not_ended_is_left_out_and_a_broken_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    with CallLog(path) as log:
        log.add(_talk(0, 1))
        log.add(_talk(1, 2))
    whole = path.read_bytes()
    for end in (1, 2, 100, 1_000):
        path.write_bytes(whole[:-end])
        assert [each.number for each in read_calls(path)] == [0]
    path.write_bytes(b"{}x\n" + whole)
    with pytest.raises(DataError, match=r"line 1 of calls\.jsonl"):
        list(read_calls(path))
    path.write_bytes(whole.split(b"\n")[1] + b"\n")
    with pytest.raises(DataError, match="refers to what is not there"):
        list(read_calls(path))


LINE = {"number": 0, "at": 0.0, "path": "/", "ended": "answered", "status": 200, "usage": {}, "unused": {}}
OBJECTS = st.dictionaries(st.sampled_from(["input", "b"]), st.lists(LEAVES, max_size=2) | LEAVES, max_size=2)
KEPT = st.fixed_dictionaries(
    {"new": OBJECTS | LEAVES},
    optional={
        "of": st.integers(0, 2) | LEAVES,
        "same": st.lists(st.sampled_from(["input", "b"])) | LEAVES,
        "begins": st.dictionaries(st.sampled_from(["input", "b"]), st.integers(0, 2) | LEAVES) | LEAVES,
        "text": LEAVES,
    },
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(KEPT | LEAVES, KEPT | LEAVES), min_size=1, max_size=3),
    st.dictionaries(st.sampled_from(list(LINE)), LEAVES),
)
def test_a_line_that_somebody_else_wrote_is_read_or_told(
    bodies: list[tuple[Any, Any]], odd: dict[str, Any]
) -> None:
    more = {"retries": 0, "counted": True, **odd}
    lines = [
        json.dumps({**LINE, **more, "number": place, "request": request, "response": response}).encode()
        + b"\n"
        for place, (request, response) in enumerate(bodies)
    ]
    try:
        turns_of(kept_calls(lines))
    except DataError as error:
        assert "calls.jsonl" in str(error)


def test_no_key_of_ours_is_written_however_it_is_spelled(tmp_path: Path) -> None:
    key = "sk-proj-0123456789"
    spelled = json.dumps({"input": ["KEY", "say KEY"]}).replace(
        "KEY", "".join(f"\\u{ord(c):04x}" for c in key)
    )
    with CallLog(tmp_path / "calls.jsonl", without([key, "none"])) as log:
        log.add(
            AgentCall(0, 0.0, "/v1/responses", "failed", 401, spelled.encode(), b"{}", note=f"refused {key}")
        )
        log.add(
            AgentCall(1, 0.0, f"/{key}", "answered", 200, spelled.encode(), json.dumps({key: [key]}).encode())
        )
    assert key.encode() not in (tmp_path / "calls.jsonl").read_bytes()
    found = list(read_calls(tmp_path / "calls.jsonl"))
    assert orjson.loads(found[1].request) == {"input": ["[key]", "say [key]"]}
    assert orjson.loads(found[1].response) == {"[key]": ["[key]"]}


def test_what_is_beyond_the_limits_is_counted_and_told(tmp_path: Path) -> None:
    huge = orjson.dumps({"input": ["y" * calls.MOST_CALL_BYTES]})
    with CallLog(tmp_path / "calls.jsonl") as log:
        log.add(AgentCall(0, 0.0, "/v1/responses", "answered", 200, huge, b"{}", usage=Usage(5, 6)))
        for number in range(1, calls.MOST_CALLS + 3):
            log.add(AgentCall(number, 0.0, "/v1/responses" + "x" * 900, "refused", 429, note="z" * 9_000))
    found = list(read_calls(tmp_path / "calls.jsonl"))
    assert (tmp_path / "calls.jsonl").stat().st_size < calls.MOST_BYTES
    assert len(found) == calls.MOST_CALLS
    assert (found[0].usage, found[0].request) == (Usage(5, 6), b"{}")
    assert found[0].note == f"its request and response of {len(huge) + 2:,} bytes are not kept"
    assert log.notes[0].startswith("Of 1 calls the requests and responses are not kept")
    assert log.notes[1].startswith("3 calls are not kept at all")


def test_a_later_stage_goes_on_with_the_numbers_and_the_time_of_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    made = [replace(_talk(0, 1), seconds=4.0), _talk(1, 2)]
    for _stage in range(2):
        with CallLog(path) as log:
            for call in made:
                log.add(call)
        with path.open("ab") as file:
            file.write(b'{"number": 9')  # what a killed writer leaves
    found = list(read_calls(path))
    assert [(each.number, each.at) for each in found] == [(0, 1.0), (1, 1.0), (2, 6.0), (3, 6.0)]
    assert [orjson.loads(each.request) for each in found] == [orjson.loads(each.request) for each in made] * 2


def test_nothing_is_written_through_a_link_and_others_read_it_as_the_umask_allows(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with CallLog(tmp_path / "link") as log, pytest.raises(OSError, match="symbolic links"):
        log.add(_talk(0, 1))
    assert (tmp_path / "elsewhere").read_text() == "mine"
    mask = os.umask(0o027)
    try:
        with CallLog(tmp_path / "calls.jsonl") as log:
            log.add(_talk(0, 1))
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "calls.jsonl").stat().st_mode) == 0o640
