"""Fixtures for the simulator's tests: a server in a thread of its own, asked over real HTTP."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from loops import loop_in_thread
from proctor.simulator import NAMED, KnownAnswer, prompt_key
from proctor.simulator.app import listen, make_app

OPENAI = "/v1/chat/completions"
OLLAMA = "/api/chat"


@dataclass(frozen=True)
class Got:
    """A reply on the wire."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def events(self) -> list[Any]:
        """The server-sent events before [DONE]."""
        *events, done, rest = self.body.decode().split("\n\n")
        assert (done, rest) == ("data: [DONE]", "")
        return [json.loads(event.removeprefix("data: ")) for event in events]


@dataclass(frozen=True)
class Running:
    """A server at work and the ways to ask it."""

    url: str

    def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Got:
        connection = self.connect()
        octets = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, octets, dict(headers or {}))
            response = connection.getresponse()
            return Got(response.status, response.headers, response.read())
        finally:
            connection.close()

    def connect(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        assert parts.hostname
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Got:
        return self.send("GET", path, headers=headers)

    def openai(self, prompt: str = "Well?", model: str = "sim", **more: Any) -> Got:
        return self.send("POST", OPENAI, {"model": model, "messages": turn(prompt), **more})

    def ollama(self, prompt: str = "Well?", model: str = "sim", **more: Any) -> Got:
        return self.send("POST", OLLAMA, {"model": model, "messages": turn(prompt), "stream": False, **more})

    def stats(self) -> dict[str, Any]:
        return self.get("/__stats?keys=1").json


def turn(prompt: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": prompt}]


class _Complaints(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage() + "\n" + str(record.exc_info))


@contextmanager
def running(
    answers: Mapping[str, KnownAnswer], behaviours: Mapping[str, Any], options: Any
) -> Iterator[Running]:
    """Serve in a thread. A server that logged an error or a warning fails the test."""
    complaints = _Complaints()
    logging.getLogger("aiohttp").addHandler(complaints)
    logging.getLogger("asyncio").addHandler(complaints)

    async def start() -> Any:
        return await listen(make_app(answers, behaviours, **options))

    try:
        with loop_in_thread() as loop:
            listening = asyncio.run_coroutine_threadsafe(start(), loop).result()
            yield Running(listening.url)
            asyncio.run_coroutine_threadsafe(listening.close(), loop).result()
    finally:
        logging.getLogger("aiohttp").removeHandler(complaints)
        logging.getLogger("asyncio").removeHandler(complaints)
    assert complaints.heard == []


Start = Callable[..., Running]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a server: start(answers, behaviours, seed=..., slots=..., ...)."""
    with ExitStack() as stack:

        def begin(
            answers: Mapping[str, KnownAnswer] | None = None,
            behaviours: Mapping[str, Any] = NAMED,
            **options: Any,
        ) -> Running:
            return stack.enter_context(running(answers or {}, behaviours, options))

        yield begin


@pytest.fixture
def known() -> Callable[..., dict[str, KnownAnswer]]:
    """Answers for prompts of one user turn: known("Well?", right="B", wrong=("A", "C"))."""

    def make(*prompts: str, right: str = "B", wrong: tuple[str, ...] = ("A", "C")) -> dict[str, KnownAnswer]:
        return {prompt_key([("user", prompt)]): KnownAnswer(right, wrong) for prompt in prompts}

    return make
