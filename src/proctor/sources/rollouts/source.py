"""The tasks of a benchmark as a source: one item a task, whose identity is its content's hash."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from proctor.errors import DataError
from proctor.figures import not_contained_mark
from proctor.findings import METRIC_VERSIONS
from proctor.manifest import RolloutFacts, TaskSpec
from proctor.references import RolloutsRef, TaskEntry
from proctor.sources.rollouts.reading import read_copy, read_task
from proctor.sources.rollouts.task import PreparedTask
from proctor.types import Gold, Item, TaskFolder

PASSED = "passed"  # what a trial is meant to end as
SUCCESS, SCORE = ("success_rate",), ("mean_score",)  # what counts, and what stands beside it
GROUP = "tasks"  # all of a benchmark's tasks are scored together
SUFFIX = 6  # digits of the hash that tell tasks of one name apart


@dataclass(frozen=True, slots=True)
class RolloutsSource:
    """The tasks of a benchmark, in its order. `by_id` tells each item's task and entry."""

    title: str
    facts: RolloutFacts
    tasks: Sequence[PreparedTask] = field(repr=False)
    entries: Sequence[TaskEntry] = field(repr=False)
    understood: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.tasks)

    def items(self) -> Iterator[Item]:
        often = Counter(task.sha256 for task in self.tasks)
        for task, entry in zip(self.tasks, self.entries, strict=True):
            ask = TaskFolder(str(task.origin), task.instruction, entry.overrides)
            # Folders with the same content are one task, and so not independent.
            cluster = task.sha256[:32] if often[task.sha256] > 1 else None
            yield Item(task.id, GROUP, ask, Gold(PASSED), cluster=cluster, hash=task.sha256[:32])

    @property
    def by_id(self) -> Mapping[str, tuple[PreparedTask, TaskEntry]]:
        return {task.id: (task, entry) for task, entry in zip(self.tasks, self.entries, strict=True)}


def open_rollouts(ref: RolloutsRef, home: Path) -> RolloutsSource:
    """The source of a benchmark; `home` is PROCTOR_HOME, where private copies are kept.

    Raises: DataError for folders that are no prepared tasks, all of them at once.
    """
    tasks = tasks_of(ref, home)
    folders = {task.id: task.sha256 for task in tasks}
    digest = hashlib.sha256("\n".join(sorted(folders.values())).encode()).hexdigest()
    facts = RolloutFacts(
        rows="rollouts",
        tasks={GROUP: TaskSpec(ref.name, "text", SUCCESS, SCORE, asked=len(tasks))},
        metric_versions={name: METRIC_VERSIONS[name] for name in (*SUCCESS, *SCORE)},
        n=len(tasks),
        item_set_sha256=digest,
        folders=folders,
        pass_score=ref.pass_score,
        rollouts={task.id: entry.rollouts for task, entry in zip(tasks, ref.tasks, strict=True)},
    )
    title = f"{ref.name}{not_contained_mark(ref.sandbox)}"
    return RolloutsSource(title, facts, tasks, ref.tasks, tuple(_understood(tasks, ref)))


def tasks_of(ref: RolloutsRef, home: Path) -> list[PreparedTask]:
    """The tasks of a benchmark, in its order, with ids that differ. Raises: DataError with all that is wrong."""
    return told_apart(_read(ref, home))


def _read(ref: RolloutsRef, home: Path) -> list[PreparedTask]:
    read: dict[tuple[str, str | None, str | None], PreparedTask] = {}
    faults: dict[str, None] = {}
    for entry in ref.tasks:
        if _key(entry) in read:
            continue
        try:
            read[_key(entry)] = _of_entry(entry, home)
        except DataError as error:
            faults[str(error)] = None
    if faults:
        raise DataError("\n".join(faults))
    return [read[_key(entry)] for entry in ref.tasks]


def _key(entry: TaskEntry) -> tuple[str, str | None, str | None]:
    return entry.folder, entry.overrides, entry.content


def _of_entry(entry: TaskEntry, home: Path) -> PreparedTask:
    """By its hash where it was handed in for other machines, else as its folder is now."""
    if entry.content is not None:
        return read_copy(entry.content, Path(entry.folder), home)
    return read_task(Path(entry.folder), home, None if entry.overrides is None else Path(entry.overrides))


def told_apart(tasks: Sequence[PreparedTask]) -> list[PreparedTask]:
    """The tasks with ids that differ: a suffix of the content's hash where tasks share a name, then a number."""
    contents: dict[str, set[str]] = {}
    for task in tasks:
        contents.setdefault(task.id, set()).add(task.sha256)
    made: list[PreparedTask] = []
    seen: Counter[str] = Counter()
    for task in tasks:
        ident = task.id if len(contents[task.id]) == 1 else f"{task.id}-{task.sha256[:SUFFIX]}"
        seen[ident] += 1
        made.append(replace(task, id=ident if seen[ident] == 1 else f"{ident}-{seen[ident]}"))
    return made


def _understood(tasks: Sequence[PreparedTask], ref: RolloutsRef) -> Iterator[str]:
    rollouts = sum(entry.rollouts for entry in ref.tasks)
    yield f"{_counted(len(tasks), 'task')}, {_counted(rollouts, 'rollout')} in all"
    yield from remarks(tasks, ref)


def remarks(tasks: Sequence[PreparedTask], ref: RolloutsRef) -> Iterator[str]:
    """What a person should know of the tasks before they are run, in sentences."""
    for task, entry in zip(tasks, ref.tasks, strict=True):
        if task.changes:
            yield f"{task.id}: overrides applied to a private copy: {'; '.join(task.changes)}"
        elif entry.overrides is not None:
            yield f"{task.id}: its overrides change nothing"
        yield from (f"{task.id}: {remark}" for remark in task.remarks)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
