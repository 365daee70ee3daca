"""Probes of the pages where answers are judged and labelled."""

from __future__ import annotations

from probe import ACTS, NOTHING, Key, Make, Probe, query
from walls_world import Names

from proctor.service.labelling.order import opaque


def _said(of: Names) -> dict[str, str]:
    return {"key": opaque(of.item, 0, [of.done]), "grade": "correct:pass"}


def _label(path: str) -> Make:
    return lambda of: [Probe(query(path, runs=of.done))]


JUDGING_PAGES: dict[Key, Make] = {
    ("GET", "/judge"): lambda of: [
        Probe(query("/judge", runs=of.done)),
        Probe(query("/judge", runs=of.done[:8])),
    ],
    ("POST", "/judge/plan"): lambda of: [
        Probe("/judge/plan", form={"runs": of.done, "provider": "simulator", "model": "judge"})
    ],
    ("POST", "/judge"): lambda of: [
        Probe("/judge", ACTS, form={"runs": of.done, "provider": "simulator", "model": "judge"})
    ],
    ("GET", "/verdict"): lambda of: [
        Probe(query("/verdict", runs=of.done)),
        Probe(query("/verdict", runs=[of.done, of.beside])),
    ],
    ("GET", "/verdict/work"): lambda of: [Probe(query("/verdict/work", runs=of.done), NOTHING)],
    ("GET", "/verdict/leanings"): lambda of: [
        Probe(query("/verdict/leanings", run=of.done, grader="judge/1:model=a/b,rubric=c#d"), NOTHING)
    ],
    ("GET", "/label"): _label("/label"),
    ("GET", "/label/worth"): lambda of: [Probe(query("/label/worth", runs=of.done), NOTHING)],
    ("POST", "/label"): lambda of: [Probe(query("/label", runs=of.done), ACTS, form=_said(of))],
    ("POST", "/label/undo"): lambda of: [Probe(query("/label/undo", runs=of.done), NOTHING, form={})],
    ("POST", "/label/reveal"): lambda of: [Probe(query("/label/reveal", runs=of.done), form=_said(of))],
    ("GET", "/label/labels.csv"): lambda of: [
        Probe(query("/label/labels.csv", runs=of.done, form="open"), word="item_id")
    ],
    ("POST", "/label/labels.csv"): lambda of: [
        Probe(
            query("/label/labels.csv", runs=of.done),
            ACTS,
            form={},
            files=(("labels.csv", f"item_id,grade\n{of.item},fail\n".encode()),),
        )
    ],
}
