"""What an imported run's numbers rest on, in the words of sources/exams/source.py as far as a log can say them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator

import orjson

from proctor import __version__
from proctor.findings import METRIC_VERSIONS
from proctor.grading.formats import AnswerFormat
from proctor.interop.logs import Group, Log, LoggedTask
from proctor.manifest import LogFacts, Manifest, ServedModel, TaskSpec
from proctor.stats.descriptive.averages import weighed

GROUP_ROUNDING = 1e-6  # the mean over items and the mean over tasks differ by more, or not at all


def log_manifest(log: Log) -> Manifest:
    """Everything that the log says of its run."""
    asked = {task: len(items) for task, items in _items(log).items()}
    graded, group = graded_tasks(log), whole_group(log)
    # Only shares of right answers can be pooled over items.
    pooled = group is not None and graded.isdisjoint(group.tasks) and _pooled(log, group)
    below = {each.title: each.tasks for each in log.groups if each is not group}
    facts = LogFacts(
        tool=log.tool,
        tool_version=log.version,
        log=str(log.path.absolute()),
        log_sha256=log.sha256,
        log_content_sha256=content_sha256(log),
        log_settings=log.settings,
        log_notes=log.notes,
        tasks={task.key: _spec(task, task.key in graded, asked[task.key]) for task in log.tasks},
        # Both, for whichever a task has: one grade in between must not part two runs of the same scorer.
        metric_versions={name: METRIC_VERSIONS[name] for name in ("accuracy", "mean")},
        aggregate="micro" if pooled else "macro",
        categories=below if pooled else {},
        n=sum(asked.values()),
        item_set_sha256=_item_set(log),
        prompts=log.prompts,
        extractor=log.extractor,
    )
    return Manifest(facts, proctor=__version__, model=ServedModel(name=f"{log.tool}/{log.model}"))


def content_sha256(log: Log) -> str:
    """Of what the log says, whatever file says it: Inspect writes one run as .eval and as .json."""
    samples = [(s.item, s.repeat, s.content, s.score, s.answer, s.reply) for s in log.samples]
    facts = [log.tool, log.model, log.created_at, log.extractor, sorted(samples, key=str)]
    return hashlib.sha256(orjson.dumps(facts, default=str)).hexdigest()


def graded_tasks(log: Log) -> frozenset[str]:
    """The tasks in which some score is neither right nor wrong."""
    return frozenset(sample.task for sample in log.samples if sample.score not in (0.0, 1.0, None))


def whole_group(log: Log) -> Group | None:
    """The group that holds all tasks of the log."""
    names = {task.key for task in log.tasks if not task.extra}
    return next((group for group in log.groups if set(group.tasks) == names), None)


def figures(log: Log) -> Iterator[tuple[str, str, float]]:
    """Title, task ("" for the whole) and value of the other tool's own figures."""
    group = whole_group(log)
    if group and group.theirs is not None:
        yield group.title, "", group.theirs
    for task in log.tasks:
        if task.theirs is not None:
            yield task.title, task.key, task.theirs


def _items(log: Log) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {task.key: set() for task in log.tasks}
    for sample in log.samples:
        found[sample.task].add(sample.item)
    return found


def _item_set(log: Log) -> str:
    pairs = sorted({(sample.item, sample.content) for sample in log.samples})
    return hashlib.sha256(orjson.dumps(pairs)).hexdigest()


def _spec(task: LoggedTask, graded: bool, asked: int) -> TaskSpec:
    """A grade in between is one of free words: what is chosen is right or wrong."""
    kind: AnswerFormat = "text" if graded else "choices"
    metric = "mean" if graded else "accuracy"
    return TaskSpec(task.title, kind, official=(metric,), extra=task.extra, asked=asked)


def _pooled(log: Log, group: Group) -> bool:
    """True where the group's figure is the share over all its items; the other way is the mean of its tasks.

    Where the log gives no figure: over the items, as lm-eval does unless it is told otherwise.
    """
    tasks = [task for task in log.tasks if task.key in group.tasks]
    if group.theirs is None or any(task.theirs is None for task in tasks):
        return True
    sizes = Counter(sample.task for sample in log.samples)
    known = [(task.theirs, sizes[task.key]) for task in tasks if task.theirs is not None]
    pooled, plain = weighed(known), weighed((value, 1) for value, _ in known)
    return abs(pooled - group.theirs) <= abs(plain - group.theirs) + GROUP_ROUNDING
