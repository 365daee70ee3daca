"""Exchanging two runs by the toss of a coin: all ways where they are few, else as many as the family of tests needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.stats import resample
from proctor.stats.paired import ALPHA

if TYPE_CHECKING:
    import numpy as np

    from proctor.stats.metrics import Array

FLIPS = 10_000
SWAPS = 2_000  # where each draw costs a whole exam
CHUNK = 4_000_000  # numbers held at a time
ENOUGH = 20  # draws as far from 0 as the difference: its p-value is then known to about a fifth of itself
SEEN_NONE = 2  # in so many times family / ALPHA draws without one as far, no more are made
MOST_SUMS = 65_536  # different sums that are gone through instead of drawn
FEW_UNITS, FEW_SIZES = 16, 8

# The next so many draws of a difference; all it can be, with their chances, or None where these are too many.
Toss = Callable[[int], "Array"]
Every = Callable[[], "tuple[Array, Array] | None"]


@dataclass(frozen=True, slots=True)
class Null:
    """Draws of a difference if the two runs were exchangeable, as many as are asked for.

    `start` begins the same draws from the first. `first` is how many are always made, and how many at a time.
    `every` goes through all ways of exchanging instead, where they are few.
    """

    start: Callable[[], Toss]
    first: int = FLIPS
    every: Every = lambda: None


def weighed(of: Sequence[Null], weights: Sequence[float]) -> Null:
    """The draws of several independent parts, each with its weight, added up."""
    if len(of) == 1:
        return _times(of[0], weights[0])

    def start() -> Toss:
        parts = [null.start() for null in of]

        def toss(size: int) -> Array:
            drawn = [weight * part(size) for weight, part in zip(weights, parts, strict=True)]
            total: Array = sum(drawn[1:], start=drawn[0])
            return total

        return toss

    return Null(start, min(null.first for null in of))


def _times(null: Null, weight: float) -> Null:
    def start() -> Toss:
        toss = null.start()
        return lambda size: weight * toss(size)

    def every() -> tuple[Array, Array] | None:
        found = null.every()
        return None if found is None else (weight * found[0], found[1])

    return Null(start, null.first, every)


def p_value(null: Null, observed: float, family: int = 1) -> float:
    """Two-sided, of one of `family` tests that are adjusted together: (1 + draws at least as far from 0) / (1 + draws).

    Exact where all ways of exchanging can be gone through. Else the first draws decide where ENOUGH of them are
    as far. Else more are made, up to ENOUGH * family / ALPHA, so that the smallest p-value is far below what the
    adjustment asks for; they end with the ENOUGH-th that is as far (Besag and Clifford 1991, Biometrika 78:301),
    or early where none is. Whatever ends them, the p-value is the probability under the null of so extreme an end
    or a more extreme one, with the exam itself as one of the draws (Phipson and Smyth 2010): P(p <= t) <= t for
    every t.
    """
    import numpy as np

    if (every := null.every()) is not None:
        values, chances = every
        return min(1.0, float(chances[np.abs(values) >= abs(observed) - 1e-12].sum()))
    toss = null.start()
    early = max(null.first, math.ceil(SEEN_NONE * family / ALPHA))
    most = max(null.first, math.ceil(ENOUGH * family / ALPHA))
    drawn = far = 0
    while drawn < most:
        size = min(null.first, (early if drawn < early else most) - drawn)
        # Sums in another order differ in their last bits.
        beyond = np.flatnonzero(np.abs(toss(size)) >= abs(observed) - 1e-12)
        if drawn and far + len(beyond) >= ENOUGH:
            made = drawn + int(beyond[ENOUGH - far - 1])  # before the one that ends them
            return ENOUGH / (made + 1) + _ended_before(early, made, ENOUGH)
        drawn, far = drawn + size, far + len(beyond)
        if drawn == null.first and far >= ENOUGH:
            break
        if drawn == early and not far:
            break
    return (1 + far) / (1 + drawn) + _ended_before(early, drawn, far + 1)


def _ended_before(early: int, made: int, far: int) -> float:
    """The probability that `early` draws without one as far come before `made` draws of which `far` or more are.

    The `far` largest of all made + 1 must then be among the later draws, and the exam the largest of the others
    among the early ones.
    """
    if made - early < far:
        return 0.0
    return math.prod((made - early - i) / (made + 1 - i) for i in range(far)) / (early + 1)


# Signs -------------------------------------------------------------------------------------------


def _all_sums(values: Array) -> tuple[Array, Array] | None:
    """All sums of the values with signs, and their chances."""
    import numpy as np

    sizes, counts = np.unique(np.abs(values[values != 0]), return_counts=True)
    if counts.sum() > FEW_UNITS and len(sizes) > FEW_SIZES:
        return None
    sums, chances = np.zeros(1), np.ones(1)
    for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
        if len(sums) * (count + 1) > 2 * MOST_SUMS:
            return None
        plus = np.arange(count + 1)
        sums, chances = _merged(
            np.add.outer(sums, size * (2.0 * plus - count)).ravel(),
            np.multiply.outer(chances, halves(count)).ravel(),
        )
    return sums, chances


def halves(n: int) -> Array:
    """The probabilities of 0 to n heads of n coins."""
    import numpy as np

    logs = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    found: Array = np.exp(np.array(logs) - n * math.log(2))
    found /= found.sum()
    return found


def _merged(sums: Array, chances: Array) -> tuple[Array, Array]:
    """Equal sums as one; those that only rounding tells apart are equal."""
    import numpy as np

    order = np.argsort(sums)
    sums, chances = sums[order], chances[order]
    starts = np.flatnonzero(np.diff(sums, prepend=-np.inf) > 1e-13)
    return sums[starts], np.add.reduceat(chances, starts)


def flips(values: Array, key: str) -> Null:
    """The sum of the values with random signs.

    Eight values at a time: a byte says which of their 256 sums it is.

    >>> import numpy
    >>> [round(p_value(flips(numpy.array(of), "q"), sum(of)), 9) for of in ([1.0] * 6, [3.0, -1.0, 0.0])]
    [0.03125, 1.0]
    """

    def start() -> Toss:
        import numpy as np

        random = resample.stream(f"{key} exchanged")
        moved = values[values != 0]
        padded = np.concatenate([moved, np.zeros(-len(moved) % 8)]).reshape(-1, 8)
        signs = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) - 1
        sums = padded @ signs.T

        def toss(size: int) -> Array:
            total = np.zeros(size)
            for of_eight in sums:
                total += of_eight[random.integers(0, 256, size, dtype=np.uint8)]
            return total

        return toss

    return Null(start, every=lambda: _all_sums(values))


# Counts and swaps --------------------------------------------------------------------------------


def heads(random: np.random.Generator, coins: int, size: int) -> Array:
    """How many of so many coins fall heads, `size` times: few are counted bit by bit, many drawn."""
    import numpy as np

    if coins > 8 * 64:
        return random.binomial(coins, 0.5, size).astype(np.float64)
    words = random.integers(0, 2**64, size=(-(-coins // 64), size), dtype=np.uint64)
    if rest := coins % 64:
        words[-1] >>= np.uint64(64 - rest)
    found: Array = np.bitwise_count(words).sum(axis=0, dtype=np.float64)
    return found


def swapped(random: np.random.Generator, units: int, draws: int) -> Iterator[Array]:
    """0 or 1 for each unit: (draws of a chunk, units), `draws` in all."""
    import numpy as np

    at_once = max(1, min(draws, CHUNK // max(1, units)))
    for start in range(0, draws, at_once):
        size = min(at_once, draws - start)
        bits = np.frombuffer(random.bytes(size * ((units + 7) // 8)), dtype=np.uint8)
        tossed = np.unpackbits(bits.reshape(size, (units + 7) // 8), axis=1, count=units)
        yield tossed.astype(np.float64)
