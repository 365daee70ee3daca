"""A response, event by event, as the pieces of a chat completion."""

from __future__ import annotations

from typing import Any

from proctor.providers.translation.untranslatable import Json, kind_of, table, tables
from proctor.providers.translation.usage import chat_usage

_ENDS = frozenset({"response.completed", "response.incomplete"})
_LENGTHS = {"max_output_tokens": "length", "content_filter": "content_filter"}
# The field of a delta in which an event's text stands.
_TEXTS = {
    "response.output_text": "content",
    "response.refusal": "refusal",
    "response.reasoning_summary_text": "reasoning_content",
    "response.reasoning_text": "reasoning_content",
}
_ARGUMENTS = {
    "response.function_call_arguments": ("function", "arguments"),
    "response.custom_tool_call_input": ("custom", "input"),
}
_CALLS = {"function_call": ("function", "arguments"), "custom_tool_call": ("custom", "input")}
_PART = {"output_text": "content", "refusal": "refusal", "summary_text": "reasoning_content"}


class ChatWriter:
    """What one item says comes in pieces, whole at its end, or both: each is told once."""

    def __init__(self, unique: str, model: str, *, usage_wanted: bool) -> None:
        self.done = False
        self.chunks: list[Json] = []
        self._usage_wanted = usage_wanted
        self._unique = unique
        self._frame: Json = {
            "id": f"chatcmpl-{unique}", "object": "chat.completion.chunk", "created": 0, "model": model
        }  # fmt: skip
        self._begun = False
        self._calls: dict[int, int] = {}  # of the output's items that are calls: which call it is
        self._told: set[tuple[int, str]] = set()  # items, and the fields that were told of them

    def event(self, event: Json) -> None:
        kind = event.get("type")
        if self.done or not isinstance(kind, str):
            return
        answered = table(event.get("response"))
        name, _, what = kind.rpartition(".")
        if kind == "error" or kind == "response.failed" or (event.get("error") and not answered):
            self.fail(table(event.get("error")) or table(answered.get("error")) or event)
            return
        self._begin(answered)
        if kind in _ENDS:
            self._end(kind, answered)
        elif kind == "response.output_item.added":
            self._added(event)
        elif kind == "response.output_item.done":
            self._whole(event)
        elif what == "delta" and name in _TEXTS:
            self._text(event, _TEXTS[name])
        elif what == "delta" and name in _ARGUMENTS:
            self._more(_place(event), *_ARGUMENTS[name], event.get("delta"))
        elif kind == "response.reasoning_summary_part.added" and event.get("summary_index"):
            self._say({"reasoning_content": "\n\n"})

    def fail(self, error: Json) -> None:
        """As chat servers tell an error in the midst of a stream."""
        if not self.done:
            self.done = True
            told = {
                "message": error.get("message"),
                "type": "server_error",
                "param": None,
                "code": error.get("code"),
            }
            self.chunks.append({"error": told})

    def _begin(self, response: Json) -> None:
        if self._begun:
            return
        self._begun = True
        if isinstance(response.get("created_at"), int | float):
            self._frame["created"] = int(response["created_at"])
        if isinstance(response.get("model"), str):
            self._frame["model"] = response["model"]
        self._say({"role": "assistant", "content": ""})

    def _say(self, delta: Json, finish: str | None = None, ranks: list[Json] | None = None) -> None:
        choice: Json = {"index": 0, "delta": delta, "finish_reason": finish}
        if ranks:
            choice["logprobs"] = {"content": ranks}
        self.chunks.append({**self._frame, "choices": [choice]})

    def _text(self, event: Json, field: str) -> None:
        if isinstance(event.get("delta"), str) and event["delta"]:
            ranks = tables(event.get("logprobs"))
            self._told.add((_place(event), field))
            self._say({field: event["delta"]}, ranks=ranks)

    def _added(self, event: Json) -> None:
        item, place = table(event.get("item")), _place(event)
        if kind_of(item) in _CALLS and place not in self._calls:
            of, field = _CALLS[kind_of(item)]
            number = self._calls[place] = len(self._calls)
            call = chat_call(item, self._unique, number)
            call[of][field] = ""
            self._say({"tool_calls": [{"index": number, **call}]})

    def _more(self, place: int, of: str, field: str, words: Any) -> None:
        if place in self._calls and isinstance(words, str) and words:
            self._told.add((place, field))
            self._say({"tool_calls": [{"index": self._calls[place], of: {field: words}}]})

    def _whole(self, event: Json) -> None:
        """An item at its end: what was not told of it yet."""
        item, place = table(event.get("item")), _place(event)
        if kind_of(item) in _CALLS:
            self._added(event)
            of, field = _CALLS[kind_of(item)]
            if (place, field) not in self._told:
                self._more(place, of, field, item.get(field))
            return
        for field, text in said_in(item).items():
            if (place, field) not in self._told and text:
                self._say({field: text})

    def _end(self, kind: str, response: Json) -> None:
        self.done = True
        self._say({}, finish_of(response, calls=bool(self._calls)))
        usage = chat_usage(response.get("usage"))
        if self._usage_wanted and usage is not None:
            self.chunks.append({**self._frame, "choices": [], "usage": usage})


def _place(event: Json) -> int:
    place = event.get("output_index")
    return place if isinstance(place, int) else 0


def said_in(item: Json) -> dict[str, str]:
    """What a message or a reasoning item says, by the fields of a chat message."""
    said: dict[str, str] = {}
    if item.get("type") == "message":
        for part in tables(item.get("content")):
            field = _PART.get(str(part.get("type")))
            text = part.get("refusal") if field == "refusal" else part.get("text")
            if field and isinstance(text, str):
                said[field] = said.get(field, "") + text
    elif item.get("type") == "reasoning":
        parts = tables(item.get("summary")) or tables(item.get("content"))
        said["reasoning_content"] = "\n\n".join(str(part.get("text") or "") for part in parts)
    return said


def chat_call(item: Json, unique: str, number: int) -> Json:
    """A call of a response as one of a chat message."""
    of, field = _CALLS[kind_of(item)]
    ident = item.get("call_id")
    ident = ident if isinstance(ident, str) and ident else f"call_{unique}_{number}"
    return {"id": ident, "type": of, of: {"name": str(item.get("name") or ""), field: item.get(field) or ""}}


def finish_of(response: Json, *, calls: bool) -> str:
    """`finish_reason` of a response."""
    reason = _LENGTHS.get(str(table(response.get("incomplete_details")).get("reason")))
    return reason or ("tool_calls" if calls else "stop")


def completion_of(response: Json, unique: str, model: str) -> Json:
    """A whole response as a chat completion."""
    said: dict[str, str] = {}
    calls: list[Json] = []
    for item in tables(response.get("output")):
        for field, text in said_in(item).items():
            said[field] = said.get(field, "") + text
        if kind_of(item) in _CALLS:
            calls.append(chat_call(item, unique, len(calls)))
    message: Json = {"role": "assistant", "content": said.get("content"), "refusal": said.get("refusal")}
    if said.get("reasoning_content"):
        message["reasoning_content"] = said["reasoning_content"]
    if calls:
        message |= {"content": said.get("content") or None, "tool_calls": calls}
    finish = finish_of(response, calls=bool(calls))
    created, named = response.get("created_at"), response.get("model")
    usage = chat_usage(response.get("usage"))
    return {
        "id": f"chatcmpl-{unique}",
        "object": "chat.completion",
        "created": int(created) if isinstance(created, int | float) else 0,
        "model": named if isinstance(named, str) else model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        **({} if usage is None else {"usage": usage}),
    }
