"""`rollouts eval`: kept patches are verified again; the new grades stand beside the first ones."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proctor.engine.trials.again import AgainVerifier
from proctor.errors import AttemptError
from proctor.references import RolloutsRef
from proctor.sandbox.contract import Policy
from proctor.sandbox.opening import open_sandbox
from proctor.service.context import Context
from proctor.service.hosts.places import at_home
from proctor.service.hosts.trials import have
from proctor.service.opening.needs import bring_cells
from proctor.service.opening.sources import open_source
from proctor.service.output.stamps import FORM, benchmark_folder
from proctor.service.output.trial_rows import SCORED, TrialInFiles, TrialReader, ref_of
from proctor.service.runs.resuming import same_rows
from proctor.sources.rollouts.source import RolloutsSource
from proctor.store.write import grades
from proctor.store.write.grades import KeptGrade
from proctor.types import Grade, Outcome, Run

GRADER = "verifier/1"
EVALUATED = "eval_manifest.json"


@dataclass(frozen=True, slots=True)
class VerifiedAgain:
    """One trial: its first score and that of now; None, with the reason, where the verifier came to no verdict."""

    trial: TrialInFiles
    score: float | None
    passed: bool | None
    error: str | None = None

    @property
    def first(self) -> float | None:
        return None if self.trial.attempt is None else self.trial.attempt.score

    @property
    def same(self) -> bool:
        return self.score is not None and self.score == self.first


@dataclass(frozen=True, slots=True)
class AgainReport:
    """What came of it. `left_out` counts trials that have no patch; the grades are kept by the name `grader`."""

    verified: tuple[VerifiedAgain, ...]
    left_out: int
    grader: str
    path: Path

    @property
    def differing(self) -> tuple[VerifiedAgain, ...]:
        return tuple(each for each in self.verified if each.score is not None and not each.same)

    @property
    def failed(self) -> tuple[VerifiedAgain, ...]:
        return tuple(each for each in self.verified if each.score is None)


Say = Callable[[VerifiedAgain], None]


def evaluate_again(context: Context, runs: Sequence[Run], say: Say = lambda _one: None) -> AgainReport:
    """Verify every kept patch of a benchmark's runs again, as many at once as it ran.

    Raises: DataError where a task has changed since, ConfigError, SandboxMissing.
    """
    stamp = datetime.now(UTC).strftime(FORM)
    name = f"{GRADER}:again={stamp}"
    bring_cells(context, [run.cell for run in runs])
    trials = TrialReader(context.store, context.settings).trials(runs)
    verified: list[VerifiedAgain] = []
    for run in runs:
        wanted = [each for each in trials if each.run.id == run.id and each.state in SCORED]
        done = asyncio.run(_of_run(context, run, wanted, stamp, say)) if wanted else []
        grades.add(context.store, run.id, [_kept(each, name) for each in done if each.score is not None])
        verified += done
    ref = ref_of(runs[0])
    path = benchmark_folder(context.settings.home.absolute(), ref.name, ref.stamp) / EVALUATED
    report = AgainReport(tuple(verified), len(trials) - len(verified), name, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}")
    fresh.write_text(json.dumps(report_document(report, stamp), indent=2) + "\n", encoding="utf-8")
    fresh.replace(path)
    return report


async def _of_run(
    context: Context, run: Run, trials: Sequence[TrialInFiles], stamp: str, say: Say
) -> list[VerifiedAgain]:
    ref = at_home(ref_of(run), context.settings)
    source = open_source(ref, context.settings)
    same_rows(run, source)
    assert isinstance(source, RolloutsSource)
    sandbox = open_sandbox(ref, context.settings.home)
    await sandbox.check(_policy(ref))
    verifier = AgainVerifier(ref, source, sandbox)
    places = asyncio.Semaphore(run.cell.limits.parallel or 1)

    async def one(trial: TrialInFiles) -> VerifiedAgain:
        async with places:
            found = await _again(context, verifier, trial, stamp)
        say(found)
        return found

    return list(await asyncio.gather(*map(one, trials)))


def _policy(ref: RolloutsRef) -> Policy:
    return Policy(ref.limits.memory_mb, ref.limits.cpus, ref.limits.pids, ref.limits.disk_mb)


async def _again(context: Context, verifier: AgainVerifier, trial: TrialInFiles, stamp: str) -> VerifiedAgain:
    row = trial.attempt
    assert row is not None  # of a scored one
    await asyncio.to_thread(have, context, trial.run, int(trial.run_id.rpartition("-")[2]), row)
    said = context.store.payload(trial.run.id, row.item_id, row.repeat, row.attempt)
    log = trial.folder / "evaluations" / f"{stamp}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        patch = str(said.get("text") or "").encode()
        verdict = await verifier.verdict(row.item_id, row.repeat, patch, log)
    except AttemptError as error:
        return VerifiedAgain(trial, None, None, f"{error.slug}: {error}")
    return VerifiedAgain(trial, verdict.score, verdict.score >= _pass_score(verifier, row.item_id))


def _pass_score(verifier: AgainVerifier, task_id: str) -> float:
    own = verifier.source.by_id[task_id][0].pass_score
    return verifier.ref.pass_score if own is None else own


def _kept(each: VerifiedAgain, name: str) -> KeptGrade:
    row = each.trial.attempt
    assert row is not None
    outcome = Outcome.CORRECT if each.passed else Outcome.WRONG
    grade = Grade(outcome, each.score, "passed" if each.passed else "failed", grader=name)
    return KeptGrade(row.item_id, row.repeat, row.attempt, time.time(), grade)


def report_document(report: AgainReport, stamp: str) -> dict[str, Any]:
    """eval_manifest.json: what is documented, and both scores."""
    return {
        "evaluated_at": stamp,
        "grader": report.grader,
        "verified": len(report.verified) - len(report.failed),
        "differing": len(report.differing),
        "without_patch": report.left_out,
        "results": [
            {
                "run_dir": str(each.trial.folder),
                "task_dir": each.trial.entry.given or each.trial.entry.folder,
                "eval_rc": int(each.score is None),
                "status": "ok" if each.score is not None else "eval_failed",
                "run_id": each.trial.run_id,
                "row": each.trial.row,
                "score": each.score,
                "first_score": each.first,
                "same": each.same,
                "error": each.error,
            }
            for each in report.verified
        ],
    }
