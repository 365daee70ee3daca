"""What there is to say of a server program, and of one that runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from real import CACHE, Command, Running


@dataclass(frozen=True, slots=True)
class Counts:
    """What a server says that it has worked on since it started; None: it does not say."""

    requests: int | None
    input_tokens: int | None
    output_tokens: int | None

    def since(self, before: Counts) -> Counts:
        pairs = zip(self._all(), before._all(), strict=True)
        return Counts(*(None if now is None or then is None else now - then for now, then in pairs))

    def agrees(self, other: Counts) -> bool:
        """Whether what both say is the same."""
        return all(None in pair or pair[0] == pair[1] for pair in zip(self._all(), other._all(), strict=True))

    def _all(self) -> tuple[int | None, int | None, int | None]:
        return self.requests, self.input_tokens, self.output_tokens


def nothing_counted(_: Running) -> Counts:
    return Counts(None, None, None)


@dataclass(frozen=True, slots=True)
class Kind:
    """One server program. `command` is given the folder in which it was installed, and a port.

    A gateway has an `upstream`, the name of another: that is started first, its address is in the gateway's
    UPSTREAM, and it is what counts.
    """

    name: str
    model: str
    command: Callable[[Path, int], Command]
    pins: tuple[
        str, ...
    ] = ()  # what pip installs, into a virtual environment of its own; none: `fetch` has it
    afterwards: Callable[[Path], None] | None = None  # what is left to do in the folder once pip is done
    mb: int = 0  # on disk
    minutes: float = 0.1  # what installing takes on two cores
    ready: str = "/health"
    longest_start_s: float = 120.0
    counts: Callable[[Running], Counts] = nothing_counted
    overflow: str = "context"  # what stands in its words for a question that is too long
    environ: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({})
    )  # of the asking side: keys
    lacks: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    pointless: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    upstream: str = ""

    @property
    def folder(self) -> Path:
        return CACHE / self.name

    @property
    def installed(self) -> bool:
        return not self.pins or (self.folder / "pins.txt").exists()


@dataclass(frozen=True, slots=True)
class Server:
    """One server that is running, as a test sees it."""

    kind: Kind
    running: Running
    upstream: Server | None = None

    @property
    def model(self) -> str:
        return f"openai/{self.kind.model}"

    @property
    def environ(self) -> dict[str, str]:
        """What proctor's environment says so that the server is asked."""
        return {"OPENAI_BASE_URL": f"{self.running.url}/v1", **self.kind.environ}

    def counts(self) -> Counts:
        """Of the last server in the row: a gateway counts nothing."""
        return self.upstream.counts() if self.upstream else self.kind.counts(self.running)
