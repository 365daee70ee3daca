"""The walk of right and wrong: one step for each item that only one of two models got right, and its exact boundary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from proctor.findings.looks import PathPoint
from proctor.stats.permute import halves
from proctor.stats.sequential.search import Look, Searched
from proctor.stats.sequential.spending import Step, budget

if TYPE_CHECKING:
    from proctor.stats.metrics import Array


class SignFront:
    """How far a walk of fair signs may have come without having been stopped, at several levels at once.

    `mass` (levels, places) holds the probability of |S| at place 2 i + parity and of not having been stopped before;
    it ends where the boundary cut it. `spent` (levels) is the probability of having been stopped.
    """

    def __init__(self, at: Sequence[float], n: int) -> None:
        import numpy as np

        self.n = n
        self.at = np.array(at)
        self.spent = np.zeros(len(at))
        self.mass = np.ones((len(at), 1))
        self.made = 0

    def advance(self, t: int, made: int) -> Array:
        """Spread by `made` steps and cut at `t` items: the boundaries (levels), infinite where no walk comes so far.

        A boundary is the smallest c so that what is left of the probability at |S| >= c is within the budget.
        """
        import numpy as np

        if made:
            self._spread(made)
        tails = np.cumsum(self.mass[:, ::-1], axis=1)[:, ::-1]
        left = budget(1.0, t, self.n) * self.at - self.spent
        kept = (tails > left[:, None]).sum(axis=1)  # tails fall, so these are the first places
        rows, places = np.arange(len(tails)), np.arange(tails.shape[1])
        cut = np.append(tails, np.zeros((len(tails), 1)), axis=1)[rows, kept]
        self.spent += cut
        self.mass[places >= kept[:, None]] = 0.0
        self.mass = self.mass[:, : max(1, int(kept.max()))]
        bounds: Array = 2.0 * kept + self.made % 2
        return np.where(bounds <= self.made, bounds, math.inf)

    def _spread(self, made: int) -> None:
        import numpy as np

        was, width = self.made % 2, self.mass.shape[1]
        self.made += made
        now, coins = self.made % 2, halves(made)
        to = 2 * np.arange((2 * (width - 1) + was + made - now) // 2 + 1) + now
        whence = 2 * np.arange(width) + was
        chances = _chance(coins, to[None, :] - whence[:, None])
        chances += np.where(to > 0, _chance(coins, -to[None, :] - whence[:, None]), 0.0)
        self.mass = self.mass @ chances


def _chance(coins: Array, far: Array) -> Array:
    """The probability that so many coins move a walk so far."""
    import numpy as np

    heads = (far + len(coins) - 1) // 2
    inside = (heads >= 0) & (heads < len(coins))
    found: Array = np.where(inside, coins[np.clip(heads, 0, len(coins) - 1)], 0.0)
    return found


class SignWalk(Searched):
    """A walk of +1 (only the first is right) and -1 (only the second), with a boundary that holds `alpha` exactly.

    If both are equally good, each item on which they disagree is for either of them with probability 1/2, whatever
    the others did. So the distribution of the walk is known, and the boundary with it.
    """

    test = "sign walk, spending {alpha:g} (t/N)^2"

    def __init__(self, n: int, alpha: float = 0.05) -> None:
        super().__init__(n, alpha)
        self._front = SignFront([alpha], n)
        self._history: list[tuple[int, int]] = []
        self.walk = 0
        self.made = 0

    def look(self, t: int, steps: Sequence[Step]) -> PathPoint:
        """The walk after `t` items, of which `steps` are new since the last look; zeros say nothing and are left out.

        Raises ValueError where a step is not -1, 0 or 1, or `t` does not go on.
        """
        self._ordered(t)
        signs = [step[1] if isinstance(step, tuple) else step for step in steps]
        if odd := [sign for sign in signs if sign not in (-1, 0, 1)]:
            raise ValueError(f"a sign walk takes steps of -1, 0 and 1, not {odd[0]!r}")
        made = sum(1 for sign in signs if sign)
        self.walk += int(sum(signs))
        self.made += made
        bound = float(self._front.advance(t, made)[0])
        self._history.append((t, made))
        self.critical = bound / math.sqrt(self.made) if math.isfinite(bound) else None
        return self._looked(Look(t, float(self.walk), bound))

    @property
    def spread(self) -> float:
        """The standard deviation of the walk if both are equally good, given how often they disagreed."""
        return math.sqrt(self.made)

    def _stops(self, at: Sequence[float]) -> list[bool]:
        import numpy as np

        front, stopped = SignFront(at, self.n), np.zeros(len(at), dtype=bool)
        for (t, made), look in zip(self._history, self.looks, strict=True):
            stopped |= abs(look.walk) >= front.advance(t, made)
        found: list[bool] = stopped.tolist()
        return found
