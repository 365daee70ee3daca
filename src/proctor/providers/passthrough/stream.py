"""One streamed reply on its way: its events are put together, and the moments of its tokens are kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from proctor.errors import BadReply, NetworkError, ProviderError
from proctor.providers.passthrough.assembled import Assembly
from proctor.providers.passthrough.events import Events, StreamEvent
from proctor.providers.wire.http import HttpResponse
from proctor.providers.wire.refusals import Place, bad_reply, refusal
from proctor.types import Reply

DONE = b"[DONE]"
# Is given each event that is no error, with the stream so far.
Hear = Callable[["StreamEvent", "Stream"], None]


@dataclass(slots=True)
class Stream:
    """Times are seconds since the request. `tokens` is how many came at least, `first_tokens` in the first reading."""

    place: Place
    assembly: Assembly
    scrub: Callable[[bytes], bytes]
    hear: Hear | None = None
    tokens: int = 0
    first_s: float | None = None
    last_s: float | None = None
    first_tokens: int = 0
    _done: bool = False
    _read_s: float = 0.0
    _events: Events = field(default_factory=Events)

    def take(self, piece: bytes, at: float) -> bool:
        """Raises: ProviderError for an error in the midst of it."""
        self._read_s = at
        for event in self._events.of(piece):
            self._add(event)
        return self._done

    def body(self) -> bytes:
        """The reply in one piece. Raises: NetworkError where the stream was cut."""
        last = self._events.last()
        if last is not None and not self._done:
            self._add(last)
        if not (self._done or self.assembly.whole):
            seen = "before the first token" if self.first_s is None else "in the middle of the reply"
            raise NetworkError(f"{self.place.words}: the stream ended {seen}")
        return self.scrub(_written(self.assembly.body, self.place))

    def inter_token_s(self, reply: Reply) -> float | None:
        """The mean time between two tokens; None where they were not counted, or all came at once.

        (last - first) / (output tokens - those of the first reading). Reasoning that is counted and not shown came
        before the first.
        """
        if self.first_s is None or self.last_s is None or self.assembly.replies != 1:
            return None
        shown = reply.output_tokens or 0
        if reply.reasoning is None:
            shown -= reply.reasoning_tokens or 0
        later, took_s = shown - self.first_tokens, self.last_s - self.first_s
        return took_s / later if later > 0 and took_s > 0 else None

    def _add(self, event: StreamEvent) -> None:
        if event.data == DONE:
            self._done = True
            self._hand_on(event)
            return
        chunk = _object(event.data)
        if chunk is None:
            raise bad_reply(self._said(event), self.place, "JSON object in an event")
        if event.name == "error" or chunk.get("type") == "error" or chunk.get("error"):
            raise self._broken(event, chunk)
        tokens = self.assembly.add(chunk)
        self.tokens += tokens
        self._hand_on(event)
        if not tokens:
            return
        self.last_s = self._read_s
        if self.first_s is None:
            self.first_s = self._read_s
        if self.first_s == self._read_s:
            self.first_tokens += tokens

    def _hand_on(self, event: StreamEvent) -> None:
        if self.hear is not None:
            self.hear(StreamEvent(event.name, self.scrub(event.data)), self)

    def so_far(self) -> bytes:
        """What came of a reply that may lack its end, in one piece."""
        return self.scrub(_written(self.assembly.body, self.place))

    def _said(self, event: StreamEvent, status: int = 200) -> HttpResponse:
        return HttpResponse(status, {}, self.scrub(event.data), self._read_s)

    def _broken(self, event: StreamEvent, chunk: dict[str, Any]) -> ProviderError:
        """The error that the server sent after it had answered 200."""
        told = chunk.get("error")
        code = (told if isinstance(told, dict) else chunk).get("code")
        said = self._said(event, code if isinstance(code, int) and 400 <= code < 600 else 500)
        error = refusal(said, self.place)
        error.raw = said.body
        return error


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = _lenient(data)
    return value if isinstance(value, dict) else None


def _lenient(data: bytes) -> object:
    """Servers cut between the halves of a surrogate pair, each escaped; only the standard library reads one alone."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _written(body: dict[str, Any], place: Place) -> bytes:
    try:
        return orjson.dumps(body)
    except (
        TypeError
    ):  # halves of pairs, which are whole again when they stand side by side, or what is nested deeply
        pass
    try:
        return json.dumps(body).encode("ascii")
    except (ValueError, RecursionError):
        raise BadReply(f"{place.words}: what the stream adds up to cannot be written as JSON") from None
