"""What requests and replies of conversations say, in the shapes of Responses and of Chat Completions, as one form.

All of it was written by agents and models: what has another type than it should is passed over.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

Body = Mapping[str, Any]
CALLED = ("function_call", "custom_tool_call", "local_shell_call", "mcp_call")
COMMANDS = ("cmd", "command", "script", "code", "input", "patch")  # arguments that are what is run
SHELLS = ("", "sh", "bash", "shell", "zsh", "mswea_bash_command")
HEAD = 400  # characters of an output in which an exit code is looked for
_FENCED = re.compile(r"^[ \t]{0,3}```[ \t]*(\w*)[^\n`]*\n(.*?)^[ \t]{0,3}```", re.M | re.S)
_EXIT = re.compile(
    r"(?:exited with code|exit code:?|<returncode>|\"(?:exit_code|returncode)\":)\s*(-?\d{1,9})\b", re.I
)


@dataclass(frozen=True, slots=True)
class SpokenEntry:
    """One entry of a request's conversation. `result` is what a tool gave back, by the id of its call."""

    source: Literal["system", "user", "assistant", "result"]
    text: str
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """What a model had run: a tool that it called by its name, or without one a command in a block of its text.

    `ran` is what was run as people write it, `output` what came back of it; None: nothing did, or not yet.
    """

    ran: str
    call_id: str = ""
    name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    output: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class ModelSaid:
    """What a model said in one reply. Tokens are part of those of the reply: read from a cache, and thought."""

    text: str = ""
    reasoning: str = ""
    tools: tuple[ToolUse, ...] = ()
    error: str = ""
    model: str | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


# Requests --------------------------------------------------------------------------------------------


def conversation(request: Body) -> str:
    """The field of a request that holds its conversation as a list."""
    return "messages" if isinstance(request.get("messages"), list) else "input"


def entries_of(request: Body, first: int = 0) -> Iterator[SpokenEntry]:
    """The entries of a conversation from the one numbered `first`, but for the model's own calls and thoughts."""
    held = request.get(conversation(request))
    if isinstance(held, str):
        yield SpokenEntry("user", held)
    for item in held[first:] if isinstance(held, list) else ():
        if isinstance(item, dict) and (entry := _entry(item)):
            yield entry


def _entry(item: Body) -> SpokenEntry | None:
    kind, role = item.get("type", "message"), item.get("role")
    if str(kind).endswith("_output"):
        return SpokenEntry("result", words(item.get("output")), _text(item.get("call_id")))
    if role in ("tool", "function"):
        return SpokenEntry("result", words(item.get("content")), _text(item.get("tool_call_id")))
    if kind != "message" or role is None:
        return None
    if role == "assistant":
        return SpokenEntry("assistant", words(item.get("content")))
    return SpokenEntry("system" if role in ("system", "developer") else "user", words(item.get("content")))


def tools_of(request: Body) -> list[dict[str, Any]]:
    """The tools that a model is offered, as the request defines them."""
    told = request.get("tools")
    return [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []


def words(content: object) -> str:
    """The text of a message or an output: itself, or its parts; what is no text is named."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(map(_part, content))
    return "" if content is None else _json(content)


def _part(part: object) -> str:
    if isinstance(part, dict):
        told = part.get("text", part.get("refusal"))
        return told if isinstance(told, str) else f"[{_text(part.get('type')) or 'part'}]"
    return part if isinstance(part, str) else _json(part)


# Replies ---------------------------------------------------------------------------------------------


def said_of(response: Body) -> ModelSaid:
    """What a reply says; of several choices, the first."""
    error = response.get("error")
    told = _text(error.get("message")) or _json(error) if isinstance(error, dict) else _text(error)
    usage = _table(response.get("usage"))
    inside = _table(usage.get("input_tokens_details")) or _table(usage.get("prompt_tokens_details"))
    outside = _table(usage.get("output_tokens_details")) or _table(usage.get("completion_tokens_details"))
    items = _tables(response.get("output"))
    spoken = _of_items(items) if items else _of_message(_message(response))
    return ModelSaid(
        *spoken,
        told,
        _text(response.get("model")) or None,
        _count(inside.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))),
        _count(outside.get("reasoning_tokens")),
    )


Spoken = tuple[str, str, tuple[ToolUse, ...]]


def _of_items(items: Sequence[Body]) -> Spoken:
    said = [words(item.get("content")) for item in items if item.get("type") == "message"]
    thought = [item for item in items if item.get("type") == "reasoning"]
    parts = [words(item.get(name)) for item in thought for name in ("summary", "content")]
    used = [_used(item) for item in items if item.get("type") in CALLED]
    return "\n\n".join(filter(None, said)), "\n\n".join(filter(None, parts)), tuple(used)


def _message(response: Body) -> Body:
    first = next(iter(_tables(response.get("choices"))), {})
    return _table(first.get("message")) or {"content": first.get("text")}


def _of_message(message: Body) -> Spoken:
    said = words(message.get("content")) or _text(message.get("refusal"))
    thought = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    made = [*_tables(message.get("tool_calls")), {"function": message.get("function_call")}]
    asked = [(each, _table(each.get("function")) or _table(each.get("custom"))) for each in made]
    return said, thought, tuple(_used({**inner, "call_id": each.get("id")}) for each, inner in asked if inner)


def _used(item: Body) -> ToolUse:
    """A call of a tool. Arguments that are no object are told as the text `input`."""
    name, raw = _text(item.get("name")) or _text(item.get("type")), item.get("arguments", item.get("input"))
    if isinstance(action := item.get("action"), dict):
        raw = action
    arguments = _parsed(raw)
    if not isinstance(arguments, dict):
        arguments = {"input": raw if isinstance(raw, str) else _json(raw)} if raw is not None else {}
    return ToolUse(_ran(name, arguments), _text(item.get("call_id")), name, arguments)


def _ran(name: str, arguments: Body) -> str:
    """What a call runs, as people write it: its command, else its name with its arguments."""
    told = next((arguments[key] for key in COMMANDS if arguments.get(key)), None)
    if isinstance(told, list) and all(isinstance(each, str) for each in told):
        told = told[2] if len(told) == 3 and told[1] in ("-c", "-lc") else shlex.join(told)
    if not isinstance(told, str):
        return f"{name}({', '.join(f'{key}={_json(value)}' for key, value in arguments.items())})"
    return told if "input" not in arguments and "patch" not in arguments else f"{name}\n{told}"


def block_of(text: str) -> str | None:
    """The first shell command that stands in a block of a text; None where none does.

    >>> block_of("I look.\\n```sh\\nls -la\\n```")
    'ls -la'
    """
    found = (match[2].rstrip("\n") for match in _FENCED.finditer(text) if match[1].lower() in SHELLS)
    return next(filter(None, found), None)


def came_back(text: str) -> tuple[str, int | None]:
    """What a tool gave back: its output, and the exit code where the beginning tells one."""
    told = _parsed(text) if text.startswith("{") else None
    if isinstance(told, dict) and isinstance(output := told.get("output"), str):
        code = _table(told.get("metadata")).get("exit_code", told.get("returncode", told.get("exit_code")))
        return output, code if isinstance(code, int) and not isinstance(code, bool) else None
    found = _EXIT.search(text[:HEAD])
    return text, int(found[1]) if found else None


# What may have any type ------------------------------------------------------------------------------


def _parsed(raw: object) -> object:
    if not isinstance(raw, str):
        return raw
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _table(value: object) -> Body:
    return value if isinstance(value, dict) else {}


def _tables(value: object) -> list[Body]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
