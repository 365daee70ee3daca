"""Where something is that one half remembers: runs, models, suites and data sets by pieces of their names."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.service.context import Context
from proctor.service.opening.catalogue import suite_facts
from proctor.store.read import finding
from proctor.store.read.finding import FoundRun

__all__ = ["FoundEverywhere", "FoundRun", "find_everywhere"]

MOST_RUNS, MOST_OTHERS = 8, 4
MOST_WORDS = 5


@dataclass(frozen=True, slots=True)
class FoundEverywhere:
    """What there is, the newest runs first: a suite by key and title, a data set by id, name and rows."""

    runs: list[FoundRun]
    models: list[tuple[str, int]]
    suites: list[tuple[str, str]]
    datasets: list[tuple[str, str, int]]


def find_everywhere(context: Context, text: str) -> FoundEverywhere:
    """All that holds every word of the text, as far as the context reaches; nothing for no words."""
    words = text.lower().split()[:MOST_WORDS]
    if not words:
        return FoundEverywhere([], [], [], [])
    store = context.store
    suites = [(str(each["suite"]), str(each["title"])) for each in suite_facts()]
    return FoundEverywhere(
        runs=finding.runs(store, words, limit=MOST_RUNS),
        models=finding.models(store, words, limit=MOST_OTHERS),
        suites=[pair for pair in suites if all(word in " ".join(pair).lower() for word in words)],
        datasets=finding.datasets(store, words, limit=MOST_OTHERS),
    )
