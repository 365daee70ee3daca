"""What people have said of replies, read off the kept labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from proctor.references import GradingRubric
from proctor.service.labelling.wish import LabelWish
from proctor.store import Store
from proctor.store.write.graded_labels import REVEALED, TURNED, Drawn, GradedLabel, counting, history
from proctor.types import Run


@dataclass(frozen=True, slots=True)
class LabelSaid:
    """What one labeller says of an entry by one criterion. `revealed`: after having seen model and grades."""

    grade: str
    note: str | None
    tags: tuple[str, ...]
    drawn: Drawn
    revealed: bool
    attempt: int | None
    at: float


Place = tuple[str, str, int]  # run id, item id, repeat


def said_by(
    store: Store, runs: Sequence[Run], rubric: GradingRubric, wish: LabelWish
) -> dict[Place, dict[str, LabelSaid]]:
    """What the wish's user says by now, by criterion."""
    found: dict[Place, dict[str, LabelSaid]] = defaultdict(dict)
    for run in runs[:1] if wish.pairwise else runs:
        against = runs[1].id if wish.pairwise else None
        for label in counting(every_label(store, run.id, rubric.words, against)):
            if label.user == wish.user:
                found[run.id, label.item_id, label.repeat][label.criterion] = said_of(label)
    return found


def said_of(label: GradedLabel, turned: bool = False) -> LabelSaid:
    """With `turned` the grade of a preference as the other of its two has it."""
    assert label.grade is not None
    grade = TURNED[label.grade] if turned else label.grade
    looked = REVEALED in label.tags
    tags = tuple(tag for tag in label.tags if tag != REVEALED)
    return LabelSaid(grade, label.note, tags, label.drawn, looked, label.attempt, label.at)


def every_label(store: Store, run_id: str, rubric: str, against: str | None = None) -> list[GradedLabel]:
    """All that was ever said of a run's replies alone, or beside those of `against`, the oldest first.

    A preference may lie with either run: where it lies with the other one, it is turned. Raises NotFound.
    """
    own = [each for each in history(store, run_id, rubric) if each.against == against]
    if against is None:
        return own
    theirs = history(store, against, rubric)
    turned = (mirrored(each, against) for each in theirs if each.against == run_id)
    return sorted([*own, *turned], key=lambda label: label.id)


def mirrored(label: GradedLabel, against: str) -> GradedLabel:
    """A preference as the other run has it."""
    return replace(label, grade=label.grade and TURNED[label.grade], against=against)
