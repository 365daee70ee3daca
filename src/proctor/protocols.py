"""The two protocols that the engine works with: where items come from, and what tries an item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from proctor.types import Grade, Item, Reply


class Source(Protocol):
    """Where items come from, and how a reply to one is read.

    `items` yields them in the run's order; it is the same order on every call.
    """

    @property
    def title(self) -> str: ...

    @property
    def manifest(self) -> Mapping[str, Any]:
        """Data hash, item-set hash, prompt, extractor and metric versions: what a number rests on."""

    @property
    def understood(self) -> Sequence[str]:
        """How the rows were understood, in sentences for a person."""

    @property
    def stop(self) -> tuple[str, ...]:
        """Where the prompt's style has the model stop."""

    @property
    def row_ids(self) -> Sequence[str]:
        """The ids of all rows in the order of their file, before sampling."""

    def labels(self) -> tuple[Mapping[str, Mapping[str, int]], str]:
        """Task -> target -> count over rows that tell what targets are common, and which rows those are."""

    def __len__(self) -> int: ...

    def items(self) -> Iterator[Item]: ...

    def read(self, item: Item, reply: Reply) -> Grade: ...

    def spoken(self, item: Item) -> str:
        """How a model writes the right answer: "yes" where the target is called "entailment"."""

    def wrong(self, item: Item) -> Sequence[str]:
        """Other answers, as a model writes them; empty where none is known."""


class Solver(Protocol):
    """Anything that can try an item: one model call, or an agent at work.

    `repeat` counts the deliberate askings of one item from 0. It sends one request; retries are the
    engine's.

    Raises: ProviderError.
    """

    async def __call__(self, item: Item, repeat: int) -> Reply: ...
