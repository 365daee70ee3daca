"""Exchanging two runs: signs and swaps by the toss of a coin, 10,000 times, in chunks that fit the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from proctor.stats.metrics import Array

FLIPS = 10_000
SWAPS = 2_000  # where each draw costs a whole exam
CHUNK = 4_000_000  # numbers held at a time


def p_value(null: Array, observed: float) -> float:
    """Two-sided: (1 + draws at least as far from 0) / (1 + draws) (Phipson and Smyth 2010).

    >>> import numpy
    >>> p_value(numpy.array([0.1, -0.2, 0.0]), 0.2)
    0.5
    """
    import numpy as np

    # Sums in another order differ in their last bits.
    extreme = int((np.abs(null) >= abs(observed) - 1e-12).sum())
    return (1 + extreme) / (1 + len(null))


def flipped_sums(random: np.random.Generator, values: Array) -> Array:
    """The sum of the values with random signs, FLIPS times. Values of one size are counted, not tossed for."""
    import numpy as np

    sizes, counts = np.unique(np.abs(values[values != 0]), return_counts=True)
    if len(sizes) * 50 < len(values) or len(sizes) <= 8:
        plus = random.binomial(counts, 0.5, size=(FLIPS, len(sizes)))
        found: Array = (2.0 * plus - counts) @ sizes
        return found
    total = values.sum()
    tosses = swapped(random, len(values), FLIPS)
    return np.concatenate([total - 2.0 * (toss @ values) for toss in tosses])


def swapped(random: np.random.Generator, units: int, draws: int) -> Iterator[Array]:
    """0 or 1 for each unit: (draws of a chunk, units), `draws` in all."""
    import numpy as np

    at_once = max(1, min(draws, CHUNK // max(1, units)))
    for start in range(0, draws, at_once):
        size = min(at_once, draws - start)
        bits = np.frombuffer(random.bytes(size * ((units + 7) // 8)), dtype=np.uint8)
        tossed = np.unpackbits(bits.reshape(size, -1), axis=1, count=units)
        yield tossed.astype(np.float64)
