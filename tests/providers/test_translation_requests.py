"""Requests put from one of OpenAI's shapes into the other: what is kept, what is left out and said, what is refused."""

from __future__ import annotations

import string
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.providers.translation import Translation, Untranslatable, translate, upstreams

pytestmark = pytest.mark.slow

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
Json = dict[str, Any]
PATCH = '*** Begin Patch\n*** Add File: a.txt\n+a "word"\n*** End Patch\n'
GRAMMAR = {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"}
PNG = "data:image/png;base64,iVBORw0KGgo="
SHOWN = {"type": "input_image", "image_url": PNG, "detail": "high"}


def to_chat(asked: Json, provider: str = "") -> Translation:
    return translate(RESPONSES, orjson.dumps(asked), CHAT, provider=provider, unique="u")


def to_responses(asked: Json) -> Translation:
    return translate(CHAT, orjson.dumps(asked), RESPONSES, unique="u")


def sent(translation: Translation) -> Json:
    body = orjson.loads(translation.body)
    assert isinstance(body, dict)
    return body


def item(kind: str, **fields: Any) -> Json:
    return {"type": kind, **fields}


def said(role: str, *texts: str) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", role=role, content=[{"type": kind, "text": text} for text in texts])


# Such as codex 0.169 sends on its third turn, with words of our own.
AGENT: Json = {
    "model": "m",
    "stream": True,
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "k",
    "client_metadata": {"thread": "t"},
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "reasoning": {"effort": "medium", "summary": "auto"},
    "tools": [
        {"type": "function", "name": "run", "description": "Runs.", "strict": False, "parameters": {"type": "object"}},
        {"type": "custom", "name": "apply_patch", "description": "Edits.", "format": GRAMMAR},
        {"type": "namespace", "name": "agents", "tools": [{"type": "function", "name": "close", "parameters": None}]},
        {"type": "web_search"},
    ],
    "input": [
        {**said("developer", "Be brief."), "id": "msg_1"},
        said("developer", "Know this."),
        said("user", "Do it."),
        item("reasoning", id="rs_1", summary=[{"type": "summary_text", "text": "Hm"}], content=None,
             encrypted_content="gAAAA"),
        item("function_call", id="fc_1", call_id="c1", name="run", arguments='{"cmd":"ls"}'),
        item("custom_tool_call", id="ctc_1", status="completed", call_id="c2", name="apply_patch", input=PATCH),
        item("function_call", id="fc_2", call_id="c3", name="close", namespace="agents", arguments="{}"),
        item("custom_tool_call_output", call_id="c2", output="Done."),
        item("function_call_output", call_id="c1", output=[SHOWN]),
        item("function_call_output", call_id="c3", output="Closed."),
        said("assistant", "Look", "ing."),
        item("function_call", call_id="c4", name="run", arguments="{}"),
        item("function_call_output", call_id="c4", output="a.txt"),
    ],
}  # fmt: skip


def test_a_turn_of_an_agent_becomes_a_chat_that_every_server_takes() -> None:
    told = to_chat(AGENT)
    body = sent(told)
    calls = body["messages"][2]["tool_calls"]
    assert [message["role"] for message in body["messages"]] == [
        "system", "user", "assistant", "tool", "tool", "tool", "user", "assistant", "tool"
    ]  # fmt: skip
    assert body["messages"][0]["content"] == "Be brief.\n\nKnow this."
    assert [call["function"]["name"] for call in calls] == ["run", "apply_patch", "agents__close"]
    assert orjson.loads(calls[1]["function"]["arguments"]) == {"input": PATCH}
    # Outputs follow the calls in their order, and what tools show comes behind them all.
    assert [message["tool_call_id"] for message in body["messages"][3:6]] == ["c1", "c2", "c3"]
    assert body["messages"][6]["content"] == [
        {"type": "image_url", "image_url": {"url": PNG, "detail": "high"}}
    ]
    assert body["messages"][7]["content"] == "Looking."
    assert [tool["function"]["name"] for tool in body["tools"]] == ["run", "apply_patch", "agents__close"]
    assert "start: /.+/" in body["tools"][1]["function"]["parameters"]["properties"]["input"]["description"]
    assert body.keys() == {
        "model", "stream", "stream_options", "messages", "tools", "tool_choice", "parallel_tool_calls",
        "reasoning_effort",
    }  # fmt: skip
    assert told.remarks == (
        "reasoning left out that no chat server told: only the server that wrote it takes it back",
        "images and files in the outputs of tools go to the model in a message behind them",
        "the tool 'web_search' left out: chat servers run no tools themselves",
    )


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"input": "x", "previous_response_id": "resp_1"}, "previous_response_id"),
        ({"input": "x", "conversation": "conv_1"}, "conversation"),
        ({"input": "x", "background": True}, "background"),
        ({"input": "x", "prompt": {"id": "p"}}, "prompt"),
        ({"input": [item("item_reference", id="msg_1")]}, "input[0]"),
        ({"input": [said("user", "x"), item("web_search_call", id="ws_1")]}, "input[1].type"),
        ({"input": [item("message", role="critic", content="x")]}, "input[0].role"),
        ({"input": [item("function_call", call_id="c", name="f")]}, "input[0].arguments"),
        ({"input": [item("message", role="user", content=[item("input_image", file_id="f")])]},
         "input[0].content[0].file_id"),
        ({"input": [item("message", role="user", content=[item("input_file", file_url="u")])]},
         "input[0].content[0].file_url"),
        ({"input": [item("message", role="user", content=[item("hologram")])]}, "input[0].content[0].type"),
        ({"input": [item("message", role="assistant", content=[SHOWN])]}, "input[0].content"),
        ({"input": "x", "instructions": ["y"]}, "instructions"),
        ({"input": 3}, "input"),
        ({"input": "x", "tools": [{"type": "function"}]}, "tools[0].name"),
        ({"input": "x", "tool_choice": {"type": "web_search"}}, "tool_choice"),
        ({"input": "x", "text": {"format": {"type": "yaml"}}}, "text.format.type"),
    ],
)  # fmt: skip
def test_what_no_chat_server_can_be_told_is_refused_by_the_name_of_its_field(asked: Json, field: str) -> None:
    with pytest.raises(Untranslatable) as refused:
        to_chat(asked)
    told = orjson.loads(refused.value.body())["error"]
    assert refused.value.param == told["param"] == field
    assert told["message"].startswith(f"{field}: ")


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"messages": [], "n": 2}, "n"),
        ({"messages": [], "stop": ["x"]}, "stop"),
        ({"messages": [], "modalities": ["text", "audio"]}, "modalities"),
        ({"messages": [], "functions": [{"name": "f"}]}, "functions"),
        ({"messages": [{"role": "function", "content": "x"}]}, "messages[0].role"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"id": "c"}]}]},
            "messages[0].tool_calls[0].function",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages[0].content[0].type"),
        ({"messages": [], "tools": [{"type": "hammer"}]}, "tools[0].type"),
    ],
)
def test_what_responses_cannot_be_told_is_refused_by_the_name_of_its_field(asked: Json, field: str) -> None:
    with pytest.raises(Untranslatable) as refused:
        to_responses(asked)
    assert refused.value.param == field


def test_a_body_that_is_no_object_is_refused() -> None:
    for body in (b"[]", b"{", b"", b"\xff", b"[" * 100_000):
        with pytest.raises(Untranslatable):
            translate(RESPONSES, body, CHAT)


def test_formats_lengths_and_choices_of_tools_go_with_the_request() -> None:
    schema = {"type": "json_schema", "name": "s", "strict": True, "schema": {"type": "object"}}
    tools: list[Json] = [{"type": "function", "name": name, "parameters": {}} for name in ("a", "b")]
    asked = {
        "input": "x",
        "tools": tools,
        "text": {"format": schema},
        "max_output_tokens": 9,
        "temperature": 0.5,
    }
    body = sent(to_chat({**asked, "tool_choice": {"type": "function", "name": "b"}}))
    assert body["response_format"] == {
        "type": "json_schema", "json_schema": {"name": "s", "strict": True, "schema": {"type": "object"}}
    }  # fmt: skip
    assert (body["max_tokens"], body["temperature"]) == (9, 0.5)
    assert body["tool_choice"] == {"type": "function", "function": {"name": "b"}}
    assert sent(to_chat(asked, "openai"))["max_completion_tokens"] == 9
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "a"}]}
    body = sent(to_chat({**asked, "tool_choice": allowed}))
    assert body["tool_choice"] == "required"
    assert [tool["function"]["name"] for tool in body["tools"]] == ["a"]
    # Nothing is said of the choice of tools where none is left.
    assert sent(to_chat({"input": "x", "tools": [{"type": "web_search"}], "tool_choice": "auto"})).keys() == {
        "messages"
    }


def test_each_server_is_told_in_its_manner_and_what_it_lacks_is_said() -> None:
    asked = {**AGENT, "input": "x", "temperature": 0, "seed": 4, "text": {"format": {"type": "json_object"}}}
    gemini, anthropic = to_chat(asked, "gemini"), to_chat(asked, "anthropic")
    assert "seed" not in sent(gemini)
    assert "seed left out: the server refuses it" in gemini.remarks
    assert "response_format sent, but the server ignores it" in anthropic.remarks
    assert to_chat(asked, "anthropic").remarks == anthropic.remarks
    assert upstreams("anthropic", RESPONSES) == (CHAT,)
    assert upstreams("openai", CHAT) == (CHAT, RESPONSES)
    assert upstreams("gemini", "/v1/embeddings") == ("/v1/embeddings",)


def test_an_unknown_field_is_left_out_and_said() -> None:
    assert to_chat({"input": "x", "wings": 2, "truncation": "auto", "moderation": None}).remarks == (
        "wings left out: chat completions have no such field",
        "truncation left out: chat completions have no such field",
    )
    named = {"role": "user", "name": "ann", "content": "x"}
    assert to_responses({"messages": [named], "seed": 1, "logit_bias": {}}).remarks == (
        "name of messages left out: Responses has no such field",
        "seed left out: Responses has no such field",
    )


def test_a_response_is_not_kept_unless_the_chat_was_to_be() -> None:
    assert sent(to_responses({"messages": []}))["store"] is False
    assert sent(to_responses({"messages": [], "store": True}))["store"] is True


def test_tools_with_long_strange_or_equal_names_stay_apart() -> None:
    long = "x" * 70
    tools = [
        {"type": "namespace", "name": "a", "tools": [{"type": "function", "name": "b"}]},
        *({"type": "function", "name": name} for name in ("a__b", f"{long}1", f"{long}2", "ä.b")),
        {"type": "custom", "name": "a__b"},
    ]
    names = [tool["function"]["name"] for tool in sent(to_chat({"input": "x", "tools": tools}))["tools"]]
    assert len(set(names)) == len(names) == 6
    assert all(
        len(name) <= 64 and set(name) <= {*string.ascii_letters, *string.digits, *"_-"} for name in names
    )


texts = st.text(max_size=20)
words = st.text(min_size=1, max_size=20)
names = st.text(string.ascii_letters, min_size=1, max_size=8)


@st.composite
def conversations(draw: st.DrawFn) -> Json:
    """Chats as agents have them: questions, replies with calls, and an answer to each call."""
    messages: list[Json] = [{"role": "system", "content": draw(words)}] if draw(st.booleans()) else []
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        messages.append({"role": "user", "content": draw(st.one_of(texts, parts))})
        if draw(st.booleans()):
            calls = [
                {
                    "id": f"c{number + n}",
                    "type": "function",
                    "function": {"name": name, "arguments": draw(texts)},
                }
                for n, name in enumerate(draw(st.lists(names, min_size=1, max_size=3)))
            ]
            number += len(calls)
            messages.append({"role": "assistant", "content": draw(st.none() | words), "tool_calls": calls})
            messages += [
                {"role": "tool", "tool_call_id": call["id"], "content": draw(texts)} for call in calls
            ]
        else:
            messages.append({"role": "assistant", "content": draw(texts)})
    tools = [
        {
            "type": "function",
            "function": {"name": name, "description": draw(texts), "parameters": {"type": "object"}},
        }
        for name in draw(st.lists(names, max_size=3, unique=True))
    ]
    more = draw(st.fixed_dictionaries({}, optional={
        "temperature": st.floats(0, 2), "top_p": st.floats(0, 1), "max_tokens": st.integers(16, 99),
        "reasoning_effort": st.sampled_from(["low", "high"]), "response_format": st.just({"type": "json_object"}),
        "user": words,
    }))  # fmt: skip
    chosen = (
        {"tools": tools, "tool_choice": "auto", "parallel_tool_calls": draw(st.booleans())} if tools else {}
    )
    return {"model": "m", "messages": messages, **chosen, **more}


parts = st.lists(
    st.one_of(
        words.map(lambda text: {"type": "text", "text": text}),
        st.sampled_from(["auto", "low"]).map(
            lambda detail: {"type": "image_url", "image_url": {"url": PNG, "detail": detail}}
        ),
    ),
    min_size=2,
    max_size=3,
)


@settings(max_examples=60, deadline=None)
@given(conversations())
def test_a_chat_with_tools_is_the_same_after_both_ways(chat: Json) -> None:
    there = to_responses(chat)
    back = to_chat(sent(there))
    assert sent(back) == chat
    assert there.remarks == back.remarks == ()
