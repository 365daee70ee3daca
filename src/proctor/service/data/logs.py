"""`proctor import`: logs of other tools become runs, as decision 8 says: all of a log or nothing of it."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import Conflict, DataError
from proctor.findings import RunResult
from proctor.interop.inspect_log import is_inspect, read_inspect
from proctor.interop.lm_eval import is_results, read_lm_eval
from proctor.interop.logs import Log, Sample, wrong
from proctor.manifest import LogFacts
from proctor.references import LogRef
from proctor.service.batches.elsewhere import import_outputs, is_output
from proctor.service.context import Context, dead_owner
from proctor.service.data.logs_manifest import content_sha256, figures, log_manifest, whole_group
from proctor.service.results.comparable import comparability, exam
from proctor.service.results.results import close, shown
from proctor.store import AttemptWriter, Store
from proctor.types import (
    Attempt,
    Cell,
    Chat,
    Failure,
    Gold,
    Grade,
    Item,
    Model,
    Outcome,
    Plan,
    Reply,
    Run,
    Sampling,
    Status,
)

LEASE_S = 60.0
ROUNDING = 5e-5  # a figure written with four digits may be off by this
EXPECTED = (
    "proctor imports lm-eval's results_*.json (with its samples_TASK_*.jsonl beside it) and Inspect's .eval and "
    ".json logs, or folders that hold some; and output files of batches"
)

# What was sent to the model is the other tool's to know: nothing of ours is claimed.
UNKNOWN = Sampling(temperature=None, max_tokens=None, context_tokens=None, seed=None)


@dataclass(frozen=True, slots=True)
class ImportedLog:
    """A log and the run it became. `before` says that it had been imported earlier; `notes` are sentences."""

    path: Path
    result: RunResult
    before: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogImport:
    imported: tuple[ImportedLog, ...]
    failed: tuple[tuple[Path, str], ...]

    @property
    def pair(self) -> tuple[Run, Run] | None:
        """The first two runs that can be compared."""
        runs = list({each.result.run.id: each.result.run for each in self.imported}.values())
        for place, run in enumerate(runs):
            for other in runs[place + 1 :]:
                if run.exam == other.exam:
                    return run, other
        return None


def import_logs(context: Context, paths: Sequence[Path]) -> LogImport:
    """Logs of lm-eval and Inspect, given as files or as folders that hold some.

    A damaged log is reported and the others are taken. Raises DataError where a path is not there or
    holds no log.
    """
    files = list(dict.fromkeys(file for path in paths for file in _files(path)))
    imported, failed = [], []
    store = context.store
    for file in files:
        try:
            imported.append(_of_batch(context, file) if is_output(file) else _import(store, _read(file)))
        except (Conflict, DataError) as error:
            failed.append((file, str(error)))
    return LogImport(tuple(imported), tuple(failed))


def _of_batch(context: Context, file: Path) -> ImportedLog:
    """The output of a batch, whose bad lines are notes: the others are taken."""
    found = import_outputs(context, [file])
    more = (f"and {found.bad - len(found.faults):,} more bad lines",) if found.bad > len(found.faults) else ()
    return ImportedLog(file, found.result, found.before, (*found.notes, *found.faults, *more))


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise DataError(f"{path}: there is no such file or folder. {EXPECTED}")
    found = [file for file in sorted(path.rglob("*")) if file.is_file() and _is_log(file)]
    if not found:
        raise DataError(f"{path}: no log in this folder. {EXPECTED}")
    yield from found


def _is_log(file: Path) -> bool:
    return is_results(file) or is_inspect(file)


def _read(file: Path) -> Log:
    if is_results(file):
        return read_lm_eval(file)
    if is_inspect(file):
        return read_inspect(file)
    if file.name.startswith("samples_"):
        raise wrong(file, "these are samples without their results: give the results_*.json beside them")
    raise wrong(file, f"no log of a tool that proctor knows. {EXPECTED}")


def _import(store: Store, log: Log) -> ImportedLog:
    run = _earlier(store, log)
    before = run is not None and run.status is Status.COMPLETED
    if run is None:
        run = _add(store, log)
    result = shown(store, run) if before else _fill(store, run, log)
    return ImportedLog(log.path, result, before, (*log.notes, *_disagreements(log, result)))


def _earlier(store: Store, log: Log) -> Run | None:
    """The run that this log became before, be it from another kind of file; or that an import broke off in."""
    content = content_sha256(log)
    for run in store.runs(limit=None, source=log_title(log)):
        known = run.manifest.facts
        if isinstance(known, LogFacts) and (
            log.sha256 == known.log_sha256 or content == known.log_content_sha256
        ):
            return run
    return None


def _add(store: Store, log: Log) -> Run:
    now = time.time()
    title = log_title(log)
    cell = Cell(
        Model(log.tool, log.model),
        LogRef(title),
        UNKNOWN,
        repeats=max((sample.repeat for sample in log.samples), default=0) + 1,
    )
    manifest = log_manifest(log)
    return store.add_run(
        store.add_plan(Plan((cell,), name=log.path.name), now=now),
        cell,
        source_title=title,
        planned=log.planned,
        manifest=manifest,
        comparability=comparability(manifest),
        exam=exam(manifest),
        sample=False,
        now=log.created_at or now,
    )


def _fill(store: Store, run: Run, log: Log) -> RunResult:
    """Keep each sample as an attempt; those that a broken-off import has kept are not kept again."""
    owner = f"{socket.gethostname()}:{os.getpid()}"
    store.claim(run.id, owner=owner, now=time.time(), lease_s=LEASE_S, dead_owner=dead_owner(store, run.id))
    kept = store.next_attempts(run.id)
    writer = AttemptWriter(store, run.id, owner=owner, lease_s=LEASE_S, timed=False)
    try:
        for attempt in _attempts(log):
            if (attempt.item.id, attempt.repeat) not in kept:
                writer.keep(attempt)
    finally:
        writer.close()
    return close(
        store,
        run.id,
        Status.COMPLETED,
        owner=owner,
        now=time.time(),
        elapsed_s=log.elapsed_s,
        stopped=log.stopped,
    )


def log_title(log: Log) -> str:
    """What the log is about: the group that holds all its tasks, or the tasks."""
    if group := whole_group(log):
        return f"{log.tool} {group.title}"
    names = [task.key for task in log.tasks if not task.extra]
    return f"{log.tool} {', '.join(names[:3])}{f' and {len(names) - 3} more' if len(names) > 3 else ''}"


# Samples as attempts -----------------------------------------------------------------------------


def _attempts(log: Log) -> Iterator[Attempt]:
    at = log.created_at or time.time()
    unbounded = {sample.task for sample in log.samples if not 0 <= (sample.score or 0) <= 1}
    places = _places(log.samples)
    for sample in log.samples:
        item = Item(
            id=sample.item,
            group=sample.task,
            ask=Chat(sample.prompt),
            gold=Gold.of(sample.target or ""),
            choices=sample.choices,
            cluster=sample.cluster,
            hash=sample.content,
        )
        if sample.score is None:
            failure = Failure("not-scored", sample.error or "the other tool gave it no score")
            reading = Grade(Outcome.ERROR, None)
            yield Attempt(item, places[sample.item], sample.repeat, 0, at, reading, failure=failure)
            continue
        outcome = Outcome.ANSWERED if sample.task in unbounded else _outcome(sample)
        reading = Grade(outcome, sample.score, sample.answer)
        yield Attempt(item, places[sample.item], sample.repeat, 0, at, reading, reply=_reply(sample))


def _places(samples: Iterable[Sample]) -> dict[str, int]:
    """Each item's place in the tool's order, else in that of the log; the askings of one item share it."""
    told = {sample.item: sample.place for sample in samples}
    if None not in told.values():
        return {item: place for item, place in told.items() if place is not None}
    return {item: place for place, item in enumerate(told)}


def _outcome(sample: Sample) -> Outcome:
    """Right and wrong where the score says so; a grade in between is neither."""
    if sample.unread and sample.score == 0:
        return Outcome.NO_ANSWER
    if sample.score not in (0.0, 1.0):
        return Outcome.ANSWERED
    return Outcome.CORRECT if sample.score == 1 else Outcome.WRONG


def _reply(sample: Sample) -> Reply:
    return Reply(
        sample.reply,
        finish=sample.finish,
        input_tokens=sample.input_tokens,
        output_tokens=sample.output_tokens,
        reasoning_tokens=sample.reasoning_tokens,
        latency_s=sample.latency_s,
    )


# The other tool's figures ------------------------------------------------------------------------


def _disagreements(log: Log, result: RunResult) -> Iterator[str]:
    """Where the other tool's own figure is not what its items give."""
    if log.stopped or log.planned > len(log.samples):
        return  # ours is over fewer items
    # The first score of a task is its own, and the first of all is the headline.
    ours = {score.task: score.estimate.value for score in reversed(result.scores)}
    for title, key, theirs in figures(log):
        value = ours.get(key)
        if value is not None and abs(value - theirs) > ROUNDING:
            yield f"{title}: the log says {theirs:.5f}, its items give {value:.5f}"
