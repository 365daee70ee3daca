"""An answer of every route, for the OpenAPI document; taken from a server with the built-in models, figures rounded."""

from __future__ import annotations

from typing import Any

from proctor.api.schemas import JOB_ID

Document = dict[str, Any]

OTHER_ID = "6a94ad35-a637-40d7-bc50-4ac79ec0611a"
AT = ("2026-11-21T07:30:39Z", "2026-11-21T07:30:40Z")
SIM, MAJORITY = "simulator/sim", "baseline/majority"
DRAWS = "draws of each task combined, 2,000 draws, seed 0"
SHA256 = "c2e40525ac5df62828f9b1b5593358aa4f1443e2e62231ad3c415140bc56f14c"


def example(value: Document, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """What a route's `responses` says of its answer."""
    return {status: {"content": {"application/json": {"example": value}}}}


def _figures(mean: float, stderr: float, low: float, high: float, *, n: int = 20, by: str) -> Document:
    return {
        "mean": mean,
        "std": stderr,
        "stderr": stderr,
        "note": None,
        "ci": [low, high],
        "n": n,
        "asked": n,
        "method": by,
        "reason": None,
    }


def _difference(stderr: float, low: float, high: float, n: int, method: str) -> Document:
    ends = {"value": 0.35, "stderr": stderr, "low": low, "high": high}
    return {**ends, "scored": n, "asked": n, "method": method, "reason": None}


# Jobs --------------------------------------------------------------------------------------------

SUBMITTED = {
    "job_id": JOB_ID,
    "message": "Benchmarking started for suite: glue",
    "estimated_duration": "10-30 minutes",
    "estimate_basis": "its last run of this suite, for 200 calls",
    "preset": "quick",
    "items": 200,
    "full_size": 69711,
    "sample": False,
}
CANCELLED = {"message": f"Job {JOB_ID} cancelled successfully"}
RESTARTED = {"job_id": JOB_ID, "message": f"Job {JOB_ID} waits for a worker", "status": "pending"}
DELETED = {"job_id": JOB_ID, "message": f"Job {JOB_ID} deleted"}

_PROGRESS = {
    "job_id": JOB_ID,
    "status": "completed",
    "settled": 40,
    "planned": 40,
    "percentage": 100.0,
    "step": "completed",
    "items_per_s": None,
    "eta_s": None,
    "ahead": None,
}
_NAMED = {"model_name": "sim", "provider": "simulator", "benchmark_suite": "GLUE: sst2, mrpc"}
_TIMES = {"created_at": AT[0], "started_at": AT[0], "completed_at": AT[1]}
ENDED = {**_PROGRESS, **_NAMED, **_TIMES, "error": None, "ended": True}
RUNNING = {
    **ENDED,
    "status": "running",
    "settled": 10,
    "percentage": 25.0,
    "step": "asked 10 of 40 items",
    "items_per_s": 2.0,
    "eta_s": 15.0,
    "completed_at": None,
    "ended": False,
}
QUEUE = {
    "waiting": {"high": 1, "normal": 0, "low": 0},
    "running": 0,
    "most_running": 3,
    "most_queued_per_user": 10,
    "jobs": {"pending": 1, "running": 0, "completed": 2, "failed": 0, "cancelled": 0},
    "worker_seen_at": AT[1],
    "at_work": [{"job_id": JOB_ID, "memory_bytes": 93_000_000, "cores": 0.4}],
    "memory_allowed_bytes": 2_147_000_000,
    "disk": {"free_bytes": 85_000_000_000, "least_bytes": 500_000_000},
}

_HEADLINE = _figures(0.848, 0.0594, 0.6965, 0.9494, n=40, by=DRAWS)
_NAME = "score (2 of 9 tasks)"
_MEAN_NAME = "accuracy, mean of 2 tasks"
_MEAN = _figures(0.85, 0.0583, 0.7029, 0.9498, n=40, by=DRAWS)
_LINE = {
    "job_id": JOB_ID,
    "status": "completed",
    "model_name": "sim",
    "benchmark_suite": "glue",
    "created_at": AT[0],
    "completed_at": AT[1],
    "provider": "simulator",
    "project_id": 1,
    "partial": False,
    "sample": True,
    "error": None,
    "planned": 40,
    "not_measured": 0,
    "causes": [],
    "score": {"metric": _NAME, "mean": 0.848, "ci": [0.6965, 0.9494], "n": 40, "asked": 40},
}
LISTED = {"results": [_LINE], "total": 1}

# Results -----------------------------------------------------------------------------------------

_ACCURACY = _figures(0.85, 0.0819, 0.6396, 0.9476, by="Wilson")
_F1_METHOD = "Dirichlet(counts + 1/2) on the table of answers, 2,000 draws, seed 0"
_F1 = _figures(0.8421, 0.0951, 0.5716, 0.9604, by=_F1_METHOD)

_SPEED = {
    "basis": "measured",
    "seconds": 0.0043,
    "requests": 40,
    "at_once": 7.6,
    "in_flight": 7.6,
    "output_tokens_per_s": 4767.4,
}
RESULT = {
    "job_id": JOB_ID,
    "status": "completed",
    "summary": {
        "total_evaluations": 2,
        "benchmarks_run": ["glue"],
        "models_evaluated": 1,
        "total_time_seconds": 0.34,
    },
    "performance_data": {
        "glue": {"sst2": {"accuracy": _ACCURACY}, "mrpc": {"accuracy": _ACCURACY, "f1": _F1}}
    },
    "completed_at": AT[1],
    "created_at": AT[0],
    "started_at": AT[0],
    "model_name": "sim",
    "provider": "simulator",
    "partial": False,
    "sample": True,
    "headline": {"metric": _NAME, **_HEADLINE},
    "not_measured": 0,
    "overall": {_NAME: _HEADLINE, _MEAN_NAME: _MEAN},
    "answer_rate": 1.0,
    "outcomes": {"correct": 34, "wrong": 6},
    "errors": {},
    "causes": [],
    "retries": 0,
    "seconds_per_item": 0.0043,
    "speed": _SPEED,
    "run_output_tokens_per_s": 2412.0,
    "tokens": {"input_per_item": 87.85, "output_per_item": 20.5, "reasoning_per_item": 0.0},
    "cost_usd": None,
    "unused": None,
    "stopped": None,
    "error": None,
    "error_slug": None,
    "progress": _PROGRESS,
    "manifest": {
        "suite": "glue",
        "rows": "sample",
        "data_sha256": {"sst2": SHA256},
        "sampling": {"temperature": 0.0, "max_tokens": 512, "seed": 0},
    },
}
HISTORY = {
    "history": [_LINE],
    "total_runs": 1,
    "date_range": "Last 30 days",
    "trend": [
        {
            "job_id": JOB_ID,
            "model": SIM,
            "benchmark_suite": "GLUE: sst2, mrpc",
            "created_at": AT[0],
            "metric": "score (2 of 9 tasks)",
            **_HEADLINE,
            "change": None,
        }
    ],
}

# Comparisons -------------------------------------------------------------------------------------

_BOTH = {"first": JOB_ID, "second": OTHER_ID, "first_model": SIM, "second_model": MAJORITY}
_WHOLE = _difference(0.0999, 0.1517, 0.5428, 40, f"paired {DRAWS}")
_TASK = {
    "task": "sst2",
    "title": "SST-2",
    "metric": "accuracy",
    "first_value": 0.85,
    "second_value": 0.5,
    "difference": _difference(0.1527, 0.0274, 0.6016, 20, "Tango's paired score interval"),
    "test": "exact McNemar, two-sided",
    "p_value": 0.0654,
    "adjusted_p": 0.0654,
    "verdict": "no difference shown",
    "margin": 0.01,
    "shared": 20,
    "both_right": 8,
    "only_first": 9,
    "only_second": 2,
    "correlation": -0.14,
    "comparisons": 2,
    "detectable": 0.4819,
    "items_needed": 43,
}
_PAIR = {
    **_BOTH,
    **_TASK,
    "task": "",
    "title": "GLUE: sst2, mrpc",
    "difference": _WHOLE,
    "test": "approximate randomisation within tasks, two-sided",
    "p_value": 0.0045,
    "adjusted_p": 0.0045,
    "verdict": "first better",
    "shared": 40,
    "both_right": 16,
    "only_first": 18,
    "only_second": 4,
    "comparisons": 1,
    "detectable": 0.2799,
    "items_needed": 28,
    "asked": {"first": 40, "second": 40, "both": 40},
    "note": "",
    "adjustment": "Holm over the comparisons; Benjamini-Hochberg over a comparison's tasks",
    "tasks": [_TASK],
    "differing": [
        {
            "item_id": "mrpc/sample-19",
            "task": "mrpc",
            "target": "not_equivalent",
            "answers": {JOB_ID: "not_equivalent", OTHER_ID: "equivalent"},
            "outcomes": {JOB_ID: "correct", OTHER_ID: "wrong"},
            "scores": {JOB_ID: 1.0, OTHER_ID: 0.0},
        }
    ],
}
_MODEL = {
    "model": SIM,
    "job_id": JOB_ID,
    "metric": _NAME,
    "score": _HEADLINE,
    "not_measured": 0,
    "compared": {"metric": _MEAN_NAME, **_MEAN},
    "seconds_per_item": 0.0043,
    "speed": _SPEED,
    "cost_usd": None,
    "answer_rate": 1.0,
}
_SECOND_HEADLINE = _figures(0.5417, 0.076, 0.3932, 0.692, n=40, by=DRAWS)
_OTHER_MODEL = {
    **_MODEL,
    "model": MAJORITY,
    "job_id": OTHER_ID,
    "score": _SECOND_HEADLINE,
    "compared": {"metric": _MEAN_NAME, **_figures(0.5, 0.0812, 0.3443, 0.6662, n=40, by=DRAWS)},
    "seconds_per_item": None,
    "speed": None,
    "cost_usd": 0.0,
}
COMPARED = {
    "comparison": {
        "models_compared": ["sim", "majority"],
        "best_performing": "sim",
        "tie_group": [],
        "gap_metric": _MEAN_NAME,
        "performance_gap": 0.35,
        "gap_to_runner_up": 0.35,
        "statistical_significance": "p < 0.01",
        "recommendations": [
            "sim is shown to be better than every other model compared, by accuracy",
            "Consider sim, if its cost and latency suit you",
        ],
        "left_out": {},
        "runs": [JOB_ID, OTHER_ID],
        "verdict": "simulator/sim is better than baseline/majority on rows like these 40, by 0.350 [0.142, 0.552] in "
        "accuracy, mean of 2 tasks (approximate randomisation within tasks p = 0.004; 18 rows where simulator/sim did "
        "better, 4 where baseline/majority did).",
        "speeds_differ": "",
        "metrics": {"accuracy": [_PAIR]},
        "models": [_MODEL, _OTHER_MODEL],
    }
}
_PLACE = {
    "rank": 1,
    "model": "sim",
    "score": 0.85,
    "provider": "simulator",
    "benchmark_count": 1,
    "model_id": SIM,
    "job_id": JOB_ID,
    "rank_interval": [1, 1],
    "ci": [0.7029, 0.9498],
    "n": 40,
    "headline": {"metric": _NAME, **_HEADLINE},
    "p_best": 0.9985,
    "speed": _SPEED,
    "trend": None,
}
_SECOND = {
    **_PLACE,
    "rank": 2,
    "model": "majority",
    "score": 0.5,
    "provider": "baseline",
    "model_id": MAJORITY,
    "job_id": OTHER_ID,
    "rank_interval": [2, 2],
    "ci": [0.3443, 0.6662],
    "headline": {"metric": _NAME, **_SECOND_HEADLINE},
    "p_best": 0.0015,
    "speed": None,
}
BOARD = {
    "leaderboard": [_PLACE, _SECOND],
    "total_models": 2,
    "last_updated": AT[1],
    "suite": "glue",
    "metric": "accuracy",
    "metric_title": _MEAN_NAME,
    "source_title": "GLUE",
    "sample": True,
    "shared_items": None,
    "note": "",
    "left_out": [],
    "speeds_differ": "",
    "comparisons": [{**_BOTH, "difference": _WHOLE, "adjusted_p": 0.0045, "verdict": "first better"}],
}
