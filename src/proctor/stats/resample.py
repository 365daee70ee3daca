"""Resampled exams: draws of what an exam's figures could as well have been, all at once in numpy.

Every task has its own stream of random numbers, seeded by SEED and the task's key: its draws do not
depend on which other tasks were run, and those of two tasks are independent.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from proctor.stats.metrics import Array

SEED = 0
DRAWS = 2000
SAID = f"{DRAWS:,} draws, seed {SEED}"
CHUNK = 2_000_000  # numbers held at a time

# A figure of an exam, from the weight of each row and the weights of one unit of the exam that is all
# right and one that is all wrong (see `bootstrap`). Weights may have leading axes: one figure for each.
Figure = Callable[["Array", "Array", "Array"], "Array"]


def stream(key: str) -> np.random.Generator:
    """The random numbers of one task; the same on every call."""
    import numpy as np

    return np.random.default_rng([SEED, zlib.crc32(key.encode())])


def beta(random: np.random.Generator, share: float, n: float) -> Array:
    """Draws of a share seen in `n` items, with half an item added to each side (Jeffreys)."""
    return random.beta(share * n + 0.5, (1 - share) * n + 0.5, size=DRAWS)


def dirichlet(random: np.random.Generator, table: Array, added: Array) -> Array:
    """Draws of a table of counts, with `added` items in each cell; (DRAWS, rows, columns).

    The tables do not add up to one: no metric minds, and the division can be saved.
    """
    return random.standard_gamma(table + added, size=(DRAWS, *table.shape))


def bootstrap(
    random: np.random.Generator, figures: list[Figure], unit: Array, weight: Array, *, turned: bool = False
) -> list[Array]:
    """Draws of several figures of one exam, resampled together by units (items, or clusters of them).

    `unit` is each row's unit, counted from 0; `weight` each row's weight. To every draw are added a unit
    that is all right and one that is all wrong, each with a weight from Gamma(1/2): the bootstrap's twin
    of the half items of `beta`. Without them an exam without a mistake would have no interval. `turned`
    exchanges the two: for the second of two runs drawn with the same random numbers, which then disagrees
    with the first on them.
    """
    import numpy as np

    places = unit.astype(np.int64)
    parts: list[list[Array]] = [[] for _ in figures]
    for times in resampled(random, int(places.max()) + 1):
        rows = times[:, places] * weight
        right, wrong = random.standard_gamma(0.5, size=(2, len(times)))
        right, wrong = (wrong, right) if turned else (right, wrong)
        for part, figure in zip(parts, figures, strict=True):
            part.append(figure(rows, right, wrong))
    return [np.concatenate(part) for part in parts]


def resampled(random: np.random.Generator, units: int) -> Iterator[Array]:
    """How often each unit stands in each draw: (draws of a chunk, units), DRAWS in all."""
    import numpy as np

    at_once = max(1, min(DRAWS, CHUNK // units))
    for start in range(0, DRAWS, at_once):
        size = min(at_once, DRAWS - start)
        drawn = random.integers(0, units, size=(size, units)) + units * np.arange(size)[:, None]
        times = np.bincount(drawn.ravel(), minlength=size * units).reshape(size, units)
        yield times.astype(np.float64)


def unrelated(random: np.random.Generator, n: int) -> Array:
    """Draws of the correlation of `n` pairs that have none (Fisher's transformation)."""
    import numpy as np

    return np.tanh(random.normal(0.0, 1 / math.sqrt(max(1, n - 3)), size=DRAWS))


def spread(draws: Array, value: float) -> tuple[float, float, float]:
    """Standard error, and the ends of the 95 % interval by percentiles, widened to hold `value`."""
    import numpy as np

    low, high = np.quantile(draws, [0.025, 0.975])
    return float(draws.std(ddof=1)), min(float(low), value), max(float(high), value)
