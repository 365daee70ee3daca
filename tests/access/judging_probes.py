"""Probes of judgings and labels: a key of another project judges, labels and reads nothing of this one."""

from __future__ import annotations

from typing import Any

from probe import ACTS, NOTHING, Key, Make, Probe, query, run, same
from walls_world import Names

from proctor.service.labelling.order import opaque

V1 = "/api/v1"
LABELS = f"{V1}/labels"


def _begins(of: Names) -> list[Probe]:
    asked: dict[str, Any] = {"judges": ["simulator/judge"]}
    bodies = ({"runs": [of.done]}, {"runs": [of.done], "against": of.beside}, {"runs": [of.done[:8]]})
    first, *others = (asked | body for body in bodies)
    return [
        Probe(f"{V1}/judgings", ACTS, body=first),
        *(Probe(f"{V1}/judgings", NOTHING, body=each) for each in others),
    ]


def _labels(room: str, owner: str, *, word: str = "", **more: Any) -> Make:
    def made(of: Names) -> list[Probe]:
        return [Probe(f"{LABELS}{room}", owner, body={"runs": [of.done], **more}, word=word)]

    return made


def _of_entry(room: str, **more: Any) -> Make:
    def made(of: Names) -> list[Probe]:
        key = opaque(of.item, 0, [of.done])
        return [Probe(f"{LABELS}{room}", ACTS, body={"runs": [of.done], "key": key, **more})]

    return made


def _brings(of: Names) -> list[Probe]:
    row = {"item_id": of.item, "grade": "fail", "labeller": "somebody", "drawn": "random"}
    return [Probe(f"{LABELS}/import", ACTS, body={"runs": [of.done], "labels": [row]})]


JUDGING_PROBES: dict[Key, Make] = {
    ("POST", f"{V1}/judgings"): _begins,
    ("GET", f"{V1}/judgings"): lambda of: [Probe(query(f"{V1}/judgings", run_id=of.done))],
    ("GET", f"{V1}/judgings/{{job_id}}"): run(f"{V1}/judgings/{{}}", name="judging"),
    ("GET", f"{V1}/judged/{{job_id}}"): run(f"{V1}/judged/{{}}"),
    ("POST", f"{V1}/judged/compare"): lambda of: [
        Probe(f"{V1}/judged/compare", body={"first": of.done, "second": of.beside})
    ],
    ("GET", f"{V1}/rubrics"): same(f"{V1}/rubrics", NOTHING),
    ("POST", f"{V1}/rubrics/check"): same(f"{V1}/rubrics/check", NOTHING, body={"toml": "name = 'x'"}),
    ("POST", f"{LABELS}/queue"): _labels("/queue", "sees", word='"replies":['),
    ("POST", LABELS): _of_entry("", grade="pass"),
    ("POST", f"{LABELS}/progress"): _labels("/progress", "sees", word='"worth":'),
    ("POST", f"{LABELS}/export"): _labels("/export", "sees"),
    ("POST", f"{LABELS}/undo"): _labels("/undo", ACTS),
    ("POST", f"{LABELS}/reveal"): _of_entry("/reveal"),
    ("POST", f"{LABELS}/import"): _brings,
}
