"""Labels from a file, as a spreadsheet or another program wrote it: all of them or, where a line is wrong, none."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from proctor.errors import ConfigError, DataError
from proctor.references import Criterion
from proctor.service.context import Context, find
from proctor.service.labelling.order import blind, opaque
from proctor.service.labelling.queue import LabelQueue, queue
from proctor.service.labelling.saying import checked_note, checked_tags
from proctor.service.labelling.wish import LabelWish, checked_labeller
from proctor.service.labelling.written import BETWEEN_TAGS
from proctor.sources.exams.files.faults import Faults, RowFault
from proctor.sources.exams.files.records import ZIPPED, Record, sheet_records, text_records
from proctor.store import Store
from proctor.store.write import graded_labels
from proctor.store.write.graded_labels import REVEALED, TURNED, Drawn, GradedLabel, counting
from proctor.types import Outcome, Run

KNOWN_COLUMNS = [frozenset({name}) for name in ("item_id", "grade", "criterion", "labeller", "repeat")]
SAME_S = 0.001  # labels of one place, grade and labeller that lie no further apart in time are one
GUARDED = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class LabelsTakenIn:
    """What a file held: `added` labels, `known` ones that were kept already, `older` ones than what their labeller says
    by now (those are not kept), and `empty` lines without a grade. `random` of the added may enter estimates.
    """

    added: int
    known: int
    older: int
    empty: int
    random: int

    @property
    def told(self) -> str:
        parts = [f"{self.added:,} labels added, {self.random:,} of them of items drawn at random"]
        parts += [f"{self.known:,} were known"] if self.known else []
        parts += (
            [f"{self.older:,} are older than what their labellers say now, and left"] if self.older else []
        )
        parts += [f"{self.empty:,} lines have no grade"] if self.empty else []
        return "; ".join(parts)


def take_in(
    context: Context, made: LabelQueue, name: str, body: bytes, *, own: bool = False
) -> LabelsTakenIn:
    """Keep the labels of a file (CSV, JSON lines or a workbook) about the queue's runs, by its rubric.

    Lines without a labeller are the queue's user's, and with `own` there may be no others. A label is only of an item
    drawn at random where the file says so. Raises: DataError that names every line that is wrong, before any is kept.
    """
    faults = Faults(name)
    faults.may_go = False
    records = _records(name, body, faults)
    reader = _Reader.of(context.store, made, own=own)
    read = faults.each(records, reader.label)
    faults.settle(len(records), lenient=False)
    labels = [each for each in read if each is not None]
    count = {"known": 0, "older": 0}
    new: dict[str, list[GradedLabel]] = defaultdict(list)
    for run_id, label in labels:
        seen = reader.seen(run_id, label)
        if seen is None:
            reader.keep(run_id, label)
            new[run_id].append(label)
        else:
            count[seen] += 1
    for run_id, some in new.items():
        graded_labels.add(context.store, run_id, some)
    added = [label for some in new.values() for label in some]
    random = sum(label.drawn == "random" for label in added)
    return LabelsTakenIn(len(added), count["known"], count["older"], len(read) - len(labels), random)


def take_in_records(
    context: Context, wish: LabelWish, said: Iterable[Mapping[str, Any]], *, own: bool = False
) -> LabelsTakenIn:
    """The same of records with the columns of a file. Raises likewise, and NotFound, ConfigError for the wish."""
    runs = tuple(run.id for each in wish.runs for run in find(context.store, each))
    made = queue(context, replace(wish, runs=runs))
    body = b"\n".join(orjson.dumps(each) for each in said)
    return take_in(context, made, "labels.jsonl", body, own=own)


def _records(name: str, body: bytes, faults: Faults) -> Sequence[Record]:
    if body.startswith(ZIPPED):
        (_, columns, records), _ = sheet_records(body, faults, None)
    else:
        _, columns, records = text_records(body, Path(name), KNOWN_COLUMNS, faults)
    lacking = [each for each in ("item_id", "grade") if each not in columns]
    if lacking:
        raise DataError(
            f"{name}: there is no column {lacking[0]!r}; it has {', '.join(columns)}. Labels need item_id and grade; "
            "`proctor label RUN --out FILE --open` writes a file to fill in"
        )
    return records


@dataclass(slots=True)
class _Reader:
    """What lines are held against: the runs' replies, what may be said of them, and what was said."""

    made: LabelQueue
    own: bool
    now: float
    attempts: Mapping[str, Mapping[tuple[str, int], int]]  # by run
    said: Mapping[str, list[GradedLabel]]
    looked: set[tuple[str, int, str]]
    by_place: dict[tuple[str, tuple[object, ...]], list[GradedLabel]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, made: LabelQueue, *, own: bool) -> _Reader:
        attempts = {
            run.id: {
                (row.item_id, row.repeat): row.attempt
                for row in store.latest(run.id)
                if row.outcome is not Outcome.ERROR
            }
            for run in made.runs
        }
        said = {run.id: graded_labels.history(store, run.id) for run in made.runs}
        looked = {
            (each.item_id, each.repeat, each.user) for some in said.values() for each in some if each.looked
        }
        found = cls(made, own, time.time(), attempts, said, looked)
        for run_id, some in said.items():
            for label in some:
                found.by_place.setdefault((run_id, label.of), []).append(label)
        return found

    def label(self, record: Record) -> tuple[str, GradedLabel] | None:
        """The label of a line and its run; None where nobody filled it in. Raises: RowFault."""
        cells = {name.lower(): _text(value) for name, value in record.values.items()}
        if not cells.get("grade"):
            return None
        place = _place(cells)
        run, turned = self._run(cells, place)
        attempt = self.attempts[run.id].get(place)
        if attempt is None:
            raise RowFault("item_id", f"run {run.id[:8]} has no reply to {place[0]!r}, repeat {place[1]}")
        criterion = self._criterion(cells.get("criterion", ""))
        grade = self._grade(cells["grade"], criterion)
        user = _labeller(cells.get("labeller") or self.made.wish.user)
        if self.own and user != self.made.wish.user:
            raise RowFault(
                "labeller", f"is {user!r}, and {self.made.wish.user!r} may only hand in own labels"
            )
        if (rubric := cells.get("rubric")) and rubric != self.made.rubric.words:
            raise RowFault("rubric", f"is {rubric}, and the labels are read by {self.made.rubric.words}")
        note, tags = _words(cells)
        looked = REVEALED in tags or (*place, user) in self.looked
        return run.id, GradedLabel(
            id=0,
            item_id=place[0],
            repeat=place[1],
            attempt=attempt,
            criterion=criterion.name,
            rubric=self.made.rubric.words,
            against=self.made.against,
            grade=TURNED[grade] if turned else grade,
            note=note,
            tags=(*checked_tags(tags), *([REVEALED] if looked else ())),
            drawn="chosen" if looked else _drawn(cells.get("drawn", "")),
            user=user,
            at=_at(cells.get("at", ""), self.now),
        )

    def _run(self, cells: Mapping[str, str], place: tuple[str, int]) -> tuple[Run, bool]:
        """With which run a label lies, and whether its replies were shown with the other run's first."""
        ids = [run.id for run in self.made.runs]
        if entry := cells.get("entry"):
            if self.made.pairwise and entry == opaque(*place, sorted(ids)):
                return self.made.runs[0], blind(*place, ids)[0] != ids[0]
            found = [run for run in self.made.runs if entry == opaque(*place, [run.id])]
            if self.made.pairwise or not found:
                raise RowFault("entry", "is none of these runs' entries; is the file of other runs?")
            return found[0], False
        if named := cells.get("run"):
            return self._named(named, cells), False
        if len(ids) > 1 and not self.made.pairwise:
            raise RowFault("run", "is empty, and there are several runs; name one by its id")
        self._check_against(cells)
        return self.made.runs[0], False

    def _named(self, named: str, cells: Mapping[str, str]) -> Run:
        found = [run for run in self.made.runs if run.id == named]
        if not found:
            raise RowFault("run", f"is {named[:8]}, which is none of the runs that are labelled")
        self._check_against(cells)
        if self.made.pairwise and found[0] is not self.made.runs[0]:
            raise RowFault("run", f"is {named[:8]}; name that run first")
        return found[0]

    def _check_against(self, cells: Mapping[str, str]) -> None:
        against = cells.get("against", "")
        if against and against != self.made.against:
            wanted = (
                "a grade of one reply" if self.made.against is None else f"against {self.made.against[:8]}"
            )
            raise RowFault("against", f"is {against[:8]}, and what is labelled here is {wanted}")

    def _criterion(self, name: str) -> Criterion:
        criteria = self.made.criteria
        if not name and len(criteria) == 1:
            return criteria[0]
        for each in criteria:
            if each.name.casefold() == name.casefold():
                return each
        names = ", ".join(each.name for each in criteria)
        raise RowFault("criterion", f"is {name!r}; the rubric's are {names}")

    def _grade(self, said: str, criterion: Criterion) -> str:
        grades = self.made.grades(criterion)
        plain = said.casefold().removesuffix(".0")
        if plain not in grades:
            raise RowFault("grade", f"is {said!r}; by {criterion.name} it is one of {', '.join(grades)}")
        return plain

    def seen(self, run_id: str, label: GradedLabel) -> str | None:
        """Whether it is known, or older than what its labeller says; None where it is new."""
        before = self.by_place.get((run_id, label.of), [])
        if any(_same(label, each) for each in before):
            return "known"
        last = counting(before)
        if last and label.at == self.now and _alike(label, last[0]):
            return "known"
        return "older" if last and label.at < last[0].at else None

    def keep(self, run_id: str, label: GradedLabel) -> None:
        self.by_place.setdefault((run_id, label.of), []).append(label)


def _same(one: GradedLabel, other: GradedLabel) -> bool:
    return one.grade == other.grade and abs(one.at - other.at) < SAME_S


def _alike(one: GradedLabel, other: GradedLabel) -> bool:
    return replace(one, id=0, at=0.0, attempt=None) == replace(other, id=0, at=0.0, attempt=None)


def _text(value: Any) -> str:
    """A cell as its text; the apostrophe that keeps a spreadsheet from reckoning is taken off again."""
    if isinstance(value, list):
        return BETWEEN_TAGS.join(str(each) for each in value)
    text = "" if value is None else str(value)
    guarded = text[:1] == "'" and text[1:2] in GUARDED and len(text) > 1
    return (text[1:] if guarded else text).strip()


def _place(cells: Mapping[str, str]) -> tuple[str, int]:
    if not (item_id := cells.get("item_id")):
        raise RowFault("item_id", "is empty, and there is a grade")
    repeat = (cells.get("repeat") or "0").removesuffix(".0")
    if not repeat.isascii() or not repeat.isdigit():
        raise RowFault("repeat", f"is {repeat!r}; it is a number from 0")
    return item_id, int(repeat)


def _labeller(name: str) -> str:
    try:
        return checked_labeller(name)
    except ConfigError as fault:
        raise RowFault("labeller", str(fault)) from None


def _words(cells: Mapping[str, str]) -> tuple[str | None, list[str]]:
    tags = [tag.strip() for tag in cells.get("tags", "").split(BETWEEN_TAGS.strip())]
    try:
        checked_tags(tags)
        return checked_note(cells.get("note")), tags
    except ConfigError as fault:
        raise RowFault(None, str(fault)) from None


def _drawn(said: str) -> Drawn:
    if said in ("", "chosen"):
        return "chosen"
    if said == "random":
        return "random"
    raise RowFault("drawn", f"is {said!r}; it is random, chosen, or empty for chosen")


def _at(said: str, now: float) -> float:
    """Unix time of what is said in ISO 8601 (UTC where no zone is named), or as Unix time."""
    if not said:
        return now
    try:
        at = float(said) if said.replace(".", "", 1).isdigit() else _iso(said)
    except ValueError:
        raise RowFault(
            "at", f"is {said!r}; write the time as 2026-11-23T14:05:00Z, or leave it empty"
        ) from None
    return min(at, now)


def _iso(said: str) -> float:
    at = datetime.fromisoformat(said)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
