"""`proctor import`: logs of other tools become runs, as decision 8 says: all of a log or nothing of it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from proctor import __version__
from proctor.errors import DataError
from proctor.findings import RunResult
from proctor.interop.inspect_log import is_inspect, read_inspect
from proctor.interop.lm_eval import is_results, read_lm_eval
from proctor.interop.logs import Log, LoggedTask, Sample
from proctor.service.results import comparability, summarise
from proctor.service.runs import open_store
from proctor.settings import Settings
from proctor.stats.metrics import VERSIONS
from proctor.store import Keeper, Store
from proctor.types import (
    Attempt,
    Cell,
    Failure,
    Item,
    Model,
    Outcome,
    Plan,
    Reading,
    Reply,
    SourceRef,
    Status,
)

LEASE_S = 600.0
ROUNDING = 5e-4  # two tools that write four digits may differ by this


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


def import_logs(paths: Sequence[Path], settings: Settings) -> LogImport:
    """Logs of lm-eval and Inspect, given as files or as folders that hold some.

    Raises DataError where a path is not there or holds no log; a damaged log is reported and the others
    are taken.
    """
    files = [file for path in paths for file in _files(path)]
    if not files:
        raise DataError(
            f"{', '.join(map(str, paths))}: no log. Give lm-eval's results_*.json (its samples_*.jsonl beside it), "
            "Inspect's .eval or .json, or a folder with such files"
        )
    imported, failed = [], []
    with open_store(settings) as store:
        for file in files:
            try:
                log = read_lm_eval(file) if is_results(file) else read_inspect(file)
                imported.append(_import(store, log))
            except DataError as error:
                failed.append((file, str(error)))
    return LogImport(tuple(imported), tuple(failed))


def _files(path: Path) -> Iterator[Path]:
    if not path.exists():
        raise DataError(f"{path}: there is no such file or folder")
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob("*")):
        if file.is_file() and file.suffix in (".json", ".eval") and (is_results(file) or is_inspect(file)):
            yield file


def _import(store: Store, log: Log) -> ImportedLog:
    for run in store.runs(limit=None, source=_title(log)):
        if run.manifest.get("log_sha256") == log.sha256 and run.status is Status.COMPLETED:
            return ImportedLog(
                log.path, RunResult(run, store.scores(run.id), store.tally(run.id)), True, log.notes
            )
    result = _keep(store, log)
    return ImportedLog(log.path, result, False, (*log.notes, *_disagreements(log, result)))


def _keep(store: Store, log: Log) -> RunResult:
    """The log as a run of its own plan, each sample an attempt."""
    now = time.time()
    model = Model(log.tool, log.model)
    cell = Cell(model, SourceRef("log", _title(log)), repeats=_repeats(log.samples))
    manifest = _manifest(log)
    plan_id = store.add_plan(Plan((cell,), name=log.path.name), now=now)
    run = store.add_run(
        plan_id,
        cell,
        source_title=_title(log),
        planned=len(log.samples),
        manifest=manifest,
        comparability=comparability(manifest),
        sample=False,
        now=log.created_at or now,
    )
    owner = f"import {run.id}"
    store.claim(run.id, owner=owner, now=time.time(), lease_s=LEASE_S)
    keeper = Keeper(store, run.id, owner=owner, lease_s=LEASE_S)
    try:
        for attempt in _attempts(log):
            keeper.keep(attempt)
    finally:
        keeper.close()
    ended = store.finish(
        run.id,
        Status.COMPLETED,
        owner=owner,
        now=time.time(),
        elapsed_s=log.elapsed_s,
        stopped=None if log.complete else "the other tool stopped before its end",
    )
    return summarise(store, ended)


def _title(log: Log) -> str:
    names = [task.key for task in log.tasks if not task.extra]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"{log.tool} {shown}"


def _repeats(samples: Iterable[Sample]) -> int:
    return max((sample.repeat for sample in samples), default=0) + 1


def _attempts(log: Log) -> Iterator[Attempt]:
    at = log.created_at or time.time()
    for position, sample in enumerate(log.samples):
        item = Item(
            id=sample.item, group=sample.task, prompt=sample.prompt, target=sample.target, hash=sample.content
        )
        if sample.error is not None or sample.score is None:
            why = sample.error or "the other tool gave it no score"
            reading = Reading(Outcome.ERROR, None, None, None)
            failure = Failure("not-scored", why)
            yield Attempt(item, position, sample.repeat, 0, at, reading, failure=failure)
            continue
        outcome = Outcome.CORRECT if sample.score == 1 else Outcome.WRONG
        reply = Reply(
            sample.reply,
            input_tokens=sample.input_tokens,
            output_tokens=sample.output_tokens,
            latency_s=sample.latency_s,
        )
        reading = Reading(outcome, sample.answer, None, sample.score)
        yield Attempt(item, position, sample.repeat, 0, at, reading, reply=reply)


def _manifest(log: Log) -> dict[str, Any]:
    """What the numbers rest on, in the words of suites/source.py as far as a log can say them."""
    asked = {task.key: len({s.item for s in log.samples if s.task == task.key}) for task in log.tasks}
    return {
        "tool": log.tool,
        "tool_version": log.version,
        "log": str(log.path.absolute()),
        "log_sha256": log.sha256,
        "log_settings": dict(log.settings),
        "suite": None,
        "rows": "log",
        "tasks": {task.key: task.title for task in log.tasks},
        "metrics": {task.key: _spec(log, task) for task in log.tasks},
        "metric_versions": {
            name: VERSIONS[name] for name in sorted({_metric(log, task) for task in log.tasks})
        },
        "full_sizes": {},
        "aggregate": "macro",
        "asked": asked,
        "n": sum(asked.values()),
        "item_set_sha256": _item_set(log),
        "prompts": dict(log.prompts),
        "extractor": f"{log.tool}/{'+'.join(task.metric for task in log.tasks)}",
        "proctor": __version__,
        "model": {"name": f"{log.tool}/{log.model}"},
    }


def _item_set(log: Log) -> str:
    pairs = sorted({(sample.item, sample.content) for sample in log.samples})
    return hashlib.sha256(orjson.dumps(pairs)).hexdigest()


def _metric(log: Log, task: LoggedTask) -> str:
    """Accuracy where every score is right or wrong, else their mean."""
    scores = {sample.score for sample in log.samples if sample.task == task.key} - {None}
    return "accuracy" if scores <= {0.0, 1.0} else "mean"


def _spec(log: Log, task: LoggedTask) -> dict[str, Any]:
    metric = _metric(log, task)
    return {
        "official": [metric],
        "also": [],
        "positive": None,
        "kind": "choices" if metric == "accuracy" else "graded",
        "labels": [],
        "extra": task.extra,
    }


def _disagreements(log: Log, result: RunResult) -> Iterator[str]:
    """Where the other tool's own figure is not what its items give."""
    ours = {score.task: score.estimate.value for score in result.scores if score.task}
    for task in log.tasks:
        value = ours.get(task.key)
        if task.theirs is not None and value is not None and abs(value - task.theirs) > ROUNDING:
            yield f"{task.title}: the log says {task.theirs:.4f}, its items give {value:.4f}"
