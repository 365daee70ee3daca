"""Results of rollouts for one's own analysis: `load_benchmark` reads a folder, `get_task_score` tells a score.

from proctor.rollouts import load_benchmark, get_task_score

results = load_benchmark("data/rollouts/demo/20250824")
for task in results.tasks:
    print(task, get_task_score(results, task))
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from proctor.errors import DataError, NotFound
from proctor.json_object import JsonObject

MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One trial as manifest.json has it; what was not measured is None.

    `state` is passed, failed or limit for trials that are scored, and else why they are not: sandbox, verifier,
    provider, cancelled, running, pending. `score` is the share of the rubrics' weights, 0 to 1. `row` is AGENT/MODEL.
    """

    run_id: str
    run_dir: Path
    task: str
    task_dir: str
    row: str
    rollout: int
    state: str
    score: float | None = None
    seconds: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    custom_metrics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def scored(self) -> bool:
        return self.score is not None

    @property
    def passed(self) -> bool | None:
        return self.state == "passed" if self.scored else None


@dataclass(frozen=True, slots=True)
class BenchmarkResults:
    """A rollout of a benchmark, read from its folder. `stamp` is its time, `manifest` all of manifest.json."""

    name: str
    stamp: str
    folder: Path
    trials: tuple[TrialResult, ...]
    manifest: Mapping[str, Any] = field(repr=False)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The ids of its tasks, in its order."""
        return tuple(dict.fromkeys(trial.task for trial in self.trials))

    @property
    def rows(self) -> tuple[str, ...]:
        """What its agents and models are called: AGENT/MODEL."""
        return tuple(dict.fromkeys(trial.row for trial in self.trials))

    def of_task(self, task: str, row: str | None = None) -> tuple[TrialResult, ...]:
        """The trials of a task, by its id, its folder or that folder's name; of one row, or of all."""
        return tuple(
            trial
            for trial in self.trials
            if task in (trial.task, trial.task_dir, PurePath(trial.task_dir).name)
            and row in (None, trial.row)
        )


def load_benchmark(folder: str | os.PathLike[str]) -> BenchmarkResults:
    """What a benchmark's folder says: data/rollouts/NAME/STAMP, of whose stamp a unique beginning is enough.

    Raises: NotFound where there is no such folder, or several begin so; DataError for a manifest that is none.
    """
    place = _the_folder(Path(folder))
    path = place / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFound(f"{place} has no {MANIFEST}: it is no folder of a rollout") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: {error}") from None
    told = JsonObject(manifest, str(path))
    results: list[Any] = told.take("results", list) or []
    trials = tuple(_trial(each, f"{path}, results[{number}]") for number, each in enumerate(results))
    stamp = told.take("created_at", str) or place.name
    return BenchmarkResults(told.take("name", str) or place.parent.name, stamp, place, trials, manifest)


def get_task_score(results: BenchmarkResults, task_name: str, row: str | None = None) -> float | None:
    """The mean score, 0 to 1, over the scored trials of a task; None where none is scored, or there is no such task.

    `task_name` is the task's id, its folder, or that folder's name. `row` is one AGENT/MODEL; without it the trials
    of all rows count alike.
    """
    scores = [trial.score for trial in results.of_task(task_name, row) if trial.score is not None]
    return math.fsum(scores) / len(scores) if scores else None


def _the_folder(folder: Path) -> Path:
    if folder.is_dir():
        return folder
    found = sorted(each for each in folder.parent.glob(f"{_plain(folder.name)}*") if each.is_dir())
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{folder} is the beginning of several: {', '.join(each.name for each in found)}")
    raise NotFound(f"There is no folder {folder}, and none whose name begins so")


def _plain(name: str) -> str:
    """The name as a pattern that means it alone."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def _trial(found: object, where: str) -> TrialResult:
    told = JsonObject(found, where)
    task_dir = told.need("task_dir", str)
    return TrialResult(
        told.need("run_id", str),
        Path(told.take("run_dir", str) or ""),
        told.take("task", str) or PurePath(task_dir).name,
        task_dir,
        told.take("row", str) or "",
        told.take("rollout", int) or 0,
        told.take("state", str) or "pending",
        told.take("score", float, int),
        told.take("seconds", float, int),
        told.take("tokens", int),
        told.take("cost_usd", float, int),
        told.take("custom_metrics", dict) or {},
    )
