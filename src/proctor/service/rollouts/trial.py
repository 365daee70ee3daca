"""One trial: what is known of it, its patch, its logs, and the tries before. Files are had where it ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proctor.errors import NotFound
from proctor.service.context import Context
from proctor.service.hosts.trials import have
from proctor.service.rollouts import folders
from proctor.service.rollouts.benchmark import TrialCell, columns_of, runs_of, trial_cell
from proctor.service.rollouts.folders import FILES, LogTail, TrialFile, live_phase
from proctor.service.rollouts.listing import tasks_ref
from proctor.service.rollouts.patches import PatchView, view_of
from proctor.store.core.attempts import AttemptRow
from proctor.store.read.pages import attempts_of
from proctor.trial_record import TrialRecord, record_in
from proctor.types import Outcome, Run, Status, TaskFolder


@dataclass(frozen=True, slots=True)
class TrialName:
    """Which trial of which benchmark: by the run of its row, its task, and its rollout from 0."""

    benchmark: str
    run: str
    task: str
    rollout: int


@dataclass(frozen=True, slots=True)
class TrialTry:
    """One try at a trial, numbered from 0. `error` says why it measured nothing."""

    number: int
    outcome: Outcome
    score: float | None
    slug: str | None
    error: str | None
    seconds: float | None
    at: float


@dataclass(frozen=True, slots=True)
class TrialPage:
    """A trial. `record` and `patch` are of the try that is shown, None before one has ended with a verdict.

    `here`: its folder is on this machine, brought from where machines share if another one worked on it; else there are
    no logs and files. `tries` has all tries, the last first.
    """

    plan: str
    name: str
    cell: TrialCell
    shown: TrialTry | None
    record: TrialRecord | None
    patch: PatchView | None
    error: str | None
    tries: tuple[TrialTry, ...]
    logs: tuple[LogTail, ...]
    files: tuple[TrialFile, ...]
    here: bool
    folder: str
    instruction: str | None


@dataclass(frozen=True, slots=True)
class FoundTrial:
    """A trial in the store: its run, the number of its folder, and the rows of its tries, the last first."""

    plan: str
    run: Run
    folder: str
    run_id: str
    rows: Sequence[AttemptRow]
    here: bool


def one_trial(context: Context, name: TrialName, *, attempt: int | None = None) -> TrialPage:
    """A trial, by its last try or the one that is asked for. Raises: NotFound."""
    found = find_trial(context, name)
    home, run = context.settings.home, found.run
    row = try_of(found, attempt)
    said = said_in(context, run, row)
    live = live_phase(home, found.run_id) if found.here and run.status is Status.RUNNING else None
    last = found.rows[0] if found.rows else None
    if last is not None and last.outcome is not Outcome.ERROR:
        live = None
    tries = tuple(_try(context, run, each) for each in found.rows)
    return TrialPage(
        plan=found.plan,
        name=tasks_ref(run).name,
        cell=trial_cell(run, name.task, name.rollout, found.run_id, last, live),
        shown=next((each for each in tries if row is not None and each.number == row.attempt), None),
        record=record_in(said),
        patch=view_of(said["text"]) if said.get("text") is not None else None,
        error=said.get("error"),
        tries=tries,
        logs=folders.tails(home, found.run_id) if found.here else (),
        files=folders.files(home, found.run_id) if found.here else (),
        here=found.here,
        folder=found.folder,
        instruction=instruction_of(context, last),
    )


def patch_text(context: Context, name: TrialName, *, attempt: int | None = None) -> str:
    """The whole patch of a try. Raises: NotFound where there is none."""
    found = find_trial(context, name)
    said = said_in(context, found.run, try_of(found, attempt))
    if said.get("text") is None:
        raise NotFound(f"Trial {found.run_id} has no patch")
    return str(said["text"])


def file_bytes(context: Context, name: TrialName, file: str) -> bytes:
    """A file of the trial's folder, one of FILES. Raises: NotFound where this machine has none."""
    found = find_trial(context, name)
    body = None
    if found.here and file in FILES:
        body = folders.read(context.settings.home, found.run_id, FILES[file])
    if body is None:
        raise NotFound(f"Trial {found.run_id} has no {file} on this machine")
    return body


def find_trial(context: Context, name: TrialName) -> FoundTrial:
    """Raises: NotFound."""
    missing = NotFound(
        f"Benchmark {name.benchmark} has no trial {name.rollout} of {name.task} in run {name.run}"
    )
    runs = runs_of(context, name.benchmark)
    run = next((each for each in runs if each.id == name.run), None)
    if run is None:
        raise missing
    ref = tasks_ref(run)
    number = ref.first
    for column, entry in zip(columns_of(run), ref.tasks, strict=True):
        if column.id == name.task and 0 <= name.rollout < entry.rollouts:
            rows = attempts_of(context.store, run.id, name.task, name.rollout)
            here = have(context, run, number + name.rollout, rows[0] if rows else None)
            run_id = f"{ref.stamp}-{number + name.rollout}"
            return FoundTrial(run.plan_id, run, column.folder, run_id, rows, here)
        number += entry.rollouts
    raise missing


def try_of(found: FoundTrial, attempt: int | None) -> AttemptRow | None:
    """The row of a try; None asks for the last, of which there may be none. Raises: NotFound."""
    if attempt is None:
        return found.rows[0] if found.rows else None
    row = next((each for each in found.rows if each.attempt == attempt), None)
    if row is None:
        raise NotFound(f"Trial {found.run_id} has no try {attempt}")
    return row


def said_in(context: Context, run: Run, row: AttemptRow | None) -> dict[str, Any]:
    """What the store keeps of a try beside its figures."""
    return {} if row is None else context.store.payload(run.id, row.item_id, row.repeat, row.attempt)


def _try(context: Context, run: Run, row: AttemptRow) -> TrialTry:
    broken = row.outcome is Outcome.ERROR
    error = said_in(context, run, row).get("error") if broken else None
    return TrialTry(row.attempt, row.outcome, row.score, row.error_slug, error, row.latency_s, row.at)


def instruction_of(context: Context, row: AttemptRow | None) -> str | None:
    """What the agent was asked; None before a try has ended."""
    if row is None:
        return None
    ask = context.store.item(row.item_hash).ask
    return ask.instruction if isinstance(ask, TaskFolder) else None
