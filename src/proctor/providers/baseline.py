"""What no model should lose to: `baseline/majority` always gives the commonest answer, `baseline/random` guesses."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from string import ascii_uppercase

from proctor.errors import ModelNotFound
from proctor.offered import ListedModel
from proctor.providers.contract import ALL_SAMPLING, Labels, Opening, Pacing
from proctor.types import Item, Model, Reply, Sampling

Guess = Callable[[Item, int, Mapping[str, int]], str]


class Baseline:
    """Answers from the labels alone, through the same extraction as every model."""

    adjustments: tuple[str, ...] = ()
    unsent = ALL_SAMPLING
    address = ""
    pacing: Pacing | None = None

    def __init__(self, model: Model, guess: Guess, labels: Labels) -> None:
        self._model = model
        self._guess = guess
        self._labels = labels

    async def check(self) -> ListedModel:
        return ListedModel(self._model, note=f"labels counted in {self._labels.where}")

    async def warm(self) -> None:
        """Nothing to load."""

    async def __call__(self, item: Item, repeat: int) -> Reply:
        counts = self._labels.counts.get(item.group, {})
        return Reply(f"Answer: {self._guess(item, repeat, counts)}", cost_usd=0.0)


def majority(item: Item, repeat: int, counts: Mapping[str, int]) -> str:
    """The commonest label; of equally common ones the first in the alphabet."""
    return min(counts, key=lambda label: (-counts[label], label)) if counts else "none"


def at_random(item: Item, repeat: int, counts: Mapping[str, int]) -> str:
    """Any option or label with equal chance; the same for an item on every run."""
    options = list(ascii_uppercase[: len(item.choices)]) or sorted(counts) or ["none"]
    draw = hashlib.sha256(f"{item.id}|{repeat}".encode()).digest()
    return options[int.from_bytes(draw[:8], "big") % len(options)]


GUESSES: dict[str, Guess] = {"majority": majority, "random": at_random}


def open_baseline(model: Model, sampling: Sampling, opening: Opening) -> Baseline:
    if model.name not in GUESSES:
        raise ModelNotFound(
            f"No baseline {model.name!r}. There are: {', '.join(f'baseline/{n}' for n in GUESSES)}"
        )
    return Baseline(model, GUESSES[model.name], opening.labels())


async def list_baselines(opening: Opening) -> list[ListedModel]:
    return [ListedModel(Model("baseline", name)) for name in GUESSES]
