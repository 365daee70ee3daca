"""What people say of a reply as a whole: labels, added and never changed; the newest of a place counts.

Grades by the criteria of a rubric are in the same table and not told here: graded_labels.py has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import orjson
from sqlalchemy import Select, func, or_, select

from proctor.store.core.attempts import Store
from proctor.store.core.batch_tables import LABEL
from proctor.store.core.bodies import clean
from proctor.store.core.tables import ATTEMPT

Verdict = Literal["good", "bad", "best", "edited"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class ReplyLabel:
    """What somebody says of a reply: a verdict, the reply as it should be (of `edited`), a note, tags.

    One that says nothing takes back what was said before. `at` is Unix time.
    """

    id: int
    item_id: str
    repeat: int
    verdict: Verdict | None
    text: str | None
    note: str | None
    tags: tuple[str, ...]
    user: str
    at: float

    @property
    def says_nothing(self) -> bool:
        return not (self.verdict or self.text or self.note or self.tags)


_COLUMNS = [LABEL.c[name] for name in ReplyLabel.__dataclass_fields__]
_OF_ALL = LABEL.c.criterion.is_(None)


def add(store: Store, run_id: str, new: ReplyLabel) -> ReplyLabel:
    """Keep a label; its id is given here. Raises NotFound for the run."""
    row = {
        "run_num": store.number(run_id),
        "item_id": new.item_id,
        "repeat": new.repeat,
        "verdict": new.verdict,
        "text": clean(new.text),
        "note": clean(new.note),
        "tags": orjson.dumps([clean(tag) for tag in new.tags]).decode(),
        "user": new.user,
        "at": new.at,
    }
    with store.writing() as connection:
        return _label(connection.execute(LABEL.insert().returning(*_COLUMNS), row).one())


def of_row(store: Store, run_id: str, item_id: str, repeat: int) -> list[ReplyLabel]:
    """The newest first. Raises NotFound for the run."""
    query = select(*_COLUMNS).where(
        LABEL.c.run_num == store.number(run_id), LABEL.c.item_id == item_id, LABEL.c.repeat == repeat, _OF_ALL
    )
    with store.reading() as connection:
        return [_label(row) for row in connection.execute(query.order_by(LABEL.c.id.desc()))]


def current(store: Store, run_id: str, ids: Sequence[str]) -> dict[tuple[str, int], ReplyLabel]:
    """What counts of some items, by (item id, repeat). Raises NotFound for the run."""
    found: dict[tuple[str, int], ReplyLabel] = {}
    for begin in range(0, len(ids), AT_ONCE):
        query = _current(store.number(run_id)).where(LABEL.c.item_id.in_(ids[begin : begin + AT_ONCE]))
        with store.reading() as connection:
            labels = [_label(row) for row in connection.execute(query)]
        found |= {(each.item_id, each.repeat): each for each in labels if not each.says_nothing}
    return found


def all_current(store: Store, run_id: str) -> Iterator[tuple[int, ReplyLabel]]:
    """Every label that counts with the position of its row, in the order of the file. Raises NotFound."""
    num = store.number(run_id)
    place = (
        select(func.min(ATTEMPT.c.position))
        .where(
            ATTEMPT.c.run_num == num,
            LABEL.c.run_num == num,  # which the walls ask for
            ATTEMPT.c.item_id == LABEL.c.item_id,
            ATTEMPT.c.repeat == LABEL.c.repeat,
        )
        .correlate(LABEL)
        .scalar_subquery()
    )
    with store.reading() as connection:
        rows = connection.execute(_current(num).add_columns(place.label("position"))).fetchall()
    placed = [(row.position, _label(row[:-1])) for row in rows if row.position is not None]
    told = [(position, each) for position, each in placed if not each.says_nothing]
    yield from sorted(told, key=lambda pair: (pair[0], pair[1].repeat))


def _current(num: int) -> Select[Any]:
    """The newest label of each place, those that take another back among them."""
    newest = (
        select(func.max(LABEL.c.id))
        .where(LABEL.c.run_num == num, _OF_ALL)
        .group_by(LABEL.c.item_id, LABEL.c.repeat)
    )
    return select(*_COLUMNS).where(LABEL.c.run_num == num, LABEL.c.id.in_(newest))


def counts(store: Store, run_id: str) -> tuple[dict[str, int], dict[str, int]]:
    """How many labels that count have each verdict, and each tag. Raises NotFound."""
    verdicts, tags = dict[str, int](), dict[str, int]()
    said = or_(LABEL.c.verdict.is_not(None), LABEL.c.tags != "[]")
    with store.reading() as connection:
        rows = connection.execute(_current(store.number(run_id)).where(said)).fetchall()
    for each in map(_label, rows):
        if each.verdict is not None:
            verdicts[each.verdict] = verdicts.get(each.verdict, 0) + 1
        for tag in each.tags:
            tags[tag] = tags.get(tag, 0) + 1
    return verdicts, tags


def _label(row: Sequence[Any]) -> ReplyLabel:
    ident, item_id, repeat, verdict, text, note, tags, user, at = row
    return ReplyLabel(ident, item_id, repeat, verdict, text, note, tuple(orjson.loads(tags)), user, at)
