"""How far two outputs give the same labels beyond chance: Cohen's kappa, with the table that it rests on."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from proctor.findings import Estimate
from proctor.stats.estimates_sheet import nothing
from proctor.stats.intervals import Z95

KAPPA = "Cohen's kappa, large-sample interval"
MOST_LABELS = 50  # of either side, each with a row of its own in the table; rarer ones are put together
OTHERS = "(other labels)"


@dataclass(slots=True)
class LabelCount:
    """Pairs of labels, counted as they pass."""

    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    known: set[str] = field(default_factory=set)

    def add(self, one: str, two: str) -> None:
        self.pairs[self._kept(one, two), self._kept(two, one)] += 1

    def _kept(self, label: str, other: str) -> str:
        if label not in self.known:
            if len(self.known) >= MOST_LABELS:
                return OTHERS if label != other else f"{OTHERS}, the same"
            self.known.add(label)
        return label

    def estimate(self) -> Estimate:
        """Cohen's kappa (1960, Educ. Psychol. Meas. 20:37) with the interval of its large-sample standard error.

        (po - pe) / (1 - pe), po the share of equal pairs and pe that of chance, by the margins. The standard error is
        that of Fleiss, Cohen and Everitt (1969, Psychol. Bull. 72:323). None where one label is all there is.

        >>> count = LabelCount()
        >>> for one, two, n in (("a", "a", 45), ("a", "b", 15), ("b", "a", 25), ("b", "b", 15)):
        ...     for _ in range(n): count.add(one, two)
        >>> round(count.estimate().value, 4)
        0.1304
        """
        n = self.pairs.total()
        if not n:
            return nothing(0, "no pair of labels")
        rows, columns = Counter[str](), Counter[str]()
        for (one, two), times in self.pairs.items():
            rows[one] += times
            columns[two] += times
        equal = sum(times for (one, two), times in self.pairs.items() if one == two) / n
        chance = sum(rows[label] * columns[label] for label in rows) / n**2
        if chance >= 1:
            return nothing(n, "there is but one label, so that chance alone agrees as often")
        kappa = (equal - chance) / (1 - chance)
        spread = 0.0
        for (one, two), times in self.pairs.items():
            if one == two:
                spread += times / n * (1 - (rows[one] + columns[one]) / n * (1 - kappa)) ** 2
            else:
                spread += times / n * ((1 - kappa) * (columns[one] + rows[two]) / n) ** 2
        spread -= (kappa - chance * (1 - kappa)) ** 2
        stderr = math.sqrt(max(0.0, spread) / n) / (1 - chance)
        low, high = max(-1.0, kappa - Z95 * stderr), min(1.0, kappa + Z95 * stderr)
        return Estimate(kappa, stderr, low, high, n, n, KAPPA)
