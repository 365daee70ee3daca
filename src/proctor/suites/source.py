"""Suites as sources: rows drawn in the sampling order, put into words, and replies read against them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from proctor.errors import ConfigError, DataError, DataMissing
from proctor.suites.answers import EXTRACTOR, judge
from proctor.suites.prompts import PROMPTS
from proctor.suites.readers import Vocabulary, vocabulary
from proctor.suites.rows import Row, item_set_sha256, read_tasks
from proctor.suites.sampling import PRESETS, order, take
from proctor.suites.tasks import METRIC_VERSIONS, SUITES, Suite, Task
from proctor.types import Item, Message, Reading, Reply, SourceRef

SEED = 0  # of the order; one for all runs, or two models would not be asked the same items


@dataclass(frozen=True, slots=True)
class SuiteSource:
    """The items of a run, in order. Items are made when they are drawn; the rows are in memory."""

    title: str
    manifest: Mapping[str, Any]
    tasks: Mapping[str, Task]
    rows: tuple[Row, ...]
    vocabularies: Mapping[str, Vocabulary] = field(repr=False)
    row_ids: tuple[str, ...] = field(repr=False)  # of all rows, in their files' order
    understood: tuple[str, ...] = ()
    teaching: Callable[[str], Sequence[Row]] = field(default=lambda task: (), repr=False)  # a task's dev rows

    def labels(self) -> tuple[Mapping[str, Mapping[str, int]], str]:
        """How often each target stands in each task's dev rows; in the evaluated rows where there are none."""
        counts: dict[str, Mapping[str, int]] = {}
        without = []
        for key, task in self.tasks.items():
            rows: Sequence[Row] = self.teaching(key)
            if not rows:
                without.append(key)
                rows = [row for row in self.rows if row.task == key]
            named = {label.name: 0 for label in task.labels}
            counts[key] = {**named, **Counter(row.target for row in rows)}
        if not without:
            return counts, "the dev rows"
        if len(without) == len(self.tasks):
            return counts, "the evaluated rows"
        return counts, f"the dev rows (for {', '.join(without)}: the evaluated rows)"

    def __len__(self) -> int:
        return len(self.rows)

    def items(self) -> Iterator[Item]:
        for row in self.rows:
            yield to_item(row, self.tasks[row.task])

    def read(self, item: Item, reply: Reply) -> Reading:
        """What the reply says to one of this source's items, and what that is worth."""
        kind = self.tasks[item.group].kind
        return judge(item, reply, kind=kind, vocabulary=self.vocabularies.get(item.group))


def to_item(row: Row, task: Task) -> Item:
    """The row as it is asked."""
    prompt = PROMPTS[task.prompt].render(row.fields)
    choices = tuple(row.fields["choices"]) if task.kind == "choices" else ()
    return Item(
        id=row.id,
        group=row.task,
        prompt=prompt,
        target=row.target,
        choices=choices,
        aliases=row.aliases,
        cluster=short_hash(row.fields[task.cluster]) if task.cluster else None,
        hash=item_hash(prompt, choices, row.target, row.aliases),
    )


def item_hash(
    prompt: Sequence[Message], choices: Sequence[str], target: str | None, aliases: Sequence[str]
) -> str:
    """32 hex digits of the SHA-256 over what the model is shown and what is right."""
    shown = [[message.role, message.content] for message in prompt]
    return hashlib.sha256(orjson.dumps([shown, choices, target, aliases])).hexdigest()[:32]


def short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def open_suite(ref: SourceRef, home: Path) -> SuiteSource:
    """The items of a suite. Raises: ConfigError for an unknown suite or task, DataMissing, DataError."""
    if ref.name not in SUITES:
        raise ConfigError(f"Invalid benchmark suite. Supported: {', '.join(SUITES)}")
    suite = SUITES[ref.name]
    tasks = select(suite, ref.tasks)
    origin = ref.rows or "imported"
    sets = read_tasks([task.key for task in tasks], origin, home)
    rows = [row for row_set in sets.values() for row in row_set.rows]
    some = f": {', '.join(task.key for task in tasks)}" if len(tasks) < len(suite.tasks) else ""

    def dev_rows(task: str) -> Sequence[Row]:
        try:
            return read_tasks([task], origin, home, split="dev")[task].rows
        except DataMissing:
            return ()

    plain = make_source(
        ref,
        tasks,
        order(rows, seed=SEED),
        title=f"{suite.title}{some}",
        facts={
            "suite": suite.key,
            "rows": origin,
            "data_sha256": {task: row_set.sha256 for task, row_set in sets.items()},
        },
    )
    return replace(plain, row_ids=tuple(row.id for row in rows), teaching=dev_rows)


def select(suite: Suite, wanted: Sequence[str]) -> tuple[Task, ...]:
    """The tasks asked for, in the suite's order; all without any. Raises: ConfigError."""
    known = [task.key for task in suite.tasks]
    if unknown := [key for key in wanted if key not in known]:
        raise ConfigError(f"No task {unknown[0]!r} in {suite.key}. Its tasks: {', '.join(known)}")
    return tuple(task for task in suite.tasks if not wanted or task.key in wanted)


def make_source(
    ref: SourceRef, tasks: Sequence[Task], ordered: Sequence[Row], *, title: str, facts: Mapping[str, Any]
) -> SuiteSource:
    """The source of the rows that preset and limit leave, with the manifest of what it rests on."""
    rows = take_asked(ref, ordered)
    full_sizes = {task.key: 0 for task in tasks}
    for row in ordered:
        full_sizes[row.task] += 1
    manifest = {
        **facts,
        "tasks": {task.key: task.title for task in tasks},
        "n": len(rows),
        "full_sizes": full_sizes,
        "item_set_sha256": item_set_sha256(rows),
        "prompts": {task.prompt: PROMPTS[task.prompt].version for task in tasks},
        "extractor": EXTRACTOR,
        "metrics": {metric: METRIC_VERSIONS[metric] for task in tasks for metric in task.metrics},
        "seed": SEED,
        "preset": ref.preset,
        "limit": ref.limit,
    }
    vocabularies = {task.key: vocabulary(task.labels) for task in tasks if task.labels}
    by_key = {task.key: task for task in tasks}
    return SuiteSource(title, manifest, by_key, tuple(rows), vocabularies, tuple(row.id for row in ordered))


def take_asked(ref: SourceRef, ordered: Sequence[Row]) -> list[Row]:
    """The rows that preset and limit leave. Raises: ConfigError, DataError when none is left."""
    if ref.preset is not None and ref.preset not in PRESETS:
        raise ConfigError(f"No preset {ref.preset!r}. Presets: {', '.join(PRESETS)}")
    if ref.limit is not None and ref.limit < 1:
        raise ConfigError(f"The limit is {ref.limit}; it counts rows per task, from 1")
    rows = take(ordered, ref.preset, ref.limit)
    if not rows:
        raise DataError(f"{ref.name}: there are no rows to ask")
    return rows
