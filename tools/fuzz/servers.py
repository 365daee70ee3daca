"""What model servers say, in every protocol: whole replies, streams, refusals with their headers, lists of models."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, cast

from fuzz import wire_seeds as seeds
from fuzz.contract import Parser, Read, Room, reads, words
from proctor.providers import list_models, open_provider
from proctor.providers.contract import Opening
from proctor.providers.passthrough import open_passthrough
from proctor.providers.passthrough.bodies import members, with_fields
from proctor.providers.prices import Prices
from proctor.providers.protocols.server_clock import clock_in
from proctor.providers.wire.delays import parse_delay, retry_after_s
from proctor.providers.wire.http import Http, HttpResponse, TakePiece
from proctor.providers.wire.quotas import used_up
from proctor.providers.wire.refusals import Place, refusal
from proctor.settings import read_settings
from proctor.types import Chat, Item, Message, Model, Request, Sampling

ADDRESS = "http://127.0.0.1:9/v1"
ASKED = Item("i/1", "i", Chat((Message("user", "Which?"),)), choices=("x", "y"), options=("A", "B"))
MODES = ("generate", "structured", "logprob")


class Told:
    """In the place of an HTTP session: every request is answered with what is to be tried."""

    def __init__(self) -> None:
        self.answer = HttpResponse(200, {}, b"", 1.0)
        self.pieces: Sequence[bytes] = ()

    async def get(self, *_asked: object, timeout_s: float | None = None) -> HttpResponse:
        return self.answer

    async def post(self, *_asked: object) -> HttpResponse:
        return self.answer

    async def stream(self, _url: str, _headers: object, _body: bytes, take: TakePiece) -> HttpResponse:
        if self.answer.status != 200:
            return self.answer
        for number, piece in enumerate(self.pieces):
            if take(piece, 0.1 * number):
                break
        return HttpResponse(200, self.answer.headers, b"", 1.0)

    def scrub(self, body: bytes) -> bytes:
        return body


def settled(work: Coroutine[Any, Any, object]) -> object:
    """What a coroutine gives that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("it waits for something")


def _opening(told: Told, room: Room) -> Opening:
    environ = {"PROCTOR_HOME": str(room.folder)} | dict.fromkeys(seeds.KEYS, "k" * 20)
    return Opening(read_settings(environ), cast(Http, told), Prices(Path("prices.toml")))


def _model(provider: str) -> Model:
    return Model(provider, "m", ADDRESS if provider in ("openai", "simulator") else None)


def _sampling(mode: str) -> Sampling:
    return Sampling(mode=cast(Any, mode))


def answered(body: bytes) -> HttpResponse:
    """An answer written as on the wire: a line with the status, headers, a blank line, the body."""
    head, _, rest = body.replace(b"\r\n", b"\n").partition(b"\n\n")
    first, *lines = head.decode("latin-1").split("\n")
    digits = "".join(sign for sign in first if sign.isascii() and sign.isdigit())[:3]
    headers = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return HttpResponse(int(digits or "500"), headers, rest, 1.0)


def _replies(provider: str, mode: str) -> Callable[[Room], Read]:
    def opened(room: Room) -> Read:
        told = Told()
        model = open_provider(_model(provider), _sampling(mode), _opening(told, room))

        def read(body: bytes) -> object:
            told.answer = HttpResponse(200, {}, body, 1.0)
            return settled(model(ASKED, 0))

        return read

    return opened


def _refusals(provider: str) -> Callable[[Room], Read]:
    def opened(room: Room) -> Read:
        told = Told()
        opening = _opening(told, room)

        def read(body: bytes) -> object:
            told.answer = answered(body)
            retry_after_s(told.answer.headers, told.answer.body.decode("utf-8", "replace"), now=1.7e9)
            # What it refuses is left out from then on, so each is asked by a model of its own.
            return settled(open_provider(_model(provider), _sampling("generate"), opening)(ASKED, 0))

        return read

    return opened


def _checks(provider: str) -> Callable[[Room], Read]:
    def opened(room: Room) -> Read:
        told = Told()
        opening = _opening(told, room)

        def read(body: bytes) -> object:
            told.answer = HttpResponse(200, {}, body, 1.0)
            return settled(open_provider(_model(provider), _sampling("generate"), opening).check())

        return read

    return opened


def _lists(provider: str) -> Callable[[Room], Read]:
    def opened(room: Room) -> Read:
        told = Told()
        opening = _opening(told, room)

        def read(body: bytes) -> object:
            told.answer = HttpResponse(200, {}, body, 1.0)
            return settled(list_models(provider, opening))

        return read

    return opened


def _passed(url: str) -> Callable[[Room], Read]:
    item = Item("one", "requests", Request(url, b'{"model":"m","stream_options":{"a":1}}', "theirs"))

    def opened(room: Room) -> Read:
        told = Told()
        model = open_passthrough(_model("openai"), _opening(told, room))

        def read(body: bytes) -> object:
            told.answer = HttpResponse(200, {"x-request-id": "r"}, body, 1.0)
            return settled(model(item, 0))

        return read

    return opened


def _streamed(url: str) -> Callable[[Room], Read]:
    item = Item("one", "requests", Request(url, b'{"model":"m","stream_options":{"a":1}}', "theirs"))

    def opened(room: Room) -> Read:
        told = Told()
        opening = _opening(told, room)

        def read(body: bytes) -> object:
            told.pieces = _pieces(body)
            return settled(open_passthrough(_model("openai"), opening, stream=True)(item, 0))

        return read

    return opened


def _pieces(body: bytes) -> Sequence[bytes]:
    """The stream as it may come: cut anywhere, the same for the same bytes."""
    random = Random(len(body))
    cuts = sorted({0, len(body), *(random.randint(0, len(body)) for _ in range(random.randint(0, 12)))})
    return [body[first:last] for first, last in pairwise(cuts)]


def _refused(body: bytes) -> object:
    answer = answered(body)
    used_up(answer.body.decode("utf-8", "replace"))
    return refusal(answer, Place("gemini", ADDRESS, "m", "KEY", "BASE"))


def _body_of_a_request(body: bytes) -> object:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None  # what comes so far is JSON with an object at its top
    if not isinstance(told, dict):
        return None
    changed = json.loads(with_fields(body, {"model": b'"m"', "stream": b"true"}))
    assert changed["model"] == "m" and changed["stream"] is True
    return list(members(body))


def _in_modes(provider: str, modes: Sequence[str]) -> Sequence[Parser]:
    body: Mapping[str, Any] = seeds.BODIES[provider]
    made = seeds.written(body)
    return [
        Parser(f"reply {provider} {mode}", lambda: made, _replies(provider, mode), "json") for mode in modes
    ]


REPLIES = [
    *_in_modes("openai", MODES),
    *_in_modes("grok", ("generate",)),
    *_in_modes("ollama", MODES),
    *_in_modes("gemini", MODES),
    *_in_modes("anthropic", ("generate",)),
]
PARSERS: Sequence[Parser] = [
    *REPLIES,
    Parser("passed chat", seeds.chats, _passed("/v1/chat/completions"), "json"),
    Parser("passed completions", seeds.completions, _passed("/v1/completions"), "json"),
    Parser("passed responses", seeds.responses, _passed("/v1/responses"), "json"),
    Parser("passed embeddings", seeds.embeddings, _passed("/v1/embeddings"), "json"),
    Parser("stream chat", seeds.chat_streams, _streamed("/v1/chat/completions")),
    Parser("stream completions", seeds.completion_streams, _streamed("/v1/completions")),
    Parser("stream responses", seeds.response_streams, _streamed("/v1/responses")),
    *[
        Parser(f"refusal {provider}", seeds.refusals, _refusals(provider))
        for provider in ("openai", "grok", "ollama", "gemini", "anthropic")
    ],
    Parser("refusal", seeds.refusals, reads(_refused)),
    Parser("retry-after", seeds.delays, words(lambda text: parse_delay(text, now=1.7e9))),
    *[
        Parser(f"check {provider}", seeds.lists, _checks(provider), "json")
        for provider in ("openai", "grok", "ollama", "gemini", "anthropic")
    ],
    *[
        Parser(f"list {provider}", seeds.lists, _lists(provider), "json")
        for provider in ("openai", "grok", "ollama", "gemini", "anthropic")
    ],
    Parser("metrics", seeds.metrics, words(clock_in)),
    Parser("request body", seeds.requests, reads(_body_of_a_request), "json"),
]
