"""Comparisons of runs that were asked for lately, kept in memory while their runs stand: pages turn at once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from proctor.errors import ConfigError
from proctor.grading.comparators.spec import parse_comparator
from proctor.service.batches.compare import BatchComparison, compare_outputs
from proctor.service.batches.outputs import FEWEST, MOST, Output, check_run
from proctor.service.context import Context

MOST_KEPT = 8  # of a million requests that all differ, one takes some 20 MB
_KEPT: OrderedDict[tuple[Any, ...], BatchComparison] = OrderedDict()
_LOCK = threading.Lock()


def compared_runs(
    context: Context, run_ids: Sequence[str], how: str = "exact", candidate: str | None = None
) -> BatchComparison:
    """Runs by id, the first is the baseline: for whoever asks over HTTP, who names no files.

    Raises: NotFound, ConfigError.
    """
    runs = [context.store.run(run_id) for run_id in run_ids]
    for run in runs:
        check_run(run)
    if not FEWEST <= len(runs) <= MOST:
        raise ConfigError(f"{len(runs)} to compare: name {FEWEST} to {MOST}, the first is the baseline")
    comparator = parse_comparator(how, where="comparator")
    # Who asks has been let to each run by now; what stands there changes with what is settled.
    state = tuple((run.id, run.settled, run.finished_at) for run in runs)
    key = (context.settings.database_url, state, comparator.words, candidate)
    with _LOCK:
        if key in _KEPT:
            _KEPT.move_to_end(key)
            return _KEPT[key]
    made = compare_outputs(context, [Output(run.id[:8], run) for run in runs], comparator, candidate)
    with _LOCK:
        _KEPT[key] = made
        while len(_KEPT) > MOST_KEPT:
            _KEPT.popitem(last=False)
    return made
