"""The optional fields of a request: what a server refuses is replaced or dropped once, and noted for the manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from proctor.errors import ConfigError
from proctor.providers.wire.refusals import Place, full_words
from proctor.types import Chat, Item

# What the protocols call the most tokens that a reply may have.
_LIMITS = ("max_tokens", "max_completion_tokens", "maxOutputTokens", "num_predict")
_NOT_WANTED = r"(?:not\s+support\w*|unsupported|unrecogni[sz]ed|unknown|deprecated|not\s+allowed)"


@dataclass(slots=True)
class Parameters:
    """The fields as they are sent now. Requests under way at the same time share it.

    `optional` may be dropped, and is looked for in its order; `instead` says what to send first in place
    of a field; a refusal of what is `needed` for the mode of asking ends the run. `hints` recognise a
    field that is refused without being named as it was sent.
    """

    fields: Mapping[str, Any]
    place: Place
    optional: Sequence[str]
    instead: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    needed: Mapping[str, str] = field(default_factory=dict)  # field -> the mode that needs it
    hints: Mapping[str, re.Pattern[str]] = field(default_factory=dict)
    adjustments: list[str] = field(default_factory=list)

    def adapt(self, body: bytes, sent: Mapping[str, Any]) -> bool:
        """Take out or replace what this error refuses; True if the request is worth sending again.

        Raises: ConfigError when the mode cannot do without it.
        """
        changed = [n for n in sent if n not in self.fields or self.fields[n] != sent[n]]
        wanted = [n for n in [*self.optional, *self.instead, *changed] if n in sent]
        known = list(dict.fromkeys([*wanted, *self.needed]))
        name = refused(body, known, self.hints)
        if name is None:
            return False
        if name in self.needed:
            raise ConfigError(
                f"{self.place.provider} at {self.place.address} refuses {name}, which --mode "
                f"{self.needed[name]} needs: {full_words(body)[:300]} Use --mode generate with "
                f"{self.place.model}"
            )
        if name in changed:
            return True  # another request has just taken it out
        new = self.instead.pop(name, {})
        if not new and name not in self.optional:
            return False
        self.fields = {**{k: v for k, v in self.fields.items() if k != name}, **new}
        self.adjustments.append(_noted(name, new))
        return True


def within(fields: Mapping[str, Any], item: Item, *, least: int = 1) -> Mapping[str, Any]:
    """The fields, with no more tokens for the reply than this one item allows, but `least` at any rate.

    >>> within({"num_predict": -1, "seed": 0}, Item("", "", Chat(max_tokens=5)))
    {'num_predict': 5, 'seed': 0}
    """
    most = item.ask.max_tokens if isinstance(item.ask, Chat) else None
    if most is None:
        return fields
    most = max(most, least)
    cut = {name: fields[name] for name in _LIMITS if name in fields}
    return {**fields, **{name: min(usual, most) if usual > 0 else most for name, usual in cut.items()}}


def _noted(name: str, new: Mapping[str, Any]) -> str:
    if not new:
        return f"{name} dropped: the server refuses it"
    words = (orjson.dumps(value).decode() if key == name else key for key, value in new.items())
    return f"{name} sent as {', '.join(words)}"


def refused(
    body: bytes, names: Iterable[str], hints: Mapping[str, re.Pattern[str]] | None = None
) -> str | None:
    """Which of `names` an error complains about: in its `param`, quoted, after "not supported", or by its hint."""
    known = list(names)
    try:
        error = orjson.loads(body).get("error")
    except (orjson.JSONDecodeError, AttributeError):
        error = None
    named = error.get("param") if isinstance(error, dict) else None
    if named in known:
        return str(named)
    words = full_words(body)
    for name in known:
        if any(f"{quote}{way}{quote}" in words for way in _spellings(name) for quote in "'\"`"):
            return name
    for name in known:
        ways = "|".join(re.escape(way) for way in _spellings(name))
        if re.search(rf"{_NOT_WANTED}[^.]{{0,80}}?\b(?:{ways})\b", words, re.I):
            return name
        if hints and name in hints and hints[name].search(words):
            return name
    return None


def _spellings(name: str) -> tuple[str, ...]:
    """xAI complains about `reasoningEffort` when `reasoning_effort` was sent; Google the other way round.

    >>> _spellings("top_p"), _spellings("topP")
    (('top_p', 'topP', 'top_p'), ('topP', 'topP', 'top_p'))
    """
    first, *others = name.split("_")
    camel = first + "".join(word.capitalize() for word in others)
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[1].lower(), name)
    return name, camel, snake
