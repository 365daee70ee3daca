"""What many ask for in the same moment, made for the first of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from proctor.service.context import Context
from proctor.service.evidence.cache import Lately

Made = TypeVar("Made")
SHARE = 0.04  # of one processor that the figures of one run at work may take, whoever asks for them
SHORTEST_S, LONGEST_S = 0.05, 10.0


def for_a_moment(
    context: Context, key: tuple[Hashable, ...], mark: tuple[Hashable, ...], make: Callable[[], Made]
) -> Made:
    """What `make` gives, made once under a key and mark by those who reach the same: who asks meanwhile waits for it.

    It must follow from reach, key and mark alone; of each key the last mark's is kept.
    """
    return Lately(context).kept(("moment", *key), make, mark=lambda: mark)


def paced(context: Context, key: tuple[Hashable, ...], make: Callable[[], Made]) -> Made:
    """What `make` gives, as it was up to `LONGEST_S` ago: the dearer it is, the longer it is given out.

    What takes 4 ms of the processor is a tenth of a second old at most.
    """

    def timed() -> tuple[Made, float]:
        began = time.thread_time()
        made = make()
        lasts_s = (time.thread_time() - began) / SHARE
        return made, time.monotonic() + min(LONGEST_S, max(SHORTEST_S, lasts_s))

    def fresh(kept: tuple[Any, float]) -> bool:
        return time.monotonic() < kept[1]

    first, _ = Lately(context).kept(("paced", *key), timed, stamp=fresh, mark=tuple)
    return first
