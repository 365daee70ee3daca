"""Streamed replies: put together again whatever way they are cut, with the times of their tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from proctor.errors import BadReply, BadRequest, NetworkError, ServerError
from proctor.providers.passthrough.assembled import ASSEMBLED
from proctor.providers.passthrough.events import Events
from proctor.providers.passthrough.stream import Stream
from proctor.providers.wire.refusals import Place
from proctor.simulator import Simulated, spawn
from proctor.types import Model, Reply
from scripted import EVENTS, Said, failure_of, passed, reply_to, request, scripted
from simulators import nearby

pytestmark = pytest.mark.slow

FIRST_S, NEXT_S = 0.25, 0.02
ASKED = request({"messages": [{"role": "user", "content": "Which one?"}]})
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


@pytest.fixture(scope="module")
def paced() -> Iterator[Simulated]:
    with spawn(["--first-token", str(FIRST_S), "--per-token", str(NEXT_S)], {}) as running:
        yield running


def here(url: str) -> Model:
    return Model("openai", "sim", url)


def event(delta: dict[str, Any] | None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": None, **more}]
    extra = {} if delta is not None else more
    return b"data: " + orjson.dumps(
        {"id": "c1", "object": "chat.completion.chunk", "choices": choices, **extra}
    )


ROLE = event({"role": "assistant", "content": ""})
STOP = event({}, finish_reason="stop")
USED = event(None, usage={"prompt_tokens": 4, "completion_tokens": 2})
DONE = b"data: [DONE]"


def streamed(*events: bytes, end: bytes = b"\n\n", whole: bool = False) -> Said:
    """Events in pieces of their own, or all in one."""
    pieces = [one + end for one in events]
    return Said([b"".join(pieces)] if whole else pieces, kind=EVENTS)


def told(home: Path, answer: Said) -> Reply:
    with scripted(lambda _path, _body: answer) as server:
        return reply_to(here(server.url), home, ASKED, stream=True)


# Times -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Which one?"}]}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hm"}], "tools": TOOLS}),
        ("/v1/completions", {"prompt": "Once upon"}),
        ("/v1/responses", {"input": "Which one?"}),
    ],
)
def test_the_times_of_tokens_are_those_of_the_server(
    url: str, body: dict[str, Any], paced: Simulated, tmp_path: Path
) -> None:
    model = here(f"{paced.url}/v1")
    reply = reply_to(model, tmp_path, request(body, url), stream=True)
    assert reply.output_tokens is not None
    assert reply.output_tokens > 3
    # What the machine adds is on top: no token is seen before it was sent.
    assert reply.first_token_s is not None
    assert reply.latency_s is not None
    assert reply.inter_token_s is not None
    lasted_s = NEXT_S * (reply.output_tokens - 1)
    assert FIRST_S <= reply.first_token_s < reply.latency_s
    assert FIRST_S + lasted_s <= reply.latency_s
    # Those of the first reading are one or more, so the mean of the others is at least that of all.
    later = reply.output_tokens - 1
    assert reply.inter_token_s >= (reply.latency_s - reply.first_token_s) / later * 0.999


def test_a_streamed_reply_has_the_body_of_one_that_was_not(paced: Simulated, tmp_path: Path) -> None:
    item = request({"messages": [{"role": "user", "content": "Hm"}], "tools": TOOLS, "n": 2})
    model = here(f"{paced.url}/v1")
    whole = reply_to(model, tmp_path, item)
    pieces = reply_to(model, tmp_path, item, stream=True)
    one, other = orjson.loads(whole.raw), orjson.loads(pieces.raw)
    for body in (one, other):
        for varying in ("id", "created"):
            del body[varying]
    assert other == one
    assert (pieces.text, pieces.finish) == (whole.text, whole.finish)
    assert pieces.first_token_s is not None
    assert pieces.inter_token_s is None  # of two replies in turn it means nothing
    assert (whole.first_token_s, whole.inter_token_s) == (None, None)


def timed(*readings: tuple[float, bytes]) -> Stream:
    """A stream that was read so: no clock of this machine is in it."""
    stream = Stream(Place("openai", "http://somewhere/v1", "m"), ASSEMBLED["/v1/chat/completions"](), bytes)
    for at, events in readings:
        stream.take(events, at)
    return stream


def one(text: str) -> bytes:
    return event({"content": text}) + b"\n\n"


def test_the_role_alone_is_no_token_and_the_end_is_the_last_one() -> None:
    end = STOP + b"\n\n" + USED + b"\n\n" + DONE + b"\n\n"
    stream = timed((0.1, ROLE + b"\n\n"), (0.5, one("a")), (0.75, one("b")), (1.0, one("c")), (9.0, end))
    assert (stream.first_s, stream.last_s, stream.first_tokens) == (0.5, 1.0, 1)
    assert stream.inter_token_s(Reply("abc", output_tokens=3)) == 0.25


def test_tokens_of_the_first_reading_are_not_waited_for_again() -> None:
    ranked = event({"content": "bc"}, logprobs={"content": [{}, {}]}) + b"\n\n"
    stream = timed((0.5, one("a") + ranked), (0.75, one("d")), (1.0, one("e")))
    assert stream.first_tokens == 3
    assert stream.inter_token_s(Reply("abcde", output_tokens=5)) == 0.25


def test_reasoning_that_is_not_shown_is_not_spread_over_what_is() -> None:
    stream = timed((0.5, one("a")), (0.75, one("b")))
    assert stream.inter_token_s(Reply("ab", output_tokens=102, reasoning_tokens=100)) == 0.25
    assert stream.inter_token_s(Reply("ab", output_tokens=102, reasoning_tokens=100, reasoning="x")) == (
        0.25 / 101
    )


def test_tokens_that_nobody_counted_are_not_counted_in_pieces(tmp_path: Path) -> None:
    reply = told(tmp_path, streamed(ROLE, event({"content": "a"}), event({"content": "b"}), STOP, DONE))
    assert (reply.text, reply.output_tokens, reply.inter_token_s) == ("ab", None, None)
    assert reply.first_token_s is not None


def test_what_came_in_one_reading_has_no_time_between_tokens(tmp_path: Path) -> None:
    events = (ROLE, event({"content": "a"}), event({"content": "b"}), STOP, USED, DONE)
    reply = told(tmp_path, streamed(*events, whole=True))
    assert (reply.text, reply.output_tokens, reply.inter_token_s) == ("ab", 2, None)


# Pieces ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n"])
@pytest.mark.parametrize("size", [1, 2, 7, 100_000])
def test_events_are_read_wherever_their_pieces_are_cut(end: bytes, size: int) -> None:
    written = [
        b": a comment",
        event({"content": "\u00e4\U0001f600"}),
        b"event: x" + end[: len(end) // 2] + b"data: 1",
        DONE,
    ]
    stream = end.join(written)  # the last one has no end
    events = Events()
    found = [each for at in range(0, len(stream), size) for each in events.of(stream[at : at + size])]
    last = events.last()
    assert last is not None
    assert [each.data for each in found] == [event({"content": "\u00e4\U0001f600"})[6:], b"1"]
    assert [each.name for each in found] == ["", "x"]
    assert last.data == b"[DONE]"


def test_halves_of_a_character_in_two_events_become_one(tmp_path: Path) -> None:
    first = b'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}'
    second = b'data: {"choices":[{"index":0,"delta":{"content":"\\ude00"},"finish_reason":"stop"}]}'
    assert told(tmp_path, streamed(first, second)).text == "\U0001f600"


def test_a_missing_done_is_no_fault(tmp_path: Path) -> None:
    reply = told(tmp_path, streamed(ROLE, event({"content": "a"}), STOP))
    assert (reply.text, reply.finish) == ("a", "stop")


@pytest.mark.parametrize(
    "events", [(), (ROLE,), (ROLE, event({"content": "a"})), (ROLE, event({"content": "a"}), b"data: {")]
)
def test_a_stream_that_is_cut_is_a_failure_that_is_tried_again(
    events: Sequence[bytes], tmp_path: Path
) -> None:
    with scripted(lambda _path, _body: streamed(*events, end=b"\n\n")) as server:
        error = failure_of(here(server.url), tmp_path, ASKED, stream=True)
    assert isinstance(error, NetworkError | BadReply)
    assert error.retryable


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (b'event: error\ndata: {"message": "it broke"}', ServerError),
        (b'data: {"error": {"message": "it broke", "code": 500}}', ServerError),
        (b'data: {"error": {"message": "it broke", "code": 400}}', BadRequest),
        (b'data: {"type": "error", "message": "it broke"}', ServerError),
    ],
)
def test_an_error_in_the_midst_of_a_stream_is_a_failure(
    last: bytes, kind: type[Exception], tmp_path: Path
) -> None:
    with scripted(lambda _path, _body: streamed(ROLE, event({"content": "a"}), last)) as server:
        error = failure_of(here(server.url), tmp_path, ASKED, stream=True)
    assert isinstance(error, kind)
    assert "it broke" in str(error)
    assert b"it broke" in error.raw


def test_a_stream_that_goes_on_after_done_is_left(tmp_path: Path) -> None:
    after = [b": still here\n\n"] * 200
    pieces = [event({"content": "a"}, finish_reason="stop") + b"\n\n" + DONE + b"\n\n", *after]
    reply = told(tmp_path, Said(pieces, kind=EVENTS, gap_s=0.1))
    assert reply.text == "a"


# Options ---------------------------------------------------------------------------------------


def test_a_server_that_refuses_to_count_is_asked_once(tmp_path: Path) -> None:
    refusal = orjson.dumps({"error": {"message": "Unknown parameter: 'stream_options'."}})

    def answer(_path: str, body: bytes) -> Said:
        if b"stream_options" in body:
            return Said([refusal], status=400)
        return streamed(ROLE, event({"content": "a"}), STOP, DONE)

    with scripted(answer) as server:
        replies = passed(here(server.url), tmp_path, ASKED, ASKED, stream=True)
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == ["a", "a"]
    assert [b"stream_options" in body for body in server.bodies] == [True, False, False]


def test_a_refusal_of_something_else_is_the_lines_own(tmp_path: Path) -> None:
    refusal = orjson.dumps({"error": {"message": "Unknown parameter: 'colour'."}})
    with scripted(lambda _path, _body: Said([refusal], status=400)) as server:
        error = failure_of(here(server.url), tmp_path, ASKED, stream=True)
    assert isinstance(error, BadRequest)
    assert len(server.bodies) == 1


def test_a_server_that_does_not_stream_is_read_all_the_same(tmp_path: Path) -> None:
    whole = {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}
    reply = told(tmp_path, Said([orjson.dumps(whole)]))
    assert (reply.text, reply.first_token_s) == ("yes", None)


def test_vectors_are_not_streamed(paced: Simulated, tmp_path: Path) -> None:
    item = request({"input": "a"}, "/v1/embeddings")
    reply = reply_to(here(f"{paced.url}/v1"), tmp_path, item, stream=True)
    assert (reply.first_token_s, len(orjson.loads(reply.raw)["data"])) == (None, 1)


def test_what_breaks_or_is_cut_in_the_simulator_is_a_failure(tmp_path: Path) -> None:
    for option in ("--break-rate", "--cut-rate"):
        with nearby({}, option, "1") as url:
            error = failure_of(here(f"{url}/v1"), tmp_path, ASKED, stream=True)
        assert error.retryable, option
