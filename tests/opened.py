"""Use cases as commands call them, in a context opened for the one call; and the context of a store that is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from proctor.service.context import Context, open_context
from proctor.service.data import bundle as bundles
from proctor.service.data import logs, transfer
from proctor.service.evidence import compare
from proctor.service.evidence import history as histories
from proctor.service.evidence import leaderboard as boards
from proctor.service.forecast import forecast as forecasts
from proctor.service.grades import regrading
from proctor.service.runs import lifecycle
from proctor.settings import Settings, read_settings
from proctor.store import Store


def over(store: Store, settings: Settings | None = None) -> Context:
    """Without settings for what asks nothing of them."""
    return Context(settings or read_settings({"PROCTOR_HOME": "/nowhere"}), store)


def opened(use_case: Callable[..., Any]) -> Callable[..., Any]:
    """The use case with settings among its words in the place of the context that comes first."""

    def call(*words: Any, **options: Any) -> Any:
        (settings,) = (word for word in words if isinstance(word, Settings))
        with open_context(settings) as context:
            return use_case(context, *(word for word in words if word is not settings), **options)

    return call


start = opened(lifecycle.start)
resume = opened(lifecycle.resume)
rerun = opened(lifecycle.rerun)
look = opened(lifecycle.look)
list_runs = opened(lifecycle.list_runs)
compare_named = opened(compare.compared)
leaderboard = opened(boards.leaderboard)
history = opened(histories.history)
forecast = opened(forecasts.forecast)
rescore = opened(regrading.rescore)
grade_kept = opened(regrading.grade_kept)
bundle = opened(bundles.bundle)
import_logs = opened(logs.import_logs)
item_records = opened(transfer.item_records)
export = opened(transfer.export)
export_lm_eval = opened(transfer.export_lm_eval)
report = opened(transfer.report)
