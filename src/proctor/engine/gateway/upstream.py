"""The way to the model's own server: requests in a shape that it has, and what of its replies the agent sees."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import orjson

from proctor.engine.gateway.refusals import Refusal
from proctor.engine.gateway.requests import LENGTHS, AgentRequest, written
from proctor.errors import BadRequest, ContextOverflow, ProviderError
from proctor.providers.passthrough import Passthrough
from proctor.providers.passthrough.bodies import with_fields
from proctor.providers.passthrough.events import StreamEvent
from proctor.providers.passthrough.shapes import CHAT
from proctor.providers.passthrough.stream import DONE, Stream
from proctor.providers.protocols.parameters import refused
from proctor.providers.translation import ReplyReader, Translation, Untranslatable, translate, upstreams
from proctor.types import Reply, Request

ABSENT = (404, 405, 501)  # how a server says that it has no such endpoint


@dataclass(slots=True)
class Upstream:
    """What is learnt of the server holds for the whole run."""

    provider: Passthrough
    name: str  # the provider's
    _absent: set[str] = field(default_factory=set)  # endpoints that it has been seen not to have
    _lengths: dict[str, int] = field(default_factory=dict)  # endpoint -> which of LENGTHS it takes

    def bounded(self, path: str) -> bool:
        """Whether the server lets the length of a reply be bounded."""
        to = self._to(path)
        return self._lengths.get(to, 0) < len(LENGTHS[to])

    async def ask(self, request: AgentRequest, most: int | None, came: Came) -> Reply:
        """Raises: ProviderError; Refusal for what cannot be put in the server's shape."""
        while True:
            to = self._to(request.path)
            length = self._length(request, to)
            try:
                return await self._asked(request, to, _bounds(length, most), came)
            except ProviderError as error:
                if not (
                    self._goes_elsewhere(request.path, to, error) or self._goes_unbounded(to, length, error)
                ):
                    raise

    def _to(self, path: str) -> str:
        """The endpoint of the server that a request to `path` goes to."""
        there = [each for each in upstreams(self.name, path) if each not in self._absent]
        return there[0] if there else path

    def _goes_elsewhere(self, path: str, to: str, error: ProviderError) -> bool:
        if error.status not in ABSENT or not set(upstreams(self.name, path)) - self._absent - {to}:
            return False
        self._absent.add(to)
        return True

    def _length(self, request: AgentRequest, to: str) -> str | None:
        """What the most tokens of a reply are called: as the agent does, else as the server has been seen to."""
        names = LENGTHS[to]
        told = next((name for name in names if name in request.fields), None)
        place = self._lengths.get(to, 0)
        return told or (names[place] if place < len(names) else None)

    def _goes_unbounded(self, to: str, length: str | None, error: ProviderError) -> bool:
        """Whether it was a length of ours that was refused: too long for the server, or called otherwise there."""
        if length is None or not isinstance(error, BadRequest | ContextOverflow):
            return False
        names = LENGTHS[to]
        if isinstance(error, BadRequest) and not refused(error.raw, names):
            return False
        place = len(names) if isinstance(error, ContextOverflow) else names.index(length) + 1
        if place <= self._lengths.get(to, 0):
            return False
        self._lengths[to] = place
        return True

    async def _asked(self, request: AgentRequest, to: str, bounds: dict[str, bytes], came: Came) -> Reply:
        try:
            translation = translate(request.path, written(request.unbounded), to, provider=self.name)
        except Untranslatable as error:
            raise Refusal(400, str(error), code=error.code, param=error.param) from None
        came.begin(translation, to)
        asked = Request(to, with_fields(translation.body, bounds) if bounds else translation.body)
        reply = await self.provider.live(asked, came.hear if request.stream else None)
        came.end(reply)
        return reply


def _bounds(length: str | None, most: int | None) -> dict[str, bytes]:
    return {} if length is None or most is None else {length: b"%d" % most}


@dataclass(slots=True)
class Came:
    """What has come of a reply: `put` hands on what the agent is to see of it, `body` is all of that."""

    request: AgentRequest
    put: Callable[[bytes], None]
    stream: Stream | None = None
    first_at: float | None = None
    body: bytes = b""
    remarks: tuple[str, ...] = ()
    _reader: ReplyReader | None = None
    _alike: bool = True
    _done: bool = False

    def begin(self, translation: Translation, to: str) -> None:
        self._reader, self._alike = translation.reader, to == self.request.path
        self.remarks = translation.remarks

    def hear(self, event: StreamEvent, stream: Stream) -> None:
        assert self._reader is not None
        if self.stream is None:
            self.first_at = time.monotonic()
        self.stream = stream
        self._done = self._done or event.data == DONE
        shown = self._shown(event.data) if self._alike else event.data
        if shown is not None:
            named = b"event: %b\n" % event.name.encode() if event.name else b""
            self.put(self._reader.piece(b"%bdata: %b\n\n" % (named, shown.replace(b"\n", b"\ndata: "))))

    def end(self, reply: Reply) -> None:
        """The reply is whole: what its server left out at its end is said."""
        assert self._reader is not None
        self.body = self._reader.whole(reply.raw)
        if self.stream is None:
            self.put(self._in_events(reply.raw) if self.request.stream else self.body)
            return
        self.put(self._reader.end())
        if self._alike and self.request.path == CHAT and not self._done:
            self.put(b"data: [DONE]\n\n")

    def break_off(self) -> None:
        """The agent is told, in the midst of a stream, that there will be no end."""
        if self._reader is None or self.stream is None:
            return
        so_far = self.stream.so_far()
        self.body = so_far if self._alike else self._reader.whole(so_far)
        self.put(self._reader.failed("The reply of the model's server broke off."))

    def _in_events(self, raw: bytes) -> bytes:
        """For an agent that wants a stream, where the server does not."""
        assert self._reader is not None
        if not self._alike:
            return self._reader.streamed(raw)
        other = next(path for path in LENGTHS if path != self.request.path)
        there = translate(other, b'{"model":"","input":"","messages":[]}', self.request.path)
        back = translate(self.request.path, written({**self.request.unbounded}), other)
        return back.reader.streamed(there.reader.whole(raw))

    def _shown(self, data: bytes) -> bytes | None:
        """The event without the tokens, where the agent did not ask for them."""
        if self.request.path != CHAT or self.request.wants_usage or b'"usage"' not in data:
            return data
        try:
            chunk = orjson.loads(data)
        except orjson.JSONDecodeError:
            return data
        if not isinstance(chunk, dict) or "usage" not in chunk:
            return data
        told = chunk.pop("usage")
        return None if told is not None and not chunk.get("choices") else orjson.dumps(chunk)
