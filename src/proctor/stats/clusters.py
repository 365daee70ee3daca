"""How sure a mean is where items hang together in clusters of any sizes: its variance and degrees of freedom."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proctor.stats.metrics import Array


def seen(rest: Array, sizes: Array) -> float:
    """The variance of a mean as its units show it: the sum of r^2 / (1 - w).

    `rest` is what each unit adds to the mean beyond its due, `sizes` the units' weights w; these sum to 1. A large
    unit pulls the mean to itself and so hides part of what it adds: 1 - w gives that back (Bell and McCaffrey 2002,
    Survey Methodology 28:169). With C units of one size it is the C / (C - 1) of Miller (2024, appendix A).
    """
    import numpy as np

    left = 1 - sizes
    # A unit that is the whole adds nothing beyond its due, and shows nothing.
    return float((rest**2 / np.where(left > 1e-12, left, 1.0)).sum())


def freedom(sizes: Array) -> float:
    """Degrees of freedom of such a variance: as many units of one size as these are worth (Kish 1965), less one."""
    return max(1.0, 1 / float(sizes @ sizes) - 1)


def alike(rest: Array, unit: Array, ends: tuple[float, float], more: float) -> float:
    """The variance of a mean over items if the items of all clusters hang together alike.

    `rest` are the items' scores less their mean, `unit` their clusters' numbers from 0, `ends` the least and the
    most a score could be, less that mean too. Where a few clusters hold most of the items, or nearly all clusters
    are right, what the clusters show (`seen`) tells little: a wrong answer in a small cluster says nothing of a large
    one. So the intra-cluster correlation is taken from all clusters together (analysis of variance, Donner 1986, Int.
    Stat. Rev. 54:67), with `more` of a cluster of the mean size at each end, because clusters of which none was seen
    wrong could be wrong all the same. The mean is then worth 1 / (rho sum w^2 + (1 - rho) / n) items (Kish 1965).
    """
    import numpy as np

    places = unit.astype(np.int64)
    sizes = np.bincount(places).astype(np.float64)
    sums = np.bincount(places, rest)
    n, mean_size = len(rest), len(rest) / len(sizes)
    low, high = ends
    whole, clusters = n + 2 * more * mean_size, len(sizes) + 2 * more
    centre = more * mean_size * (low + high) / whole
    between = float((sizes * (sums / sizes - centre) ** 2).sum())
    between += more * mean_size * ((low - centre) ** 2 + (high - centre) ** 2)
    within = max(0.0, float(rest @ rest) - float((sums**2 / sizes).sum()))
    a, b = between / (clusters - 1), within / max(1.0, whole - clusters)
    usual = (whole - (float(sizes @ sizes) + 2 * more * mean_size**2) / whole) / (clusters - 1)
    spread = a + (usual - 1) * b
    together = min(1.0, max(0.0, (a - b) / spread)) if spread > 0 else 0.0
    worth = 1 / (together * float(sizes @ sizes) / n**2 + (1 - together) / n)
    return float(rest @ rest) / n / max(0.05, worth - 1)
