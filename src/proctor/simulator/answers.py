"""What the simulated models know: answers by prompt, and a guess for a prompt nobody told them about."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

_KEYS = {"key", "right", "wrong"}
_MORE = {"leans"}  # not on every line

_LETTERED = re.compile(r"^[ \t]*\(?([A-Z])[.)][ \t]+\S", re.MULTILINE)
_SLOT = re.compile(r"Answer:[ \t]*<([^<>\n]+)>", re.IGNORECASE)
_ONE_OF = re.compile(
    r"\bone of\b(?: these| the following| the)?(?: words| labels| answers| options)?:?[ \t]*([^.:\n]+)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s*(?:[|,/;]\s*(?:or\b|and\b)?|\bor\b|\band\b)\s*")
_QUOTES = " \t\"'`*<>()[]"


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """What a right reply to one prompt names, what wrong replies may name, and what each bias would name.

    A wrong answer that stands there several times is drawn as much oftener. `leans` are those of a judge, by the
    bias: "longer", "first", "kind", "model=NAME".
    """

    right: str
    wrong: tuple[str, ...]
    leans: Mapping[str, str] = field(default_factory=dict)


Answers = Mapping[str, KnownAnswer]


def prompt_key(messages: Sequence[tuple[str, str]]) -> str:
    """32 hex digits that stand for these (role, content) pairs.

    Every part is preceded by its length, so no two different prompts are encoded alike.
    """
    digest = hashlib.sha256()
    for pair in messages:
        for part in pair:
            # A lone surrogate may stand in a JSON string; it must not end the request.
            octets = part.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(octets))
            digest.update(octets)
    return digest.hexdigest()[:32]


def write_answers(path: Path, answers: Answers) -> None:
    """Write the answers as JSON lines: key, right, wrong, and leans where there are any."""
    with path.open("wb") as file:
        for key, answer in answers.items():
            line = {"key": key, "right": answer.right, "wrong": list(answer.wrong)}
            more = {"leans": dict(answer.leans)} if answer.leans else {}
            file.write(orjson.dumps({**line, **more}) + b"\n")


def read_answers(path: Path) -> dict[str, KnownAnswer]:
    """Read what `write_answers` wrote.

    Raises: OSError; ValueError that names the file and the line.
    """
    answers: dict[str, KnownAnswer] = {}
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                key, answer = _read_line(line, where=f"{path}:{number}")
                answers[key] = answer
    return answers


def _read_line(line: bytes, *, where: str) -> tuple[str, KnownAnswer]:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{where}: not JSON ({error}); one answer stands on each line") from None
    if not isinstance(row, dict) or row.keys() - _MORE != _KEYS:
        raise ValueError(f'{where}: want the keys "key", "right", "wrong", perhaps "leans", and no others')
    key, right, wrong, leans = row["key"], row["right"], row["wrong"], row.get("leans", {})
    if not (isinstance(key, str) and isinstance(right, str) and isinstance(wrong, list)):
        raise ValueError(f'{where}: "key" and "right" are strings, "wrong" is a list of strings')
    if not all(isinstance(word, str) for word in wrong):
        raise ValueError(f'{where}: every entry of "wrong" is a string')
    if not (isinstance(leans, dict) and all(isinstance(word, str) for word in leans.values())):
        raise ValueError(f'{where}: "leans" is an object of strings, by the bias')
    return key, KnownAnswer(right, tuple(wrong), leans)


def guess(prompt: str, luck: float) -> str | None:
    """One of the answers that the prompt itself offers, or None when it offers none.

    `luck` in [0, 1) chooses among them.
    """
    among = offered(prompt)
    return pick(among, luck) if among else None


def offered(prompt: str) -> list[str]:
    """The answers that a prompt offers.

    Lettered options come first, then the words in an "Answer: <yes|no>" slot, then a list after "one of".
    """
    for found in (_letters(prompt), _words(_SLOT, prompt), _words(_ONE_OF, prompt)):
        if len(found) > 1:
            return found
    return []


def pick(among: Sequence[str], luck: float) -> str:
    """The entry that `luck` in [0, 1) falls on."""
    return among[int(luck * len(among))]


def _letters(prompt: str) -> list[str]:
    return list(dict.fromkeys(_LETTERED.findall(prompt)))


def _words(pattern: re.Pattern[str], prompt: str) -> list[str]:
    # The last list counts: worked examples stand before the question.
    for found in reversed(pattern.findall(prompt)):
        words = [word.strip(_QUOTES) for word in _BETWEEN.split(found)]
        known = [word for word in dict.fromkeys(words) if word]
        if len(known) > 1:
            return known
    return []
