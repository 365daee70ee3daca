"""What every provider offers the engine, and what it is given to work with."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Protocol

from proctor.offered import ListedModel
from proctor.providers.ledger import Ledger
from proctor.providers.prices import Prices
from proctor.providers.wire.http import Http
from proctor.settings import Settings
from proctor.types import Item, Reply, Sampling


@dataclass(frozen=True, slots=True)
class Pacing:
    """How many requests may be under way: `start` at first, never more than `most`.

    `fixed`: the user or the server named the number, so it is used from the start and only refusals lower it.
    """

    start: int
    most: int
    fixed: bool = False


@dataclass(frozen=True, slots=True)
class Labels:
    """What the targets of a source look like, for baselines: task -> label -> count, and from which rows."""

    counts: Mapping[str, Mapping[str, int]]
    where: str


@dataclass(frozen=True, slots=True)
class Opening:
    """What a provider is opened with besides its model and sampling."""

    settings: Settings
    http: Http
    prices: Prices
    labels: Callable[[], Labels] = lambda: Labels({}, "no rows")
    row_ids: Sequence[str] = ()  # item ids in the order of the rows, before sampling
    replies: Path | None = None
    budget: Ledger | None = None  # of all trials of a benchmark


ALL_SAMPLING = frozenset(f.name for f in fields(Sampling))


class Provider(Protocol):
    """A model behind its provider's wire protocol. A Solver with a preflight."""

    @property
    def address(self) -> str:
        """Where requests go, for messages; "" when there is no server."""

    @property
    def pacing(self) -> Pacing | None:
        """None: no server, so nothing to pace."""

    @property
    def unsent(self) -> Collection[str]:
        """The fields of Sampling for which the protocol has no word."""

    @property
    def adjustments(self) -> Sequence[str]:
        """Parameters that the server made us drop or rename, in words, for the run's manifest."""

    async def check(self) -> ListedModel:
        """Ask the server for the model before anything is spent.

        Raises: EndpointNotFound, AuthError, ModelNotFound; a server that cannot list models passes.
        """

    async def warm(self) -> None:
        """Have the server load the model, so that loading stands outside the clock."""

    async def __call__(self, item: Item, repeat: int) -> Reply: ...
