"""Inputs that nobody meant, made of seeds: by their structure where they are JSON, else by their bytes and words."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

from fuzz.contract import Form

MOST_BYTES = 200_000
ODD_VALUES: Sequence[Any] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63) - 1, 10**400, 1e308, -0.0, 0.1, 1e-320,
    float("nan"), float("inf"), "", " ", "\x00", "\ud800", "\udfff x", "0", "NaN", "-1", "true", "1e999", "A", "../x",
    "a" * 3000, "\u202e", "é\u0301", "٣", "²", [], {}, [[]], [{}], {"": None}, [None], ["A", "A"], {"a": {"b": []}},
)  # fmt: skip
ODD_BYTES: Sequence[bytes] = (
    b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc0\x80", b"\n", b"\r\n", b"\r", b"\t", b'"',
    b"'", b"\\", b"\\u0000", b"\\ud800", b"{", b"}", b"[", b"]", b"[[[[", b"{{", b"}}", b",", b":", b";", b"=", b"#",
    b"-", b"+", b".", b"/", b"*", b"(", b")", b"|", b"$", b"%", b"&", b"<", b">", b"`", b"```", b"<think>",
    b"</think>", b"Answer:", b"1e999", b"-1", b"0", b"9" * 30, b"9" * 5000, b"1" + b",000" * 40, b"1.5.5", b"NaN",
    b"Infinity", b"null", b"true", b"1/0", b"2^99999", b"10^-99999", b"\xd9\xa3", b"\xc2\xb2", b"\xe2\x80\xae",
    b"\xe2\x81\x84", b"\xf0\x9f\x98\x80", b"e\xcc\x81", b"\xe2\x80\xa8", b"\x1b[31m", b"\x85", b"\x0c", b" " * 200,
    b"2024-02-30", b"0000-00-00", b"99:99", b"inf", b"1_000", b"0x10", b"\xe4\xb8\x80\xe4\xba\xbf", b"data: ",
    b"\n\n", b"@@ -1 +1 @@", b"--- ", b"+++ ", b"diff --git a/x b/x\n", b"GIT binary patch\n",
)  # fmt: skip
NUMBER = re.compile(rb"\d+")
WORD = re.compile(rb"[A-Za-z_]{2,}|\d+|[^\w\s]")


class Mutator:
    """All that it makes is told by `random`: the same numbers, the same input."""

    def __init__(self, seeds: Sequence[bytes], form: Form) -> None:
        self._seeds = seeds
        self._form = form

    def input(self, random: Random) -> bytes:
        """A seed with some changes; now and then as it stands, and now and then very large."""
        seed = random.choice(self._seeds)
        if random.random() < 0.01:
            return seed
        if self._form in ("json", "lines") and random.random() < 0.75:
            made = self._json_line(seed, random) if self._form == "lines" else _json(seed, random)
            if made is not None:
                return made[:MOST_BYTES]
        for _ in range(random.choice((1, 1, 1, 2, 3, 5, 9))):
            seed = self._changed(seed, random)
        return seed[:MOST_BYTES]

    def _json_line(self, seed: bytes, random: Random) -> bytes | None:
        lines = seed.split(b"\n")
        place = random.randrange(len(lines))
        made = _json(lines[place], random)
        if made is None:
            return None
        lines[place] = made
        return b"\n".join(lines)

    def _changed(self, seed: bytes, random: Random) -> bytes:
        first, last = sorted((random.randint(0, len(seed)), random.randint(0, len(seed))))
        if random.random() < 0.6:
            last = min(last, first + random.randint(0, 12))
        piece = seed[first:last]
        kind = random.randrange(12)
        if kind == 0:
            return seed[:first] + seed[last:]
        if kind == 1:
            return seed[:last] + piece + seed[last:]
        if kind == 2:
            return seed[:first]
        if kind == 3 and seed:
            at = random.randrange(len(seed))
            return seed[:at] + bytes((seed[at] ^ (1 << random.randrange(8)),)) + seed[at + 1 :]
        if kind == 4:
            other = random.choice(self._seeds)
            cut = random.randint(0, len(other))
            return seed[:first] + other[cut : cut + random.randint(1, 400)] + seed[last:]
        if kind == 5:
            return _other_number(seed, random)
        if kind == 6:
            return _other_word(seed, random)
        if kind == 7:
            return seed[:first] + _repeated(piece or seed[:9], random) + seed[last:]
        if kind == 8:
            return _moved_line(seed, random)
        return seed[:first] + random.choice(ODD_BYTES) + (seed[first:] if kind == 9 else seed[last:])


def _repeated(piece: bytes, random: Random) -> bytes:
    """What shows a parser whose time grows faster than its input."""
    often = random.choice((2, 5, 50, 500, 5000)) if random.random() < 0.5 else 3
    return piece * min(often, max(1, 60_000 // max(1, len(piece))))


def _other_number(seed: bytes, random: Random) -> bytes:
    found = list(NUMBER.finditer(seed[:20_000]))
    if not found:
        return seed
    one = random.choice(found)
    new = random.choice(
        (b"0", b"-1", b"1e309", b"99999999999999999999", b"2147483648", b"0.1", b"", b"1", b"65536")
    )
    return seed[: one.start()] + new + seed[one.end() :]


def _other_word(seed: bytes, random: Random) -> bytes:
    found = list(WORD.finditer(seed[:20_000]))
    if not found:
        return seed
    one, two = random.choice(found), random.choice(found)
    return seed[: one.start()] + two[0] + seed[one.end() :]


def _moved_line(seed: bytes, random: Random) -> bytes:
    lines = seed.split(b"\n")
    lines.insert(random.randint(0, len(lines)), lines[random.randrange(len(lines))])
    if random.random() < 0.5:
        del lines[random.randrange(len(lines))]
    return b"\n".join(lines)


def _json(seed: bytes, random: Random) -> bytes | None:
    """JSON with other values, keys and depths; None where the seed is none."""
    try:
        value = json.loads(seed)
    except (ValueError, RecursionError):
        return None
    for _ in range(random.choice((1, 1, 2, 4))):
        value = _grown(value, random)
    if random.random() < 0.01:
        value = _deep(random.choice((100, 300, 900)), random, value)
    text = json.dumps(value, ensure_ascii=random.random() < 0.5)
    return text.encode("utf-8", "surrogatepass")


def _odd(random: Random) -> Any:
    return copy.deepcopy(random.choice(ODD_VALUES))


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every container with a key or an index of it."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 2000:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        found += [(one, key) for key in keys]
        waiting += [one[key] for key in keys if isinstance(one[key], dict | list)]
    return found


def _grown(value: Any, random: Random) -> Any:
    places = _places(value)
    if not places or random.random() < 0.03:
        return _odd(random)
    where, key = random.choice(places)
    kind = random.randrange(8)
    if kind <= 2:
        where[key] = _odd(random)
    elif kind == 3:
        del where[key]
    elif kind == 4:
        other, name = random.choice(places)
        where[key] = json.loads(json.dumps(other.get(name) if isinstance(other, dict) else None))
    elif kind == 5:
        where[key] = random.choice(
            ([where[key]], {"a": where[key]}, [copy.deepcopy(where[key]) for _ in range(30)], str(where[key]))
        )
    elif kind == 6 and isinstance(where, dict):
        name = random.choice(places)[1]
        where[str(random.choice((name, "", "x", "\x00", "type", "error")))] = where.pop(key)
    elif isinstance(where[key], str):
        at = random.randint(0, len(where[key]))
        odd = random.choice(ODD_BYTES).decode("utf-8", "replace")
        where[key] = where[key][:at] + odd + where[key][at:]
    else:
        where[key] = _odd(random)
    return value


def _deep(depth: int, random: Random, value: Any) -> Any:
    for _ in range(depth):
        value = [value] if random.random() < 0.5 else {"a": value}
    return value
