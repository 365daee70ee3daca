"""Calls as real agents make them, in the shapes that they send and take: for tests of what is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from proctor.replies.calls import CallLog, KeptCall, kept_calls
from proctor.trial_record import AgentCall, CallEnd
from proctor.types import Usage

Json = dict[str, Any]
RUN = {"type": "function", "name": "exec_command", "parameters": {"type": "object"}}


def call(number: int, request: Json, response: Json, ended: CallEnd = "answered", **more: Any) -> AgentCall:
    path = "/v1/chat/completions" if "messages" in request else "/v1/responses"
    told = {"at": float(number), "usage": Usage(10 * number + 10, 5), "seconds": 0.5, **more}
    bodies = {"request": orjson.dumps(request), "response": orjson.dumps(response)}
    return AgentCall(number, path=path, ended=ended, **bodies, **told)


def kept(folder: Path, calls: Sequence[AgentCall]) -> list[KeptCall]:
    path = folder / "calls.jsonl"
    path.unlink(missing_ok=True)
    with CallLog(path) as log:
        for each in calls:
            log.add(each)
    with path.open("rb") as file:
        return list(kept_calls(file))


def item(name: str, call_id: str, **arguments: Any) -> Json:
    return {
        "type": "function_call",
        "name": name,
        "call_id": call_id,
        "arguments": orjson.dumps(arguments).decode(),
    }


def codex() -> list[AgentCall]:
    """Two things run at once, one after them, a patch, and last words: the shapes that codex 0.169 sends and takes."""
    rules = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "You code."}]}
    asked: list[Json] = [rules, {"role": "user", "content": [{"type": "input_text", "text": "Mend it."}]}]
    thought = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "I look."}],
        "encrypted_content": "x",
    }
    two = [thought, item("exec_command", "c1", cmd="ls"), item("exec_command", "c2", cmd="cat a.py")]
    out = "Chunk ID: 1\nWall time: 0.1\nProcess exited with code 0\nOutput:\na.py\n"
    bad = "Chunk ID: 2\nWall time: 0.1\nProcess exited with code 2\nOutput:\nno file\n"
    patch = {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c3", "input": "*** Begin Patch"}
    back = [
        {"type": "function_call_output", "call_id": "c1", "output": out},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": bad}]},
    ]
    last = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
    made = {
        "type": "custom_tool_call_output",
        "call_id": "c3",
        "output": '{"output":"ok","metadata":{"exit_code":0}}',
    }
    usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4}}
    model: Json = {"model": "m", "stream": True, "tools": [RUN]}
    first, second, third = asked, [*asked, *two, *back], [*asked, *two, *back, patch, made]
    return [
        call(0, {**model, "input": first}, {"model": "m-1", "output": two, "usage": usage}),
        call(1, {**model, "input": second}, {"output": [patch]}),
        call(2, {**model, "input": second}, {"error": {"message": "busy"}}, "failed", status=500),
        call(3, {**model, "input": third}, {"output": [last]}),
    ]


def chat() -> list[AgentCall]:
    """The same in Chat Completions, with a title of another conversation asked for between."""
    asked: list[Json] = [{"role": "system", "content": "You code."}, {"role": "user", "content": "Mend it."}]
    tool = {"id": "t1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "make"}'}}
    first = {"role": "assistant", "content": "I build.", "reasoning_content": "Hm.", "tool_calls": [tool]}
    back = {
        "role": "tool",
        "tool_call_id": "t1",
        "content": "<returncode>1</returncode>\n<output>\nno\n</output>",
    }
    title = [{"role": "user", "content": "A title for: Mend it."}]
    return [
        call(0, {"model": "m", "messages": asked}, {"choices": [{"message": first}]}),
        call(1, {"model": "m", "messages": title}, {"choices": [{"message": {"content": "Mending"}}]}),
        call(
            2,
            {"model": "m", "messages": [*asked, first, back]},
            {"choices": [{"message": {"content": "Gone."}}]},
        ),
    ]


def blocks() -> list[AgentCall]:
    """An agent that knows no tools: a command in a block, and what came of it as the next words of its user."""
    asked: list[Json] = [{"role": "user", "content": "Mend it."}]
    first = {"role": "assistant", "content": "I look.\n```sh\nls\n```\n"}
    said = [*asked, first, {"role": "user", "content": "[exit code 0]\na.py"}]
    answers = ["Now?", "DONE"]
    return [
        call(0, {"model": "m", "messages": asked}, {"choices": [{"message": first}]}),
        call(1, {"model": "m", "messages": said}, {"choices": [{"message": {"content": answers[0]}}]}),
        call(
            2,
            {"model": "m", "messages": [*said, {"role": "assistant", "content": "Now?"}, *asked]},
            {"choices": [{"message": {"content": answers[1]}}]},
        ),
    ]
