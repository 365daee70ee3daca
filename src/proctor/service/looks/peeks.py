"""Peeks: whoever shows figures of runs that are not whole says so here."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from proctor.errors import StoreError
from proctor.service.context import Context
from proctor.store.write import looks
from proctor.types import Run

LOG = logging.getLogger("proctor.looks")


def looked(context: Context, runs: Iterable[Run]) -> None:
    """Keep that figures of these runs are shown now; of whole runs, or with no outcome yet, nothing is kept.

    One that stopped early may still go on, and who saw its figures decides about that. A store that cannot be written
    shows all the same: it is logged, and nothing is raised.
    """
    open_still = [
        run.id for run in runs if run.started_at is not None and (run.finished_at is None or run.partial)
    ]
    if not open_still:
        return
    try:
        looks.leave(context.store, open_still, now=time.time())
    except StoreError as error:
        LOG.warning("a look at runs at work could not be kept: %s", error)
