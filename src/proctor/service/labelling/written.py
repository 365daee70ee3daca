"""Labels as CSV: those that count, or what is left to label as a form that people fill in with a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime

from proctor.figures import inert
from proctor.service.context import Context
from proctor.service.judging.shown import shown_of
from proctor.service.labelling.queue import LabelEntry, LabelQueue, shown
from proctor.service.labelling.said import every_label
from proctor.store import AttemptRow, Store
from proctor.store.write.graded_labels import GradedLabel, counting
from proctor.types import Run

COLUMNS = (
    "item_id",
    "repeat",
    "criterion",
    "grade",
    "labeller",
    "note",
    "tags",
    "drawn",
    "against",
    "at",
    "rubric",
    "run",  # with which the label lies; of a form nothing, so that nobody learns whose reply it is
    "entry",  # of a form: which entry of the queue a line is, in the order in which its replies are shown
    "question",
    "good_answer",
    "reply",
    "reply_2",
)
BETWEEN_TAGS = "; "
BETWEEN_ANSWERS = "\nor: "


def labels_csv(context: Context, made: LabelQueue) -> Iterator[str]:
    """Line by line every label that counts of the queue's runs by its rubric, whoever gave it. Raises NotFound."""
    return _lines(_given(context.store, made))


def labels_told(context: Context, made: LabelQueue) -> Iterator[Mapping[str, object]]:
    """The same as records, under the names of the columns."""
    return _given(context.store, made)


def open_csv(context: Context, made: LabelQueue) -> Iterator[str]:
    """Line by line what the queue's labeller has not graded, in the order of the queue and as blind as it is."""
    return _lines(
        cells | {"criterion": criterion.name}
        for entry in made.entries
        if not entry.done
        for cells in (_to_fill(context, made, entry),)
        for criterion in entry.criteria
        if not entry.settled(criterion)
    )


def _lines(rows: Iterable[Mapping[str, object]]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(COLUMNS)
    for row in rows:
        yield _taken(buffer)
        writer.writerow([inert(row.get(name, "")) for name in COLUMNS])
    yield _taken(buffer)


def _taken(buffer: io.StringIO) -> str:
    text = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return text


def _to_fill(context: Context, made: LabelQueue, entry: LabelEntry) -> dict[str, object]:
    seen, row = shown(context, entry), entry.place.row
    return {
        "item_id": row.item_id,
        "repeat": row.repeat,
        "drawn": entry.drawn,
        "rubric": made.rubric.words,
        "entry": entry.key,
        "question": seen.question,
        "good_answer": BETWEEN_ANSWERS.join(seen.good),
        "reply": seen.replies[0],
        "reply_2": seen.replies[1] if len(seen.replies) > 1 else "",
    }


def _given(store: Store, made: LabelQueue) -> Iterator[dict[str, object]]:
    others = _rows(store, made.runs[1]) if made.pairwise else {}
    for run in made.runs[:1] if made.pairwise else made.runs:
        rows = _rows(store, run)
        for label in counting(every_label(store, run.id, made.rubric.words, made.against)):
            cells = _said(label, run)
            row = rows.get((label.item_id, label.repeat))
            seen = None if row is None else shown_of(store, run, row)
            if seen is not None:
                cells["question"] = seen.question
                cells["good_answer"] = BETWEEN_ANSWERS.join(seen.good)
                cells["reply"] = "\n\n".join(seen.replies)
            other = others.get((label.item_id, label.repeat))
            beside = None if other is None else shown_of(store, made.runs[1], other)
            cells["reply_2"] = "" if beside is None else "\n\n".join(beside.replies)
            yield cells


def _rows(store: Store, run: Run) -> dict[tuple[str, int], AttemptRow]:
    return {(row.item_id, row.repeat): row for row in store.latest(run.id)}


def _said(label: GradedLabel, run: Run) -> dict[str, object]:
    return {
        "item_id": label.item_id,
        "repeat": label.repeat,
        "criterion": label.criterion,
        "grade": label.grade,
        "labeller": label.user,
        "note": label.note or "",
        "tags": BETWEEN_TAGS.join(label.tags),
        "drawn": label.drawn,
        "against": label.against or "",
        "at": datetime.fromtimestamp(label.at, UTC).isoformat(timespec="microseconds"),
        "rubric": label.rubric,
        "run": run.id,
    }
