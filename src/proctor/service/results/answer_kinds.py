"""How the replies of a run are read: the kind of each task's answers and its labels, from the run's manifest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

from proctor.errors import ConfigError, DataError
from proctor.grading.exam import Reads
from proctor.grading.formats import AnswerFormat, Label
from proctor.grading.texts import key
from proctor.grading.vocabulary import vocabulary
from proctor.service.kinds import kind_of
from proctor.service.kinds.contract import TaskLabels
from proctor.service.opening.sources import open_source
from proctor.settings import Settings
from proctor.sources.exams.files.targets import PAIRS
from proctor.types import Run


def reads(run: Run) -> dict[str, Reads]:
    """For each task of the run. Raises ConfigError for a run made before manifests said so."""
    found = {}
    for task, spec in run.manifest.facts.tasks.items():
        told = kind_told(run, task)
        kind = next((known for known in get_args(AnswerFormat) if known == told), None)
        if kind is None:
            raise ConfigError(
                f"Run {run.id[:8]}: this version of proctor cannot read answers of the kind {told!r}"
            )
        labels = _labels(run, task, spec.labels)
        found[task] = Reads(kind, vocabulary(labels) if labels else None)
    return found


def kind_told(run: Run, task: str) -> str:
    """What the answers of a task are. Raises ConfigError for a run made before manifests said so."""
    if (kind := run.manifest.facts.tasks[task].kind) is not None:
        return kind
    if kept_as_they_are(run):
        raise ConfigError(
            f"Run {run.id[:8]} was sent without right answers, so its replies are kept as they are: "
            "`proctor batch run FILE --gold FIELD` grades them"
        )
    raise ConfigError(
        f"Run {run.id[:8]} does not say what the answers of {task} are: an older version of proctor made it. "
        f"`proctor rerun {run.id[:8]}` asks again"
    )


def kept_as_they_are(run: Run) -> bool:
    """Whether the run's replies are compared with nothing: requests whose right answers are not known."""
    tasks = run.manifest.facts.tasks.values()
    return kind_of(run.cell.source).holds == "requests" and all(spec.kind is None for spec in tasks)


def with_labels(how: Mapping[str, Reads], labels: TaskLabels | None) -> Mapping[str, Reads]:
    """The same with the labels that only the rows have, with their synonyms; None where they are not at hand."""
    if labels is None:
        return how
    return {
        task: replace(each, vocabulary=vocabulary(labels[task]) if labels.get(task) else None)
        for task, each in how.items()
    }


def row_labels(run: Run, settings: Settings) -> TaskLabels | None:
    """The labels in the run's rows; None where proctor itself has them, and where the rows are gone or changed."""
    labels = kind_of(run.cell.source).row_labels
    if labels is None:
        return None
    try:
        source = open_source(run.cell.source, settings)
    except (ConfigError, DataError):
        return None
    same = source.facts.item_set_sha256 == run.manifest.facts.item_set_sha256
    return labels(source) if same else None


def _labels(run: Run, task: str, names: Sequence[str]) -> tuple[Label, ...]:
    """A suite's labels with their synonyms; of a file's labels the names are known, and the pairs of targets.py."""
    if known := kind_of(run.cell.source).task_labels(task):
        return known
    synonyms = PAIRS.get(frozenset(key(name) for name in names), {})
    return tuple(Label(name, synonyms.get(key(name), ())) for name in names)
