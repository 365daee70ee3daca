"""What the API says about benchmarks of tasks and their trials."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from proctor.api.answers import stamp
from proctor.service.rollouts.benchmark import BenchmarkRow, RolloutBenchmark, TrialCell
from proctor.service.rollouts.listing import BenchmarkLine
from proctor.service.rollouts.patches import PatchView
from proctor.service.rollouts.prepared import OfferedTask
from proctor.service.rollouts.trial import TrialPage, TrialTry


def line(of: BenchmarkLine) -> dict[str, Any]:
    """A benchmark in a list."""
    return {
        "benchmark_id": of.id,
        "name": of.name,
        "stamp": of.stamp,
        "status": of.state.value,
        "rows": list(of.rows),
        "tasks": of.tasks,
        "planned": of.planned,
        "ended": of.ended,
        "passed": of.passed,
        "errors": of.errors,
        "created_at": stamp(of.created_at),
        "completed_at": stamp(of.finished_at),
        "project_id": of.project_id,
    }


def benchmark(of: RolloutBenchmark) -> dict[str, Any]:
    """A benchmark with its matrix: `matrix` has a list for each row, in it a list of trials for each of `tasks`."""
    return {
        **line(of.line),
        "config": of.config,
        "sandbox": of.sandbox,
        "image": of.image,
        "limits": asdict(of.limits),
        "pass_score": of.pass_score,
        "rows": [row(each) for each in of.rows],
        "tasks": [{"task": each.id, "sha256": each.sha256} for each in of.tasks],
        "matrix": [
            [[_short(cell) for cell in of.trials.get((each.run, task.id), ())] for task in of.tasks]
            for each in of.rows
        ],
        "left_out": of.left_out,
    }


def row(of: BenchmarkRow) -> dict[str, Any]:
    """One agent and model. `job_id` is the run's id, by which /api/v1/jobs knows it too."""
    return {
        "job_id": of.run,
        "label": of.label,
        "agent": of.agent.name if of.agent else None,
        "model": of.agent.model if of.agent else None,
        "status": of.status.value,
        "step": of.step,
        "error": of.error,
        "error_slug": of.error_slug,
        "stopped": of.stopped,
        "planned": of.planned,
        "ended": of.ended,
        "passed": of.passed,
        "errors": of.errors,
        "tokens": of.tokens,
        "cost_usd": of.cost_usd,
        "parallel": of.parallel,
        "sandbox": of.sandbox,
        "started_at": stamp(of.started_at),
        "completed_at": stamp(of.finished_at),
        "elapsed_s": of.elapsed_s,
    }


def _short(of: TrialCell) -> dict[str, Any]:
    return {
        "rollout": of.rollout,
        "run_id": of.run_id,
        "state": of.state,
        "phase": of.phase,
        "score": of.score,
        "seconds": of.seconds,
        "tokens": of.tokens,
        "cost_usd": of.cost_usd,
    }


def cell(of: TrialCell) -> dict[str, Any]:
    """A trial in a list."""
    return {
        **_short(of),
        "job_id": of.run,
        "label": of.label,
        "agent": of.agent,
        "task": of.task,
        "tries": of.tries,
        "ended_at": stamp(of.at),
        "phase_since": stamp(of.since),
        "error": of.slug,
    }


def trial(of: TrialPage) -> dict[str, Any]:
    """One trial: `record` is all that was measured, of the try that is `shown`; `tries` has all, the last first."""
    return {
        **cell(of.cell),
        "benchmark_id": of.plan,
        "name": of.name,
        "instruction": of.instruction,
        "shown": of.shown and tried(of.shown),
        "error_message": of.error,
        "record": of.record
        and {name: value for name, value in asdict(of.record).items() if name != "run_dir"},
        "patch": None if of.patch is None else patch(of.patch),
        "tries": [tried(each) for each in of.tries],
        "logs": [
            {"name": each.name, "bytes": each.bytes, "cut": each.cut, "text": each.text} for each in of.logs
        ],
        "files": [asdict(each) for each in of.files],
        "here": of.here,
    }


def tried(of: TrialTry) -> dict[str, Any]:
    return {
        "attempt": of.number,
        "outcome": of.outcome.value,
        "score": of.score,
        "error": of.slug,
        "error_message": of.error,
        "seconds": of.seconds,
        "ended_at": stamp(of.at),
    }


def patch(of: PatchView) -> dict[str, Any]:
    """What a patch changes; its text is at `.../patch`."""
    return {
        "added": of.added,
        "removed": of.removed,
        "characters": of.characters,
        "files": [
            {
                name: getattr(each, name)
                for name in ("path", "old_path", "change", "added", "removed", "binary")
            }
            for each in of.files
        ],
    }


def task(of: OfferedTask) -> dict[str, Any]:
    return {
        "prepared_dir": of.name,
        "task": of.id,
        "title": of.title,
        "sha256": of.sha256,
        "instruction": of.instruction,
        "rubrics": [asdict(each) for each in of.rubrics],
        "fault": of.fault,
    }
