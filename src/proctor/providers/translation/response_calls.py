"""The calls of a chat server's reply, as items of a response."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import orjson

from proctor.providers.translation.naming import ToolName, ToolNames
from proctor.providers.translation.output import ResponseOutput
from proctor.providers.translation.seals import sealed
from proctor.providers.translation.tools import INPUT
from proctor.providers.translation.untranslatable import Json, dumped, table, tables


class _Calling:
    """One call that is being made. It is told of once its tool's name is known."""

    def __init__(self, output: ResponseOutput, given_id: str | None, call_id: str) -> None:
        self.given_id, self.name = given_id, ""
        self._output, self._call_id = output, call_id
        self._pieces: list[str] = []
        self._tool: ToolName | None = None
        self._place, self._id = 0, ""

    @property
    def whole(self) -> bool:
        """Whether its arguments are an object by now, to which nothing can be added."""
        return isinstance(_read("".join(self._pieces)), dict)

    def named(self, name: str, tool: ToolName, signed: Any) -> None:
        if signed is not None:
            self._sign(signed)
        self.name, self._tool = name, tool
        told = self._begun(tool)
        self._place, self._id = self._output.open(told.pop("of"), told)
        if before := "".join(self._pieces):
            self._tell(before)

    def more(self, arguments: str) -> None:
        self._pieces.append(arguments)
        if self._tool is not None:
            self._tell(arguments)

    def close(self, status: str) -> None:
        if self._tool is None:  # it never told the name
            self.named("", ToolName(""), None)
        tool = self._tool
        assert tool is not None
        if tool.kind == "function" and not "".join(self._pieces).strip():
            self._pieces.clear()
            self.more("{}")
        told = self._begun(tool)
        told.pop("of")
        field, event = _FIELDS[tool.kind]
        words = "".join(self._pieces)
        value: Any = (
            words if tool.kind == "function" else _free(words) if tool.kind == "custom" else _shell(words)
        )
        where: Json = {"item_id": self._id, "output_index": self._place}
        if tool.kind == "custom":
            self._output.say(f"{event}.delta", {**where, "delta": value})
        if event:
            self._output.say(f"{event}.done", {**where, field: value})
        self._output.close(self._place, {**told, field: value, "id": self._id, "status": status})

    def _tell(self, arguments: str) -> None:
        if self._tool is not None and self._tool.kind == "function" and arguments:
            where: Json = {"item_id": self._id, "output_index": self._place}
            self._output.say("response.function_call_arguments.delta", {**where, "delta": arguments})

    def _begun(self, tool: ToolName) -> Json:
        if tool.kind == "local_shell":
            return {"of": "lsh", "type": "local_shell_call", "call_id": self._call_id, "action": _shell("")}
        space = {} if tool.namespace is None else {"namespace": tool.namespace}
        if tool.kind == "custom":
            begun: Json = {"of": "ctc", "type": "custom_tool_call", "input": ""}
        else:
            begun = {"of": "fc", "type": "function_call", "arguments": ""}
        return {**begun, "call_id": self._call_id, "name": tool.name, **space}

    def _sign(self, signed: Any) -> None:
        """What the server wants to see again on its call travels in a reasoning item before it."""
        place, ident = self._output.open("rs", {"type": "reasoning", "summary": []})
        seal = sealed({"calls": {self._call_id: signed}})
        self._output.close(
            place, {"type": "reasoning", "id": ident, "summary": [], "encrypted_content": seal}
        )


_FIELDS = {
    "function": ("arguments", "response.function_call_arguments"),
    "custom": ("input", "response.custom_tool_call_input"),
    "local_shell": ("action", ""),
}


class Callings:
    """All calls of one reply. `seen` are the ids of calls in the conversation before it."""

    def __init__(self, output: ResponseOutput, names: ToolNames, seen: Collection[str]) -> None:
        self._output, self._names = output, names
        self._seen = set(seen)
        self._calls: list[_Calling] = []
        self._at: dict[int, _Calling] = {}  # the last one at each index

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, pieces: Any) -> None:
        for piece in tables(pieces):
            told = table(piece.get("function"))
            name, arguments = told.get("name"), _text(told.get("arguments"))
            call = self._of(piece, name if isinstance(name, str) else "", arguments)
            if name and isinstance(name, str) and not call.name:
                call.named(name, self._names.tool(name), piece.get("extra_content"))
            if arguments:
                call.more(arguments)

    def close(self, status: str) -> None:
        for n, call in enumerate(self._calls):
            # What is cut off is its end.
            cut = status == "incomplete" and n == len(self._calls) - 1 and not call.whole
            call.close("incomplete" if cut else "completed")

    def _of(self, piece: Json, name: str, arguments: str) -> _Calling:
        """The call that a piece goes on with, or a new one.

        Servers leave the index out or give all calls the same; they leave ids out, repeat them with each piece, or give
        two calls the same.
        """
        index, told = piece.get("index"), piece.get("id")
        given = told if isinstance(told, str) and told else None
        last = self._at.get(index) if isinstance(index, int) else self._last(given)
        if last is None or _is_new(last, given, name, arguments):
            last = _Calling(self._output, given, self._unique(given))
            self._calls.append(last)
        if isinstance(index, int):
            self._at[index] = last
        return last

    def _last(self, given: str | None) -> _Calling | None:
        same = [call for call in self._calls if given is not None and call.given_id == given]
        return next(reversed(same or self._calls), None)

    def _unique(self, given: str | None) -> str:
        if given is None or given in self._seen:
            given = f"call_{self._output.unique}_{len(self._calls)}"
        self._seen.add(given)
        return given


def _is_new(last: _Calling, given: str | None, name: str, arguments: str) -> bool:
    if not name or not last.name:
        return False
    if name != last.name or (given is not None and last.given_id is not None and given != last.given_id):
        return True
    return bool(arguments) and last.whole  # the same tool once more


def _text(arguments: Any) -> str:
    """Some servers give the arguments as an object, not as its text."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else dumped(arguments).decode()


def _read(words: str) -> Any:
    try:
        return orjson.loads(words)
    except orjson.JSONDecodeError:
        return None


def _free(words: str) -> str:
    """The text for a tool of free text: the function's one argument, or what the model wrote in its place."""
    told = _read(words)
    if isinstance(told, dict):
        texts = [value for value in told.values() if isinstance(value, str)]
        if isinstance(told.get(INPUT), str):
            return str(told[INPUT])
        return texts[0] if len(texts) == 1 else words
    return told if isinstance(told, str) else words


def _shell(words: str) -> Json:
    told = table(_read(words))
    command = told.get("command", [words] if words else [])
    return {
        "type": "exec",
        "command": [str(each) for each in command] if isinstance(command, list) else [str(command)],
        "env": {},
        "timeout_ms": told.get("timeout_ms"),
        "working_directory": told.get("working_directory"),
    }
