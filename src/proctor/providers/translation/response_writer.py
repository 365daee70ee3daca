"""A chat server's reply, piece by piece, as a response and the events that tell of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from proctor.providers.translation.naming import ToolNames
from proctor.providers.translation.output import ResponseOutput
from proctor.providers.translation.response_calls import Callings
from proctor.providers.translation.response_texts import Saying, Thinking
from proctor.providers.translation.untranslatable import Json, table, tables
from proctor.providers.translation.usage import response_usage

THOUGHTS = ("reasoning_content", "reasoning")
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
# What DeepSeek and OpenRouter say when they could not go on.
_BROKE_OFF = frozenset({"insufficient_system_resource", "error"})
_CODES = frozenset({
    "context_length_exceeded", "rate_limit_exceeded", "insufficient_quota", "invalid_prompt", "server_is_overloaded",
})  # fmt: skip


class ResponseWriter:
    """`echo` is what a response repeats of its request."""

    def __init__(self, echo: Json, names: ToolNames, seen: Collection[str], unique: str) -> None:
        self.done = False
        self._output = ResponseOutput(unique)
        self._calls = Callings(self._output, names, seen)
        self._thinking: Thinking | None = None
        self._saying: Saying | None = None
        self._said = False
        self._begun = False
        self._finish: str | None = None
        self._usage: Json | None = None
        self._body: Json = {
            "id": f"resp_{unique}", "object": "response", "created_at": 0, "status": "in_progress", "error": None,
            "incomplete_details": None, **echo, "output": [], "usage": None,
        }  # fmt: skip

    @property
    def body(self) -> Json:
        return {**self._body, "output": self._output.items}

    @property
    def finished(self) -> bool:
        """Whether the server said why the reply ended; its usage may follow."""
        return self._finish is not None

    def events(self) -> list[Json]:
        """Those that were not taken yet."""
        told, self._output.events = self._output.events, []
        return told

    def chunk(self, chunk: Json) -> None:
        if self.done:
            return
        if chunk.get("error") or chunk.get("object") == "error":
            told = chunk.get("error") or chunk
            words = told.get("message") if isinstance(told, dict) else told
            self.fail(str(words or "the server gave no reason"), table(told).get("code"))
            return
        self._begin(chunk)
        self._usage = response_usage(chunk.get("usage")) or self._usage
        for choice in tables(chunk.get("choices"))[:1]:
            self._choice(choice)

    def end(self) -> None:
        """The server said that this was all."""
        if self.done:
            return
        if self._finish in _BROKE_OFF:
            self.fail("the model's server broke the reply off")
            return
        self._begin({})
        reason = _INCOMPLETE.get(self._finish or "")
        status = "completed" if reason is None else "incomplete"
        if not (self._said or self._calls or reason):
            self._saying = Saying(self._output)
        self._close_texts(status)
        self._calls.close(status)
        details = None if reason is None else {"reason": reason}
        self._ended(status, incomplete_details=details)

    def fail(self, message: str, code: Any = None) -> None:
        if not self.done:
            self._begin({})
            known = code if isinstance(code, str) and code in _CODES else "server_error"
            self._ended("failed", error={"code": known, "message": message})

    def _ended(self, status: str, **more: Any) -> None:
        self.done = True
        self._body |= {"status": status, "usage": self._usage, **more}
        self._output.say(f"response.{status}", {"response": self.body})

    def _begin(self, chunk: Json) -> None:
        if self._begun:
            return
        self._begun = True
        if isinstance(chunk.get("created"), int):
            self._body["created_at"] = chunk["created"]
        if isinstance(chunk.get("model"), str) and chunk["model"]:
            self._body["model"] = chunk["model"]
        for kind in ("created", "in_progress"):
            self._output.say(f"response.{kind}", {"response": self.body})

    def _choice(self, choice: Json) -> None:
        delta = table(choice.get("delta"))
        thought = next(((name, delta[name]) for name in THOUGHTS if _words(delta.get(name))), None)
        if thought is not None:
            self._think(*thought)
        if words := _words(delta.get("content")):
            self._say().words(words, tables(table(choice.get("logprobs")).get("content")))
        if refusal := _words(delta.get("refusal")):
            self._say().refusal(refusal)
        if delta.get("tool_calls"):
            self._close_texts("completed")
            self._calls.add(delta["tool_calls"])
        if isinstance(choice.get("finish_reason"), str):
            self._finish = choice["finish_reason"]

    def _think(self, told_as: str, text: Any) -> None:
        if self._thinking is None:
            self._close_texts("completed")
            self._thinking = Thinking(self._output, told_as)
        self._thinking.more(_words(text))

    def _say(self) -> Saying:
        if self._saying is None:
            self._close_texts("completed")
            self._saying = Saying(self._output)
            self._said = True
        return self._saying

    def _close_texts(self, status: str) -> None:
        if self._thinking is not None:
            self._thinking.close()
        if self._saying is not None:
            self._saying.close(status)
        self._thinking = self._saying = None


def _words(content: Any) -> str:
    """A text, also of servers that send it in parts."""
    if isinstance(content, list):
        return "".join(part["text"] for part in tables(content) if isinstance(part.get("text"), str))
    return content if isinstance(content, str) else ""


def as_chunk(completion: Json) -> Json:
    """A whole chat completion as the one piece of a stream."""
    choices = tables(completion.get("choices"))[:1]
    return {**completion, "choices": [{**each, "delta": table(each.get("message"))} for each in choices]}
