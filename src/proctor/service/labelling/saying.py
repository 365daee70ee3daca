"""Saying something of an entry of the queue, taking it back, and looking behind the blind."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proctor.errors import ConfigError
from proctor.service.context import Context
from proctor.service.grades.named import first_grader
from proctor.service.labelling.queue import LabelEntry, LabelQueue
from proctor.service.labelling.said import LabelSaid, said_of
from proctor.store import AttemptRow, Store
from proctor.store.write import graded_labels, grades
from proctor.store.write.graded_labels import REVEALED, TURNED, Drawn, GradedLabel
from proctor.types import Run

LONGEST_NOTE, MOST_TAGS, LONGEST_TAG = 5_000, 20, 50


@dataclass(frozen=True, slots=True)
class Revealed:
    """What was hidden of an entry: the models in the order of the replies shown, and what graders gave, in words."""

    models: tuple[str, ...]
    grades: tuple[tuple[str, str], ...]  # grader, what it gave


def put(
    context: Context,
    made: LabelQueue,
    key: str,
    criterion: str,
    grade: str,
    *,
    note: str | None = None,
    tags: Sequence[str] = (),
) -> LabelSaid:
    """Say this of an entry from now on; the grade of a preference is meant as its replies are shown.

    What is said after `reveal` does not enter estimates. Raises: ConfigError, NotFound.
    """
    entry = made.entries[made.at(key)]
    asked = next((each for each in entry.criteria if each.name == criterion), None)
    if asked is None:
        names = ", ".join(each.name for each in entry.criteria)
        raise ConfigError(f"There is no criterion {criterion!r} here: there is {names}")
    if grade not in made.grades(asked):
        raise ConfigError(f"A grade by {criterion} is one of {', '.join(made.grades(asked))}, not {grade!r}")
    meant = TURNED[grade] if entry.place.turned else grade
    looked = has_looked(context.store, made, entry)
    drawn: Drawn = "chosen" if looked else entry.drawn
    kept_tags = (*checked_tags(tags), *([REVEALED] if looked else ()))
    label = _label(made, entry, criterion, meant, checked_note(note), tags=kept_tags, drawn=drawn)
    return said_of(graded_labels.add(context.store, entry.place.run.id, [label])[0], entry.place.turned)


def _label(
    made: LabelQueue,
    entry: LabelEntry,
    criterion: str,
    grade: str | None,
    note: str | None,
    *,
    tags: tuple[str, ...],
    drawn: Drawn,
) -> GradedLabel:
    row = entry.place.row
    return GradedLabel(
        id=0,
        item_id=row.item_id,
        repeat=row.repeat,
        attempt=row.attempt,
        criterion=criterion,
        rubric=made.rubric.words,
        against=made.against,
        grade=grade,
        note=note,
        tags=tags,
        drawn=drawn,
        user=made.wish.user,
        at=time.time(),
    )


def checked_note(note: str | None) -> str | None:
    """Raises ConfigError."""
    note = (note or "").strip() or None
    if note is not None and len(note) > LONGEST_NOTE:
        raise ConfigError(f"A note has at most {LONGEST_NOTE:,} characters; this one has {len(note):,}")
    return note


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Without the tag that is ours to give. Raises ConfigError."""
    kept = tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip() not in ("", REVEALED)))
    if len(kept) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in kept):
        raise ConfigError(f"At most {MOST_TAGS} tags of {LONGEST_TAG} characters")
    return kept


def undo(context: Context, made: LabelQueue) -> str | None:
    """Take the last label back that this labeller gave in this queue, so that the one before it counts again.

    Gives the key of its entry; None where there is nothing to take back. Raises NotFound.
    """
    places = {entry.place.named: entry.key for entry in made.entries}
    names = {each.name for each in made.criteria}
    last: tuple[str, GradedLabel] | None = None
    for run in made.runs[:1] if made.pairwise else made.runs:
        for label in graded_labels.current(context.store, run.id, made.rubric.words):
            mine = label.user == made.wish.user and label.against == made.against and label.criterion in names
            known = (run.id, label.item_id, label.repeat) in places
            if mine and known and (last is None or label.id > last[1].id):
                last = run.id, label
    if last is None:
        return None
    run_id, label = last
    graded_labels.add(context.store, run_id, [graded_labels.taking_back(label, time.time())])
    return places[run_id, label.item_id, label.repeat]


def has_looked(store: Store, made: LabelQueue, entry: LabelEntry) -> bool:
    """Whether this labeller has seen, of any reply to this item in these runs, who gave it or how it was graded."""
    row = entry.place.row
    return any(
        label.looked
        and (label.item_id, label.repeat, label.user) == (row.item_id, row.repeat, made.wish.user)
        for run in made.runs
        for label in graded_labels.history(store, run.id)
    )


def reveal(context: Context, made: LabelQueue, key: str) -> Revealed:
    """Show what is hidden, and keep that this labeller saw it. Raises NotFound."""
    entry = made.entries[made.at(key)]
    place, store = entry.place, context.store
    if not has_looked(store, made, entry):
        mark = _label(made, entry, entry.criteria[0].name, None, None, tags=(REVEALED,), drawn="chosen")
        graded_labels.add(store, place.run.id, [mark])
    seen = [(place.run, place.row)]
    if place.other is not None and place.other_row is not None:
        seen.append((place.other, place.other_row))
    if place.turned:
        seen.reverse()
    told = tuple(
        (f"reply {number}: {grader}" if made.pairwise else grader, words)
        for number, (run, row) in enumerate(seen, 1)
        for grader, words in _graded(store, run, row)
    )
    return Revealed(tuple(str(run.cell.model) for run, _ in seen), told)


def _graded(store: Store, run: Run, row: AttemptRow) -> Iterator[tuple[str, str]]:
    if row.score is not None:
        yield first_grader(run) or "the run's own grade", f"{row.score:g}"
    for kept in grades.of_item(store, run.id, row.item_id, row.repeat):
        if kept.attempt == row.attempt:
            score = "ungraded" if kept.grade.score is None else f"{kept.grade.score:g}"
            yield kept.grade.grader, f"{score} ({kept.grade.note})" if kept.grade.note else score
