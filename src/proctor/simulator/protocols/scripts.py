"""Scripts: what a simulated model says and has run turn by turn, in whatever form the agent that asks understands.

A script is JSON lines such as {"say": "I look first.", "run": "ls"}; a line without `run` is words alone. It keeps
nothing: which turn it is follows from the conversation, and after its last line it repeats that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from proctor.simulator.protocols.tools import Tool, filled, tools_of
from proctor.simulator.protocols.wire import Call, JsonBody, Scripted, ScriptTurn

# Names of tools that run a command, and of the parameter that takes it, in the order in which they are looked for.
SHELLS = ("exec_command", "shell_command", "shell", "bash", "execute_bash", "terminal", "run_command")
COMMANDS = ("cmd", "command", "script", "input")
FENCE = re.compile(r"^[ \t]*```(\w+)[ \t]*$", re.MULTILINE)
SPOKEN = ("function_call", "custom_tool_call", "reasoning")  # of the model, in a conversation of Responses


@dataclass(frozen=True, slots=True)
class _Shell:
    """A tool that runs commands."""

    tool: Tool
    parameter: str

    def call(self, command: str) -> Call:
        schema = self.tool.properties[self.parameter]
        listed = isinstance(schema, dict) and schema.get("type") == "array"
        needed = {name: filled(self.tool.properties.get(name)) for name in self.tool.required}
        given = {**needed, self.parameter: ["bash", "-lc", command] if listed else command}
        return Call(self.tool.name, orjson.dumps(given).decode())


def read_script(path: Path) -> tuple[ScriptTurn, ...]:
    """Raises: ValueError that names the file and the line."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    turns = tuple(_turn(line, f"{path}:{n}") for n, line in enumerate(lines, 1) if line.strip())
    if not turns:
        raise ValueError(f'{path} holds no turn: a line is such as {{"say": "I look first.", "run": "ls"}}')
    return turns


def _turn(line: bytes, where: str) -> ScriptTurn:
    try:
        told = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{where}: not JSON ({error})") from None
    if not isinstance(told, dict) or not told or told.keys() - {"say", "run"}:
        raise ValueError(f'{where}: an object with "say", "run" or both belongs here')
    if not all(isinstance(value, str) and value for value in told.values()):
        raise ValueError(f'{where}: "say" and "run" are texts')
    return ScriptTurn(told.get("say", ""), told.get("run"))


def scripted(script: Sequence[ScriptTurn], fields: JsonBody) -> Scripted:
    """What the script answers a request to one of OpenAI's endpoints. Raises: ValueError for tools that are none."""
    said = fields.fields.get("messages", fields.fields.get("input"))
    items = [each for each in said if isinstance(each, dict)] if isinstance(said, list) else []
    turn = _turns_of(_of_model(each) for each in items)
    return _act(script, turn, _shell(tools_of(fields)), orjson.dumps(said).decode())


def scripted_words(script: Sequence[ScriptTurn], messages: Sequence[tuple[str, str]]) -> Scripted:
    """The same for protocols whose tools are not read: commands stand in blocks."""
    turn = _turns_of(role in ("assistant", "model") for role, _ in messages)
    return _act(script, turn, None, "\n".join(content for _, content in messages))


def _act(script: Sequence[ScriptTurn], turn: int, shell: _Shell | None, prompt: str) -> Scripted:
    line = script[min(turn, len(script) - 1)]
    if line.run is None:
        return Scripted(line.say, None, turn)
    if shell is not None:
        return Scripted(line.say, shell.call(line.run), turn)
    block = f"```{_language(prompt)}\n{line.run}\n```"
    return Scripted("\n\n".join(filter(None, [line.say, block])), None, turn)


def _of_model(item: Mapping[str, Any]) -> bool:
    return item.get("role") == "assistant" or item.get("type") in SPOKEN


def _turns_of(spoken: Iterable[bool]) -> int:
    """How often the model has had its turn: what it said in a row was one."""
    turns, before = 0, False
    for each in spoken:
        turns += each and not before
        before = each
    return turns


def _shell(tools: Sequence[Tool]) -> _Shell | None:
    """The tool that runs commands: by its name, else by what it takes."""
    named = {tool.name: tool for tool in tools}
    for tool in [*(named[name] for name in SHELLS if name in named), *tools]:
        parameter = next((name for name in COMMANDS if name in tool.properties), None)
        if parameter is not None:
            return _Shell(tool, parameter)
    return None


def _language(prompt: str) -> str:
    """What the agent's own words call a block with a command, where they show one."""
    shown = Counter(FENCE.findall(prompt.replace("\\n", "\n")))
    return shown.most_common(1)[0][0] if shown else "sh"
