"""How the replies of a run are read: the kind of each task's answers and its labels, from the run's manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from proctor.errors import ConfigError
from proctor.grading.formats import Kind, Label
from proctor.grading.texts import key
from proctor.grading.vocabulary import Vocabulary, vocabulary
from proctor.sources.exams.files.targets import PAIRS
from proctor.sources.exams.tables.tasks import TASKS
from proctor.types import Run


@dataclass(frozen=True, slots=True)
class Reads:
    """What the answers of a task are: their kind, and its labels ready for reading."""

    kind: Kind
    vocabulary: Vocabulary | None


def reads(run: Run) -> dict[str, Reads]:
    """For each task of the run. Raises ConfigError for a run made before manifests said so."""
    found = {}
    for task, spec in run.manifest.facts.tasks.items():
        told = kind_told(run, task)
        kind = next((known for known in get_args(Kind) if known == told), None)
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
    raise ConfigError(
        f"Run {run.id[:8]} does not say what the answers of {task} are: an older version of proctor made it. "
        f"`proctor rerun {run.id[:8]}` asks again"
    )


def _labels(run: Run, task: str, names: Sequence[str]) -> tuple[Label, ...]:
    """A suite's labels with their synonyms; of a file's labels the names are known, and the pairs of targets.py."""
    if run.cell.source.kind == "suite" and task in TASKS:
        return TASKS[task].labels
    synonyms = PAIRS.get(frozenset(key(name) for name in names), {})
    return tuple(Label(name, synonyms.get(key(name), ())) for name in names)
