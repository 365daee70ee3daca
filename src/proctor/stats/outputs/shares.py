"""A share of requests with its interval, counted as they pass; requests about one candidate are not independent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from proctor.findings import Estimate
from proctor.stats import clusters
from proctor.stats.estimates import Count, accuracy
from proctor.stats.estimates_share import EFFECTIVE_CLUSTERS, UNSEEN, worth
from proctor.stats.estimates_sheet import nothing
from proctor.stats.intervals import share_stderr, wilson


@dataclass(slots=True)
class ShareCount:
    """Requests counted one by one: how many, and how many of them hold."""

    n: int = 0
    hold: int = 0
    by_cluster: dict[str, list[int]] = field(
        default_factory=dict
    )  # [n, hold]; of requests that have a cluster

    def add(self, holds: bool, cluster: str | None = None) -> None:
        self.n += 1
        self.hold += holds
        if cluster is not None:
            told = self.by_cluster.setdefault(cluster, [0, 0])
            told[0] += 1
            told[1] += holds

    def estimate(self, reason: str) -> Estimate:
        """The share with its Wilson interval, on the effective n of the clusters where requests have some.

        `reason` is said where nothing was counted.

        >>> count = ShareCount()
        >>> for holds in (True, True, False): count.add(holds)
        >>> round(count.estimate("").value, 3)
        0.667
        """
        if not self.n:
            return nothing(0, reason)
        if 1 < len(self.by_cluster) < self.n:
            return _clustered(self.n, self.hold, self.by_cluster)
        if len(self.by_cluster) == 1 and self.n > 1 and self.by_cluster.values():
            (only,) = self.by_cluster.values()
            if only[0] == self.n:
                return accuracy(Count(self.n, self.n, self.hold, 1.0))  # all hang together: worth one
        return accuracy(Count(self.n, self.n, self.hold))


def _clustered(n: int, hold: int, by_cluster: Mapping[str, list[int]]) -> Estimate:
    """As `estimates_share.effective` has it; a request without a cluster is one of its own."""
    import numpy as np

    told = np.array(list(by_cluster.values()), dtype=np.int64)
    alone, held = n - int(told[:, 0].sum()), hold - int(told[:, 1].sum())
    single = np.ones((alone, 2), dtype=np.int64)
    single[held:, 1] = 0
    counts = np.concatenate([told, single])
    value = hold / n
    weights = counts[:, 0] / n
    unit = np.repeat(np.arange(len(counts)), counts[:, 0]).astype(np.float64)
    pairs = np.stack([counts[:, 1], counts[:, 0] - counts[:, 1]], axis=1).ravel()
    rest = np.repeat(np.tile([1 - value, -value], len(counts)), pairs)
    shown = clusters.seen((counts[:, 1] - value * counts[:, 0]) / n, weights)
    variance = shown
    if 0 < hold < n:
        variance = max(shown, clusters.alike(rest, unit, (-value, 1 - value), UNSEEN))
    effective = worth(value, variance, float(weights @ weights), most=float(n), clustered=True)
    low, high = wilson(value, effective)
    return Estimate(value, share_stderr(value, effective), low, high, n, n, EFFECTIVE_CLUSTERS)
