"""In which order replies come to people: of hashes, so that it is the same for everybody, everywhere and always."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

SEED = "proctor labels 1"  # changed, every random part begins anew


def draw(item_id: str, repeat: int) -> str:
    """Where a reply's item stands in the random order: sorted by this, any beginning of it is a random sample.

    It knows nothing but the item's id and the repeat, so that of two runs of the same items the same are drawn, and
    a larger sample continues a smaller one.
    """
    return _digest("draw", item_id, str(repeat))


def blind(item_id: str, repeat: int, runs: Iterable[str]) -> list[str]:
    """The runs' ids in the order in which their replies to an item are shown, which tells nobody which is which."""
    return sorted(runs, key=lambda run: _digest("show", item_id, str(repeat), run))


def opaque(item_id: str, repeat: int, runs: Sequence[str]) -> str:
    """A name for an entry of the queue that says neither run nor model."""
    return _digest("entry", item_id, str(repeat), *runs)[:20]


def _digest(*words: str) -> str:
    return hashlib.sha256("\x1f".join((SEED, *words)).encode(errors="surrogatepass")).hexdigest()
