"""Tasks of one's own: a folder to begin with, and a created task with its repository's files."""

from __future__ import annotations

from pathlib import Path

from proctor.settings import Settings
from proctor.sources.rollouts.preparing import Prepared, PrepareWish, prepare_task
from proctor.sources.rollouts.skeleton import make_skeleton


def new_task(folder: Path) -> Path:
    """Raises: ConfigError where the folder is there already, or its name is none for a task."""
    return make_skeleton(folder)


def prepare_wished(
    settings: Settings,
    created: Path,
    *,
    name: str | None,
    repo: str | None,
    sandbox: str | None,
    instance: str | None = None,
    repos: Path | None = None,
) -> Prepared:
    """Raises: ConfigError, DataError."""
    return prepare_task(PrepareWish(created, name, repo, sandbox, instance, repos), settings.home)


def remarks_of(prepared: Prepared) -> list[str]:
    """What whoever prepared it should know, in sentences."""
    if prepared.task is None:
        return [f"It cannot be run yet: {prepared.why}"]
    refused = prepared.task.refusal("bubblewrap")
    return [*prepared.task.remarks, *([refused] if refused is not None else [])]
