"""How the replies of a run are read: the kind of each task's answers and its labels, from the run's manifest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    facts = run.manifest.get("metrics", {})
    found = {}
    for task in run.manifest.get("tasks", {}):
        known = facts.get(task)
        if not isinstance(known, dict) or "kind" not in known:
            raise ConfigError(
                f"Run {run.id[:8]} does not say what the answers of {task} are: an older version of proctor "
                f"made it. `proctor rerun {run.id[:8]}` asks again"
            )
        labels = _labels(run, task, known.get("labels") or ())
        found[task] = Reads(known["kind"], vocabulary(labels) if labels else None)
    return found


def _labels(run: Run, task: str, names: Sequence[str]) -> tuple[Label, ...]:
    """A suite's labels with their synonyms; of a file's labels the names are known, and the pairs of targets.py."""
    if run.cell.source.kind == "suite" and task in TASKS:
        return TASKS[task].labels
    synonyms = PAIRS.get(frozenset(key(name) for name in names), {})
    return tuple(Label(name, synonyms.get(key(name), ())) for name in names)
