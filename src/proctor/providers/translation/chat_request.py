"""A Responses request as a request for a chat completion."""

from __future__ import annotations

from typing import Any

from proctor.providers.translation.chat_messages import ChatMessages
from proctor.providers.translation.manners import Manner
from proctor.providers.translation.naming import ToolNames
from proctor.providers.translation.tools import ChatTools
from proctor.providers.translation.untranslatable import Json, Untranslatable, listed, object_in, table

# What both shapes call the same.
_SAME = (
    "model", "stream", "temperature", "top_p", "user", "seed", "stop", "presence_penalty", "frequency_penalty",
    "logit_bias", "service_tier", "prompt_cache_key", "safety_identifier",
)  # fmt: skip
# What only tells the server how to keep, find or show things, and changes no answer.
_WITHOUT_EFFECT = frozenset({
    "client_metadata", "metadata", "store", "stream_options", "prompt_cache_retention", "prompt_cache_options",
})  # fmt: skip
_READ = frozenset({
    "instructions", "input", "tools", "tool_choice", "parallel_tool_calls", "max_output_tokens", "reasoning", "text",
    "include", "top_logprobs",
})  # fmt: skip
_KEPT_THERE = {
    "previous_response_id": "the gateway keeps no conversations; send the whole conversation as input",
    "conversation": "the gateway keeps no conversations; send the whole conversation as input",
    "background": "the gateway answers at once; leave it out",
    "prompt": "chat servers keep no prompts; send its words as instructions and input",
}
# Not sent to most servers: they refuse what they do not know, and it is for the bill alone.
_OPENAI_ALONE = frozenset({"service_tier", "prompt_cache_key", "safety_identifier"})
_LOGPROBS = "message.output_text.logprobs"
_CALLING = ("tool_choice", "parallel_tool_calls")


class ChatRequest:
    """What became of a Responses request: `fields` for the chat server, and `remarks` on what it cannot be told."""

    def __init__(self, asked: Json, manner: Manner) -> None:
        for name, why in _KEPT_THERE.items():
            if asked.get(name):
                raise Untranslatable(name, why)
        tools = ChatTools(asked.get("tools"))
        self.names: ToolNames = tools.names
        told = ChatMessages(asked.get("instructions"), asked.get("input"), tools.names)
        self.call_ids = told.call_ids
        self.remarks = list(told.remarks)
        self.fields: Json = {name: asked[name] for name in _SAME if asked.get(name) is not None}
        self.fields["messages"] = told.messages
        self._tools(asked, tools)
        self._length(asked, manner)
        self._thinking(table(asked.get("reasoning")))
        self._text(table(asked.get("text")))
        self._ranks(asked)
        if self.fields.get("stream"):
            self.fields["stream_options"] = {"include_usage": True}
        self._left_out(asked)
        self._in_the_manner(manner)

    def _tools(self, asked: Json, tools: ChatTools) -> None:
        choice = tools.choice(asked.get("tool_choice"))
        if tools.functions:
            self.fields["tools"] = tools.functions
            for name, value in zip(_CALLING, (choice, asked.get("parallel_tool_calls")), strict=True):
                if value is not None:
                    self.fields[name] = value
        for kind in dict.fromkeys(tools.left_out):
            self.remarks.append(f"the tool {kind!r} left out: chat servers run no tools themselves")

    def _length(self, asked: Json, manner: Manner) -> None:
        if asked.get("max_output_tokens") is not None:
            self.fields[manner.longest] = asked["max_output_tokens"]

    def _thinking(self, reasoning: Json) -> None:
        if reasoning.get("effort") is not None:
            self.fields["reasoning_effort"] = reasoning["effort"]

    def _text(self, text: Json) -> None:
        if text.get("verbosity") is not None:
            self.fields["verbosity"] = text["verbosity"]
        wanted = object_in(text.get("format") or {"type": "text"}, "text.format")
        kind = wanted.get("type")
        if kind == "json_schema":
            schema = {name: value for name, value in wanted.items() if name != "type" and value is not None}
            self.fields["response_format"] = {"type": kind, "json_schema": schema}
        elif kind == "json_object":
            self.fields["response_format"] = {"type": kind}
        elif kind != "text":
            raise Untranslatable("text.format.type", f"is {kind!r}, none of text, json_object, json_schema")

    def _ranks(self, asked: Json) -> None:
        wanted = listed(asked.get("include"), "include")
        if _LOGPROBS in wanted or asked.get("top_logprobs"):
            self.fields |= {"logprobs": True, "top_logprobs": asked.get("top_logprobs") or 0}

    def _left_out(self, asked: Json) -> None:
        known = _READ | _WITHOUT_EFFECT | frozenset(_SAME) | frozenset(_KEPT_THERE)
        for name, value in asked.items():
            if name not in known and not _says_nothing(name, value):
                self.remarks.append(f"{name} left out: chat completions have no such field")

    def _in_the_manner(self, manner: Manner) -> None:
        unknown = manner.refuses | (
            frozenset() if manner.longest == "max_completion_tokens" else _OPENAI_ALONE
        )
        for name in sorted(unknown & self.fields.keys()):
            del self.fields[name]
            if name not in _OPENAI_ALONE:
                self.remarks.append(f"{name} left out: the server refuses it")
        for name in sorted(manner.ignores & self.fields.keys()):
            if not _default(name, self.fields[name]):
                self.remarks.append(f"{name} sent, but the server ignores it")


def _says_nothing(name: str, value: Any) -> bool:
    return value is None or (name == "truncation" and value == "disabled")


def _default(name: str, value: Any) -> bool:
    return name == "parallel_tool_calls" and value is True
