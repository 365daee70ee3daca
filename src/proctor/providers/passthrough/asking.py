"""A model behind requests of its users: each is sent as it stands, and what comes back is kept whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from proctor.errors import EndpointNotFound, ProviderError
from proctor.offered import ListedModel
from proctor.providers import entry, open_provider
from proctor.providers.contract import ALL_SAMPLING, Opening, Pacing
from proctor.providers.passthrough.assembled import ASSEMBLED
from proctor.providers.passthrough.bodies import member, with_fields
from proctor.providers.passthrough.doors import address_of, door_of, native_of, url_of
from proctor.providers.passthrough.shapes import CHAT, COMPLETIONS, shape_of
from proctor.providers.passthrough.stream import Hear, Stream
from proctor.providers.protocols.completions import Bill
from proctor.providers.protocols.listing import authorization
from proctor.providers.protocols.parameters import refused
from proctor.providers.wire.http import HttpResponse
from proctor.providers.wire.refusals import Place, refusal
from proctor.providers.wire.wire_types import told_usage
from proctor.types import Item, Model, Reply, Request, Sampling

# Where a stream tells its tokens only if it is asked to.
_UNASKED = (CHAT, COMPLETIONS)
_OPTIONS, _USAGE = "stream_options", "include_usage"
_NOTHING = Sampling(temperature=None, max_tokens=None, context_tokens=None, seed=None)
_REQUEST_IDS = ("x-request-id", "request-id")


class Passthrough:
    """A model behind requests of its users. Made by `open_passthrough`."""

    unsent = ALL_SAMPLING  # what is drawn how stands in each request

    def __init__(self, model: Model, opening: Opening, *, stream: bool = False) -> None:
        door, settings, listed = door_of(model), opening.settings, entry(model.provider)
        key = getattr(settings, listed.key) if listed.key else None
        self.address = address_of(model, settings)
        self.adjustments: Sequence[str] = ()
        # Whether the model is there is asked in the provider's own protocol, which tells most of it.
        self._native = open_provider(native_of(model, settings), _NOTHING, opening)
        self._place = Place(model.provider, self.address, model.name, listed.key_variables, door.variable)
        self._bill = Bill(door.dialect, opening.prices.of(model))
        self._http = opening.http
        self._headers = {"Content-Type": "application/json", **authorization(key)}
        self._name = orjson.dumps(model.name)
        self._stream = stream
        self._untold: set[str] = set()  # endpoints that refuse to be asked for the tokens of a stream

    @property
    def pacing(self) -> Pacing | None:
        return self._native.pacing

    async def check(self) -> ListedModel:
        return await self._native.check()

    async def warm(self) -> None:
        """Nothing to load: with which settings, each request says."""

    async def __call__(self, item: Item, repeat: int) -> Reply:
        request = item.ask
        assert isinstance(request, Request)
        url = url_of(self.address, request.url)
        if self._stream and request.url in ASSEMBLED:
            return await self._streamed(request, url)
        return await self._whole(request, url)

    async def live(self, request: Request, hear: Hear | None) -> Reply:
        """The reply to a request, whose events `hear` is given as they come; None: it comes in one piece.

        `hear` is given nothing where the server does not stream. Raises: ProviderError, also in the midst.
        """
        url = url_of(self.address, request.url)
        if hear is None:
            return await self._whole(request, url)
        return await self._streamed(request, url, hear)

    async def _whole(self, request: Request, url: str) -> Reply:
        body = with_fields(request.body, {"model": self._name})
        answer = await self._http.post(url, self._headers, body)
        if answer.status != 200:
            raise self._refused(answer)
        return self._read(answer, request.url)

    def _read(self, answer: HttpResponse, path: str) -> Reply:
        try:
            reply = shape_of(path)(answer, self._place, self._bill)
        except ProviderError as error:
            error.raw = answer.body
            error.usage = told_usage(answer, self._bill.used)
            raise
        named = next(filter(None, map(answer.headers.get, _REQUEST_IDS)), None)
        return replace(reply, request_id=named) if named else reply

    def _refused(self, answer: HttpResponse) -> ProviderError:
        error = refusal(answer, self._place)
        error.raw = answer.body
        # Other lines may go to another endpoint, and what a server says of a line with 400 is about that line: it may
        # quote it. Whether it is the key after all, the run's budget for errors will show.
        if isinstance(error, EndpointNotFound) or answer.status == 400:
            error.stops_run = False
        return error

    async def _streamed(self, request: Request, url: str, hear: Hear | None = None) -> Reply:
        while True:
            asked = request.url in _UNASKED and request.url not in self._untold
            stream = Stream(self._place, ASSEMBLED[request.url](), self._http.scrub, hear)
            body = self._streaming(request.body, asked)
            answer = await self._http.stream(url, self._headers, body, stream.take)
            if answer.status == 200:
                return self._put_together(answer, stream, request.url)
            if not (asked and answer.status in (400, 422) and refused(answer.body, (_OPTIONS, _USAGE))):
                raise self._refused(answer)
            self._leave_out(request.url)

    def _streaming(self, body: bytes, asked: bool) -> bytes:
        """The body with what makes its reply a stream; its user's own options of streams stay."""
        fields = {"model": self._name, "stream": b"true"}
        if asked:
            own = orjson.loads(member(body, _OPTIONS) or b"{}")
            fields[_OPTIONS] = orjson.dumps({**_table(own), _USAGE: True})
        return with_fields(body, fields)

    def _leave_out(self, path: str) -> None:
        if path not in self._untold:
            self._untold.add(path)
            said = (
                f"{_OPTIONS} left out at {path}: the server refuses it, so tokens of streams may not be known"
            )
            self.adjustments = (*self.adjustments, said)

    def _put_together(self, answer: HttpResponse, stream: Stream, path: str) -> Reply:
        if answer.body:  # it does not stream, whatever it is asked
            return self._read(answer, path)
        body = stream.body()
        ended_s = answer.elapsed_s if stream.last_s is None else stream.last_s
        reply = self._read(replace(answer, body=body, elapsed_s=ended_s), path)
        return replace(reply, first_token_s=stream.first_s, inter_token_s=stream.inter_token_s(reply))


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def open_passthrough(model: Model, opening: Opening, *, stream: bool = False) -> Passthrough:
    """Raises: ConfigError for a provider that answers exams alone."""
    return Passthrough(model, opening, stream=stream)
