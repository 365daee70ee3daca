"""A streamed reply put together again: the body that the server would have sent in one piece."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from proctor.providers.passthrough.shapes import CHAT, COMPLETIONS, RESPONSES

# Said anew, not on and on, wherever they stand.
_WHOLE = frozenset({"role", "id", "type", "index", "object", "created", "model", "name", "finish_reason"})
_SAID = frozenset({
    "content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call", "audio",
})  # fmt: skip
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
DEEPEST = 50  # no reply is; what is deeper is not put together
Json = dict[str, Any]


class Assembly(Protocol):
    """What becomes of a stream. `add` gives how many tokens an event shows at least; 0 for one that says nothing."""

    def add(self, chunk: Json) -> int: ...

    @property
    def whole(self) -> bool:
        """Whether the server said that it was done, with every reply in it."""

    @property
    def replies(self) -> int:
        """How many replies it holds."""

    @property
    def body(self) -> Json: ...


def grown(so_far: Any, more: Any, depth: int = 0) -> Any:
    """A value with what a later piece says of it: texts go on, lists by their entries' index, objects by field.

    >>> grown({"a": "x", "n": None}, {"a": "y", "n": 2}), grown([{"index": 0, "t": "a"}], [{"index": 0, "t": "b"}])
    ({'a': 'xy', 'n': 2}, [{'index': 0, 't': 'ab'}])
    """
    if so_far is None or more is None or depth > DEEPEST:
        return so_far if more is None else more
    if isinstance(so_far, str) and isinstance(more, str):
        return so_far + more
    if isinstance(so_far, dict) and isinstance(more, dict):
        for name, value in more.items():
            so_far[name] = value if name in _WHOLE and value else grown(so_far.get(name), value, depth + 1)
        return so_far
    if isinstance(so_far, list) and isinstance(more, list):
        return _joined(so_far, more, depth + 1)
    return more


def _joined(so_far: list[Any], more: list[Any], depth: int) -> list[Any]:
    for entry in more:
        index = entry.get("index") if isinstance(entry, dict) else None
        there = [n for n, old in enumerate(so_far) if isinstance(old, dict) and old.get("index") == index]
        if index is None or not there:
            so_far.append(entry)
        else:
            so_far[there[0]] = grown(so_far[there[0]], entry, depth)
    return so_far


@dataclass(slots=True)
class Choices:
    """A chat completion (`said` is "message") or a completion ("text")."""

    said: str
    kind: str
    _body: Json = field(default_factory=dict)
    _choices: dict[int, Json] = field(default_factory=dict)

    def add(self, chunk: Json) -> int:
        choices = chunk.get("choices")
        for name, value in chunk.items():
            if name != "choices" and value is not None:
                self._body[name] = value
        told = choices if isinstance(choices, list) else ()
        return sum(self._choice(each) for each in told if isinstance(each, dict))

    def _choice(self, each: Json) -> int:
        index = each.get("index")
        index = index if isinstance(index, int) else 0
        choice = self._choices.setdefault(index, {"index": index})
        said = each.pop("delta" if self.said == "message" else "text", None)
        tokens = _tokens(each, said)
        for name, value in each.items():
            choice[name] = value if choice.get(name) is None else grown(choice[name], value)
        choice["index"] = index
        if value := each.get("finish_reason"):
            choice["finish_reason"] = value
        if not _goes_on(choice.get(self.said), said):
            choice[self.said] = grown(choice.get(self.said), said)
        return tokens

    @property
    def whole(self) -> bool:
        return bool(self._choices) and all(each.get("finish_reason") for each in self._choices.values())

    @property
    def replies(self) -> int:
        return len(self._choices)

    @property
    def body(self) -> Json:
        choices = [self._finished(self._choices[index]) for index in sorted(self._choices)]
        return {**self._body, "object": self.kind, "choices": choices}

    def _finished(self, choice: Json) -> Json:
        """As it stands in a reply that was not streamed: beside calls of tools no empty text, and no index in them."""
        message = choice.get("message")
        if not isinstance(message, dict):
            return choice
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            calls = [
                {k: v for k, v in call.items() if k != "index"} for call in calls if isinstance(call, dict)
            ]
            message = {**message, "content": message.get("content") or None, "tool_calls": calls}
        return {**choice, "message": {"role": "assistant", "content": None, **message}}


def _goes_on(message: Any, said: Any) -> bool:
    """Put the one text of a usual piece behind what there is; False for a piece that is not so plain."""
    if not isinstance(said, dict) or not isinstance(message, dict) or len(said) != 1:
        return False
    ((name, more),) = said.items()
    there = message.get(name)
    if name in _WHOLE or not isinstance(there, str) or not isinstance(more, str):
        return False
    message[name] = there + more
    return True


def _tokens(choice: Json, said: Any) -> int:
    """How many tokens a piece shows: as many as it ranks, else one if it says anything. A role alone is none."""
    shows = not _SAID.isdisjoint({n for n, v in said.items() if v}) if isinstance(said, dict) else bool(said)
    if not shows:
        return 0
    ranked = choice.get("logprobs")
    tokens = (ranked.get("content") or ranked.get("tokens")) if isinstance(ranked, dict) else None
    return len(tokens) if isinstance(tokens, list) and tokens else 1


@dataclass(slots=True)
class Response:
    """A response: its last event carries all of it."""

    _body: Json = field(default_factory=dict)
    _ended: bool = False

    def add(self, chunk: Json) -> int:
        kind = chunk.get("type")
        told = chunk.get("response")
        if isinstance(told, dict):
            self._body, self._ended = told, kind in _ENDS
        return int(isinstance(kind, str) and kind.endswith(".delta") and bool(chunk.get("delta")))

    @property
    def whole(self) -> bool:
        return self._ended

    @property
    def replies(self) -> int:
        return 1

    @property
    def body(self) -> Json:
        return self._body


# The endpoints that can be streamed; of others the reply comes in one piece whatever is asked for.
ASSEMBLED: Mapping[str, Callable[[], Assembly]] = {
    CHAT: lambda: Choices("message", "chat.completion"),
    COMPLETIONS: lambda: Choices("text", "text_completion"),
    RESPONSES: Response,
}
