"""Data in and out: official rows in; items, answers, scores and reports out."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import Any, TextIO

import orjson

from proctor.errors import ConfigError
from proctor.figures import inert
from proctor.interop.lm_eval_out import write_lm_eval
from proctor.service.checked.documents import side_by_side_document
from proctor.service.checked.section import judged_blocks, judged_of
from proctor.service.context import Context, find
from proctor.service.data.said import SaidOfRun, said_of
from proctor.service.data.trial_lines import TRIAL_COLUMNS, trial_record
from proctor.service.kinds import kind_of
from proctor.service.kinds.rows_elsewhere import share_rows
from proctor.service.results import documents
from proctor.service.results.results import shown
from proctor.service.runs.lifecycle import look
from proctor.settings import Settings
from proctor.sources.exams.official.imports import Imported, ImportReport, import_path
from proctor.sources.exams.rows.normal_form import plain_row
from proctor.sources.exams.rows.stored import show_task, stored_sets, verify_stored
from proctor.store import AttemptRow, Store
from proctor.types import Item, Run

__all__ = [
    "ImportReport",
    "Imported",
    "export",
    "export_lm_eval",
    "export_rows",
    "import_data",
    "item_records",
    "present_data",
    "report",
    "share_imported",
    "show_data",
    "verify_data",
]

COLUMNS = (
    "run_id",
    "model",
    "task",
    "item_id",
    "position",
    "repeat",
    "attempt",
    "outcome",
    "score",
    "answer",
    "target",
    "rung",
    "latency_s",
    "input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_usd",
    "retries",
    "error",
    "reply",
    "service_s",
    "in_flight",
)


def import_data(path: Path, settings: Settings) -> ImportReport:
    """Bring official files into the normal form under PROCTOR_HOME. Raises DataError if `path` is not there."""
    return import_path(path, settings.home, now=time.time())


def share_imported(context: Context, report: ImportReport) -> None:
    """Put what an import brought where the other machines of this installation find it."""
    share_rows(context, [(each.task, each.split) for each in report.imported], "imported")


def present_data(settings: Settings) -> list[dict[str, Any]]:
    """The stored rows, one record for each task, split and origin; damaged ones are left to `verify_data`."""
    return [
        {"origin": each.origin, **asdict(each.manifest)}
        for each in stored_sets(settings.home)
        if each.manifest is not None
    ]


def show_data(task: str, settings: Settings) -> list[dict[str, Any]]:
    """The stored sets of a task with their manifests and first rows. Raises: NotFound, DataMissing, DataError."""
    return [
        {
            "origin": shown.stored.origin,
            **(asdict(shown.stored.manifest) if shown.stored.manifest else {}),
            "first": [plain_row(row) for row in shown.first],
        }
        for shown in show_task(settings.home, task)
    ]


def verify_data(settings: Settings) -> list[dict[str, Any]]:
    """What is wrong with each stored set: sentences under "faults", none where all is well."""
    return [
        {
            "origin": verdict.stored.origin,
            "task": verdict.stored.task,
            "split": verdict.stored.split,
            "faults": list(verdict.faults),
        }
        for verdict in verify_stored(settings.home)
    ]


def export(context: Context, ids: Sequence[str], form: str, out: TextIO) -> int:
    """Write the latest attempt at each item; returns how many. `form`: csv, jsonl or json.

    The JSON forms have `grades` by further graders and `labels` of people beside each, oldest first; json says under
    `judged` what the judges are worth.
    """
    store = context.store
    runs = [run for ident in ids for run in find(store, ident)]
    return _json(context, runs, out) if form == "json" else _WRITERS[form](store, runs, out)


def export_lm_eval(context: Context, ident: str, folder: Path) -> list[Path]:
    """One run in lm-eval's own layout, into `folder`. Raises NotFound; ConfigError for a plan of several runs."""
    store = context.store
    runs = find(store, ident)
    if len(runs) > 1:
        ids = " ".join(run.id[:8] for run in runs)
        raise ConfigError(
            f"{ident} is a plan of {len(runs)} runs; lm-eval's layout holds one model: choose of {ids}"
        )
    return write_lm_eval(shown(store, runs[0]), list(_records(store, runs)), folder)


def item_records(context: Context, ids: Sequence[str]) -> list[dict[str, Any]]:
    """The latest attempt at each item of the runs, with prompt and reply."""
    store = context.store
    runs = [run for ident in ids for run in find(store, ident)]
    return list(_records(store, runs))


def report(context: Context, ids: Sequence[str], form: str, *, grader: str | None = None) -> str:
    """A report of one run, or of several side by side. `form`: html, md or latex; `grader` as in `look`.

    What the judges are worth that graded these runs stands in it, whoever's scores it shows.
    """
    from proctor.report import render

    found = look(context, ids, grader=grader)
    beside = judged_blocks(context, [result.run for result in found.results], grader)
    return render(found, form, now=time.time(), beside=beside)


def export_rows(context: Context, run: Run, rows: Iterable[AttemptRow], form: str) -> Iterator[str]:
    """These attempts of a run as text, piece by piece. `form`: csv or jsonl. Raises ConfigError for another."""
    if form not in LINES:
        raise ConfigError(f"form {form[:20]!r}: choose from {', '.join(LINES)}")
    said = said_of(context.store, run.id)
    return LINES[form](_record(context.store, run, row, said) for row in rows)


def _csv_lines(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Under the heads of trials where the first record is one's; runs of trials and others do not mix in a table."""
    found = iter(records)
    first = next(found, None)
    columns = TRIAL_COLUMNS if first is not None and "rollout" in first else COLUMNS
    records = found if first is None else chain([first], found)
    out = StringIO()
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for record in records:
        yield out.getvalue()
        out.seek(0)
        out.truncate()
        writer.writerow({key: inert(value) for key, value in record.items()})
    yield out.getvalue()


def _jsonl_lines(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    yield from (orjson.dumps(record).decode() + "\n" for record in records)


LINES = {"csv": _csv_lines, "jsonl": _jsonl_lines}


def _csv(store: Store, runs: Sequence[Run], out: TextIO) -> int:
    return (
        sum(1 for line in _csv_lines(_records(store, runs)) if out.write(line)) - 1
    )  # the heads are no item


def _jsonl(store: Store, runs: Sequence[Run], out: TextIO) -> int:
    return sum(1 for line in _jsonl_lines(_records(store, runs)) if out.write(line))


def _json(context: Context, runs: Sequence[Run], out: TextIO) -> int:
    items = list(_records(context.store, runs))
    judged = [side_by_side_document(each) for each in judged_of(context, runs)]
    document = {"runs": [documents.run(run) for run in runs], "items": items}
    document |= {"judged": judged} if judged else {}
    out.write(documents.to_json(document) + "\n")
    return len(items)


_WRITERS = {"csv": _csv, "jsonl": _jsonl}


def _records(store: Store, runs: Sequence[Run]) -> Iterator[dict[str, Any]]:
    for run in runs:
        said = said_of(store, run.id)
        for row in store.latest(run.id):
            yield _record(store, run, row, said)


def _record(store: Store, run: Run, row: AttemptRow, said: SaidOfRun) -> dict[str, Any]:
    item: Item = store.item(row.item_hash)
    payload = store.payload(run.id, row.item_id, row.repeat, row.attempt)
    if kind_of(run.cell.source).holds == "tasks":
        return {**trial_record(run, row, item, payload), **said.of(row)}
    return {
        "run_id": run.id,
        "model": str(run.cell.model),
        "task": row.task,
        "item_id": row.item_id,
        "position": row.position,
        "repeat": row.repeat,
        "attempt": row.attempt,
        "outcome": row.outcome,
        "score": row.score,
        "answer": row.answer,
        "target": item.target,
        "rung": row.rung,
        "latency_s": row.latency_s,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "reasoning_tokens": row.reasoning_tokens,
        "cost_usd": row.cost_usd,
        "retries": row.retries,
        "error": payload.get("error"),
        "reply": payload.get("text"),
        "reasoning": payload.get("reasoning"),
        "finish": payload.get("finish"),
        "prompt": [{"role": m.role, "content": m.content} for m in item.ask.messages],
        "choices": list(item.choices),
        "service_s": row.service_s,
        "in_flight": row.in_flight,
        **said.of(row),
    }
