"""How a prompt is put together: templates, worked examples, and three ways to say the same.

A prompt has a head, a case and an ask. The head says what is to be done, the case shows one row, the
ask says how the reply ends; worked examples are cases with their answer between head and case. Each
part is a template: `{name}` stands for a field, `{{` and `}}` for braces. What a field holds is never
read as a template.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_uppercase
from typing import Any, Protocol

from proctor.types import Message

Fields = Mapping[str, Any]
Shot = tuple[Fields, str]  # a worked example: its fields, and its right answer as it is to be written

# How each of the wordings asks for the last line; what is to stand in it follows.
CLOSE_1 = "You may reason first, briefly. Finish with one last line in exactly this form:\nAnswer: "
CLOSE_2 = "Think as much as you need to. The line you end on has to look like this:\nAnswer: "
CLOSE_3 = (
    "Notes are welcome, but only the bottom line of your sheet is marked. Write it after this pattern:\n"
    "Answer: "
)

SHOTS_VERSION = "shots/1"  # of the layout of worked examples

# A brace before a quote, a colon or a line end opens no field: a template may show JSON.
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}\"':\n]+)\}")


class Writer(Protocol):
    """Puts a row's fields into words; the version changes when the words do."""

    @property
    def version(self) -> str: ...

    def render(self, fields: Fields, shots: Sequence[Shot] = ()) -> tuple[Message, ...]: ...


@lru_cache(maxsize=512)
def pieces(template: str) -> tuple[tuple[str, str | None], ...]:
    """The template as pairs of a text and the field after it (None after the last).

    >>> pieces("{{a}} {b}!")
    (('{a} ', 'b'), ('!', None))
    """
    found: list[tuple[str, str | None]] = []
    text, end = "", 0
    for match in PLACEHOLDER.finditer(template):
        text += template[end : match.start()]
        end = match.end()
        if match[1] is None:
            text += match[0][0]
        else:
            found.append((text, match[1].strip()))
            text = ""
    return (*found, (text + template[end:], None))


def placeholders(template: str) -> tuple[str, ...]:
    """The fields that a template shows, in order, each once."""
    return tuple(dict.fromkeys(name for _, name in pieces(template) if name is not None))


def fill(template: str, fields: Fields) -> str:
    """The template with its fields in place.

    >>> fill("{q} {{x}}", {"q": "Is {q} safe?"})
    'Is {q} safe? {x}'
    """
    return "".join(text if name is None else text + str(fields[name]) for text, name in pieces(template))


def as_is(fields: Fields) -> Fields:
    return fields


@dataclass(frozen=True, slots=True)
class Prompt:
    """One user turn from templates; `ready` adds to a row's fields what the templates show of them."""

    version: str
    case: str
    head: str = ""
    ask: str = ""
    ready: Callable[[Fields], Fields] = as_is

    def render(self, fields: Fields, shots: Sequence[Shot] = ()) -> tuple[Message, ...]:
        ready = self.ready(fields)
        parts = [fill(self.head, ready)] if self.head else []
        for number, (example, said) in enumerate(shots, 1):
            shown = fill(self.case, self.ready(example))
            parts.append(f"Worked example {number}\n\n{shown}\n\nAnswer: {said}")
        if shots:
            parts.append("Now it is your turn.")
        parts.append(fill(self.case, ready))
        if self.ask:
            parts.append(fill(self.ask, ready))
        return (Message("user", "\n\n".join(parts)),)


@dataclass(frozen=True, slots=True)
class Wording:
    """One wording of a prompt before it has a version."""

    case: str
    ask: str
    head: str = ""


def three(
    name: str, one: Wording, two: Wording, sheet: Wording, *, ready: Callable[[Fields], Fields] = as_is
) -> tuple[Prompt, ...]:
    """The wordings 1, 2 and 3 of a prompt, each with its own version."""
    versions = (f"{name}/1", f"{name}/w2/1", f"{name}/w3/1")
    return tuple(
        Prompt(version, words.case, words.head, words.ask, ready)
        for version, words in zip(versions, (one, two, sheet), strict=True)
    )


def lettered(choices: Sequence[str], sign: str = ".") -> str:
    """The choices, one a line, as "A. text"."""
    return "\n".join(f"{letter}{sign} {text}" for letter, text in zip(ascii_uppercase, choices, strict=False))


def with_options(fields: Fields) -> Fields:
    return {**fields, "options": lettered(fields["choices"])}
