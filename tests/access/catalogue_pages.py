"""Probes of the pages of models, suites and schedules."""

from __future__ import annotations

from typing import Any

from probe import ACTS, NOTHING, REFUSED, Key, Make, Probe, query, run, same
from walls_world import SUITE, Names

ROWS = (("anatomy_test.csv", b"What is it?,a,b,c,d,B\n"),)


def schedule_form(of: Names) -> dict[str, Any]:
    asked = {"provider": "simulator", "model": "sim", "suite": SUITE, "project": of.project, "rows": "sample"}
    return {"name": "x", "cron": "0 3 * * *", **asked}


CATALOGUE_PAGES: dict[Key, Make] = {
    ("GET", "/models"): lambda of: [
        Probe("/models"),
        Probe(query("/models", q=of.model, provider="ollama")),
        *(Probe(query("/models", sort=sort)) for sort in ("runs", "cost", "speed", f"score:{SUITE}")),
    ],
    ("POST", "/models/test"): same("/models/test", form={"provider": "simulator"}),
    ("GET", "/models/{provider}/{name:path}"): lambda of: [Probe(f"/models/ollama/{of.model}")],
    ("GET", "/suites"): lambda of: [Probe("/suites", NOTHING), Probe("/suites?q=rte", NOTHING)],
    ("GET", "/suites/{suite}/import"): same("/suites/mmlu/import", REFUSED),
    ("POST", "/suites/{suite}/import"): same("/suites/mmlu/import", REFUSED, form={"back": "/"}, files=ROWS),
    ("GET", "/schedules"): same("/schedules"),
    ("GET", "/schedules/new"): lambda of: [
        Probe("/schedules/new"),
        Probe(query("/schedules/new", like=of.done)),
        Probe(query("/schedules/new", like=of.done[:8]), NOTHING),
    ],
    ("GET", "/schedules/next"): same("/schedules/next?every=daily&at=03:00", NOTHING),
    ("POST", "/schedules"): lambda of: [
        Probe("/schedules", ACTS, form=schedule_form(of)),
        Probe("/schedules", ACTS, form={"name": "again", "every": "daily", "at": "03:00", "like": of.done}),
    ],
    ("POST", "/schedules/{number}/run"): run("/schedules/{}/run", ACTS, "schedule", form={}),
    ("POST", "/schedules/{number}/switch"): run("/schedules/{}/switch", ACTS, "schedule", form={}),
    ("POST", "/schedules/{number}/delete"): run("/schedules/{}/delete", ACTS, "schedule"),
}
