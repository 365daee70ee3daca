"""What a stranger would try at the form that starts work, and at the files that are dropped on it."""

from __future__ import annotations

from typing import Any

from probe import ACTS, NOTHING, Key, Make, Probe, query, run, same
from walls_world import SUITE, Names

FILE = (("mine.csv", b"question,answer\nWho is it?,somebody\n"),)


def form_of(of: Names) -> dict[str, Any]:
    asked = {"provider": "simulator", "model": "sim", "suite": SUITE, "data": "sample", "limit": "1"}
    return {**asked, "project": of.project}


START_PAGES: dict[Key, Make] = {
    ("GET", "/runs/new"): lambda of: [
        Probe(query("/runs/new", like=of.done)),
        Probe(query("/runs/new", dataset=of.dataset, look="1", models="simulator/sim")),
        Probe(query("/runs/new", dataset=of.requests)),
        Probe(query("/runs/new", what="questions", project=of.project)),
    ],
    ("GET", "/runs/new/models"): same("/runs/new/models?provider=simulator", NOTHING),
    ("GET", "/runs/new/offers"): same("/runs/new/offers?provider=simulator", NOTHING),
    ("POST", "/runs/new/file"): lambda of: [
        Probe("/runs/new/file", ACTS, form={"project": str(of.project)}, files=FILE)
    ],
    ("GET", "/runs/new/file/{dataset_id}"): lambda of: [
        Probe(f"/runs/new/file/{of.dataset}"),
        Probe(f"/runs/new/file/{of.requests}"),
    ],
    ("POST", "/runs/new/file/{dataset_id}"): run(
        "/runs/new/file/{}", ACTS, "dataset", form={"lenient": "on"}
    ),
    ("POST", "/runs/new/plan"): lambda of: [
        Probe(
            "/runs/new/plan",
            form={**form_of(of), "provider": "ollama", "model": of.model, "limit": "2"},
            word="its last",
        )
    ],
    ("POST", "/runs/new"): lambda of: [
        Probe("/runs/new", ACTS, form=form_of(of)),
        Probe("/runs/new", ACTS, form={**form_of(of), "models": ["simulator/sim", "simulator/sim-small"]}),
    ],
}
