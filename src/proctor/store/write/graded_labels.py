"""What people say of replies by the criteria of a rubric: graded labels, added and never changed.

They lie in the table of labels.py beside labels of a whole reply. A label without a grade takes the one before it
back, which is the newest of the same place, criterion and labeller that still counts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal

import orjson
from sqlalchemy import select

from proctor.store.core.attempts import Store
from proctor.store.core.batch_tables import LABEL
from proctor.store.core.bodies import clean

Drawn = Literal["random", "chosen"]
REVEALED = (
    "revealed"  # the tag of what was said after looking, and of the row that keeps that somebody looked
)
TURNED: Mapping[str, str] = {"1": "2", "tie": "tie", "2": "1"}  # a preference as the other of the two has it
_ROWS = 500  # of one statement


@dataclass(frozen=True, slots=True)
class GradedLabel:
    """What somebody says of one reply by one criterion, or with `against` of the replies of two runs.

    `grade` is one of the criterion's scale; of a preference "1" is the reply of the run that the label lies with.
    `rubric` is a rubric's `words`, `drawn` whether the item was drawn at random and graded blindly: only then it stands
    for all. `attempt` is the reply that was seen, `at` Unix time.
    """

    id: int
    item_id: str
    repeat: int
    attempt: int | None
    criterion: str
    rubric: str
    against: str | None
    grade: str | None
    note: str | None
    tags: tuple[str, ...]
    drawn: Drawn
    user: str
    at: float

    @property
    def of(self) -> tuple[str, int, str, str, str | None, str]:
        """What and whose: labels of which this is equal are about the same."""
        return self.item_id, self.repeat, self.criterion, self.rubric, self.against, self.user

    @property
    def looked(self) -> bool:
        """Whether it only keeps that its labeller saw model and grades: it says nothing and takes nothing back."""
        return self.grade is None and REVEALED in self.tags


_NAMES = tuple(GradedLabel.__dataclass_fields__)
_COLUMNS = [LABEL.c["verdict" if name == "grade" else name] for name in _NAMES]


def add(store: Store, run_id: str, labels: Iterable[GradedLabel]) -> list[GradedLabel]:
    """Keep labels in one transaction, all or none; their ids are given here. Raises NotFound, StoreError."""
    num = store.number(run_id)
    left = iter(labels)
    added: list[GradedLabel] = []
    with store.writing() as connection:
        while some := list(islice(left, _ROWS)):
            statement = LABEL.insert().returning(*_COLUMNS, sort_by_parameter_order=True)
            rows = connection.execute(statement, [_values(num, each) for each in some])
            added += [_label(row) for row in rows]
    return added


def history(store: Store, run_id: str, rubric: str | None = None) -> list[GradedLabel]:
    """All that was ever said by a rubric, or by any, the oldest first. Raises NotFound for the run."""
    query = select(*_COLUMNS).where(LABEL.c.run_num == store.number(run_id), LABEL.c.criterion.is_not(None))
    if rubric is not None:
        query = query.where(LABEL.c.rubric == rubric)
    with store.reading() as connection:
        return [_label(row) for row in connection.execute(query.order_by(LABEL.c.id))]


def current(
    store: Store, run_id: str, rubric: str | None = None, *, drawn: Drawn | None = None
) -> list[GradedLabel]:
    """What counts, one of each place, criterion, other run and labeller, the oldest first. Raises NotFound.

    With `drawn` the last of that kind: `random` is what was said blindly, whatever its labeller said after looking.
    """
    return counting(history(store, run_id, rubric), drawn=drawn)


def counting(said: Iterable[GradedLabel], *, drawn: Drawn | None = None) -> list[GradedLabel]:
    """The same of labels that are at hand, which have to be given oldest first."""
    kinds = (each for stack in standing(said).values() for each in _last(stack, drawn))
    return sorted(kinds, key=lambda label: label.id)


def standing(said: Iterable[GradedLabel]) -> dict[tuple[object, ...], list[GradedLabel]]:
    """What was said and not taken back, by what and whose it is, the oldest first."""
    stacks: dict[tuple[object, ...], list[GradedLabel]] = defaultdict(list)
    for label in said:
        stack = stacks[label.of]
        if label.grade is not None:
            stack.append(label)
        elif stack and not label.looked:
            stack.pop()
    return stacks


def taking_back(label: GradedLabel, at: float) -> GradedLabel:
    """What is added so that a label no longer counts."""
    return replace(label, id=0, grade=None, note=None, tags=(), at=at)


def _last(stack: Sequence[GradedLabel], drawn: Drawn | None) -> list[GradedLabel]:
    return [each for each in stack if drawn in (None, each.drawn)][-1:]


def _values(num: int, label: GradedLabel) -> dict[str, Any]:
    return {
        "run_num": num,
        "item_id": label.item_id,
        "repeat": label.repeat,
        "attempt": label.attempt,
        "criterion": label.criterion,
        "rubric": label.rubric,
        "against": label.against,
        "verdict": label.grade,
        "note": clean(label.note),
        "tags": orjson.dumps([clean(tag) for tag in label.tags]).decode(),
        "drawn": label.drawn,
        "user": label.user,
        "at": label.at,
    }


def _label(row: Sequence[Any]) -> GradedLabel:
    told = dict(zip(_NAMES, row, strict=True))
    tags = tuple(orjson.loads(told["tags"]))
    return GradedLabel(**(told | {"tags": tags, "drawn": told["drawn"] or "chosen"}))
