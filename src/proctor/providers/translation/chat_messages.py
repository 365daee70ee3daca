"""The input of a Responses request as the messages of a chat."""

from __future__ import annotations

from typing import Any

from proctor.providers.translation.naming import ToolName, ToolNames
from proctor.providers.translation.parts import chat_content, chat_parts, joined
from proctor.providers.translation.seals import opened
from proctor.providers.translation.tools import INPUT, LOCAL_SHELL
from proctor.providers.translation.untranslatable import (
    Json,
    Untranslatable,
    dumped,
    kind_of,
    listed,
    object_in,
    space_of,
    table,
    tables,
    text_in,
)

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
PICTURES = "images and files in the outputs of tools go to the model in a message behind them"
SEALED = "reasoning left out that no chat server told: only the server that wrote it takes it back"
_SEEN_BELOW = "(see the next message)"


class ChatMessages:
    """The conversation as it grows, item by item. `call_ids` are those of all calls in it."""

    def __init__(self, instructions: Any, items: Any, names: ToolNames) -> None:
        self.call_ids: set[str] = set()
        self.remarks: list[str] = []
        self._names = names
        self._messages: list[Json] = []
        self._thought: Json = {}  # reasoning that belongs to the next words or calls of the model
        self._signed: Json = {}  # what a server put on its calls, by their ids
        if instructions is not None:
            if not isinstance(instructions, str):
                raise Untranslatable("instructions", "must be a text")
            self._leading(instructions)
        if isinstance(items, str):
            self._messages.append({"role": "user", "content": items})
            return
        given = [(f"input[{n}]", item) for n, item in enumerate(listed(items, "input"))]
        for item in tables([item for _, item in given]):
            self._signed.update(table(opened(item.get("encrypted_content")).get("calls")))
        for field, item in given:
            self._add(object_in(item, field), field)

    @property
    def messages(self) -> list[Json]:
        """As chat servers want them: outputs of tools right behind the message that called for them."""
        return _answered(self._messages)

    def _add(self, item: Json, field: str) -> None:
        kind = kind_of(item) or ("message" if "role" in item else None)
        if kind == "message":
            self._message(item, field)
        elif kind == "reasoning":
            self._reasoning(item)
        elif kind == "function_call":
            name = ToolName(text_in(item, "name", field), namespace=space_of(item, field))
            self._call(name, text_in(item, "arguments", field), item, field)
        elif kind == "custom_tool_call":
            name = ToolName(text_in(item, "name", field), "custom", space_of(item, field))
            self._call(name, _dumped({INPUT: text_in(item, "input", field)}), item, field)
        elif kind == "local_shell_call":
            action = object_in(item.get("action"), f"{field}.action")
            told = {k: v for k, v in action.items() if v is not None and k not in ("type", "env")}
            self._call(LOCAL_SHELL, _dumped(told), item, field)
        elif kind in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
            self._output(item, field)
        elif kind == "item_reference":
            raise Untranslatable(
                field, "points to an item that was kept; the gateway keeps no conversations, so send it whole"
            )
        else:
            raise Untranslatable(f"{field}.type", f"chat servers know no {kind!r}")

    def _message(self, item: Json, field: str) -> None:
        role = _ROLES.get(str(item.get("role")))
        if role is None:
            raise Untranslatable(f"{field}.role", f"is {item.get('role')!r}, none of {', '.join(_ROLES)}")
        parts = chat_parts(item.get("content"), f"{field}.content")
        if role == "user":
            self._thought = {}
            self._messages.append({"role": role, "content": chat_content(parts)})
        elif shown := [part["type"] for part in parts if part["type"] not in ("text", "refusal")]:
            raise Untranslatable(
                f"{field}.content", f"holds {shown[0]}, which chat servers take of users alone"
            )
        elif role == "system":
            self._leading(joined(parts))
        else:
            refusals = "".join(part["refusal"] for part in parts if part["type"] == "refusal")
            said: Json = {"role": role, **self._thoughts(), "content": joined(parts)}
            more = {"content": said["content"] or None, "refusal": refusals} if refusals else {}
            self._messages.append({**said, **more})

    def _leading(self, text: str) -> None:
        """Templates of chat servers allow for one system message, at the beginning."""
        if len(self._messages) == 1 and self._messages[0]["role"] == "system":
            self._messages[0]["content"] += f"\n\n{text}"
        else:
            self._messages.append({"role": "system", "content": text})

    def _reasoning(self, item: Json) -> None:
        """It goes back under the name under which the server told it; servers that told none refuse the field."""
        ours = opened(item.get("encrypted_content"))
        if not ours and (item.get("encrypted_content") or item.get("summary")):
            self.remarks.append(SEALED)
        name = ours.get("as")
        parts = [part for kind in ("summary", "content") for part in tables(item.get(kind))]
        texts = [part["text"] for part in parts if isinstance(part.get("text"), str)]
        if isinstance(name, str) and texts:
            before = f"{self._thought[name]}\n\n" if name in self._thought else ""
            self._thought = {name: before + "\n\n".join(filter(None, texts))}

    def _thoughts(self) -> Json:
        thought, self._thought = self._thought, {}
        return thought

    def _call(self, tool: ToolName, arguments: str, item: Json, field: str) -> None:
        named = item.get("call_id") or item.get("id")  # local_shell_call had no other once
        ident = text_in({"call_id": named}, "call_id", field)
        call: Json = {
            "id": ident,
            "type": "function",
            "function": {"name": self._names.chat(tool), "arguments": arguments},
        }
        if ident in self._signed:
            call["extra_content"] = self._signed[ident]
        self.call_ids.add(ident)
        last = self._messages[-1] if self._messages else {}
        if last.get("role") != "assistant" or self._thought:
            last = {"role": "assistant", **self._thoughts(), "content": None}
            self._messages.append(last)
        last["content"] = last["content"] or None
        last.setdefault("tool_calls", []).append(call)

    def _output(self, item: Json, field: str) -> None:
        named = item.get("call_id") or item.get("id")
        ident = text_in({"call_id": named}, "call_id", field)
        parts = chat_parts(item.get("output"), f"{field}.output")
        shown = [part for part in parts if part["type"] != "text"]
        text = joined(parts) or (_SEEN_BELOW if shown else "")
        self._messages.append({"role": "tool", "tool_call_id": ident, "content": text})
        if shown:  # a chat server's tools answer with texts alone
            self.remarks.append(PICTURES)
            self._messages.append({"role": "user", "content": shown})


def _answered(messages: list[Json]) -> list[Json]:
    """Each output behind the message with its call, in the order of the calls; all else stays where it stands."""
    waiting: dict[str, list[Json]] = {}
    for message in messages:
        if message["role"] == "tool":
            waiting.setdefault(message["tool_call_id"], []).append(message)
    behind: dict[int, list[Json]] = {}
    for message in messages:
        found = (waiting.get(call["id"]) for call in message.get("tool_calls", ()))
        behind[id(message)] = [outputs.pop(0) for outputs in found if outputs]
    moved = {id(output) for outputs in behind.values() for output in outputs}
    kept = (message for message in messages if id(message) not in moved)
    return [each for message in kept for each in (message, *behind[id(message)])]


def _dumped(value: Json) -> str:
    return dumped(value).decode()
