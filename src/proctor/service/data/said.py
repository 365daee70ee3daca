"""What was said of a run's replies beside their first grades: lines of bundles, and what merged runs take over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import orjson

from proctor.errors import DataError
from proctor.findings import Score
from proctor.service.data import records
from proctor.service.data.records import Snapshot
from proctor.service.data.unpack import BundleArchive
from proctor.service.grades.view import graded_manifest, graded_row
from proctor.service.results import documents
from proctor.service.rows.marks import marks, shape
from proctor.stats.estimates import scores
from proctor.store import AttemptRow, Store
from proctor.store.write import further, grades
from proctor.store.write.further import Further
from proctor.store.write.grades import Place
from proctor.types import Grade, Outcome, Run

# The members of a bundle for each; a run of which nothing was said has none, and notes are for those who wrote them.
MEMBERS: Mapping[str, Further] = {"grades.jsonl": "grades", "labels.jsonl": "labels"}
CARRIED: tuple[Further, ...] = ("grades", "labels", "notes")

_TEXT, _NUMBER, _WHOLE = (str, type(None)), (float, int, type(None)), (int, type(None))
_PLACE = {"item": (str,), "repeat": (int,)}
KEYS: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "grades": {
        **_PLACE,
        "attempt": (int,),
        "grader": (str,),
        "outcome": (str,),
        "score": _NUMBER,
        "answer": _TEXT,
        "note": _TEXT,
        "cost_usd": _NUMBER,
        "at": (float, int),
    },
    "labels": {
        **_PLACE,
        "attempt": _WHOLE,
        "verdict": _TEXT,
        "text": _TEXT,
        "note": _TEXT,
        "tags": (list,),
        "user": (str,),
        "at": (float, int),
        "criterion": _TEXT,
        "rubric": _TEXT,
        "against": _TEXT,
        "drawn": _TEXT,
    },
}
Record = dict[str, Any]


def records_of(store: Store, run_id: str, which: Further) -> Iterator[Record]:
    """As JSON has them, with the words that bundles have for places. Raises NotFound for the run."""
    for row in further.rows(store, run_id, which):
        record = {"item": row.pop("item_id"), **row}
        if which == "labels":
            record["tags"] = orjson.loads(record["tags"])
        yield record


def of_replies(found: Iterable[Record], rows: Collection[AttemptRow]) -> Iterator[Record]:
    """Those about the attempts that count; what was said of an earlier try stays with its store."""
    there = {(row.item_id, row.repeat): row.attempt for row in rows if row.outcome is not Outcome.ERROR}
    for each in found:
        attempt = there.get((each["item"], each["repeat"]))
        if attempt is not None and each["attempt"] in (None, attempt):
            yield each


# In bundles --------------------------------------------------------------------------------------


def packed(archive: BundleArchive, run_id: str, which: Further) -> Iterator[tuple[str, Record]]:
    """A run's records with what to call each; none where the bundle has no such member. Raises: DataError."""
    names = (f"{records.folder(run_id)}/{member}" for member, holds in MEMBERS.items() if holds == which)
    for where, line in chain.from_iterable(archive.lines(each) for each in names if each in archive.names):
        record = records.from_bytes(line, where)
        records.checked(record, KEYS[which], where)
        _check_words(record, which, where)
        yield where, record


def _check_words(record: Record, which: Further, where: str) -> None:
    if which == "grades" and record["outcome"] not in {each.value for each in Outcome}:
        raise DataError(f"{where}: {record['outcome']!r} is no outcome")
    if which == "labels" and not all(isinstance(tag, str) for tag in record["tags"]):
        raise DataError(f"{where}: tags are a list of texts")


def rows_from(found: Iterable[tuple[str, Record]], which: Further) -> Iterator[Record]:
    """As the store has them."""
    for _, record in found:
        row = {"item_id": record["item"], **{key: value for key, value in record.items() if key != "item"}}
        if which == "labels":
            row["tags"] = orjson.dumps(row["tags"]).decode()
        yield row


# Their figures -----------------------------------------------------------------------------------


Given = Iterable[tuple[str, Mapping[Place, Grade]]]  # graders with what they gave


def given(store: Store, run_id: str) -> Given:
    """Every further grader of a run, by its name. Raises NotFound."""
    names = sorted(each.grader for each in grades.graders(store, run_id))
    return ((name, grades.by(store, run_id, name)) for name in names)


def given_in(found: Iterable[Record]) -> Given:
    """The same of a bundle's records."""
    by: dict[str, dict[Place, Grade]] = defaultdict(dict)
    for each in found:
        grade = Grade(Outcome(each["outcome"]), each["score"], each["answer"], grader=each["grader"])
        by[each["grader"]][each["item"], each["repeat"], each["attempt"]] = grade
    return sorted(by.items(), key=lambda pair: pair[0])


def figures(kept: Snapshot, run: Run, by: Given) -> dict[str, Any]:
    """What a run scores by each further grader, beside its own scores; nothing where there is none."""
    graded = [
        {"grader": name, "scores": [documents.score(each) for each in scores_by(kept, run, name, of)]}
        for name, of in by
    ]
    return {"graded": graded} if graded else {}


def scores_by(kept: Snapshot, run: Run, name: str, of: Mapping[Place, Grade]) -> Sequence[Score]:
    """Raises ConfigError for a grader whose grades measure nothing of this run."""
    seen = replace(run, manifest=graded_manifest(run.manifest, name))
    rows = [graded_row(row, of) for row in kept.latest(run.id)]
    return scores(marks(Snapshot({run.id: rows}, kept.look), seen), shape(seen))


# In exports --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SaidOfRun:
    """A run's further grades and labels by what they are about: item and repeat."""

    by: Mapping[str, Mapping[tuple[str, int], list[Record]]]

    def of(self, row: AttemptRow) -> dict[str, list[Record]]:
        """What was said of an attempt: grades of this very one, labels of it or of whatever stands there."""
        return {
            which: [
                {key: value for key, value in each.items() if key not in ("item", "repeat", "attempt")}
                for each in found.get((row.item_id, row.repeat), ())
                if each["attempt"] in (None, row.attempt)
            ]
            for which, found in self.by.items()
        }


def said_of(store: Store, run_id: str) -> SaidOfRun:
    """Raises NotFound."""
    by: dict[str, dict[tuple[str, int], list[Record]]] = {}
    for which in MEMBERS.values():
        by[which] = defaultdict(list)
        for record in records_of(store, run_id, which):
            by[which][record["item"], record["repeat"]].append(record)
    return SaidOfRun({which: dict(found) for which, found in by.items()})
