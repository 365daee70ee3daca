"""What there is to choose from: providers with the state of their keys, and suites with their tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from proctor.providers import PROVIDERS
from proctor.settings import Settings
from proctor.sources.exams.tables.tasks import SUITES


@dataclass(frozen=True, slots=True)
class ProviderStatus:
    """A provider and whether its key is set; never the key. `key_set` is None where none is needed."""

    name: str
    title: str
    key_set: bool | None


def provider_status(settings: Settings) -> list[ProviderStatus]:
    return [
        ProviderStatus(name, entry.title, bool(getattr(settings, entry.key)) if entry.key else None)
        for name, entry in PROVIDERS.items()
    ]


def key_variables() -> dict[str, str]:
    """The variables that hold a provider's key, in words, for those that need one."""
    return {name: entry.key_variables for name, entry in PROVIDERS.items() if entry.key_variables}


def brand(provider: str) -> str:
    """A provider's name in sentences; an unknown one, such as an imported run's, is given back."""
    return PROVIDERS[provider].brand if provider in PROVIDERS else provider


def suite_facts() -> list[dict[str, Any]]:
    """Every suite with its tasks: title, kind, official metrics, size of the official evaluation."""
    return [
        {
            "suite": suite.key,
            "title": suite.title,
            "aggregate": suite.aggregate,
            "tasks": [
                {
                    "task": task.key,
                    "title": task.title,
                    "kind": task.kind,
                    "metrics": list(task.metrics),
                    "also": list(task.also),
                    "size": task.official_size,
                    "extra": task.extra,
                    "note": task.note or None,
                }
                for task in suite.tasks
            ],
        }
        for suite in SUITES.values()
    ]
