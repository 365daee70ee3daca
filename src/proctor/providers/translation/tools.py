"""The tools of a request, and which of them is to be called, in both shapes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from proctor.providers.translation.naming import ToolName, ToolNames
from proctor.providers.translation.untranslatable import (
    Json,
    Untranslatable,
    listed,
    object_in,
    space_of,
    table,
    tables,
    text_in,
)

_MODES = frozenset({"auto", "none", "required"})
_NO_ARGUMENTS: Json = {"type": "object", "properties": {}}
INPUT = "input"  # the one argument of the function that stands for a tool of free text
_SHELL: Json = {
    "type": "object",
    "properties": {
        "command": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The program and its arguments.",
        },
        "working_directory": {"type": "string", "description": "Where it is run."},
        "timeout_ms": {"type": "integer", "description": "After how many milliseconds it is stopped."},
    },
    "required": ["command"],
}
LOCAL_SHELL = ToolName("local_shell", "local_shell")


class ChatTools:
    """Tools of a Responses request as functions of a chat server."""

    def __init__(self, tools: Any) -> None:
        self.names = ToolNames()
        self.functions: list[Json] = []
        self.left_out: list[str] = []  # their types: what a server would have to run itself
        for n, tool in enumerate(listed(tools, "tools")):
            self._add(object_in(tool, f"tools[{n}]"), f"tools[{n}]")

    def _add(self, tool: Json, field: str, namespace: str | None = None) -> None:
        kind = tool.get("type")
        if kind == "function":
            name = ToolName(text_in(tool, "name", field), namespace=namespace)
            self._function(name, tool, _parameters(tool), strict=tool.get("strict"))
        elif kind == "custom":
            name = ToolName(text_in(tool, "name", field), "custom", namespace)
            self._function(name, tool, _free_text(tool))
        elif kind == "namespace":
            inner = f"{field}.tools"
            for n, each in enumerate(listed(tool.get("tools"), inner)):
                self._add(object_in(each, f"{inner}[{n}]"), f"{inner}[{n}]", text_in(tool, "name", field))
        elif kind == "local_shell":
            said = {"description": "Runs a command on the user's machine."}
            self._function(LOCAL_SHELL, said, _SHELL)
        elif isinstance(kind, str):
            self.left_out.append(kind)
        else:
            raise Untranslatable(f"{field}.type", "must be a text")

    def _function(self, name: ToolName, tool: Json, parameters: Json, *, strict: Any = None) -> None:
        function: Json = {"name": self.names.chat(name)}
        if isinstance(tool.get("description"), str):
            function["description"] = tool["description"]
        function["parameters"] = parameters
        if strict:  # a chat server's functions are not strict unless it is told so
            function["strict"] = True
        self.functions.append({"type": "function", "function": function})

    def choice(self, choice: Any) -> Any:
        """`tool_choice` of a chat server; a choice among some tools keeps those alone. Raises: Untranslatable."""
        if choice is None or isinstance(choice, str):
            if choice is not None and choice not in _MODES:
                raise Untranslatable("tool_choice", f"is {choice!r}, none of {', '.join(sorted(_MODES))}")
            return choice if self.functions else None
        asked = object_in(choice, "tool_choice")
        if asked.get("type") == "allowed_tools":
            self._only(map(self._chosen, tables(asked.get("tools"))))
            return self.choice(asked.get("mode", "auto"))
        return {"type": "function", "function": {"name": self._chosen(asked)}}

    def _chosen(self, choice: Json) -> str:
        kind = choice.get("type")
        if kind == "local_shell":
            return self.names.chat(LOCAL_SHELL)
        if kind not in ("function", "custom"):
            raise Untranslatable("tool_choice", f"chat servers have no tool {kind!r}")
        wanted, space = text_in(choice, "name", "tool_choice"), space_of(choice, "tool_choice")
        return self.names.chat(ToolName(wanted, "custom" if kind == "custom" else "function", space))

    def _only(self, names: Iterable[str]) -> None:
        kept = set(names)
        self.functions = [each for each in self.functions if each["function"]["name"] in kept]


def _parameters(tool: Json) -> Json:
    return tool["parameters"] if isinstance(tool.get("parameters"), dict) else dict(_NO_ARGUMENTS)


def _free_text(tool: Json) -> Json:
    """The schema of a function for a tool of free text: its grammar stands where the model reads what to write."""
    said, grammar = "The whole text for the tool, as it stands.", table(tool.get("format"))
    if grammar.get("type") == "grammar":
        said = f"{said} It follows this {grammar.get('syntax')} grammar:\n{grammar.get('definition')}"
    text: Json = {"type": "string", "description": said}
    return {"type": "object", "properties": {INPUT: text}, "required": [INPUT]}


def response_tools(tools: Any) -> Iterator[Json]:
    """Tools of a chat request as Responses has them. Raises: Untranslatable."""
    for n, each in enumerate(listed(tools, "tools")):
        field = f"tools[{n}]"
        tool = object_in(each, field)
        kind = tool.get("type")
        if kind not in ("function", "custom"):
            raise Untranslatable(f"{field}.type", f"is {kind!r}, neither 'function' nor 'custom'")
        inner = object_in(tool.get(kind), f"{field}.{kind}")
        text_in(inner, "name", f"{field}.{kind}")
        if kind == "custom":
            yield {"type": kind, **inner, **_grammar(inner)}
        else:  # which Responses would hold to its schema unless it is told otherwise
            schema = inner.get("parameters")
            yield {"strict": False, **inner, "type": kind, "parameters": schema or dict(_NO_ARGUMENTS)}


def _grammar(tool: Json) -> Json:
    """Chat Completions writes a grammar in an object of its own, Responses beside its type."""
    told = table(tool.get("format"))
    return {"format": {"type": "grammar", **told["grammar"]}} if isinstance(told.get("grammar"), dict) else {}


def response_choice(choice: Any) -> Any:
    """`tool_choice` of Responses. Raises: Untranslatable."""
    if choice is None or (isinstance(choice, str) and choice in _MODES):
        return choice
    asked = object_in(choice, "tool_choice")
    kind = asked.get("type")
    if kind in ("function", "custom"):
        name = text_in(object_in(asked.get(kind), f"tool_choice.{kind}"), "name", f"tool_choice.{kind}")
        return {"type": kind, "name": name}
    if kind == "allowed_tools":
        allowed = object_in(asked.get(kind), f"tool_choice.{kind}")
        tools = [response_choice(each) for each in listed(allowed.get("tools"), "tool_choice.tools")]
        return {"type": kind, "mode": allowed.get("mode", "auto"), "tools": tools}
    raise Untranslatable("tool_choice.type", f"is {kind!r}, which Responses has not")
