"""What a probe of the walls is, and the shapes that many of them have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from walls_world import Names

SEES, ACTS, REFUSED, NOTHING = "sees", "acts", "refused", "nothing"


@dataclass(frozen=True)
class Probe:
    """A request, and what its `owner` finds: sees the project, acts on it, is refused as no admin, learns nothing."""

    path: str
    owner: str = SEES
    body: Any = None  # as JSON
    form: Any = None
    files: tuple[tuple[str, bytes], ...] = ()  # the form is sent with them
    word: str = ""  # what the owner sees where no name is told
    endless: bool = False  # a stream of events that does not end by itself


Make = Callable[[Names], list[Probe]]
Key = tuple[str, str]


def query(path: str, **asked: Any) -> str:
    return f"{path}?{urlencode(asked, doseq=True)}"


def run(path: str, owner: str = SEES, name: str = "done", **more: Any) -> Make:
    """A route of one run; the page of each kind of run where it differs."""
    return lambda of: [Probe(path.format(getattr(of, name)), owner, **more)]


def same(path: str, owner: str = SEES, **more: Any) -> Make:
    return lambda of: [Probe(path, owner, **more)]


def lists(path: str, **names: str) -> Make:
    """A list as it is, and with each of its filters set to what is somebody's; `names` are the filters' names."""
    return lambda of: [
        Probe(path),
        *(Probe(query(path, **{asked: getattr(of, name)})) for asked, name in names.items()),
    ]
