"""What the simulator has seen: counts and times, for tests and measurements to read."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from proctor.simulator.protocols.wire import Ask, Paced, SimulatedReply


@dataclass(slots=True)
class TokenCount:
    """Replies, and the tokens of their requests and of themselves."""

    replies: int = 0
    input: int = 0
    output: int = 0

    def add(self, read: int, wrote: int) -> None:
        self.replies += 1
        self.input += read
        self.output += wrote


@dataclass(slots=True)
class StreamSent:
    """What of a stream has been sent: whether all of it, and how many tokens at least."""

    pieces: int = 0
    tokens: int = 0

    def add(self, pieces: Sequence[bytes]) -> None:
        self.pieces += len(pieces)
        self.tokens += sum(isinstance(piece, Paced) for piece in pieces)


class ServerTally:
    """The server's counters. `seen` counts chat requests, also those that were turned away.

    A request that only loads a model is counted under `loads`: it stands outside any clock.
    """

    def __init__(self) -> None:
        self.in_flight = 0
        self.serving = 0
        self.reset()

    def reset(self) -> None:
        """Start counting anew; what is under way now stays under way."""
        self.seen = 0
        self.loads = 0
        self.served = 0
        self.max_in_flight = self.in_flight
        self.max_serving = self.serving
        self.first_at: float | None = None
        self.last_at: float | None = None
        self.sum_latency_s = 0.0
        self.peers: set[object] = set()
        self.applied: dict[str, Any] = {}
        self.ignored: list[str] = []
        # By model: replies that were sent whole, and streams that broke off with the tokens of what was sent.
        self.complete: defaultdict[str, TokenCount] = defaultdict(TokenCount)
        self.cut: defaultdict[str, TokenCount] = defaultdict(TokenCount)
        self._tries: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))

    def arrive(self, peer: object) -> None:
        self.seen += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        self.peers.add(peer)
        if self.first_at is None:
            self.first_at = time.time()

    def note(self, ask: Ask) -> None:
        """Remember which parameters of the last request had an effect."""
        self.applied, self.ignored = dict(ask.applied or {}), list(ask.ignored)

    def sent_whole(self, ask: Ask, said: SimulatedReply) -> None:
        self.complete[ask.name].add(ask.input_tokens, sum(one.output_tokens for one in said.all))

    def sent_stream(self, ask: Ask, said: SimulatedReply, sent: StreamSent, whole: int | None) -> None:
        """Count a stream that had `whole` pieces, None: it was to break off. One that never began is not counted."""
        if sent.pieces == whole:
            self.sent_whole(ask, said)
        elif sent.pieces:
            self.cut[ask.name].add(ask.input_tokens, sent.tokens)

    def leave(self) -> None:
        self.in_flight -= 1
        self.last_at = time.time()

    def tried(self, model: str, key: str) -> int:
        """Count one more asking of this prompt; says which it is, from 1."""
        tries = self._tries[model]
        tries[key] += 1
        return tries[key]

    def serve(self) -> int:
        """Count one more request that is served and not turned away; says which it is, from 1."""
        self.served += 1
        return self.served

    def begin(self) -> None:
        self.serving += 1
        self.max_serving = max(self.max_serving, self.serving)

    def end(self) -> None:
        self.serving -= 1

    def report(self, *, keys: bool) -> dict[str, Any]:
        report: dict[str, Any] = {
            "seen": self.seen,
            "served": self.served,
            "loads": self.loads,
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "serving": self.serving,
            "max_serving": self.max_serving,
            "connections": len(self.peers),
            "first_at": self.first_at,
            "last_at": self.last_at,
            "sum_latency_s": self.sum_latency_s,
            # Of the last request, where a server's quirks say which parameters have an effect.
            "applied": self.applied,
            "ignored": self.ignored,
            "tokens": {
                name: {"complete": asdict(self.complete[name]), "cut": asdict(self.cut[name])}
                for name in {*self.complete, *self.cut}
            },
        }
        return {**report, "by_key": self._by_key()} if keys else report

    def _by_key(self) -> dict[str, int]:
        seen: defaultdict[str, int] = defaultdict(int)
        for tries in self._tries.values():
            for key, times in tries.items():
                seen[key] += times
        return seen
