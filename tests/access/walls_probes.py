"""For every route a request that asks for somebody's objects by their names: what a stranger would try."""

from __future__ import annotations

from typing import Any

from batch_pages import BATCH_PAGES
from catalogue_pages import CATALOGUE_PAGES
from fastapi.routing import APIRoute
from judging_pages import JUDGING_PAGES
from judging_probes import JUDGING_PROBES
from overview_pages import OVERVIEW_PAGES
from probe import ACTS, NOTHING, REFUSED, SEES, Key, Make, Probe, lists, query, run, same
from results_pages import RESULTS_PAGES
from rollout_pages import ROLLOUT_PAGES
from share_pages import SHARE_PAGES
from start_pages import START_PAGES
from walls_world import SUITE, Names

from proctor.api.app import ELSEWHERE, PREFIX, ROUTERS, create_app
from proctor.settings import Settings
from proctor.web.app import ROOMS
from request_files import line

__all__ = ["ACTS", "NOTHING", "PROBES", "REFUSED", "SEES", "Key", "Probe", "routes"]


def routes(settings: Settings) -> set[Key]:
    """Every route of the application, as (method, path)."""
    listed = [(PREFIX, each) for router in ROUTERS for each in router.routes]
    listed += [("", each) for router in ELSEWHERE for each in router.routes]
    listed += [("", each) for room in ROOMS for each in room.ROUTER.routes]
    listed += [("", each) for each in create_app(settings).routes]
    return {
        (method, prefix + each.path)
        for prefix, each in listed
        if isinstance(each, APIRoute)
        for method in each.methods
    }


def _job(of: Names, project: int) -> dict[str, Any]:
    config = {"provider": "simulator", "model": "sim", "data": "sample", "limit": 1}
    return {"project_id": project, "suite": SUITE, "config": config}


V1 = PREFIX
BENCH = f"{V1}/benchmarking"
STATUS = f"{V1}/jobs/status"


def _compare(of: Names) -> list[Probe]:
    names = ([of.done, of.beside], [of.done[:8], of.beside[:8]], [f"ollama/{of.model}", f"ollama/{of.other}"])
    return [Probe(f"{BENCH}/compare", body={"model_ids": each}) for each in names]


def _compare_page(path: str, whole: bool) -> Make:
    def made(of: Names) -> list[Probe]:
        names = (
            [of.done, of.beside],
            [of.done[:8], of.beside[:8]],
            [f"ollama/{of.model}", f"ollama/{of.other}"],
        )
        plain = [Probe(path)] if whole else []
        return plain + [Probe(query(path, runs=each)) for each in names]

    return made


def _project_in(path: str) -> str:
    """What a project is called in an address: the API refuses a parameter that it does not know."""
    return "project_id" if path.startswith(("/api/", "/admin/")) else "project"


def _boards(path: str) -> Make:
    return lambda of: [
        Probe(query(path, suite=SUITE, metric="accuracy")),
        Probe(query(path, suite=SUITE, metric="accuracy", **{_project_in(path): of.project})),
    ]


def _form(of: Names) -> dict[str, Any]:
    asked = {"provider": "simulator", "model": "sim", "suite": SUITE, "data": "sample", "limit": "1"}
    return {**asked, "project": of.project}


def _model(of: Names) -> dict[str, Any]:
    return {"provider": "ollama", "model": of.model}


def _schedule(of: Names) -> dict[str, Any]:
    return {"name": "x", "cron": "0 3 * * *", "job": _job(of, of.project)}


def _forecast(of: Names) -> dict[str, Any]:
    """How long it takes and what it costs is foreseen from runs of the model."""
    config = {**_model(of), "data": "sample", "limit": 2}
    return {"project_id": of.project, "suite": SUITE, "config": config}


DATASETS = f"{V1}/datasets"
FILE = (("new.csv", b"question,answer\nWhere is it?,here\n"),)


REQUESTS = "/admin/datasets"
LINES = (("new.jsonl", line("new")),)


def _uploads(path: str, *, files: tuple[tuple[str, bytes], ...] = FILE, **fields: str) -> Make:
    return lambda of: [Probe(path, ACTS, form={_project_in(path): str(of.project), **fields}, files=files)]


def _openai_batch(of: Names) -> dict[str, Any]:
    return {"input_file_id": of.file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}


KEYS = {"user": "eve", "scopes": ["read"], "project_ids": [2]}

PROBES: dict[Key, Make] = {
    **JUDGING_PAGES,  # first: later ones delete runs
    **RESULTS_PAGES,
    **START_PAGES,
    **SHARE_PAGES,
    **JUDGING_PROBES,
    # The API ------------------------------------------------------------------------------------
    ("POST", f"{BENCH}/run"): lambda of: [Probe(f"{BENCH}/run", ACTS, body=_job(of, of.project))],
    ("GET", f"{BENCH}/results/{{job_id}}"): lambda of: [
        Probe(f"{BENCH}/results/{job}") for job in (of.done, of.failed, of.waiting, of.running)
    ],
    ("POST", f"{BENCH}/cancel/{{job_id}}"): run(f"{BENCH}/cancel/{{}}", ACTS, "waiting"),
    ("GET", f"{BENCH}/results"): lists(f"{BENCH}/results", project_id="project", model_name="model"),
    ("POST", f"{BENCH}/compare"): _compare,
    ("GET", f"{BENCH}/history"): lists(f"{BENCH}/history", project_id="project", model_name="model"),
    ("GET", f"{BENCH}/leaderboard"): _boards(f"{BENCH}/leaderboard"),
    ("GET", f"{STATUS}/{{job_id}}"): run(f"{STATUS}/{{}}", name="running"),
    ("GET", f"{STATUS}/{{job_id}}/poll"): run(f"{STATUS}/{{}}/poll?timeout=0"),
    ("GET", f"{STATUS}/{{job_id}}/stream"): run(f"{STATUS}/{{}}/stream"),
    ("GET", f"{V1}/jobs/queue/stats"): same(f"{V1}/jobs/queue/stats", NOTHING),
    ("POST", f"{V1}/jobs/cancel/{{job_id}}"): run(f"{V1}/jobs/cancel/{{}}", ACTS, "running"),
    ("POST", f"{V1}/jobs/restart/{{job_id}}"): run(f"{V1}/jobs/restart/{{}}", ACTS, "failed"),
    ("DELETE", f"{V1}/jobs/{{job_id}}"): run(f"{V1}/jobs/{{}}", ACTS, "beside"),
    ("GET", f"{V1}/providers"): same(f"{V1}/providers", NOTHING),
    ("GET", f"{V1}/providers/{{name}}/models"): same(f"{V1}/providers/simulator/models", NOTHING),
    ("GET", f"{V1}/suites"): same(f"{V1}/suites", NOTHING),
    ("POST", f"{V1}/plan"): lambda of: [Probe(f"{V1}/plan", body=_forecast(of), word="its last")],
    ("POST", DATASETS): _uploads(DATASETS),
    ("GET", DATASETS): lists(DATASETS, project_id="project"),
    ("GET", f"{DATASETS}/{{dataset_id}}"): run(f"{DATASETS}/{{}}", name="dataset"),
    ("GET", f"{DATASETS}/{{dataset_id}}/rows"): run(f"{DATASETS}/{{}}/rows", name="dataset"),
    ("PATCH", f"{DATASETS}/{{dataset_id}}"): run(
        f"{DATASETS}/{{}}", ACTS, "dataset", body={"name": "renamed"}
    ),
    ("DELETE", f"{DATASETS}/{{dataset_id}}"): run(f"{DATASETS}/{{}}", ACTS, "dataset"),
    ("POST", f"{REQUESTS}/upload"): _uploads(f"{REQUESTS}/upload", files=LINES),
    ("GET", REQUESTS): lists(REQUESTS, project_id="project"),
    ("GET", f"{REQUESTS}/{{dataset_id}}"): run(f"{REQUESTS}/{{}}", name="requests"),
    ("GET", f"{REQUESTS}/{{dataset_id}}/rows"): run(f"{REQUESTS}/{{}}/rows", name="requests"),
    ("GET", f"{REQUESTS}/{{dataset_id}}/content"): run(f"{REQUESTS}/{{}}/content", name="requests"),
    ("PATCH", f"{REQUESTS}/{{dataset_id}}"): run(
        f"{REQUESTS}/{{}}", ACTS, "requests", body={"name": "renamed"}
    ),
    ("DELETE", f"{REQUESTS}/{{dataset_id}}"): run(f"{REQUESTS}/{{}}", ACTS, "requests"),
    ("GET", "/admin/models"): same("/admin/models", NOTHING),
    ("POST", "/admin/models"): same("/admin/models", REFUSED, body={"model_id": "simulator/sim"}),
    ("DELETE", "/admin/models/{model_id:path}"): same("/admin/models/simulator/sim", REFUSED),
    ("GET", f"{V1}/projects"): same(f"{V1}/projects"),
    ("POST", f"{V1}/projects"): same(f"{V1}/projects", REFUSED, body={"name": "walled"}),
    ("GET", f"{V1}/schedules"): same(f"{V1}/schedules"),
    ("POST", f"{V1}/schedules"): lambda of: [Probe(f"{V1}/schedules", ACTS, body=_schedule(of))],
    ("PATCH", f"{V1}/schedules/{{number}}"): run(
        f"{V1}/schedules/{{}}", ACTS, "schedule", body={"enabled": False}
    ),
    ("DELETE", f"{V1}/schedules/{{number}}"): run(f"{V1}/schedules/{{}}", ACTS, "schedule"),
    ("GET", f"{V1}/keys"): same(f"{V1}/keys", REFUSED),
    ("POST", f"{V1}/keys"): same(f"{V1}/keys", REFUSED, body=KEYS),
    ("PATCH", f"{V1}/keys/{{number}}"): run(f"{V1}/keys/{{}}", REFUSED, "key", body={"project_ids": [2, 3]}),
    ("DELETE", f"{V1}/keys/{{number}}"): run(f"{V1}/keys/{{}}", REFUSED, "key"),
    ("GET", f"{V1}/audit"): lists(f"{V1}/audit", user="user"),
    # OpenAI's API ---------------------------------------------------------------------------------
    ("POST", "/v1/files"): same("/v1/files", ACTS, form={"purpose": "batch"}, files=LINES),
    ("GET", "/v1/files"): lambda of: [
        Probe("/v1/files"),
        Probe("/v1/files?purpose=batch&order=asc"),
        Probe(f"/v1/files?after={of.file}", NOTHING),
    ],
    ("GET", "/v1/files/{file_id}"): run("/v1/files/{}", name="file"),
    ("GET", "/v1/files/{file_id}/content"): run("/v1/files/{}/content", name="file"),
    ("DELETE", "/v1/files/{file_id}"): run("/v1/files/{}", ACTS, "loose_file"),
    ("POST", "/v1/batches"): lambda of: [Probe("/v1/batches", ACTS, body=_openai_batch(of))],
    ("GET", "/v1/batches"): lambda of: [
        Probe("/v1/batches"),
        Probe(f"/v1/batches?after={of.openai_batch}", NOTHING),
    ],
    ("GET", "/v1/batches/{batch_id}"): run("/v1/batches/{}", name="openai_batch"),
    ("POST", "/v1/batches/{batch_id}/cancel"): run("/v1/batches/{}/cancel", ACTS, "openai_batch"),
    ("GET", "/v1/models"): same("/v1/models", NOTHING),
    ("GET", "/v1/models/{model:path}"): same("/v1/models/simulator/sim", NOTHING),
    ("GET", "/healthz"): same("/healthz", NOTHING),
    ("GET", "/readyz"): same("/readyz", NOTHING),
    ("GET", "/metrics"): same("/metrics", NOTHING),
    ("GET", "/docs"): same("/docs", NOTHING),
    # Pages --------------------------------------------------------------------------------------
    ("POST", "/demo"): same("/demo", ACTS),
    ("GET", "/runs/{run_id}"): lambda of: [
        *(Probe(f"/runs/{run}") for run in (of.done, of.failed, of.waiting, of.running, of.done[:8])),
        *(Probe(f"/runs/{of.done}?tab={tab}") for tab in ("timeline", "log", "config")),
    ],
    ("GET", "/runs/{run_id}/live"): run("/runs/{}/live"),
    ("GET", "/runs/{run_id}/diagnosis"): run("/runs/{}/diagnosis", NOTHING),
    ("GET", "/runs/{run_id}/events"): run("/runs/{}/events", NOTHING),
    ("POST", "/runs/{run_id}/stop"): run("/runs/{}/stop", ACTS, "waiting"),
    ("POST", "/runs/{run_id}/restart"): run("/runs/{}/restart", ACTS, "failed"),
    ("POST", "/runs/{run_id}/resume"): run("/runs/{}/resume"),
    ("POST", "/runs/{run_id}/rerun"): run("/runs/{}/rerun", ACTS),
    ("POST", "/runs/{run_id}/delete"): run("/runs/{}/delete", ACTS, "beside"),
    ("GET", "/runs/{run_id}/report"): run("/runs/{}/report"),
    ("GET", "/compare"): _compare_page("/compare", True),
    ("GET", "/compare/live"): lambda of: [Probe(query("/compare/live", runs=[of.done, of.beside]))],
    ("GET", "/compare/events"): lambda of: [
        Probe(query("/compare/events", runs=[of.done, of.beside]), NOTHING)
    ],
    ("GET", "/compare/report"): _compare_page("/compare/report", False),
    ("GET", "/leaderboard"): lambda of: [*_boards("/leaderboard")(of), Probe("/leaderboard?suite=all")],
    ("GET", "/leaderboard/report"): _boards("/leaderboard/report"),
    ("GET", "/leaderboard/export"): _boards("/leaderboard/export"),
    ("GET", "/datasets"): lists("/datasets", project="project"),
    ("POST", "/datasets"): _uploads("/datasets"),
    ("GET", "/datasets/{dataset_id}"): lambda of: [
        Probe(f"/datasets/{of.dataset}"),
        Probe(f"/datasets/{of.requests}"),
    ],
    ("GET", "/datasets/{dataset_id}/content"): run("/datasets/{}/content", name="requests"),
    ("POST", "/datasets/{dataset_id}/reading"): run(
        "/datasets/{}/reading", ACTS, "requests", form={"lenient": "true"}
    ),
    ("POST", "/datasets/{dataset_id}/layout"): run(
        "/datasets/{}/layout", ACTS, "dataset", form={"lenient": "on"}
    ),
    ("POST", "/datasets/{dataset_id}/rename"): run(
        "/datasets/{}/rename", ACTS, "dataset", form={"name": "renamed"}
    ),
    ("POST", "/datasets/{dataset_id}/delete"): run("/datasets/{}/delete", ACTS, "dataset", form={}),
    ("GET", "/system"): same("/system"),
    ("GET", "/system/live"): same("/system/live"),
    ("GET", "/projects"): same("/projects"),
    ("POST", "/projects"): same("/projects", REFUSED, form={"name": "walled"}),
    ("GET", "/login"): same("/login", NOTHING),
    ("POST", "/login"): same("/login", NOTHING, form={"key": "proctor_guess"}),
    ("POST", "/logout"): same("/logout", NOTHING, form={}),
    ("GET", "/settings"): same("/settings?older=1", REFUSED),
    ("POST", "/settings/keys"): same("/settings/keys", REFUSED, form=KEYS),
    ("POST", "/settings/keys/{number}/projects"): run(
        "/settings/keys/{}/projects", REFUSED, "key", form={"projects": 3}
    ),
    ("POST", "/settings/keys/{number}/revoke"): run("/settings/keys/{}/revoke", REFUSED, "key", form={}),
    ("POST", "/settings/prune"): same("/settings/prune", REFUSED, form={"older": "1"}),
    ("GET", "/audit"): lists("/audit", user="user"),
}

# Benchmarks, as the dataset runner has them ------------------------------------------------------
ADMIN = "/admin/benchmarks"
ONE = f"{ADMIN}/{{benchmark_id}}"


def _benchmark(beyond: str, owner: str = SEES, *, name: str = "batch", **more: Any) -> Make:
    """Of a benchmark by its own id, and by its run's."""
    return lambda of: [
        Probe(f"{ADMIN}/{before}{getattr(of, name)}{beyond}", owner, **more) for before in ("bm_", "")
    ]


def _reply(room: str, method_owner: str = SEES, **more: Any) -> Make:
    return lambda of: [Probe(f"{ADMIN}/bm_{of.batch}/{room}/{of.request}", method_owner, **more)]


def _exports(of: Names) -> list[Probe]:
    path = f"{ADMIN}/{of.batch}/export"
    again = Probe(query(path, format="batch", also=of.other_batch), word="custom_id")
    return [again, Probe(query(path, format="dpo", manifest=True))]


PROBES |= BATCH_PAGES | CATALOGUE_PAGES | OVERVIEW_PAGES
PROBES |= ROLLOUT_PAGES
PROBES |= {
    ("POST", f"{ADMIN}/run"): lambda of: [
        Probe(
            f"{ADMIN}/run",
            NOTHING,
            body={"model_id": "simulator/sim", "dataset_id": of.dataset, "project_id": of.project},
        )
    ],
    ("GET", ADMIN): lambda of: [Probe(ADMIN), Probe(query(ADMIN, project_id=of.project))],
    ("GET", ONE): _benchmark(""),
    ("GET", f"{ONE}/results"): _benchmark("/results"),
    ("GET", f"{ONE}/results/{{custom_id:path}}"): _reply("results", word='"tries"'),
    ("GET", f"{ONE}/results.jsonl"): _benchmark("/results.jsonl"),
    ("GET", f"{ONE}/results.csv"): _benchmark("/results.csv"),
    ("GET", f"{ONE}/results.parquet"): _benchmark("/results.parquet"),
    ("GET", f"{ONE}/export"): _exports,
    ("POST", f"{ONE}/cancel"): run(f"{ADMIN}/bm_{{}}/cancel", NOTHING, "batch"),
    ("POST", f"{ONE}/resume"): run(f"{ADMIN}/bm_{{}}/resume", NOTHING, "batch"),
    ("GET", f"{ONE}/labels"): _benchmark("/labels", word='"verdicts"'),
    ("GET", f"{ONE}/labels/{{custom_id:path}}"): _reply("labels", word='"labels":['),
    ("PUT", f"{ONE}/labels/{{custom_id:path}}"): _reply("labels", ACTS, body={"verdict": "good"}),
    ("POST", f"{ONE}/best/{{custom_id:path}}"): lambda of: [
        Probe(f"{ADMIN}/{of.batch}/best/{of.request}", ACTS, body={"among": [of.batch, of.other_batch]})
    ],
    ("DELETE", ONE): run(f"{ADMIN}/bm_{{}}", ACTS, "other_batch"),
}

# Benchmarks of tasks --------------------------------------------------------------------------------
ROLLOUTS = f"{V1}/rollouts"
TRIAL = f"{ROLLOUTS}/{{benchmark_id}}/trials/{{run}}/{{task}}/{{rollout}}"


def _rollouts(beyond: str, owner: str = SEES, *, name: str = "rollouts", **more: Any) -> Make:
    return run(f"{ROLLOUTS}/{{}}{beyond}", owner, name, **more)


def _trial(beyond: str, **more: Any) -> Make:
    """By the benchmark's id, and by its run's."""
    return lambda of: [
        Probe(f"{ROLLOUTS}/{ident}/trials/{of.rollouts_row}/{of.rollouts_task}/0{beyond}", **more)
        for ident in (of.rollouts, of.rollouts_row)
    ]


def _benchmark_of_tasks(of: Names) -> dict[str, Any]:
    task = {"prepared_dir": "nowhere", "agent": "null"}
    return {"name": "walled", "project_id": of.project, "tasks": [task]}


PROBES |= {
    ("POST", ROLLOUTS): lambda of: [Probe(ROLLOUTS, NOTHING, body=_benchmark_of_tasks(of))],
    ("GET", ROLLOUTS): lambda of: [
        Probe(ROLLOUTS),
        Probe(query(ROLLOUTS, project_id=of.project)),
        Probe(query(ROLLOUTS, name=f"{of.rollouts_task.removesuffix('-task')}-ended")),
        Probe(query(ROLLOUTS, after=of.rollouts_partial)),
    ],
    ("GET", f"{ROLLOUTS}/{{benchmark_id}}"): _rollouts(""),
    ("GET", f"{ROLLOUTS}/{{benchmark_id}}/summary"): _rollouts("/summary"),
    ("GET", f"{ROLLOUTS}/{{benchmark_id}}/stream"): _rollouts("/stream"),
    ("GET", f"{ROLLOUTS}/{{benchmark_id}}/trials"): _rollouts("/trials"),
    ("GET", TRIAL): _trial("", word="the last words of"),
    ("GET", f"{TRIAL}/patch"): _trial("/patch", word="+new "),
    ("GET", f"{TRIAL}/log"): _trial("/log", owner=NOTHING),
    ("GET", f"{TRIAL}/trajectory"): _trial("/trajectory", word="the last words of"),
    ("POST", f"{ROLLOUTS}/{{benchmark_id}}/cancel"): _rollouts("/cancel", ACTS, name="rollouts_waiting"),
    ("POST", f"{ROLLOUTS}/{{benchmark_id}}/resume"): _rollouts("/resume", ACTS, name="rollouts_partial"),
    ("DELETE", f"{ROLLOUTS}/{{benchmark_id}}"): _rollouts("", ACTS, name="rollouts_doomed"),
    ("GET", f"{V1}/tasks"): same(f"{V1}/tasks", NOTHING),
}
