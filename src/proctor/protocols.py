"""The protocols of the engine and the parts: where items come from, what tries an item, what grades a reply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Protocol

from proctor.manifest import Facts
from proctor.types import Grade, Item, Reply


class Source(Protocol):
    """Where items come from. `items` yields them in the run's order; it is the same order on every call."""

    @property
    def title(self) -> str: ...

    @property
    def facts(self) -> Facts:
        """Data hash, item-set hash, prompt, extractor and metric versions: what a number rests on."""

    @property
    def understood(self) -> Sequence[str]:
        """How the rows were understood, in sentences for a person."""

    def __len__(self) -> int: ...

    def items(self) -> Iterator[Item]: ...


class Exam(Source, Protocol):
    """Questions whose right answers are known: what grading, baselines, replays and the simulator see besides."""

    @property
    def stop(self) -> tuple[str, ...]:
        """Where the prompt's style has the model stop."""

    @property
    def row_ids(self) -> Sequence[str]:
        """The ids of all rows in the order of their file, before sampling."""

    def labels(self) -> tuple[Mapping[str, Mapping[str, int]], str]:
        """Task -> target -> count over rows that tell what targets are common, and which rows those are."""

    @property
    def grader(self) -> Grader:
        """By which its replies are graded, unless the run names another."""

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


# What the engine calls with each reply. A plain Grade is the quick way; what has to be waited for (a model that judges,
# a program that checks) gives an awaitable.
GradeReply = Callable[[Item, Reply], Grade | Awaitable[Grade]]


class Grader(Protocol):
    """What a reply is worth, by one way of telling.

    `name` is its name with version and settings (`number/1:rel=0.01`), and gives the same grader wherever it is
    named. `grade` raises ProctorError where it cannot grade a reply; the reply is kept without a score then.
    """

    @property
    def name(self) -> str: ...

    def grade(self, item: Item, reply: Reply) -> Grade | Awaitable[Grade]: ...
