"""A simulator that follows a script: the conversation tells the turn, and commands take the form that is asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.simulator import NAMED
from proctor.simulator.protocols.scripts import read_script
from proctor.simulator.protocols.wire import ServerTerms

LINES = (
    {"say": "I look.", "run": "ls"},
    {"run": "make"},
    {"say": "Done."},
)
SHELL = {
    "type": "function",
    "name": "exec_command",
    "parameters": {"properties": {"cmd": {"type": "string"}}},
}
BASH = {
    "name": "bash",
    "parameters": {"type": "object", "properties": {"command": {}, "why": {}}, "required": ["why"]},
}
ARGV = {"name": "sh", "parameters": {"properties": {"command": {"type": "array"}}}}
USER = {"role": "user", "content": "Mend it."}


@pytest.fixture
def server(start: Any, tmp_path: Path) -> Any:
    path = tmp_path / "script.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return start({}, NAMED, terms=ServerTerms(script=read_script(path), context_tokens=10_000))


def chat(server: Any, *messages: Any, **fields: Any) -> Any:
    return server.openai(model="sim", messages=[USER, *messages], **fields).json["choices"][0]


def test_a_chat_is_answered_by_calls_of_the_tool_that_it_offers_until_the_script_ends(server: Any) -> None:
    tools = [
        {"type": "function", "function": {"name": "search", "parameters": {}}},
        {"type": "function", "function": BASH},
    ]
    said: list[Any] = []
    for line in LINES[:2]:
        choice = chat(server, *said, tools=tools)
        (call,) = choice["message"]["tool_calls"]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["content"] == line.get("say")
        assert (call["function"]["name"], json.loads(call["function"]["arguments"])["command"]) == (
            "bash",
            line["run"],
        )
        said += [choice["message"], {"role": "tool", "tool_call_id": call["id"], "content": "ok"}]
    ids = [message["tool_calls"][0]["id"] for message in said if message["role"] == "assistant"]
    assert len(set(ids)) == 2
    for _ in range(2):  # after its last line it repeats that
        last = chat(server, *said, tools=tools)
        assert (last["message"]["content"], last["finish_reason"]) == ("Done.", "stop")
        said += [last["message"], USER]


def test_where_no_tool_runs_commands_they_stand_in_a_block_as_the_agent_shows_one(server: Any) -> None:
    assert chat(server)["message"]["content"] == "I look.\n\n```sh\nls\n```"
    shown = {"role": "user", "content": "Write\n```my_shell\nls\n```\n"}
    assert chat(server, shown)["message"]["content"] == "I look.\n\n```my_shell\nls\n```"


def test_what_a_tool_needs_beside_the_command_is_made_up_and_lists_are_lists(server: Any) -> None:
    (call,) = chat(server, tools=[{"type": "function", "function": ARGV}])["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"command": ["bash", "-lc", "ls"]}
    (call,) = chat(server, tools=[{"type": "function", "function": BASH}])["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]).keys() == {"command", "why"}


def test_responses_say_and_call_in_one_turn_whole_and_as_a_stream_and_are_counted(server: Any) -> None:
    asked = {"model": "sim", "input": [USER], "tools": [SHELL, {"type": "web_search"}]}
    whole = server.send("POST", "/v1/responses", asked).json
    message, call = whole["output"]
    assert message["content"][0]["text"] == "I look."
    assert (call["name"], json.loads(call["arguments"])) == ("exec_command", {"cmd": "ls"})
    assert whole["usage"]["output_tokens"] == len("I look." + call["arguments"]) // 4 + 1
    streamed = server.send("POST", "/v1/responses", {**asked, "stream": True}).body.decode()
    done = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith("data: ")][-1]
    assert [item["type"] for item in done["response"]["output"]] == ["message", "function_call"]
    assert done["response"]["usage"] == whole["usage"]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "a.py"}
    second = server.send("POST", "/v1/responses", {**asked, "input": [USER, message, call, output]}).json
    assert json.loads(second["output"][0]["arguments"]) == {"cmd": "make"}


def test_other_protocols_are_answered_in_words(server: Any) -> None:
    reply = server.send("POST", "/api/chat", {"model": "sim", "messages": [USER], "stream": False}).json
    assert reply["message"]["content"] == "I look.\n\n```sh\nls\n```"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "holds no turn"),
        ("{", "script.jsonl:1: not JSON"),
        ("[]", 'script.jsonl:1: an object with "say", "run" or both belongs here'),
        ('{"do": "ls"}', 'an object with "say", "run" or both belongs here'),
        ('{"say": 1}', '"say" and "run" are texts'),
    ],
)
def test_a_script_that_cannot_be_meant_is_told_by_its_line(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(line)
    with pytest.raises(ValueError) as refused:
        read_script(path)
    assert told in str(refused.value)
