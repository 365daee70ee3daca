"""The documented files of a benchmark, data/rollouts/NAME/STAMP: views of the store, written whole as trials end.

    manifest.json     every planned trial, with what is documented and its true state
    runs.txt          the folder of each trial that was begun, a line each
    task_results/     a JSON file for each task and row
    summary.md        for people, with every denominator
    ../../temp/rollout_NAME__STAMP.json

Whoever works on a run of the benchmark writes them, one process at a time, and a resume puts them right.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from proctor import __version__
from proctor.errors import ConfigError, OutputError, StoreError
from proctor.plan.sweeps import SECRET
from proctor.references import RolloutsRef, TrialLimits
from proctor.service.context import Context
from proctor.service.hosts.places import at_home
from proctor.service.output.benchmark_summary import counts_of, figures_of, summary
from proctor.service.output.stamps import benchmark_folder, no_links
from proctor.service.output.trial_rows import SCORED, TrialInFiles, TrialReader, ref_of
from proctor.settings import Settings
from proctor.store import Store
from proctor.trial_record import BY_WIRE
from proctor.types import Attempt, Run

LOG = logging.getLogger(__name__)
EVERY_S = 1.0
SHARE = 1 / 20  # of the time at most is spent on writing the files
SAFE = re.compile(r"[^\w.+-]+")
MOST_NAME = 80


@contextmanager
def benchmark_files(ref: RolloutsRef, settings: Settings) -> Iterator[BenchmarkFiles | None]:
    """What is written beside a run of these tasks; None where no folder was reserved. Raises: ConfigError."""
    yield BenchmarkFiles(at_home(ref, settings), settings) if ref.stamp else None


@dataclass(eq=False, slots=True)
class BenchmarkFiles:
    """Writes the files of a benchmark while one of its runs is under way; the store is read each time."""

    ref: RolloutsRef
    settings: Settings
    trouble: OutputError | None = None
    _plan_id: str = ""
    _reader: TrialReader | None = None
    _due: float = field(default=0.0)

    def begin(self, store: Store, run: Run, *, asks: bool = True) -> None:
        """Raises: ConfigError if the folder cannot be written."""
        self._plan_id, self._reader = run.plan_id, TrialReader(store, self.settings)
        try:
            self._write()
        except OSError as error:
            raise ConfigError(f"{self._folder} cannot be written: {error.strerror}") from error

    def kept(self, _attempts: Sequence[Attempt]) -> None:
        """After they were committed, in the writer's thread; not more often than there is time for."""
        began = time.monotonic()
        if began < self._due:
            return
        self._tried()
        took = time.monotonic() - began
        self._due = began + max(EVERY_S, took / SHARE)

    def shared(self) -> None:
        """What others keep is read from the store, as all is."""

    def end(self) -> None:
        self._tried()

    @property
    def _folder(self) -> Path:
        return benchmark_folder(Path(self.ref.data), self.ref.name, self.ref.stamp)

    def _tried(self) -> None:
        try:
            self._write()
            self.trouble = None
        except (OSError, StoreError) as error:
            told = error.strerror if isinstance(error, OSError) else str(error)
            LOG.warning("%s cannot be written: %s", self._folder, told)
            self.trouble = OutputError(
                f"{self._folder} is not up to date: {told}. All trials are kept; `proctor rollouts resume "
                f"{self.ref.name}` writes it anew"
            )

    def _write(self) -> None:
        assert self._reader is not None
        write_files(self._reader, self._plan_id, self.ref)


def refresh(context: Context, run: Run) -> None:
    """Write the files of a run's benchmark as things are now. Raises: OSError, ConfigError."""
    ref = run.cell.source
    if isinstance(ref, RolloutsRef) and ref.stamp:
        reader = TrialReader(context.store, context.settings)
        write_files(reader, run.plan_id, at_home(ref, context.settings))


def write_files(reader: TrialReader, plan_id: str, ref: RolloutsRef) -> None:
    """Read the benchmark's runs and write its files. Raises: OSError, ConfigError for a folder that is a link."""
    data = Path(ref.data)
    folder = benchmark_folder(data, ref.name, ref.stamp)
    no_links(data, folder / "task_results")
    (folder / "task_results").mkdir(parents=True, exist_ok=True)
    with _alone(folder):  # so that what is read last is written last
        trials = reader.trials(reader.store.plan_runs(plan_id))
        _put(folder / "manifest.json", _json(manifest_document(plan_id, ref, trials)))
        begun = [trial for trial in trials if trial.began]
        _put(folder / "runs.txt", "".join(f"{trial.folder}\n" for trial in begun))
        for name, document in _task_results(trials):
            _put(folder / "task_results" / name, _json(document))
        _put(folder / "summary.md", summary(ref, trials))
        _put_temp(data, ref, folder, begun)


def _put_temp(data: Path, ref: RolloutsRef, folder: Path, begun: Sequence[TrialInFiles]) -> None:
    temp = data / "rollouts" / "temp"
    no_links(data, temp)
    temp.mkdir(exist_ok=True)
    document = {
        "created_at": ref.stamp,
        "rollout_dir": str(folder),
        "runs": [str(trial.folder) for trial in begun],
        "tasks": [trial.entry.folder for trial in begun],
    }
    _put(temp / f"rollout_{ref.name}__{ref.stamp}.json", _json(document))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _put(path: Path, text: str) -> None:
    """The file as a whole, in one step; nothing where it says that already."""
    with suppress(OSError, UnicodeDecodeError):
        if not path.is_symlink() and path.read_text(encoding="utf-8") == text:
            return
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _json(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def manifest_document(plan_id: str, ref: RolloutsRef, trials: Sequence[TrialInFiles]) -> dict[str, Any]:
    """manifest.json: what is documented, and what a reader of results must know beside it."""
    return {
        "config": ref.config,
        "name": ref.name,
        "created_at": ref.stamp,
        "results": [trial_document(trial) for trial in trials],
        "plan": plan_id,
        "proctor": __version__,
        "sandbox": ref.sandbox,
        "image": ref.image,
        "limits": asdict(ref.limits),
        "pass_score": ref.pass_score,
        "counts": counts_of(trials),
    }


def trial_document(trial: TrialInFiles) -> dict[str, Any]:
    """A trial: `status` and `launch_rc` as documented, and what became of it."""
    row, record, agent = trial.attempt, trial.record, trial.run.cell.agent
    failed = trial.state == "sandbox"
    return {
        "task_dir": trial.entry.given or trial.entry.folder,
        "run_id": trial.run_id,
        "status": ("launch_failed" if failed else "launched") if trial.began else None,
        "launch_rc": int(failed) if trial.began else None,
        "run_dir": str(trial.folder),
        "task": trial.task,
        "agent": agent.name if agent else None,
        "model": agent.model if agent else None,
        "row": trial.row,
        "rollout": trial.rollout,
        "state": trial.state,
        "score": None if row is None else row.score,
        "passed": trial.state == "passed" if trial.state in SCORED else None,
        "seconds": None if row is None else row.latency_s,
        "tokens": trial.tokens,
        "cost_usd": None if row is None else row.cost_usd,
        "calls": record.calls if record else None,
        **(record.by_wire if record else dict.fromkeys(BY_WIRE)),
        "tries": 0 if row is None else row.attempt + 1,
        "error": {"slug": row.error_slug, "message": trial.error}
        if row is not None and row.error_slug
        else None,
        "limits_met": list(record.limits_met) if record else [],
        "custom_metrics": dict(record.custom_metrics) if record else {},
        "timeout_s": _limits(trial).agent_s,
        "token_limit": _limits(trial).max_tokens,
        "environment_variables": _variables(trial.entry.environment),
        "overrides": trial.entry.overrides,
    }


def _variables(environment: Sequence[str]) -> dict[str, str]:
    """Those of the entry; what is named like a secret is said to be set, and no more."""
    pairs = (each.split("=", 1) for each in environment)
    return {name: "(set)" if SECRET.search(name) else value for name, value in pairs}


def _limits(trial: TrialInFiles) -> TrialLimits:
    return trial.entry.within(ref_of(trial.run).limits)


def _task_results(trials: Sequence[TrialInFiles]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and content of each file of task_results: one for each task and row."""
    cells: dict[tuple[str, str, str], list[TrialInFiles]] = {}
    for trial in trials:
        cells.setdefault((trial.task, trial.row, trial.run.id), []).append(trial)
    for (task, row, _), of in cells.items():
        document = {
            "task": task,
            "task_dir": of[0].entry.given or of[0].entry.folder,
            "row": row,
            "counts": counts_of(of),
            **figures_of(of),
            "trials": [trial_document(trial) for trial in of],
        }
        yield file_name(task, row), document


def file_name(task: str, row: str) -> str:
    """A name that no other task and row has, with no more than letters, digits and _.+- in it.

    >>> file_name("mend", "agent/null")
    'mend__agent_null-14a460ea.json'
    """
    safe = SAFE.sub("_", f"{task}__{row}").lstrip(".")
    whole = hashlib.sha256(f"{task}\0{row}".encode()).hexdigest()
    return f"{safe[:MOST_NAME]}-{whole[:8]}.json"
