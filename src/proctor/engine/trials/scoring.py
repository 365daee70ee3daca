"""The verdict on a trial as a record: what it scored, what bound it, and the documented files of it."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from proctor.engine.agents.contract import AgentWork
from proctor.engine.trials.collecting import Collected
from proctor.engine.trials.documents import evaluation_results_document, scoring_document
from proctor.engine.trials.folder import CALLS_LOG, RECORD, TrialFolder
from proctor.engine.trials.verifying import PatchVerdict
from proctor.errors import DataError
from proctor.replies.calls import kept_calls
from proctor.replies.wire import totals_of
from proctor.trial_record import PhaseTime, TrialRecord, WireTotals, record_bytes
from proctor.types import Reply

if TYPE_CHECKING:
    from proctor.engine.trials.trial import Trial


def write_results(
    trial: Trial, folder: TrialFolder, collected: Collected, patch: bytes, verdict: PatchVerdict
) -> Reply:
    """Write the documented files, and last the record. Raises: DiskFull, SandboxError."""
    at, began = time.time(), time.monotonic()
    record = replace(record_of(trial, folder, collected, patch, verdict), wire=wire_totals(folder.path))
    reply = reply_of(record, collected.work, patch)
    folder.write("evaluation_results.json", evaluation_results_document(trial.task, record, reply))
    folder.write("scoring_results.md", scoring_document(trial.task, record, reply))
    scored = PhaseTime("score", at, time.monotonic() - began)
    record = replace(record, phases=(*record.phases, scored))
    folder.write(RECORD, record_bytes(record), lasting=True)
    return reply_of(record, collected.work, patch)


def record_of(
    trial: Trial,
    folder: TrialFolder,
    collected: Collected,
    patch: bytes,
    verdict: PatchVerdict,
) -> TrialRecord:
    work = collected.work
    pass_score = trial.task.pass_score
    needed = trial.ref.pass_score if pass_score is None else pass_score
    return TrialRecord(
        folder.path.name,
        str(folder.path),
        work.ended,
        verdict.score,
        verdict.score >= needed,
        work.exit_code,
        work.limits_met,
        tuple(trial.phases),
        work.steps,
        work.steps_left_out,
        calls=work.calls,
        agent_used=collected.used,
        verifier_used=verdict.used,
        rubrics=verdict.rubrics,
        tests=verdict.tests,
        custom_metrics=verdict.custom_metrics,
        diff_lines=patch.count(b"\n"),
        sandbox=trial.sandbox.told,
        hashes=_hashes(trial, folder.read(CALLS_LOG), patch, verdict),
        notes=(*collected.notes, *verdict.notes),
        tries=folder.state.number,
        verified=folder.state.verified,
        final=work.final,
        deadlines=collected.deadlines,
    )


def reply_of(record: TrialRecord, work: AgentWork, patch: bytes) -> Reply:
    """What the engine keeps: the patch as the text, the record as the reply's own words."""
    return Reply(
        patch.decode("utf-8", "replace"),
        finish=record.ended,
        latency_s=sum(each.seconds for each in record.phases),
        input_tokens=work.usage.input_tokens,
        output_tokens=work.usage.output_tokens,
        cost_usd=work.usage.cost_usd,
        raw=record_bytes(record),
        unused=work.unused,
    )


def bound_of(trial: Trial) -> str:
    """The hash of all that an agent's work depends on: nothing else may be taken for it."""
    told = {**_of_work(trial), "rollout": str(trial.rollout), "row": trial.row, "sandbox": trial.sandbox.name}
    return _hashed(told)


def _of_work(trial: Trial) -> dict[str, str]:
    limits = [asdict(trial.limits), dict(trial.deadlines.told), dict(trial.environment)]
    return {
        "task": trial.task.sha256,
        "image": trial.sandbox.image_sha256,
        "agent": trial.agent.sha256,
        "limits": _hashed(limits),
    }


def wire_totals(place: Path) -> WireTotals | None:
    """What the kept calls of a trial come to; None where it has none that can be read."""
    try:
        with (place / CALLS_LOG).open("rb") as file:
            return totals_of(kept_calls(file))
    except (OSError, DataError):
        return None


def _hashes(trial: Trial, calls: bytes | None, patch: bytes, verdict: PatchVerdict) -> Mapping[str, str]:
    """SHA-256 of what a result is made of, and of the lines NAME=HASH of all of them: the chain that binds them."""
    told = _of_work(trial)
    if calls is not None:
        told["calls"] = hashlib.sha256(calls).hexdigest()
    told["patch"] = hashlib.sha256(patch).hexdigest()
    told["verdict"] = _hashed({path: result.passed for path, result in verdict.tests.items()})
    return {**told, "chain": chain_of(told)}


def chain_of(hashes: Mapping[str, str]) -> str:
    """SHA-256 of the lines NAME=HASH of all hashes but the chain's own, sorted by name."""
    lines = "\n".join(f"{name}={hashes[name]}" for name in sorted(hashes) if name != "chain")
    return hashlib.sha256(lines.encode()).hexdigest()


def _hashed(told: object) -> str:
    return hashlib.sha256(orjson.dumps(told, option=orjson.OPT_SORT_KEYS)).hexdigest()
