"""Peeks: whoever shows figures of runs at work says so here."""

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
    """Keep that figures of these runs are shown now; of runs that have ended, or have no outcome yet, nothing is kept.

    A store that cannot be written shows all the same: it is logged, and nothing is raised.
    """
    at_work = [run.id for run in runs if run.finished_at is None and run.started_at is not None]
    if not at_work:
        return
    try:
        looks.leave(context.store, at_work, now=time.time())
    except StoreError as error:
        LOG.warning("a look at runs at work could not be kept: %s", error)
