"""Tools in a request: which one a simulated model calls, and with what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.simulator.protocols.wire import Call, JsonBody

_MADE: Mapping[str, Any] = {
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as a request offers it."""

    name: str
    schema: Mapping[str, Any]

    @property
    def properties(self) -> Mapping[str, Any]:
        found = self.schema.get("properties")
        return found if isinstance(found, dict) else {}

    @property
    def required(self) -> Sequence[str]:
        found = self.schema.get("required")
        return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def tools_of(fields: JsonBody) -> Sequence[Tool]:
    """The functions that a request offers. Raises: ValueError."""
    tools = fields.fields.get("tools") or []
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise ValueError("tools must be a list of objects")
    # Responses write a function's fields beside its type, chat completions inside `function`.
    offered = [
        JsonBody(tool.get("function", tool), f"tools[{n}].")
        for n, tool in enumerate(tools)
        if tool.get("type", "function") == "function"
    ]
    return [Tool(tool.text("name"), tool.inner("parameters").fields) for tool in offered]


def called(fields: JsonBody) -> Call | None:
    """The call that the request leads to: of the tool that it names, else of the first.

    None without tools, where it forbids calls, and where a tool has answered already. Raises: ValueError.
    """
    choice = fields.fields.get("tool_choice", "auto")
    offered = {tool.name: tool for tool in tools_of(fields)}
    if not offered or choice == "none" or _answered(fields):
        return None
    wanted = _wanted(choice, list(offered))
    if wanted not in offered:
        raise ValueError(f"tool_choice names {wanted!r}, which is none of the tools")
    return Call(wanted, orjson.dumps(filled(offered[wanted].schema)).decode())


def _wanted(choice: Any, named: list[str]) -> str:
    if not isinstance(choice, dict):
        return named[0]
    return str(choice.get("function", choice).get("name"))


def _answered(fields: JsonBody) -> bool:
    said = fields.fields.get("messages", fields.fields.get("input"))
    last = said[-1] if isinstance(said, list) and said else {}
    return isinstance(last, dict) and (
        last.get("role") == "tool" or last.get("type") == "function_call_output"
    )


def filled(schema: Any) -> Any:
    """A value of a JSON schema: the first option, or something of its type."""
    if not isinstance(schema, dict):
        return None
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    properties = schema.get("properties")
    if isinstance(properties, dict):
        return {name: filled(inner) for name, inner in properties.items()}
    kind = schema.get("type")
    return _MADE.get(kind, "something") if isinstance(kind, str) else "something"
