"""The suites' data as a page shows it: where rows are had, which are on this machine, and what is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from proctor.references import ExamRef
from proctor.service.data.transfer import present_data
from proctor.service.opening.sources import open_source
from proctor.settings import Settings
from proctor.sources.exams.tables.tasks import SUITES, TASKS
from proctor.types import Message

# What publishers state of data sets that have one licence; the others' own pages say which holds for what.
LICENCES: Mapping[str, str] = {
    "cais/mmlu": "MIT",
    "openlifescienceai/medmcqa": "Apache-2.0",
    "qiaojin/PubMedQA": "MIT",
}


@dataclass(frozen=True, slots=True)
class HubPage:
    """A data set's name on the hub, its page there, and its licence; None is "see that page"."""

    dataset: str
    address: str
    licence: str | None


def origins(settings: Settings) -> dict[str, list[str]]:
    """Task -> where its evaluated rows on this machine are from; a task that has none is left out."""
    found: dict[str, list[str]] = {}
    for each in present_data(settings):
        if each["split"] == "eval":
            found.setdefault(each["task"], []).append(each["origin"])
    return found


def hub_pages(settings: Settings) -> dict[str, HubPage]:
    """Task -> where the hub has its rows; a task that it does not have is left out."""
    return {
        key: HubPage(name, f"{settings.hf_endpoint}/datasets/{name}", LICENCES.get(name))
        for key, task in TASKS.items()
        if task.hub is not None
        for name in (task.hub.dataset,)
    }


@cache
def example_prompts(suite: str, settings: Settings) -> Mapping[str, tuple[Message, ...]]:
    """Task -> what a model is shown, made of one of proctor's own sample rows; kept, since they never change."""
    keys = tuple(task.key for task in SUITES[suite].tasks)
    source = open_source(ExamRef("suite", suite, tasks=keys, rows="sample", limit=1), settings)
    return {item.group: item.ask.messages for item in source.items()}
