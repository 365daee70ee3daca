"""The tasks of a benchmark as a source: one item a task, whose identity is its content's hash."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proctor.findings import METRIC_VERSIONS
from proctor.manifest import RolloutFacts, TaskSpec
from proctor.references import RolloutsRef, TaskEntry
from proctor.sources.rollouts.task import PreparedTask, read_task
from proctor.types import Gold, Item, TaskFolder

PASSED = "passed"  # what a trial is meant to end as
SUCCESS, SCORE = ("success_rate",), ("mean_score",)  # what counts, and what stands beside it
GROUP = "tasks"  # all of a benchmark's tasks are scored together


@dataclass(frozen=True, slots=True)
class RolloutsSource:
    """The tasks of a benchmark, in its order. `places` tells each item's entry by its id."""

    title: str
    facts: RolloutFacts
    tasks: Sequence[PreparedTask] = field(repr=False)
    entries: Sequence[TaskEntry] = field(repr=False)
    understood: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.tasks)

    def items(self) -> Iterator[Item]:
        for task, entry in zip(self.tasks, self.entries, strict=True):
            ask = TaskFolder(str(task.folder), task.instruction, entry.overrides)
            yield Item(task.id, GROUP, ask, Gold(PASSED), hash=task.sha256[:32])

    @property
    def by_id(self) -> Mapping[str, tuple[PreparedTask, TaskEntry]]:
        return {task.id: (task, entry) for task, entry in zip(self.tasks, self.entries, strict=True)}


def open_rollouts(ref: RolloutsRef) -> RolloutsSource:
    """Raises: DataError for a folder that is no prepared task."""
    tasks = [read_task(Path(entry.folder)) for entry in ref.tasks]
    folders = {task.id: task.sha256 for task in tasks}
    digest = hashlib.sha256("\n".join(sorted(folders.values())).encode()).hexdigest()
    facts = RolloutFacts(
        rows="rollouts",
        tasks={GROUP: TaskSpec(ref.name, "text", SUCCESS, SCORE, asked=len(tasks))},
        metric_versions={name: METRIC_VERSIONS[name] for name in (*SUCCESS, *SCORE)},
        n=len(tasks),
        item_set_sha256=digest,
        folders=folders,
        rollouts={task.id: entry.rollouts for task, entry in zip(tasks, ref.tasks, strict=True)},
    )
    return RolloutsSource(ref.name, facts, tasks, ref.tasks)
