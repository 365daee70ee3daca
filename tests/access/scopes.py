"""Which scope each route asks for, in one table; and what is open to whoever reaches the server.

A route that is not here fails `test_scopes.py`: whoever adds one says here whom it lets in.
"""

from __future__ import annotations

OPEN = """
GET /docs
GET /healthz
GET POST /login
POST /logout
GET /readyz
GET /shared/{token}
GET /static/benchmark-results.html
GET /static/benchmark-runner.html
"""
READ = """
GET /
GET /active
GET /active/events
GET /admin/benchmarks
GET /admin/benchmarks/{benchmark_id}
GET /admin/benchmarks/{benchmark_id}/export
GET /admin/benchmarks/{benchmark_id}/labels
GET /admin/benchmarks/{benchmark_id}/labels/{custom_id:path}
GET /admin/benchmarks/{benchmark_id}/results
GET /admin/benchmarks/{benchmark_id}/results.csv
GET /admin/benchmarks/{benchmark_id}/results.jsonl
GET /admin/benchmarks/{benchmark_id}/results.parquet
GET /admin/benchmarks/{benchmark_id}/results/{custom_id:path}
GET /admin/datasets
GET /admin/datasets/{dataset_id}
GET /admin/datasets/{dataset_id}/content
GET /admin/datasets/{dataset_id}/rows
GET /admin/models
GET /api/v1/audit
POST /api/v1/benchmarking/compare
GET /api/v1/benchmarking/history
GET /api/v1/benchmarking/leaderboard
GET /api/v1/benchmarking/results
GET /api/v1/benchmarking/results/{job_id}
GET /api/v1/datasets
GET /api/v1/datasets/{dataset_id}
GET /api/v1/datasets/{dataset_id}/rows
GET /api/v1/jobs/queue/stats
GET /api/v1/jobs/status/{job_id}
GET /api/v1/jobs/status/{job_id}/poll
GET /api/v1/jobs/status/{job_id}/stream
POST /api/v1/plan
GET /api/v1/judged/{job_id}
POST /api/v1/judged/compare
GET /api/v1/judgings
GET /api/v1/judgings/{job_id}
POST /api/v1/labels/export
GET /api/v1/projects
GET /api/v1/providers
GET /api/v1/providers/{name}/models
GET /api/v1/rollouts
GET /api/v1/rollouts/{benchmark_id}
GET /api/v1/rollouts/{benchmark_id}/stream
GET /api/v1/rollouts/{benchmark_id}/summary
GET /api/v1/rollouts/{benchmark_id}/trials
GET /api/v1/rollouts/{benchmark_id}/trials/{run}/{task}/{rollout}
GET /api/v1/rollouts/{benchmark_id}/trials/{run}/{task}/{rollout}/log
GET /api/v1/rollouts/{benchmark_id}/trials/{run}/{task}/{rollout}/patch
GET /api/v1/rollouts/{benchmark_id}/trials/{run}/{task}/{rollout}/trajectory
GET /api/v1/rubrics
POST /api/v1/rubrics/check
GET /api/v1/schedules
GET /api/v1/suites
GET /api/v1/tasks
GET /audit
GET /find
GET /settings/shares
POST /shares/{ident}/revoke
GET /batches
GET /batches/compare
GET /batches/compare/request
GET /batches/events
GET /batches/export
GET /batches/live
GET /batches/new
POST /batches/new/plan
GET /compare
GET /compare/events
GET /compare/live
GET /compare/report
GET /datasets
GET /datasets/{dataset_id}
GET /datasets/{dataset_id}/content
GET /leaderboard
GET /leaderboard/export
GET /leaderboard/report
GET /metrics
GET /models
GET /models/{provider}/{name:path}
GET /overview/attention
GET /overview/board
GET /overview/export
GET /overview/parts
GET /projects
GET /rollouts
GET /rollouts/events
GET /rollouts/live
GET /rollouts/new
POST /rollouts/new/plan
GET /rollouts/{ident}
GET /rollouts/{ident}/events
POST /rollouts/{ident}/picked/export
GET /rollouts/{ident}/trials
GET /rollouts/{ident}/trials/{run_id}/{rollout}
GET /rollouts/{ident}/trials/{run_id}/{rollout}/calls/{number}
GET /rollouts/{ident}/trials/{run_id}/{rollout}/calls/{number}/body
GET /rollouts/{ident}/trials/{run_id}/{rollout}/events
GET /rollouts/{ident}/trials/{run_id}/{rollout}/file
GET /rollouts/{ident}/trials/{run_id}/{rollout}/patch
GET /rollouts/{ident}/trials/{run_id}/{rollout}/trajectory
GET /runs
GET /runs/export
GET /runs/new/file/{dataset_id}
GET /runs/new/models
GET /runs/new/offers
POST /runs/views
POST /runs/views/{number}/delete
POST /runs/new/plan
GET /runs/{run_id}
GET /runs/{run_id}/diagnosis
GET /runs/{run_id}/events
GET /runs/{run_id}/export
GET /runs/{run_id}/failures
GET /runs/{run_id}/items/{item_id:path}
GET /runs/{run_id}/live
GET /runs/{run_id}/output
POST /runs/{run_id}/picked/export
GET /runs/{run_id}/report
GET /runs/{run_id}/request
GET /runs/{run_id}/requests
GET /runs/{run_id}/requests/{name:path}
GET /runs/{run_id}/results
GET /schedules
GET /schedules/next
GET /suites
GET /system
GET /verdict
GET /verdict/leanings
GET /verdict/work
GET /system/live
GET /v1/batches
GET /v1/batches/{batch_id}
GET /v1/files
GET /v1/files/{file_id}
GET /v1/files/{file_id}/content
GET /v1/models
GET /v1/models/{model:path}
"""
LABEL = """
POST /admin/benchmarks/{benchmark_id}/best/{custom_id:path}
PUT /admin/benchmarks/{benchmark_id}/labels/{custom_id:path}
POST /api/v1/labels
POST /api/v1/labels/import
POST /api/v1/labels/progress
POST /api/v1/labels/queue
POST /api/v1/labels/reveal
POST /api/v1/labels/undo
POST /batches/compare/best
GET POST /label
GET POST /label/labels.csv
POST /label/reveal
POST /label/undo
GET /label/worth
POST /runs/{run_id}/labels
"""
RUN = """
POST /admin/benchmarks/run
DELETE /admin/benchmarks/{benchmark_id}
POST /admin/benchmarks/{benchmark_id}/cancel
POST /admin/benchmarks/{benchmark_id}/resume
POST /admin/datasets/upload
DELETE PATCH /admin/datasets/{dataset_id}
POST /api/v1/benchmarking/cancel/{job_id}
POST /api/v1/benchmarking/run
POST /api/v1/datasets
DELETE PATCH /api/v1/datasets/{dataset_id}
POST /api/v1/jobs/cancel/{job_id}
POST /api/v1/jobs/restart/{job_id}
DELETE /api/v1/jobs/{job_id}
POST /api/v1/judgings
POST /api/v1/rollouts
DELETE /api/v1/rollouts/{benchmark_id}
POST /api/v1/rollouts/{benchmark_id}/cancel
POST /api/v1/rollouts/{benchmark_id}/resume
POST /api/v1/schedules
DELETE PATCH /api/v1/schedules/{number}
POST /batches/new
POST /datasets
POST /datasets/{dataset_id}/delete
POST /datasets/{dataset_id}/layout
POST /datasets/{dataset_id}/reading
POST /datasets/{dataset_id}/rename
POST /demo
GET POST /judge
POST /judge/plan
POST /models/test
POST /rollouts/new
POST /rollouts/{ident}/cancel
POST /rollouts/{ident}/delete
POST /rollouts/{ident}/resume
GET POST /runs/new
POST /runs/new/file
POST /runs/new/file/{dataset_id}
POST /runs/bulk
POST /runs/{run_id}/delete
POST /runs/{run_id}/notes/{item_id:path}
POST /runs/{run_id}/picked/flag
POST /runs/{run_id}/rerun
POST /runs/{run_id}/restart
POST /runs/{run_id}/resume
POST /runs/{run_id}/stop
POST /schedules
GET /schedules/new
POST /schedules/{number}/delete
POST /schedules/{number}/run
POST /schedules/{number}/switch
POST /shares
POST /v1/batches
POST /v1/batches/{batch_id}/cancel
POST /v1/files
DELETE /v1/files/{file_id}
"""
ADMIN = """
POST /admin/models
DELETE /admin/models/{model_id:path}
GET POST /api/v1/keys
DELETE PATCH /api/v1/keys/{number}
POST /api/v1/projects
POST /projects
GET /settings
POST /settings/keys
POST /settings/keys/{number}/projects
POST /settings/keys/{number}/revoke
POST /settings/prune
GET POST /suites/{suite}/import
"""


def _listed(scope: str, text: str) -> dict[tuple[str, str], str]:
    rows = [line.rsplit(" ", 1) for line in text.split("\n") if line]
    return {(method, path): scope for methods, path in rows for method in methods.split()}


# (method, path) -> none, read, label, run, admin
SCOPES = {
    **_listed("none", OPEN),
    **_listed("read", READ),
    **_listed("label", LABEL),
    **_listed("run", RUN),
    **_listed("admin", ADMIN),
}
