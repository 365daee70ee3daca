"""Replies of a model's server on their way to an agent that speaks the other shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from proctor.errors import ContextOverflow
from proctor.providers.passthrough.events import Events, StreamEvent
from proctor.providers.passthrough.stream import DONE
from proctor.providers.translation.chat_writer import ChatWriter, completion_of
from proctor.providers.translation.response_writer import ResponseWriter, as_chunk
from proctor.providers.translation.untranslatable import Json, dumped, error_body, loaded, table, tables
from proctor.providers.wire.http import HttpResponse
from proctor.providers.wire.refusals import Place, full_words, refusal

_CUT = "the model's server ended its reply in the middle"
_NO_JSON = "the model's server sent what is no JSON object"
_LAST = b"data: [DONE]\n\n"


class ReplyReader(Protocol):
    """One reply on its way: a stream piece by piece, or whole."""

    @property
    def done(self) -> bool:
        """Whether the stream's last event was said."""

    def piece(self, piece: bytes) -> bytes:
        """Whole events for the agent, out of bytes of the server's stream that may be cut anywhere."""

    def end(self) -> bytes:
        """What is left to say when the server's stream is over: that it was cut, if it was."""

    def whole(self, body: bytes) -> bytes:
        """A reply that came in one piece."""

    def streamed(self, body: bytes) -> bytes:
        """A reply that came in one piece to an agent that wants a stream."""

    def error(self, status: int, body: bytes) -> bytes:
        """An answer with an error, as OpenAI writes it."""

    def failed(self, message: str, code: str = "server_error") -> bytes:
        """The events that end the stream with an error."""


class AsItIs:
    """For an agent that speaks what the model's server speaks."""

    done = False

    def piece(self, piece: bytes) -> bytes:
        return piece

    def end(self) -> bytes:
        return b""

    def whole(self, body: bytes) -> bytes:
        return body

    def streamed(self, body: bytes) -> bytes:
        return body

    def error(self, status: int, body: bytes) -> bytes:
        return body

    def failed(self, message: str, code: str = "server_error") -> bytes:
        return b"data: " + error_body(message, kind="server_error", code=code) + b"\n\n"


@dataclass(slots=True)
class ToResponses:
    """Chat completions for an agent that speaks Responses."""

    begin: Callable[[], ResponseWriter]
    _events: Events = field(default_factory=Events)
    _writer: ResponseWriter = field(init=False)

    def __post_init__(self) -> None:
        self._writer = self.begin()

    @property
    def done(self) -> bool:
        return self._writer.done

    def piece(self, piece: bytes) -> bytes:
        for event in self._events.of(piece):
            self._take(event)
        return _written(self._writer.events())

    def end(self) -> bytes:
        last = self._events.last()
        if last is not None:
            self._take(last)
        if self._writer.finished:
            self._writer.end()
        else:
            self._writer.fail(_CUT)
        return _written(self._writer.events())

    def whole(self, body: bytes) -> bytes:
        return dumped(self._read(body).body)

    def streamed(self, body: bytes) -> bytes:
        return _written(self._read(body).events())

    def error(self, status: int, body: bytes) -> bytes:
        return openai_error(status, body)

    def failed(self, message: str, code: str = "server_error") -> bytes:
        self._writer.fail(message, code)
        return _written(self._writer.events())

    def _take(self, event: StreamEvent) -> None:
        if event.data == DONE:
            if self._writer.finished:
                self._writer.end()
            else:
                self._writer.fail(_CUT)
        elif (chunk := _object(event.data)) is None:
            self._writer.fail(_NO_JSON)
        else:
            if event.name == "error" and not chunk.get("error"):
                chunk = {"error": chunk}
            self._writer.chunk(chunk)

    def _read(self, body: bytes) -> ResponseWriter:
        writer, completion = self.begin(), _object(body) or {}
        if tables(completion.get("choices")) or completion.get("error"):
            writer.chunk(as_chunk(completion))
            writer.end()
        else:
            writer.fail("the model's server sent no choices")
        return writer


@dataclass(slots=True)
class ToChat:
    """Responses for an agent that speaks Chat Completions."""

    unique: str
    model: str
    usage_wanted: bool
    _events: Events = field(default_factory=Events)
    _writer: ChatWriter = field(init=False)

    def __post_init__(self) -> None:
        self._writer = self._new()

    @property
    def done(self) -> bool:
        return self._writer.done

    def piece(self, piece: bytes) -> bytes:
        for event in self._events.of(piece):
            self._take(event)
        return _pieces(self._writer)

    def end(self) -> bytes:
        last = self._events.last()
        if last is not None:
            self._take(last)
        self._writer.fail({"message": _CUT, "code": "server_error"})
        return _pieces(self._writer)

    def whole(self, body: bytes) -> bytes:
        response = _object(body) or {}
        if response.get("error") or "output" not in response:
            said = table(response.get("error")).get("message") or "the model's server sent no output"
            return error_body(str(said), kind="server_error", code=table(response.get("error")).get("code"))
        return dumped(completion_of(response, self.unique, self.model))

    def streamed(self, body: bytes) -> bytes:
        writer, response = self._new(), _object(body) or {}
        if response.get("error") or "output" not in response:
            writer.fail(table(response.get("error")) or {"message": "the model's server sent no output"})
        else:
            writer.event({"type": "response.created", "response": response})
            for place, item in enumerate(tables(response["output"])):
                writer.event({"type": "response.output_item.done", "output_index": place, "item": item})
            writer.event({"type": "response.completed", "response": response})
        return _pieces(writer)

    def error(self, status: int, body: bytes) -> bytes:
        return openai_error(status, body)

    def failed(self, message: str, code: str = "server_error") -> bytes:
        self._writer.fail({"message": message, "code": code})
        return _pieces(self._writer)

    def _new(self) -> ChatWriter:
        return ChatWriter(self.unique, self.model, usage_wanted=self.usage_wanted)

    def _take(self, event: StreamEvent) -> None:
        if event.data == DONE:
            return
        told = _object(event.data)
        if told is None:
            self._writer.fail({"message": _NO_JSON, "code": "server_error"})
        else:
            self._writer.event({"type": event.name, **told})


def openai_error(status: int, body: bytes) -> bytes:
    """An error of any server as OpenAI writes it; too long a prompt has the code by which agents know it."""
    told: Any = loaded(body)
    told = told[0] if isinstance(told, list) and told else told
    error = table(table(told).get("error"))
    code, kind = error.get("code"), error.get("type")
    if isinstance(refusal(HttpResponse(status, {}, body, 0.0), Place("", "", "")), ContextOverflow):
        code = "context_length_exceeded"
    kind = kind if isinstance(kind, str) else "invalid_request_error" if status < 500 else "server_error"
    param = error.get("param")
    return error_body(
        full_words(body),
        kind=kind,
        param=param if isinstance(param, str) else None,
        code=code if isinstance(code, str) else None,
    )


def _object(data: bytes) -> Json | None:
    value = loaded(data)
    return value if isinstance(value, dict) else None


def _written(events: Iterable[Json]) -> bytes:
    said = [b"event: %b\ndata: %b\n\n" % (event["type"].encode(), dumped(event)) for event in events]
    return b"".join(said)


def _pieces(writer: ChatWriter) -> bytes:
    chunks, writer.chunks = writer.chunks, []
    said = b"".join(b"data: %b\n\n" % dumped(chunk) for chunk in chunks)
    ended = writer.done and bool(chunks) and "error" not in chunks[-1]
    return said + _LAST if ended else said
