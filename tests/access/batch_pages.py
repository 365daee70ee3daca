"""Probes of the pages of batches."""

from __future__ import annotations

from probe import ACTS, NOTHING, Key, Make, Probe, lists, query, run, same

from proctor.web.addresses import encoded, request_path

BATCH_PAGES: dict[Key, Make] = {
    ("GET", "/batches"): lists("/batches", project="project"),
    ("GET", "/batches/live"): lists("/batches/live", project="project"),
    ("GET", "/batches/events"): same("/batches/events", NOTHING, endless=True),
    ("GET", "/static/benchmark-runner.html"): same("/static/benchmark-runner.html", NOTHING),
    ("GET", "/static/benchmark-results.html"): lambda of: [
        Probe(query("/static/benchmark-results.html", benchmark_id=of.batch), NOTHING)
    ],
    ("GET", "/batches/new"): lambda of: [Probe(query("/batches/new", like=of.batch), word="sim")],
    ("POST", "/batches/new/plan"): same("/batches/new/plan", NOTHING, form={"provider": "simulator"}),
    ("POST", "/batches/new"): same("/batches/new", NOTHING, form={"provider": "simulator"}),
    ("GET", "/batches/compare"): lambda of: [
        Probe(query("/batches/compare", runs=[of.batch, of.other_batch])),
    ],
    ("GET", "/batches/compare/request"): lambda of: [
        Probe(query("/batches/compare/request", runs=[of.batch, of.other_batch], id64=encoded(of.request)))
    ],
    ("POST", "/batches/compare/best"): lambda of: [
        Probe(
            query("/batches/compare/best", runs=[of.batch, of.other_batch]),
            ACTS,
            form={"id64": encoded(of.request), "best": of.batch},
        )
    ],
    ("GET", "/batches/export"): lambda of: [
        Probe(query("/batches/export", runs=of.batch, form=form)) for form in ("csv", "jsonl", "batch")
    ],
    ("POST", "/runs/{run_id}/labels"): lambda of: [
        Probe(f"/runs/{of.batch}/labels", ACTS, form={"id64": encoded(of.request), "verdict": "good"})
    ],
    ("GET", "/runs/{run_id}/output"): run("/runs/{}/output", name="batch"),
    ("GET", "/runs/{run_id}/requests"): run("/runs/{}/requests", name="batch"),
    ("GET", "/runs/{run_id}/requests/{name:path}"): lambda of: [Probe(request_path(of.batch, of.request))],
    ("GET", "/runs/{run_id}/request"): lambda of: [
        Probe(f"/runs/{of.batch}/request?id64={encoded(of.request)}")
    ],
    ("GET", "/runs/{run_id}/failures"): run("/runs/{}/failures", name="batch"),
}
