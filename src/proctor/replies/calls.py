"""Calls of an agent to its model, kept in a file as they end: each as only what is new of its conversation.

Requests repeat the whole conversation, so that a line tells which fields are as in an earlier call, and how many
entries of a list it begins with: a file grows with what was said, not with its square. Lines stand in the order in
which calls ended. Numbers are those that readers of JSON have: 64 bits, whole or floating (RFC 8259, section 6).
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from proctor.errors import DataError
from proctor.json_object import JsonObject
from proctor.trial_record import AgentCall, CallEnd
from proctor.types import Usage

Scrub = Callable[[bytes], bytes]
MOST_BYTES = 40_000_000  # of a trial's file: what it has beyond these are calls without their bodies
MOST_CALL_BYTES = 8_000_000  # of what is new in one call
MOST_CALLS = 10_000
MOST_WORDS = 500  # characters of a path or a note
LOOKED_BACK = 4  # so many calls before one are looked through for what it shares
LEAST_SECRET = 8  # characters: placeholders such as EMPTY are no secrets
_OPENED = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_Marks = Mapping[str, bytes | tuple[bytes, ...]]  # of a body's fields; of a list, those of its entries


def without(secrets: Iterable[str]) -> Scrub:
    """What takes keys out of bytes.

    >>> without(["sk-1234567890"])(b'{"said": "sk-1234567890"}')
    b'{"said": "[key]"}'
    """
    keys = [each.encode() for each in secrets if len(each) >= LEAST_SECRET]

    def scrub(body: bytes) -> bytes:
        for key in keys:
            body = body.replace(key, b"[key]") if key in body else body
        return body

    return scrub


# Writing ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class CallLog:
    """The calls of one trial on their way into a file, which is made with the first of them.

    An agent that works in several stages has a log for each: those of a later one go on with the numbers and the time
    of those that the file has. `scrub` takes secrets out of every line. What is beyond the limits is not kept, and
    told: in the call's own `note` where only its bodies are left out, and in `notes`.
    """

    path: Path
    scrub: Scrub = field(default=bytes)
    left_out: int = 0  # calls of which nothing is kept
    without_bodies: int = 0
    kept: int = 0
    _file: int | None = None
    _bytes: int = 0
    _first: int = 0  # the number of the first call, and when this stage began
    _began: float = 0.0
    _requests: OrderedDict[int, _Marks] = field(default_factory=OrderedDict)
    _responses: OrderedDict[int, _Marks] = field(default_factory=OrderedDict)

    def add(self, call: AgentCall) -> None:
        """Keep a call that has ended. Raises: OSError, also for a link in the file's place; DataError."""
        if self._file is None:
            self._open()
        if self.kept >= MOST_CALLS:
            self.left_out += 1
            return
        call = replace(call, number=call.number + self._first, at=call.at + self._began)
        line, marks = self._line(call)
        self._write(line)
        self.kept += 1
        for recent, found in zip((self._requests, self._responses), marks, strict=True):
            if found is not None:
                _remember(recent, call.number, found)

    def _line(self, call: AgentCall) -> tuple[bytes, Sequence[_Marks | None]]:
        """A call as its line, and the marks of its bodies."""
        room = min(MOST_CALL_BYTES, MOST_BYTES - self._bytes)
        if room > 0 and len(call.request) + len(call.response) <= 4 * MOST_CALL_BYTES:
            request, asked = _new_of(call.request, self._requests)
            response, told = _new_of(call.response, self._responses)
            line = self.scrub(orjson.dumps({**_numbers(call), "request": request, "response": response}))
            if len(line) < room and _is_json(line):
                return line + b"\n", (asked, told)
        self.without_bodies += 1
        size = len(call.request) + len(call.response)
        said = f"its request and response of {size:,} bytes are not kept"
        bare = _numbers(replace(call, note="; ".join(filter(None, (call.note[:MOST_WORDS], said)))))
        return self.scrub(orjson.dumps(bare)) + b"\n", (None, None)

    def _open(self) -> None:
        self._file = os.open(self.path, _OPENED, 0o666)
        with open(self._file, "rb", closefd=False) as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                call = _call(_line(line, f"line {self.kept + 1} of {self.path.name}"))
                self._first = max(self._first, call.number + 1)
                self._began = max(self._began, call.at + (call.seconds or 0.0))
                self.kept += 1
                self._bytes += len(line)
        os.ftruncate(self._file, self._bytes)

    def _write(self, line: bytes) -> None:
        self._bytes += len(line)
        while line and self._file is not None:
            line = line[os.write(self._file, line) :]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not kept, in words."""
        told = []
        if self.without_bodies:
            told.append(
                f"Of {self.without_bodies:,} calls the requests and responses are not kept: a trial may have "
                f"{MOST_BYTES // 1_000_000} MB of them, a call {MOST_CALL_BYTES // 1_000_000} MB"
            )
        if self.left_out:
            told.append(f"{self.left_out:,} calls are not kept at all: a trial may have {MOST_CALLS:,}")
        return tuple(told)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> CallLog:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def _numbers(call: AgentCall) -> dict[str, Any]:
    told = asdict(call)
    del told["request"], told["response"]
    return {**told, "path": call.path[:MOST_WORDS], "note": call.note[: 2 * MOST_WORDS]}


def _is_json(line: bytes) -> bool:
    """Whether taking secrets out of it has left a line whole."""
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _new_of(body: bytes, earlier: Mapping[int, _Marks]) -> tuple[dict[str, Any], _Marks | None]:
    """A body as what is new of it, and its marks; None for what is no object."""
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict):
        return {"text": body.decode("utf-8", "replace")}, None
    marks = {name: _marks(value) for name, value in told.items()}
    of = _nearest(marks, earlier)
    if of is None:
        return {"new": told}, marks
    same, begins = [], {}
    for name, mark in marks.items():
        before = earlier[of].get(name)
        if before == mark:
            same.append(name)
            del told[name]
        elif alike := _alike(before, mark):
            begins[name] = alike
            told[name] = told[name][alike:]
    return {"of": of, "same": same, "begins": begins, "new": told}, marks


def _marks(value: object) -> bytes | tuple[bytes, ...]:
    # Of the bytes, for to Python 1, 1.0 and True are the same.
    if isinstance(value, list):
        return tuple(_mark(each) for each in value)
    return _mark(value)


def _mark(value: object) -> bytes:
    return blake2b(orjson.dumps(value), digest_size=16).digest()


def _nearest(marks: _Marks, earlier: Mapping[int, _Marks]) -> int | None:
    """The latest of the earlier bodies that have the most in common with one; None where none has anything."""
    shared = {_shared(before, marks): number for number, before in earlier.items()}
    most = max(shared, default=0)
    return shared[most] if most else None


def _shared(before: _Marks, now: _Marks) -> int:
    """How many fields, and entries at the beginning of lists, two bodies have in common."""
    return sum(
        1 + len(mark) if before.get(name) == mark else _alike(before.get(name), mark)
        for name, mark in now.items()
    )


def _alike(before: bytes | tuple[bytes, ...] | None, now: bytes | tuple[bytes, ...]) -> int:
    """How many entries two lists begin with alike; 0 for what is no list."""
    if not isinstance(before, tuple) or not isinstance(now, tuple):
        return 0
    pairs = zip(before, now, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(before), len(now)))


def _remember(recent: OrderedDict[int, Any], number: int, found: object) -> None:
    recent.pop(number, None)
    recent[number] = found
    while len(recent) > LOOKED_BACK:
        recent.popitem(last=False)


# Reading ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeptCall:
    """A call as its file has it: `numbers` is all of it but for the bodies, which are here as objects.

    A body that is no JSON object is here as its text, in bytes; None: it is not kept. `begins` says of lists in the
    request how many entries stand in call `of` already.
    """

    numbers: AgentCall
    request: Any
    response: Any
    of: int | None = None
    begins: Mapping[str, int] = field(default_factory=dict)

    def whole(self) -> AgentCall:
        return replace(self.numbers, request=_body(self.request), response=_body(self.response))


def read_calls(path: Path) -> Iterator[AgentCall]:
    """The calls of a file, whole. Raises: OSError, DataError."""
    with path.open("rb") as file:
        for kept in kept_calls(file):
            yield kept.whole()


def kept_calls(lines: Iterable[bytes]) -> Iterator[KeptCall]:
    """The calls of a file's lines. A last line without its end, whose writer was killed, is left out.

    Raises: DataError.
    """
    requests: OrderedDict[int, Any] = OrderedDict()
    responses: OrderedDict[int, Any] = OrderedDict()
    for place, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            return
        where = f"line {place} of calls.jsonl"
        told = _line(line, where)
        kept = told.take("request", dict)
        request, response = (
            _whole(kept, requests, where),
            _whole(told.take("response", dict), responses, where),
        )
        numbers = _call(told)
        for recent, body in ((requests, request), (responses, response)):
            if isinstance(body, dict):
                _remember(recent, numbers.number, body)
        yield KeptCall(numbers, request, response, *_before(kept or {}, request, where))


def _before(kept: Mapping[str, Any], request: Any, where: str) -> tuple[int | None, Mapping[str, int]]:
    """Which call a request goes on from, and what of its lists stands there."""
    if not isinstance(request, dict) or kept.get("of") is None:
        return None, {}
    lists = {name: len(request[name]) for name in kept["same"] if isinstance(request[name], list)}
    begins = JsonObject(kept, where).table("begins", int) or {}
    return int(kept["of"]), {**lists, **begins}


def _line(line: bytes, where: str) -> JsonObject:
    try:
        return JsonObject(orjson.loads(line), where)
    except orjson.JSONDecodeError as error:
        raise DataError(f"{where} is no JSON: {error}") from None


def _whole(kept: dict[str, Any] | None, earlier: Mapping[int, Any], where: str) -> Any:
    """A body out of what was new of it."""
    if kept is None:
        return None
    if "text" in kept:
        return str(kept["text"]).encode()
    try:
        new = kept["new"]
        if kept.get("of") is None and isinstance(new, dict):
            return new
        before = earlier[kept["of"]]
        begins = {name: before[name][:count] + new[name] for name, count in kept["begins"].items()}
        return {**{name: before[name] for name in kept["same"]}, **new, **begins}
    except (KeyError, TypeError) as error:
        raise DataError(f"{where} refers to what is not there: {error}") from None


def _body(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return b"{}" if value is None else orjson.dumps(value)


def _call(told: JsonObject) -> AgentCall:
    try:
        return AgentCall(
            told.need("number", int),
            float(told.take("at", float, int) or 0.0),
            told.need("path", str),
            told.word("ended", CallEnd) or "answered",
            told.need("status", int),
            response_id=told.take("response_id", str),
            usage=Usage(**told.need("usage", dict)),
            unused=Usage(**told.need("unused", dict)),
            retries=told.need("retries", int),
            first_token_s=told.take("first_token_s", float, int),
            seconds=told.take("seconds", float, int),
            counted=told.need("counted", bool),
            note=told.take("note", str) or "",
        )
    except TypeError as error:
        raise DataError(f"{told.where} is no call: {error}") from None
