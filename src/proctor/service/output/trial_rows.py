"""The trials of a benchmark as its files tell them: every planned one, with its true state, from the store."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from proctor.errors import DataError, NotFound
from proctor.references import RolloutsRef, TaskEntry
from proctor.service.hosts.places import ids_of, trial_folder
from proctor.settings import Settings
from proctor.store import AttemptRow, Store
from proctor.trial_record import TrialRecord, record_from
from proctor.types import Outcome, Run, Status

# Scored: passed, failed, limit (stopped at one, and what was made by then did not pass). Not: whose fault it was.
FileState = Literal[
    "pending",
    "running",
    "passed",
    "failed",
    "limit",
    "sandbox",
    "verifier",
    "provider",
    "cancelled",
]
SCORED: tuple[str, ...] = ("passed", "failed", "limit")
BROKEN: Mapping[str, FileState] = {
    "sandbox": "sandbox",
    "sandbox-missing": "sandbox",
    "verifier": "verifier",
}
AtTry = tuple[str, str, int, int]  # run, item, repeat, attempt


@dataclass(frozen=True, slots=True)
class TrialInFiles:
    """One planned trial. `attempt` is its latest try, None where none has ended; `record` what its verdict rests on."""

    run: Run
    entry: TaskEntry
    task: str
    rollout: int
    run_id: str
    folder: Path
    state: FileState
    attempt: AttemptRow | None = None
    record: TrialRecord | None = None
    error: str | None = None

    @property
    def row(self) -> str:
        return str(self.run.cell.model)

    @property
    def began(self) -> bool:
        return self.state not in ("pending", "cancelled") or self.attempt is not None

    @property
    def tokens(self) -> int | None:
        told = (self.attempt.input_tokens, self.attempt.output_tokens) if self.attempt else ()
        known = [count for count in told if count is not None]
        return sum(known) if known else None


@dataclass(slots=True)
class TrialReader:
    """Reads the trials of runs again and again, what was said in a try once. `settings` tell where files lie."""

    store: Store
    settings: Settings
    records: dict[AtTry, tuple[TrialRecord | None, str | None]] = field(default_factory=dict)

    def trials(self, runs: Sequence[Run]) -> list[TrialInFiles]:
        """Every planned trial, in the order of their numbers. Raises: NotFound, StoreError."""
        found = [trial for run in runs for trial in self._of_run(run)]
        return sorted(found, key=lambda each: int(each.run_id.rpartition("-")[2]))

    def _of_run(self, run: Run) -> Iterator[TrialInFiles]:
        ref = ref_of(run)
        kept = {(row.item_id, row.repeat): row for row in self.store.latest(run.id)}
        number = ref.first
        for task, entry in zip(tasks_of(run), ref.tasks, strict=True):
            for rollout in range(entry.rollouts):
                yield self._trial(run, entry, task, rollout, number, kept.get((task, rollout)))
                number += 1

    def _trial(
        self, run: Run, entry: TaskEntry, task: str, rollout: int, number: int, row: AttemptRow | None
    ) -> TrialInFiles:
        ref = ref_of(run)
        run_id = f"{ref.stamp}-{number}"
        folder = trial_folder(ref, self.settings, number)
        record, error = (None, None) if row is None else self._said(run, row)
        return TrialInFiles(
            run, entry, task, rollout, run_id, folder, _state(run, row, folder), row, record, error
        )

    def _said(self, run: Run, row: AttemptRow) -> tuple[TrialRecord | None, str | None]:
        key = (run.id, row.item_id, row.repeat, row.attempt)
        if key not in self.records:
            said: Mapping[str, Any] = {}
            with suppress(NotFound):
                said = self.store.payload(run.id, row.item_id, row.repeat, row.attempt)
            self.records[key] = (_record(said), said.get("error"))
        return self.records[key]


def _record(said: Mapping[str, Any]) -> TrialRecord | None:
    with suppress(DataError):
        return record_from(said["raw"].encode()) if said.get("raw") and not said.get("error") else None
    return None


def ref_of(run: Run) -> RolloutsRef:
    assert isinstance(run.cell.source, RolloutsRef)  # a file of a benchmark is of runs of tasks
    return run.cell.source


def tasks_of(run: Run) -> tuple[str, ...]:
    """The ids of a run's tasks in its order; until they are opened, the names of their folders."""
    return ids_of(run, ref_of(run))


def _state(run: Run, row: AttemptRow | None, folder: Path) -> FileState:
    if row is not None and row.outcome is not Outcome.ERROR:
        if row.outcome is Outcome.CORRECT:
            return "passed"
        return "limit" if row.finish == "limit" else "failed"
    if run.status is Status.RUNNING and at_work(folder):
        return "running"
    if row is not None:
        return BROKEN.get(row.error_slug or "", "provider")
    return "cancelled" if run.status is Status.CANCELLED else "pending"


def at_work(folder: Path) -> bool:
    """Whether a living process of this machine says that it works on the trial."""
    try:
        told = json.loads((folder / "state.json").read_bytes())
    except (OSError, ValueError):
        return False
    if (
        not isinstance(told, dict)
        or told.get("phase") is None
        or told.get("error") is not None  # a try that broke keeps its phase
        or not isinstance(told.get("pid"), int)
    ):
        return False
    try:
        os.kill(told["pid"], 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
