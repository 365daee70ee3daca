"""What people's labels are worth in numbers: the grades of a reply by all of a rubric's criteria, over labellers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.references import PREFERENCE, Criterion, GradingRubric
from proctor.service.labelling.said import every_label
from proctor.store import Store
from proctor.store.write.graded_labels import Drawn, GradedLabel, counting, current

ItemRepeat = tuple[str, int]


@dataclass(frozen=True, slots=True)
class LabelScore:
    """What people find a reply worth, from 0 to 1: the mean over its labellers, of a preference the run's own side.

    `attempt` is the one that was seen, None where that is not known.
    """

    score: float
    users: tuple[str, ...]
    attempt: int | None


@dataclass(frozen=True, slots=True)
class LabelledBy:
    """Labels of a run by one rubric, alone or against another run. `random` are those that may enter estimates."""

    rubric: str
    against: str | None
    labels: int
    random: int
    users: tuple[str, ...]


def label_scores(
    store: Store,
    run_id: str,
    rubric: GradingRubric,
    *,
    against: str | None = None,
    criterion: str | None = None,
    drawn: Drawn | None = "random",
) -> dict[ItemRepeat, LabelScore]:
    """By item and repeat, of replies that somebody graded by all criteria, or by the one named.

    The default are labels that stand for all: of items drawn at random, given blindly. Where people differ about a
    reply its score is the mean of theirs. Raises NotFound for the run.
    """
    said: dict[ItemRepeat, dict[str, dict[str, GradedLabel]]] = defaultdict(lambda: defaultdict(dict))
    for label in counting(every_label(store, run_id, rubric.words, against), drawn=drawn):
        said[label.item_id, label.repeat][label.user][label.criterion] = label
    scored = (
        (item, _score(by_user, [each for each in rubric.of(item[0]) if criterion in (None, each.name)]))
        for item, by_user in said.items()
    )
    return {item: score for item, score in scored if score is not None}


def _score(said: Mapping[str, Mapping[str, GradedLabel]], asked: Sequence[Criterion]) -> LabelScore | None:
    """Labels of an attempt that was replaced say nothing of the one that came after: the newest attempt counts."""
    every = [
        label.attempt for labels in said.values() for label in labels.values() if label.attempt is not None
    ]
    attempt = max(every, default=None)
    worths = {}
    for user, labels in said.items():
        seen = {name: label for name, label in labels.items() if label.attempt in (None, attempt)}
        worth = _worth(seen, asked)
        if worth is not None:
            worths[user] = worth
    if not worths:
        return None
    return LabelScore(sum(worths.values()) / len(worths), tuple(sorted(worths)), attempt)


def _worth(labels: Mapping[str, GradedLabel], asked: Sequence[Criterion]) -> float | None:
    total = weights = 0.0
    for each in asked:
        label = labels.get(each.name)
        if label is None or label.grade is None:
            return None
        worths = each.worth if label.against is None else PREFERENCE
        if label.grade not in worths:
            return None
        total += each.weight * worths[label.grade]
        weights += each.weight
    return total / weights if weights else None


def labelled(store: Store, run_id: str) -> list[LabelledBy]:
    """By which rubrics a run's replies were labelled, the last labelled first. Raises NotFound."""
    found: dict[tuple[str, str | None], list[GradedLabel]] = defaultdict(list)
    for label in reversed(current(store, run_id)):
        found[label.rubric, label.against].append(label)
    return [
        LabelledBy(
            rubric,
            against,
            len(labels),
            sum(each.drawn == "random" for each in labels),
            tuple(sorted({each.user for each in labels})),
        )
        for (rubric, against), labels in found.items()
    ]
