"""`proctor verify`: a bundle checked without store or network, every reply read again and every figure recomputed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor import __version__
from proctor.errors import ConfigError, DataError, NotFound
from proctor.grading.exam import FUNCTION, ROWS, ExamGrader, Reads
from proctor.grading.extractors import EXTRACTORS, extractor
from proctor.grading.kept import KeptAsTheyAre
from proctor.protocols import Grader
from proctor.service.data import records, said, verify_trials
from proctor.service.data.records import Labels, Snapshot
from proctor.service.data.tried import TRIED, record_of, tried_from
from proctor.service.data.unpack import BOUNDS, Bounds, BundleArchive, opened, run_ids, sum_faults
from proctor.service.data.verify_trials import RecordedVerdicts
from proctor.service.kinds import kind_of
from proctor.service.results.answer_kinds import kept_as_they_are, reads, with_labels
from proctor.settings import Settings
from proctor.store import AttemptRow
from proctor.store.core.bodies import clean
from proctor.types import Grade, Item, Outcome, Reply, Run, TaskFolder


@dataclass(frozen=True, slots=True)
class Verified:
    """What a check found. `faults` are in words, none where all is well; `notes` say what could not be checked.

    `replies` were read again, `unread` could not be, and `figures` were recomputed; `items` had their
    hashes recomputed. `besides` are further grades and labels, each of a reply that is there.
    """

    made_by: str
    runs: int
    replies: int
    unread: int
    figures: int
    items: int
    besides: int
    faults: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Finding:
    """What has been found so far: counts, and of each kind of fault the first with the number of all."""

    replies: int = 0
    unread: int = 0
    figures: int = 0
    items: int = 0
    besides: int = 0
    first: dict[str, str] = field(default_factory=dict)  # kind of fault -> its first case
    count: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def fault(self, kind: str, case: str) -> None:
        self.first.setdefault(kind, case)
        self.count[kind] = self.count.get(kind, 0) + 1

    def faults(self) -> tuple[str, ...]:
        return tuple(
            f"{kind}: {case}{f' (the first of {self.count[kind]:,})' if self.count[kind] > 1 else ''}"
            for kind, case in self.first.items()
        )


@dataclass(frozen=True, slots=True)
class _PackedRun:
    """A run as the bundle has it, with its items by id and hash and who graded its replies."""

    run: Run
    items: Mapping[tuple[str, str], Item]
    grader: Grader | None
    why_not: str = ""  # why its replies cannot be read again

    @property
    def name(self) -> str:
        return f"run {self.run.id[:8]} ({self.run.cell.model})"


def verify(path: Path, *, rows: Settings | None = None, bounds: Bounds = BOUNDS) -> Verified:
    """Check a bundle: its members' sums, its replies, its figures; with `rows`, its items against the rows at hand.

    Raises: DataError for a file that is no bundle, is damaged or of a newer format; DataMissing.
    """
    found = _Finding()
    with opened(path, bounds) as archive:
        made_by, ids = run_ids(archive)
        for case in sum_faults(archive):
            found.fault("a member differs", case)
        try:
            _check(archive, ids, rows, found)
        except DataError as error:
            if not found.first:
                raise
            found.fault("not checked further", str(error))
    if found.first and made_by != __version__:
        found.notes.append(
            f"made by proctor {made_by}, checked by {__version__}: figures may differ for that alone"
        )
    return Verified(
        made_by=made_by,
        runs=len(ids),
        replies=found.replies,
        unread=found.unread,
        figures=found.figures,
        items=found.items,
        besides=found.besides,
        faults=found.faults(),
        notes=tuple(found.notes),
    )


def _check(archive: BundleArchive, ids: Sequence[str], settings: Settings | None, found: _Finding) -> None:
    told = records.from_bytes(archive.content(records.RESULTS), records.RESULTS)
    runs = [_packed_run(archive, ident) for ident in ids]
    rows = {}
    for each in runs:
        _check_hashes(each, found)
        rows[each.run.id] = _read_all(archive, each, found)
        _note(each, rows[each.run.id], found)
    told_besides = {each.run.id: _read_said(archive, each.run, rows[each.run.id], found) for each in runs}
    items = {item.hash: item for each in runs for item in each.items.values()}
    kept = Snapshot(rows, items.__getitem__)
    _check_figures(told, kept, [each.run for each in runs], told_besides, found)
    if settings is not None:
        for each in runs:
            _check_rows(each, settings, found)


def _packed_run(archive: BundleArchive, ident: str) -> _PackedRun:
    folder = records.folder(ident)
    name = f"{folder}/{records.MANIFEST}"
    run, labels = records.run_from(records.from_bytes(archive.content(name), name), name)
    if run.id != ident:
        raise DataError(f"{name}: this is run {run.id!r}")
    items: dict[tuple[str, str], Item] = {}
    for where, line in archive.lines(f"{folder}/{records.ITEMS}"):
        item = records.item_from(records.from_bytes(line, where), where)
        if item.group not in run.manifest.facts.tasks:
            raise DataError(f"{where}: {item.group!r} is no task of the run")
        if (item.id, item.hash) in items:
            raise DataError(f"{where}: item {item.id!r} stands there twice")
        items[item.id, item.hash] = item
    try:
        return _PackedRun(run, items, _grader(run, labels))
    except ConfigError as error:
        return _PackedRun(run, items, None, str(error))


def _grader(run: Run, labels: Labels | None) -> Grader:
    """Raises ConfigError saying why the replies cannot be graded again."""
    if run.cell.source.imported:
        raise ConfigError("another tool asked and read them")
    if kept_as_they_are(run):
        return KeptAsTheyAre()
    reader: Grader | None = kind_of(run.cell.source).rereader(run.cell.source)
    if reader is not None:
        return reader
    if kind_of(run.cell.source).holds == "tasks":
        return RecordedVerdicts()
    name = run.manifest.facts.extractor
    if name not in EXTRACTORS:
        raise ConfigError(f"this version does not know the extractor {name}")
    how: Mapping[str, Reads] = reads(run)
    if kind_of(run.cell.source).row_labels is not None:
        if labels is None and any(each.vocabulary for each in how.values()):
            raise ConfigError("the file with the labels and their synonyms was gone when the bundle was made")
        how = with_labels(how, labels or {})
    graders = {task: _named(words) for task, words in run.manifest.facts.graders.items()}
    return ExamGrader(extractor(str(name), {each.kind for each in how.values()}), how, graders)


def _named(words: str) -> Grader:
    # What it imports takes its time, and most bundles need none.
    from proctor.grading.spec import parse_grader

    if words.startswith(FUNCTION):
        raise ConfigError(f"the Python function {words.removeprefix(FUNCTION)} graded them")
    if words.startswith(ROWS):
        raise ConfigError("rows of the file name their graders, and only the file tells which")
    return parse_grader(words, where="the bundle")


# Replies -----------------------------------------------------------------------------------------


def _read_all(archive: BundleArchive, of: _PackedRun, found: _Finding) -> list[AttemptRow]:
    """The run's rows in the order of asking; its replies are read again on the way."""
    rows: dict[tuple[int, int], AttemptRow] = {}
    asked = set()
    for where, line in archive.lines(f"{records.folder(of.run.id)}/{records.REPLIES}"):
        row, reply = records.reply_from(records.from_bytes(line, where), of.items, where)
        if (row.item_id, row.repeat) in asked or (row.position, row.repeat) in rows:
            raise DataError(
                f"{where}: item {row.item_id!r}, repeat {row.repeat}, or its place stands there twice"
            )
        asked.add((row.item_id, row.repeat))
        rows[row.position, row.repeat] = row
        if (reply is None) != (row.outcome is Outcome.ERROR):
            lost = "an outcome without a reply" if reply is None else "an error although there is a reply"
            found.fault("a reply differs", f"{of.name}, item {row.item_id}: {lost}")
        elif row.outcome is Outcome.ERROR:
            _check_error(of, row, found)
        elif reply is not None:
            _check_reading(of, row, reply, found)
    return [rows[place] for place in sorted(rows)]


def _check_error(of: _PackedRun, row: AttemptRow, found: _Finding) -> None:
    if row.score is not None or row.answer is not None:
        found.fault(
            "a reply differs", f"{of.name}, item {row.item_id}: an error that has an answer or a score"
        )


def _check_reading(of: _PackedRun, row: AttemptRow, reply: Reply, found: _Finding) -> None:
    if of.grader is None:
        found.unread += 1
        return
    repeat = f", repeat {row.repeat}" if row.repeat else ""
    if isinstance(of.grader, RecordedVerdicts):
        where = f"{of.name}, item {row.item_id}{repeat}"
        if wrong := list(verify_trials.faults(of.run, reply, where)):
            for each in wrong:
                found.fault("a trial differs", f"{where}: {each}")
            return
    again = of.grader.grade(of.items[row.item_id, row.item_hash], reply)
    assert isinstance(again, Grade)  # graders that take their time are none of those that can be named
    found.replies += 1
    read = Grade(again.outcome, again.score, clean(again.answer, records.ANSWER_CHARACTERS), again.rung)
    if (read.outcome, read.answer, read.score) == (row.outcome, row.answer, row.score):
        return
    told = Grade(row.outcome, row.score, row.answer, row.rung)
    found.fault(
        "a reply differs",
        f"{of.name}, item {row.item_id}{repeat}: the bundle says {_said(told)}; {again.grader or 'it'} reads "
        f"{_said(read)}",
    )


def _said(reading: Grade) -> str:
    answer = "no answer" if reading.answer is None else repr(reading.answer)
    score = "no score" if reading.score is None else f"score {reading.score:g}"
    return f"{answer} ({reading.outcome.value}, {score})"


def _note(of: _PackedRun, rows: Sequence[AttemptRow], found: _Finding) -> None:
    """What a reader must know beside "verified"."""
    settled = sum(row.outcome is not Outcome.ERROR for row in rows)
    errors = len(rows) - settled
    if of.run.sample:
        found.notes.append(f"{of.name}: sample rows, which measure nothing real")
    if settled < of.run.planned:
        found.notes.append(
            f"{of.name}: partial, {settled:,} of {of.run.planned:,} have an outcome ({errors:,} ended in an error)"
        )
    if of.run.stopped:
        found.notes.append(f"{of.name}: stopped early: {of.run.stopped}")
    if isinstance(of.grader, RecordedVerdicts):
        found.notes.append(f"{of.name}: {verify_trials.RECORDED.format(n=f'{settled:,}')}")
    if of.why_not:
        found.notes.append(f"{of.name}: {settled:,} replies were not read again: {of.why_not}")


def _read_said(
    archive: BundleArchive, run: Run, rows: Sequence[AttemptRow], found: _Finding
) -> list[dict[str, Any]]:
    """The run's further grades. Of them and of labels each must be of a reply that is there."""
    told: dict[str, list[dict[str, Any]]] = {}
    for which in said.MEMBERS.values():
        lines = list(said.packed(archive, run.id, which))
        told[which] = [record for _, record in lines]
        there = {id(each) for each in said.of_replies(told[which], rows)}
        for where, record in lines:
            if id(record) not in there:
                case = f"{where}: item {record['item']}, repeat {record['repeat']}, has no such reply"
                found.fault(f"the {which} differ", case)
    found.besides += sum(map(len, told.values()))
    return told["grades"]


# Figures -----------------------------------------------------------------------------------------


def _check_figures(
    told: Mapping[str, Any],
    kept: Snapshot,
    runs: Sequence[Run],
    grades: Mapping[str, list[dict[str, Any]]],
    found: _Finding,
) -> None:
    for run in runs:
        settled = sum(row.outcome is not Outcome.ERROR for row in kept.rows[run.id])
        if settled != run.settled:
            case = (
                f"run {run.id[:8]}: its manifest says {run.settled:,} settled, its replies give {settled:,}"
            )
            found.fault("a figure differs", case)
    try:
        tried = tried_from(told.get(TRIED)) if isinstance(told, dict) else None
        evaluated = records.recomputed(kept, runs, tried)
        again = records.results_document(evaluated, None if tried is None else record_of(tried))
        for run, record in zip(runs, again["runs"], strict=True):
            record |= said.figures(kept, run, said.given_in(grades[run.id]))
    except ConfigError as error:
        raise DataError(f"{records.RESULTS}: the runs cannot be set side by side: {error}") from error
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        # The settings of a stranger's bundle may be of any kind; of our own they are what the statistics take.
        raise DataError(
            f"{records.MANIFEST}: nothing can be computed with its settings ({error!r})"
        ) from error
    # As JSON gives it back: lists for tuples, texts for words.
    fresh = records.as_told(told, records.from_bytes(records.to_bytes(again), records.RESULTS))
    found.figures += records.figures(fresh)
    for case in records.differing(told, fresh, records.RESULTS):
        found.fault("a figure differs", case)


# Items -------------------------------------------------------------------------------------------


def _check_hashes(of: _PackedRun, found: _Finding) -> None:
    """Where the bundle has the prompts, each item's hash must be that of what was asked."""
    if of.run.cell.source.imported:
        return  # the other tool's own hashes
    for item in of.items.values():
        if not item.ask.messages or isinstance(item.ask, TaskFolder):
            continue  # the hash of a task is that of a folder that no bundle holds
        found.items += 1
        if kind_of(of.run.cell.source).hashed(item) != item.hash:
            found.fault(
                "an item differs", f"{of.name}, item {item.id}: its hash is not that of its prompt and target"
            )


def _check_rows(of: _PackedRun, settings: Settings, found: _Finding) -> None:
    """Each item against the rows on this machine. Raises: DataMissing, DataError; nothing is fetched."""
    ref = of.run.cell.source
    if ref.imported:
        found.notes.append(f"{of.name}: its items were not compared with rows: another tool asked them")
        return
    try:
        source = kind_of(ref).open(ref, settings)
    except (ConfigError, NotFound) as error:
        raise DataError(f"{of.name}: its source cannot be opened here: {error}") from error
    here = {item.id: item for item in source.items()}
    for item in of.items.values():
        found.items += 1
        if fault := _unlike(item, here.get(item.id)):
            found.fault("an item differs", f"{of.name}, item {item.id}: {fault}")


def _unlike(item: Item, here: Item | None) -> str:
    """What tells a packed item from the one made of the rows here; "" for nothing."""
    if here is None:
        return "the rows here have no such item"
    if item.hash != here.hash:
        return f"its hash is {item.hash}, that of the rows here {here.hash}"
    for name in ("group", "target", "choices", "aliases"):
        if getattr(item, name) != getattr(here, name):
            return f"its {name} is {getattr(item, name)!r}, in the rows here {getattr(here, name)!r}"
    return ""
