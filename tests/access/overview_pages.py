"""What a stranger would try at Overview and History: lists, pieces, views, and several runs at once."""

from __future__ import annotations

from probe import ACTS, NOTHING, Key, Make, Probe, lists, query, same
from walls_world import SUITE, Names


def _history(path: str) -> Make:
    """Every filter, order and column; several runs by their ids."""
    asked = lists(path, project="project", model="model", who="user")

    def made(of: Names) -> list[Probe]:
        sorts = [
            Probe(query(path, sort=each, columns="who,project,cost")) for each in ("score", "cost", "model")
        ]
        kinds = [Probe(query(path, kind=kind, days=30)) for kind in ("exam", "batch", "rollouts")]
        named = [Probe(query(path, runs=[of.done, of.failed]))]
        return asked(of) + sorts + kinds + named + [Probe(query(path, status="attention", errors=1))]

    return made


OVERVIEW_PAGES: dict[Key, Make] = {
    ("GET", "/"): lambda of: [
        Probe(query("/", suite=SUITE)),
        Probe(query("/", suite="all", project=of.project)),
    ],
    ("GET", "/overview/board"): lambda of: [
        Probe(query("/overview/board", suite=SUITE, metric="accuracy")),
        Probe(query("/overview/board", suite=SUITE, metric="accuracy", project=of.project)),
    ],
    ("GET", "/active"): lambda of: [Probe("/active"), Probe(query("/active", project=of.project))],
    ("GET", "/active/events"): same("/active/events", NOTHING, endless=True),
    ("GET", "/overview/export"): lambda of: [
        Probe(query("/overview/export", suite=SUITE, form=form, project=of.project))
        for form in ("csv", "json")
    ],
    ("GET", "/overview/parts"): lambda of: [
        Probe(query("/overview/parts", suite=SUITE)),
        Probe(query("/overview/parts", suite="all", project=of.project)),
    ],
    ("GET", "/overview/attention"): lambda of: [
        Probe("/overview/attention"),
        Probe(query("/overview/attention", project=of.project)),
    ],
    ("GET", "/runs"): _history("/runs"),
    ("GET", "/runs/export"): _history("/runs/export"),
    # After the routes of one run, by which the one that failed waits again.
    ("POST", "/runs/bulk"): lambda of: [
        Probe("/runs/bulk", ACTS, form={"do": "stop", "runs": of.failed}),
        Probe("/runs/bulk", ACTS, form={"do": "restart", "runs": of.failed}),
        Probe("/runs/bulk", ACTS, form={"do": "stop", "runs": of.failed}),
        Probe("/runs/bulk?do=delete", form={"only": of.failed}),
        Probe("/runs/bulk", ACTS, form={"do": "delete", "runs": of.failed, "sure": "1"}),
    ],
    ("POST", "/runs/views"): lambda of: [
        Probe("/runs/views", NOTHING, form={"name": "theirs", "query": f"project={of.project}"})
    ],
    ("POST", "/runs/views/{number}/delete"): same("/runs/views/1/delete", NOTHING, form={}),
}
