"""Which grader grades the replies to a file's requests, where right answers are known, and what its scores make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from proctor.errors import ConfigError, DataError
from proctor.findings import METRIC_VERSIONS
from proctor.grading.exam import metric_of
from proctor.grading.formats import Label
from proctor.grading.reading.ladder import EXTRACTOR
from proctor.grading.spec import OpenGrader, parse_grader
from proctor.grading.vocabulary import vocabulary
from proctor.manifest import BatchFacts, TaskSpec
from proctor.protocols import Grader
from proctor.references import BatchRef
from proctor.sources.batches.lines import GROUP

MOST_LABELS = 50
Answers = Sequence[tuple[str, ...]]  # differing right answers, the target of each first


@dataclass(frozen=True, slots=True)
class BatchGrader:
    """The grader of a file's replies, and why it was taken, in a sentence for a person."""

    grader: Grader
    why: str


def named_grader(ref: BatchRef) -> OpenGrader | None:
    """Raises: ConfigError for a grader that is unknown, or needs right answers where none are named."""
    if ref.grader is None:
        return None
    grader = parse_grader(ref.grader)
    if grader.entry.kind not in ("text", "labels"):
        raise ConfigError(
            f"--grader {ref.grader}: requests have no lettered choices. Right answers that are letters are compared by "
            "`exact`, `contains` or `regex:pattern=...`"
        )
    if ref.gold is None and not grader.entry.without_gold:
        raise ConfigError(
            f"--grader {ref.grader} compares with right answers: say where they are (--gold FIELD or FILE)"
        )
    return grader


def graded_by(ref: BatchRef, named: OpenGrader | None, answers: Answers) -> BatchGrader | None:
    """The grader that was named, else the one that fits the right answers; None where nothing is scored.

    Raises: DataError where right answers are to be found and none are, ConfigError.
    """
    if ref.gold is not None and not answers:
        raise DataError(f"{ref.listed}: no request has a right answer under {ref.gold!r}")
    if named is not None:
        return BatchGrader(ready(named, answers), f"Grader {named.name}: it was named.")
    if not answers:
        return None
    from proctor.grading.choosing import (
        choose,
    )  # knows many languages' words, and few files have right answers

    choice = choose(answers, asks_for_line=False)
    return BatchGrader(choice.grader, choice.why)


def ready(grader: OpenGrader, answers: Answers) -> OpenGrader:
    """The grader with the labels that the right answers are, where it tells labels. Raises: ConfigError."""
    if grader.entry.kind != "labels":
        return grader
    names = labels_in(answers)
    if len(names) > MOST_LABELS:
        raise ConfigError(
            f"--grader labels: the right answers are {len(names):,} different texts, and no labels"
        )
    return replace(grader, vocabulary=vocabulary(tuple(Label(name, ()) for name in names)))


def labels_in(answers: Answers) -> tuple[str, ...]:
    return tuple(sorted({text for row in answers for text in row}))


def with_grader(facts: BatchFacts, grader: Grader | None, answers: Answers) -> BatchFacts:
    """The facts with who grades, and the metric that the scores make; nothing is scored without a grader."""
    spec = facts.tasks[GROUP]
    if grader is None:
        plain: TaskSpec = replace(spec, kind=None, official=(), labels=(), grader=None)
        return replace(facts, tasks={GROUP: plain}, metric_versions=None, aggregate=None, extractor=None)
    words: str = getattr(grader, "words", grader.name)
    metric = metric_of(words)
    kind = grader.entry.kind if isinstance(grader, OpenGrader) else "text"
    labels = labels_in(answers) if kind == "labels" else ()
    scored = replace(spec, kind=kind, official=(metric,), labels=labels, grader=words)
    return replace(
        facts,
        tasks={GROUP: scored},
        metric_versions={metric: METRIC_VERSIONS[metric]},
        aggregate="micro",
        scored_tasks=1,
        extractor=EXTRACTOR,
    )
