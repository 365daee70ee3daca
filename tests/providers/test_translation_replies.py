"""Replies put from Chat Completions into Responses and back, however servers cut and spell them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from translated import (
    CHAT,
    FULL,
    RESPONSES,
    TOOLS,
    USAGE,
    Json,
    call,
    calls,
    chunk,
    events,
    of_chat,
    of_responses,
    output,
    read,
    stream,
)

from proctor.providers.translation import translate

DATA = Path(__file__).parents[3] / "shared/data/openai_batch"


def test_a_stream_with_thoughts_words_and_interleaved_calls_is_told_as_codex_needs_it() -> None:
    told = read(of_chat().reader, FULL)
    items = output(told)
    assert [item["type"] for item in items] == [
        "reasoning", "message", "function_call", "custom_tool_call", "reasoning", "function_call",
    ]  # fmt: skip
    assert items[0]["summary"] == [{"type": "summary_text", "text": "I look"}]
    assert items[1]["content"][0]["text"] == "Hello \N{SNOWMAN}"
    assert calls(items) == [("c1", '{"cmd":"ls"}'), ("c3", "{}")]
    assert (items[3]["name"], items[3]["input"]) == ("apply_patch", "*** ä")
    assert (items[5]["name"], items[5]["namespace"]) == ("close", "agents")
    assert told[-1]["type"] == "response.completed"
    assert told[-1]["response"]["usage"] == {
        "input_tokens": 7, "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 12,
    }  # fmt: skip


def test_a_stream_cut_at_every_byte_tells_the_same_and_each_piece_at_once() -> None:
    whole = of_chat().reader.piece(FULL)
    for size in (1, 7):
        reader = of_chat().reader
        pieces = [reader.piece(FULL[at : at + size]) for at in range(0, len(FULL), size)]
        assert b"".join(pieces) == whole
        assert all(piece.endswith(b"\n\n") for piece in pieces if piece)
    for at in range(0, len(FULL), 11):
        reader = of_chat().reader
        assert reader.piece(FULL[:at]) + reader.piece(FULL[at:]) == whole
    early = of_chat().reader.piece(stream(chunk({"content": "He"}), done=False))
    assert events(early)[-1]["delta"] == "He"


def test_thoughts_and_signatures_come_back_to_the_server_in_its_own_words() -> None:
    items = output(read(of_chat().reader, FULL))
    outputs = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": "ok"}
        for item in items if "call_id" in item
    ]  # fmt: skip
    asked = {"input": [{"role": "user", "content": "x"}, *items, *outputs], "tools": TOOLS}
    _, said, *answers = orjson.loads(translate(RESPONSES, orjson.dumps(asked), CHAT).body)["messages"]
    assert (said["reasoning"], said["content"]) == ("I look", "Hello \N{SNOWMAN}")
    assert [each["function"]["name"] for each in said["tool_calls"]] == [
        "run",
        "apply_patch",
        "agents__close",
    ]
    assert [each.get("extra_content") for each in said["tool_calls"]] == [
        None, None, {"google": {"thought_signature": "S"}}
    ]  # fmt: skip
    assert [answer["tool_call_id"] for answer in answers] == ["c1", "c2", "c3"]


@pytest.mark.parametrize(
    ("pieces", "wanted"),
    [
        # Gemini and old Ollama: each call whole, all at one index, without ids or with the same
        ([call(0, "run", "{}", ""), call(0, "run", '{"a":1}', "")], ["{}", '{"a":1}']),
        ([call(0, "run", "{}", "k"), call(0, "run", '{"a":1}', "k")], ["{}", '{"a":1}']),
        ([call(0, "run", "{}", "k1"), call(0, "run", "{}", "k2")], ["{}", "{}"]),
        # no index at all
        ([call(None, "run", '{"a"', "k1"), call(None, None, ":1}", "k1"), call(None, "run", "{}", "k2")],
         ['{"a":1}', "{}"]),
        # the name and id with every piece
        ([call(0, "run", '{"a"', "k"), call(0, "run", ":1", "k"), call(0, "run", "}", "k")], ['{"a":1}']),
        # the name after the id, arguments as an object, none at all
        ([call(0, None, None, "k"), call(0, "run", '{"a":1}')], ['{"a":1}']),
        ([call(0, "run", {"a": 1}, "k")], ['{"a":1}']),
        ([call(0, "run", None, "k")], ["{}"]),
    ],
)  # fmt: skip
def test_calls_are_told_apart_however_servers_number_and_name_them(
    pieces: list[Json], wanted: list[str]
) -> None:
    told = read(of_chat().reader, stream(*map(chunk, pieces), chunk({}, "tool_calls")))
    found = calls(output(told))
    assert [arguments for _, arguments in found] == wanted
    assert len({ident for ident, _ in found}) == len(wanted)
    assert all(ident for ident, _ in found)


def test_an_id_that_the_conversation_has_already_is_made_anew() -> None:
    before = [
        {"type": "function_call", "call_id": "k", "name": "run", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "k", "output": ""},
    ]
    told = read(
        of_chat(input=before).reader, stream(chunk(call(0, "run", "{}", "k")), chunk({}, "tool_calls"))
    )
    assert calls(output(told)) == [("call_u_0", "{}")]


def test_a_tool_of_free_text_gets_its_text_also_where_the_model_wrote_no_argument() -> None:
    for arguments, wanted in (('{"input":"a"}', "a"), ('{"patch":"a"}', "a"), ("a\nb", "a\nb"), ('"a"', "a")):
        told = read(
            of_chat().reader, stream(chunk(call(0, "apply_patch", arguments, "k")), chunk({}, "stop"))
        )
        assert output(told)[0]["input"] == wanted


def test_a_call_of_the_local_shell_is_one_again() -> None:
    told = read(
        of_chat().reader, stream(chunk(call(0, "local_shell", '{"command":["ls"]}', "k")), chunk({}, "stop"))
    )
    assert output(told)[0]["action"]["command"] == ["ls"]


@pytest.mark.parametrize(
    ("finish", "kind", "reason"),
    [
        ("stop", "response.completed", None),
        ("whatever", "response.completed", None),
        ("length", "response.incomplete", "max_output_tokens"),
        ("content_filter", "response.incomplete", "content_filter"),
        ("insufficient_system_resource", "response.failed", None),
    ],
)
def test_each_way_to_end_has_its_event(finish: str, kind: str, reason: str | None) -> None:
    told = read(of_chat().reader, stream(chunk({"content": "x"}), chunk({}, finish)))
    assert told[-1]["type"] == kind
    assert (told[-1]["response"]["incomplete_details"] or {}).get("reason") == reason
    assert told[-1]["response"]["usage"] is None  # the server told none


@pytest.mark.parametrize(
    "text",
    [
        b"",
        stream(chunk({"content": "x"}), done=False),
        stream(chunk({"content": "x"})),
        stream(chunk({"content": "x"}), {"error": {"message": "boom", "code": "rate_limit_exceeded"}}, done=False),
        b"event: error\ndata: {\"message\": \"boom\"}\n\n",
        b"data: {\"object\": \"error\", \"message\": \"boom\", \"code\": 500}\n\n",
        b"data: nonsense\n\n",
        b"data: [1]\n\n",
    ],
)  # fmt: skip
def test_a_stream_that_breaks_off_fails_once_and_never_completes(text: bytes) -> None:
    reader = of_chat().reader
    told = events(reader.piece(text) + reader.end() + reader.end() + reader.failed("late"))
    kinds = [event["type"] for event in told]
    assert kinds[-1] == "response.failed"
    assert kinds.count("response.failed") == 1
    assert "response.completed" not in kinds
    assert told[-1]["response"]["error"]["message"]
    assert reader.done


def test_refusals_and_empty_replies_are_messages() -> None:
    told = read(
        of_chat().reader, stream(chunk({"refusal": "I w"}), chunk({"refusal": "on't"}), chunk({}, "stop"))
    )
    assert output(told)[0]["content"] == [{"type": "refusal", "refusal": "I won't"}]
    told = read(of_chat().reader, stream(chunk({"role": "assistant", "content": ""}), chunk({}, "stop")))
    assert output(told)[0]["content"][0]["text"] == ""


def test_errors_are_written_as_openai_writes_them() -> None:
    reader = of_chat().reader
    for body, message in (
        (b'[{"error": {"code": 400, "message": "bad field", "status": "INVALID_ARGUMENT"}}]', "bad field"),
        (b'{"error": "model not found"}', "model not found"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b"gone", "gone"),
    ):
        told = json.loads(reader.error(400, body))["error"]
        assert (told["message"], told["type"], told["code"]) == (message, "invalid_request_error", None)
    long = b'{"object": "error", "message": "This model\'s maximum context length is 10 tokens."}'
    assert json.loads(reader.error(400, long))["error"]["code"] == "context_length_exceeded"


def replies() -> Iterator[Json]:
    """Real chat completions of other makers' servers."""
    for file in sorted(DATA.glob("*/batch_output.jsonl")):
        for line in file.read_bytes().splitlines():
            yield orjson.loads(line)["response"]["body"]


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not beside the repository")
def test_real_replies_keep_their_words_and_counts_both_ways() -> None:
    found = list(replies())
    assert found
    for body in found:
        response = of_chat().reader.whole(orjson.dumps(body))
        back = orjson.loads(of_responses().reader.whole(response))
        message, again = body["choices"][0]["message"], back["choices"][0]["message"]
        assert again["content"] == message["content"]
        assert back["choices"][0]["finish_reason"] == body["choices"][0]["finish_reason"]
        for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
            assert back["usage"][name] == body["usage"][name]


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None)
@given(
    said=st.lists(texts, max_size=3),
    made=st.lists(st.dictionaries(texts, texts, max_size=2), max_size=3),
    finish=st.sampled_from(["stop", "length", "content_filter"]),
    cuts=st.lists(st.integers(0, 2000), max_size=6),
    usage=st.booleans(),
)
def test_a_chat_reply_is_the_same_after_both_ways_wherever_it_is_cut(
    said: list[str], made: list[Json], finish: str, cuts: list[int], usage: bool
) -> None:
    pieces = [chunk({"content": text}) for text in said]
    pieces += [chunk(call(n, "run", json.dumps(each), f"c{n}")) for n, each in enumerate(made)]
    text = stream(
        *pieces, chunk({}, finish), *([{"id": "x", "choices": [], "usage": USAGE}] if usage else [])
    )
    there, back = of_chat().reader, of_responses(stream_options={"include_usage": True}).reader
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    answer = b"".join(back.piece(there.piece(text[start:end])) for start, end in pairwise(places))
    told = events(answer + back.piece(there.end()) + back.end())
    deltas = [each["choices"][0]["delta"] for each in told if each["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == "".join(said)
    arguments = [each["function"]["arguments"] for delta in deltas for each in delta.get("tool_calls", ())]
    assert [text for text in arguments if text] == [json.dumps(each) for each in made]
    ended = "tool_calls" if finish == "stop" and made else finish
    assert [each["choices"][0]["finish_reason"] for each in told if each["choices"]][-1] == ended
    assert [each["usage"]["total_tokens"] for each in told if "usage" in each] == [12] * usage
