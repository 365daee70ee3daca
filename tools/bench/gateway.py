"""A call of an agent through the gateway beside the same call direct to the simulator, and streams at once.

    python gateway.py FOLDER ROUNDS

Prints one JSON object of values by round: milliseconds that a call takes longer (median, and 95 %), plain and
streamed, in the server's own shape and translated; how many streams at once end with the direct ones; microseconds of
the gateway's processor an event. The client stands in a network of its own, as in a box, with a simulator beside it,
and the gateway outside with another; where that may not be (no root), all stand on this machine's loopback.
"""

from __future__ import annotations

import asyncio
import ctypes
import http.client
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import uvloop

from proctor.engine.gateway import Gateway, TrialGateway, open_gateway
from proctor.plan.agents import AGENT_SAMPLING
from proctor.providers.contract import Opening, Pacing
from proctor.providers.pacing.limiter import Limiter
from proctor.providers.passthrough.shapes import CHAT, RESPONSES
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.references import RolloutsRef, TrialLimits
from proctor.sandbox.contract import Loopback
from proctor.sandbox.loopback import listen_in, new_network
from proctor.settings import read_settings
from proctor.simulator import KnownAnswer, prompt_key, spawn
from proctor.types import Cell, Limits, Model

CALLS = 150  # of each kind in a round, in turns
STREAMS = (32, 64, 128, 256)
BOXES = 8
WORDS, EACH_S = 100, 0.02  # of a stream: 50 tokens a second
LATE = 1.1  # so much longer than the direct ones a stream may take
CLONE_NEWNET = 0x40000000  # linux/sched.h
SHAPES = {"same": "openai", "translated": "gemini"}  # whose door speaks chat alone
KEYS = {"OPENAI_API_KEY": "k" * 20, "GEMINI_API_KEY": "k" * 20}
# As long as what coding agents send with each call.
RULES = "Look before you change anything, and say what you did. " * 400
SHORT, LONG = "Answer: briefly", "Answer: at length"


def asked(path: str, question: str, *, stream: bool) -> bytes:
    name = "input" if path == RESPONSES else "messages"
    turns = [{"role": "system", "content": RULES}, {"role": "user", "content": question}]
    more: dict[str, Any] = {"stream_options": {"include_usage": True}} if stream and path == CHAT else {}
    return json.dumps({"model": "sim", name: turns, "stream": stream, **more}).encode()


def known() -> dict[str, KnownAnswer]:
    said = {SHORT: "word " * 5, LONG: "word " * WORDS}
    return {
        prompt_key([("system", RULES), ("user", question)]): KnownAnswer(words.strip(), (words.strip(),))
        for question, words in said.items()
    }


@contextmanager
def simulators() -> Iterator[tuple[str, str]]:
    """One that answers at once, and one that streams as a model does."""
    wide = ["--context", "100000"]
    with spawn(wide, known()) as quick, spawn([*wide, "--per-token", str(EACH_S)], known()) as slow:
        yield quick.url, slow.url


async def serve(home: Path, network: int | None) -> None:
    """Gateways in both shapes in front of both simulators, until standard input ends; tells its ports and its use."""
    settings = read_settings({"PROCTOR_HOME": str(home), **KEYS})
    http = Http(parallel=512, timeout_s=60.0, secrets=settings.secrets)
    ports: dict[str, list[int]] = {}
    with simulators() as urls:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(http.close)
            for shape, (pace, url) in product(SHAPES, zip(("quick", "slow"), urls, strict=True)):
                gateway = await _gateway(shape, url, Opening(settings, http, read_prices(home)))
                sockets = [_listening(network) for _ in range(BOXES)]
                ports[f"{shape} {pace}"] = [each.getsockname()[1] for each in sockets]
                for each in sockets:
                    trial = TrialGateway(gateway, TrialLimits(max_tokens=None))
                    await stack.enter_async_context(trial.serving(Loopback(each, each.getsockname()[1])))
            print(json.dumps(ports), flush=True)
            await asyncio.to_thread(_tell_use)


async def _gateway(shape: str, url: str, opening: Opening) -> Gateway:
    provider = SHAPES[shape]
    model = Model(provider, "sim", f"{url}/v1" if provider == "openai" else url)
    gateway = open_gateway(model, Cell(model, RolloutsRef("bench"), AGENT_SAMPLING, Limits()), opening)
    await gateway.check()
    # What is measured is the way, not how soon the limiter finds out that the server takes as many.
    gateway.asked = replace(gateway.asked, _limiter=Limiter(Pacing(512, 512, fixed=True)))
    return gateway


def _listening(network: int | None) -> socket.socket:
    return socket.create_server(("127.0.0.1", 0), backlog=128) if network is None else listen_in(network, 0)


def _tell_use() -> None:
    """For each line that comes: seconds of this process's processor so far."""
    for _ in sys.stdin:
        used = resource.getrusage(resource.RUSAGE_SELF)
        print(used.ru_utime + used.ru_stime, flush=True)


class Line:
    """A connection that is kept, to one server."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, path: str, body: bytes) -> float:
        """Milliseconds until the last byte."""
        start = time.perf_counter()
        headers = {"Content-Type": "application/json", "Authorization": "Bearer " + "k" * 20}
        self._connection.request("POST", path, body, headers)
        answer = self._connection.getresponse()
        said = answer.read()
        took = 1000 * (time.perf_counter() - start)
        if answer.status != 200 or b"word" not in said:
            raise SystemExit(f"{path}: {answer.status} {said[:300]!r}")
        return took


def added(direct: int, through: Mapping[str, Sequence[int]], number: int) -> dict[str, float]:
    """How much longer a call takes than the direct one before it, which in the server's shape is a chat where it is.

    Each kind of a round has a box of its own: one that asks more than 200 times a second is answered slowly.
    """
    found: dict[str, float] = {}
    for shape in SHAPES:
        straight = Line(direct)
        path = RESPONSES if shape == "same" else CHAT
        for kind, stream in (("plain", False), ("stream", True)):
            box = Line(through[f"{shape} quick"][(2 * number + stream) % BOXES])
            bodies = asked(path, SHORT, stream=stream), asked(RESPONSES, SHORT, stream=stream)
            pairs = [(straight.ask(path, bodies[0]), box.ask(RESPONSES, bodies[1])) for _ in range(CALLS)]
            plain, mine = zip(*pairs[CALLS // 10 :], strict=True)
            found[f"{shape}_{kind}_ms"] = statistics.median(mine) - statistics.median(plain)
            found[f"{shape}_{kind}_p95_ms"] = _p95(mine) - _p95(plain)
            found.setdefault("direct_ms", statistics.median(plain))
    return found


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(0.95 * len(values))]


async def stream(port: int, path: str, body: bytes) -> tuple[float, int]:
    """Seconds of one stream, and its events."""
    start = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {'k' * 20}\r\nConnection: close\r\n"
    writer.write(
        f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    )
    events = 0
    while piece := await reader.read(2**16):
        events += piece.count(b"data: ")
    writer.close()
    if events < WORDS:
        raise SystemExit(f"a stream of {events} events where {WORDS} were due")
    return time.perf_counter() - start, events


async def streams(count: int, ports: Sequence[int], path: str) -> tuple[float, int]:
    """Seconds in which 95 of 100 streams were over, and the events of all."""
    body = asked(path, LONG, stream=True)
    told = await asyncio.gather(*(stream(ports[n % len(ports)], path, body) for n in range(count)))
    return _p95([seconds for seconds, _ in told]), sum(events for _, events in told)


class Serving:
    """The gateways' process."""

    def __init__(self, folder: Path, network: int | None) -> None:
        words = [sys.executable, __file__, "serve", str(folder), "" if network is None else str(network)]
        shared = () if network is None else (network,)
        self._child = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=shared
        )
        self.ports: dict[str, list[int]] = json.loads(self._line())

    def used_s(self) -> float:
        assert self._child.stdin is not None
        self._child.stdin.write("\n")
        self._child.stdin.flush()
        return float(self._line())

    def close(self) -> None:
        self._child.communicate()

    def _line(self) -> str:
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            raise SystemExit("the gateways' process has ended")
        return line


def at_once(serving: Serving, direct: int) -> dict[str, float]:
    """How many streams end with the direct ones, and what an event costs, by shape."""
    found: dict[str, float] = {}
    for shape in SHAPES:
        path, most = (RESPONSES if shape == "same" else CHAT), 0
        for count in STREAMS:
            straight, _ = asyncio.run(streams(count, [direct], path))
            before = serving.used_s()
            mine, events = asyncio.run(streams(count, serving.ports[f"{shape} slow"], RESPONSES))
            if count == 64:
                found[f"{shape}_event_us"] = 1e6 * (serving.used_s() - before) / events
            late = mine / straight
            print(
                f"{shape} {count}: direct {straight:.3f} s, through {mine:.3f} s", file=sys.stderr, flush=True
            )
            most = count if late <= LATE else most
        found[f"{shape}_streams"] = most
    return found


def _network() -> int | None:
    """A network of its own, where this process may make one."""
    try:
        network = new_network()
    except OSError:
        return None
    os.set_inheritable(network, True)
    return network


def main(folder: Path, rounds: int) -> None:
    network = _network()
    serving = Serving(folder, network)
    try:
        if network is not None and ctypes.CDLL(None, use_errno=True).setns(network, CLONE_NEWNET):
            raise SystemExit("the network was made, and cannot be entered")
        found: dict[str, list[float]] = {}
        with simulators() as (quick, slow):
            direct = [int(url.rpartition(":")[2]) for url in (quick, slow)]
            for number in range(rounds):
                told = added(direct[0], serving.ports, number) | at_once(serving, direct[1])
                for name, value in told.items():
                    found.setdefault(name, []).append(value)
    finally:
        serving.close()
    print(json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        uvloop.run(serve(Path(sys.argv[2]), int(sys.argv[3]) if sys.argv[3] else None))  # as a run's own loop
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]))
