"""One parser under many inputs: what it raised, how long it took, and the smallest input that shows each finding."""

from __future__ import annotations

import contextlib
import io
import signal
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from types import FrameType

from fuzz.contract import Parser, Read, Room
from fuzz.mutate import Mutator

MOST_S = 1.0  # of processor time for one input
STUCK_S = 20  # of wall time, after which an input is broken off
MOST_SHRINKS = 300


class Stuck(BaseException):
    """An input was broken off; no parser may catch this."""


@dataclass(slots=True)
class Fault:
    """`what` tells findings apart: the kind of error and the line of the program that raised it."""

    what: str
    number: int
    body: bytes
    times: int = 1
    trace: str = ""


@dataclass(slots=True)
class Tried:
    """What came of the inputs so far."""

    name: str
    inputs: int = 0
    refused: int = 0
    slowest_s: float = 0.0
    slowest: int = 0
    faults: dict[str, Fault] = field(default_factory=dict)

    def add(self, other: Tried) -> None:
        """What came of further inputs."""
        self.inputs += other.inputs
        self.refused += other.refused
        if other.slowest_s > self.slowest_s:
            self.slowest_s, self.slowest = other.slowest_s, other.slowest
        for what, fault in other.faults.items():
            known = self.faults.setdefault(what, fault)
            known.times += fault.times if known is not fault else 0


def _random(seed: int, name: str, number: int) -> Random:
    """The same input for the same number, whatever was tried before it."""
    return Random(f"{seed}/{name}/{number}")


class Trial:
    """A parser, opened: `give` gives it one input by number."""

    def __init__(self, parser: Parser, room: Room, seed: int) -> None:
        self.tried = Tried(parser.name)
        self._parser = parser
        self._seed = seed
        self._mutator = Mutator(parser.seeds(), parser.form)
        self._read: Read = parser.open(room)

    def input(self, number: int) -> bytes:
        return self._mutator.input(_random(self._seed, self._parser.name, number))

    def give(self, number: int) -> None:
        body = self.input(number)
        start = time.process_time()
        fault = self._fault(body)
        took_s = time.process_time() - start
        tried = self.tried
        tried.inputs += 1
        if took_s > tried.slowest_s:
            tried.slowest_s, tried.slowest = took_s, number
        if fault is None and took_s > MOST_S:
            fault = ("took longer than 1 s", "")
        if fault is None:
            return
        what, trace = fault
        known = tried.faults.get(what)
        if known is not None:
            known.times += 1
            return
        small = body if took_s > MOST_S else self._smallest(body, what)
        tried.faults[what] = Fault(what, number, small, trace=trace)

    def _fault(self, body: bytes) -> tuple[str, str] | None:
        try:
            with broken_off(), warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
                warnings.simplefilter("error")
                self._read(body)
        except self._parser.foreseen:
            self.tried.refused += 1
        except Stuck:
            return "stuck", traceback.format_exc(limit=-6)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # whatever a parser raises that it does not foresee is a finding
            return f"{type(error).__name__} at {_place(error)}", traceback.format_exc(limit=-6)
        return None

    def _smallest(self, body: bytes, what: str) -> bytes:
        """The input with as much cut out as leaves the same finding."""
        refused, tries, size = self.tried.refused, 0, max(1, len(body) // 2)
        while size and tries < MOST_SHRINKS:
            at = 0
            while at < len(body) and tries < MOST_SHRINKS:
                shorter = body[:at] + body[at + size :]
                tries += 1
                found = self._fault(shorter)
                if found and found[0] == what:
                    body = shorter
                else:
                    at += size
            size //= 2
        self.tried.refused = refused
        return body


def _place(error: BaseException) -> str:
    """The last line of our own program in an error's trace, else the last line at all."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        frame for frame in frames if "/proctor/" in frame.filename and "site-packages" not in frame.filename
    ]
    last = (ours or list(frames))[-1]
    return f"{last.filename.rpartition('/src/')[2]}:{last.lineno}"


def _break_off(_signal: int, _frame: FrameType | None) -> None:
    raise Stuck


@contextlib.contextmanager
def broken_off() -> Iterator[None]:
    """Nothing in here takes longer than STUCK_S, as far as Python is asked."""
    before = signal.signal(signal.SIGALRM, _break_off)
    signal.setitimer(signal.ITIMER_REAL, STUCK_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
