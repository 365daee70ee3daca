"""A request for a chat completion as a Responses request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proctor.providers.translation.parts import response_parts
from proctor.providers.translation.tools import response_choice, response_tools
from proctor.providers.translation.untranslatable import (
    Json,
    Untranslatable,
    listed,
    object_in,
    table,
    tables,
    text_in,
)

_SAME = (
    "model", "stream", "temperature", "top_p", "user", "metadata", "service_tier", "prompt_cache_key",
    "prompt_cache_retention", "safety_identifier", "parallel_tool_calls", "top_logprobs",
)  # fmt: skip
_READ = frozenset({
    "messages", "tools", "tool_choice", "max_tokens", "max_completion_tokens", "reasoning_effort", "verbosity",
    "response_format", "store", "logprobs", "stream_options",
})  # fmt: skip
# What would make another reply of it, and cannot be said in Responses.
_REFUSED = {
    "n": "Responses gives one reply; ask once for each",
    "stop": "Responses knows no stop texts",
    "audio": "Responses speaks no audio",
    "functions": "is the old form; name them in tools",
    "function_call": "is the old form; use tool_choice",
}
_OF_MESSAGES = frozenset({"role", "content", "refusal", "tool_calls", "tool_call_id", "function_call"})
_NOTHING: tuple[Any, ...] = (None, 0, [], {}, False)


class ResponsesRequest:
    """What became of a chat request: `fields` for the server, and `remarks` on what it cannot be told."""

    def __init__(self, asked: Json) -> None:
        for name, why in _REFUSED.items():
            if asked.get(name) not in (*_NOTHING, 1 if name == "n" else None):
                raise Untranslatable(name, why)
        if asked.get("modalities") not in (None, ["text"]):
            raise Untranslatable("modalities", "the gateway speaks texts alone")
        self.remarks: list[str] = []
        self.usage_wanted = bool(table(asked.get("stream_options")).get("include_usage"))
        self.fields: Json = {name: asked[name] for name in _SAME if asked.get(name) is not None}
        # A chat is not kept unless it is asked for, a response is kept unless it is not.
        self.fields["store"] = bool(asked.get("store"))
        self.fields["input"] = list(_items(asked.get("messages")))
        if tools := list(response_tools(asked.get("tools"))):
            self.fields["tools"] = tools
        if (choice := response_choice(asked.get("tool_choice"))) is not None and tools:
            self.fields["tool_choice"] = choice
        longest = asked.get("max_completion_tokens") or asked.get("max_tokens")
        if longest is not None:
            self.fields["max_output_tokens"] = longest
        if asked.get("reasoning_effort") is not None:
            self.fields["reasoning"] = {"effort": asked["reasoning_effort"]}
        if asked.get("logprobs"):
            self.fields["include"] = ["message.output_text.logprobs"]
        self._text(asked)
        messages = tables(asked.get("messages"))
        for name in sorted(
            {name for each in messages for name in each if each[name] not in _NOTHING} - _OF_MESSAGES
        ):
            self.remarks.append(f"{name} of messages left out: Responses has no such field")
        for name, value in asked.items():
            if name not in (*_SAME, *_READ, *_REFUSED, "modalities") and value not in _NOTHING:
                self.remarks.append(f"{name} left out: Responses has no such field")

    def _text(self, asked: Json) -> None:
        text: Json = {}
        if asked.get("verbosity") is not None:
            text["verbosity"] = asked["verbosity"]
        wanted = asked.get("response_format")
        if wanted is not None:
            kind = object_in(wanted, "response_format").get("type")
            schema = table(wanted.get("json_schema")) if kind == "json_schema" else {}
            text["format"] = {"type": kind, **schema}
        if text:
            self.fields["text"] = text


def _items(messages: Any) -> Iterator[Json]:
    """The items that a conversation's messages are. Raises: Untranslatable."""
    custom: set[str] = set()  # calls of tools of free text, which are answered in a kind of their own
    for n, each in enumerate(listed(messages, "messages")):
        field = f"messages[{n}]"
        message = object_in(each, field)
        role = message.get("role")
        if role in ("system", "developer", "user"):
            content = message.get("content")
            parts = content if isinstance(content, str) else response_parts(content, f"{field}.content")
            yield {"type": "message", "role": role, "content": parts}
        elif role == "assistant":
            yield from _said(message, field, custom)
        elif role == "tool":
            ident = text_in(message, "tool_call_id", field)
            content = message.get("content") or ""
            parts = content if isinstance(content, str) else response_parts(content, f"{field}.content")
            kind = "custom_tool_call_output" if ident in custom else "function_call_output"
            yield {"type": kind, "call_id": ident, "output": parts}
        else:
            raise Untranslatable(
                f"{field}.role", f"is {role!r}, none of system, developer, user, assistant, tool"
            )


def _said(message: Json, field: str, custom: set[str]) -> Iterator[Json]:
    if message.get("function_call"):
        raise Untranslatable(f"{field}.function_call", "is the old form; use tool_calls")
    content = message.get("content")
    parts = response_parts(content, f"{field}.content", ours=False) if content else []
    if isinstance(message.get("refusal"), str):
        parts.append({"type": "refusal", "refusal": message["refusal"]})
    calls = listed(message.get("tool_calls"), f"{field}.tool_calls")
    if parts or not calls:
        yield {
            "type": "message",
            "role": "assistant",
            "content": parts or [{"type": "output_text", "text": ""}],
        }
    for n, each in enumerate(calls):
        yield _call(each, f"{field}.tool_calls[{n}]", custom)


def _call(each: Any, field: str, custom: set[str]) -> Json:
    call = object_in(each, field)
    ident = text_in(call, "id", field)
    if call.get("type") == "custom":
        custom.add(ident)
        tool = object_in(call.get("custom"), f"{field}.custom")
        name, words = text_in(tool, "name", f"{field}.custom"), text_in(tool, "input", f"{field}.custom")
        return {"type": "custom_tool_call", "call_id": ident, "name": name, "input": words}
    tool = object_in(call.get("function"), f"{field}.function")
    name, words = text_in(tool, "name", f"{field}.function"), text_in(tool, "arguments", f"{field}.function")
    return {"type": "function_call", "call_id": ident, "name": name, "arguments": words}
