"""Probes of a run's answers: the list, one of them beside it and on its own page, notes, and what is ticked."""

from __future__ import annotations

from urllib.parse import quote

from probe import ACTS, Key, Make, Probe
from walls_world import Names


def _item(of: Names) -> list[Probe]:
    path = f"/runs/{of.done}/items/{of.item}"
    return [Probe(path), Probe(f"{path}?attempt=0"), Probe(f"{path}?sort=latency&order=desc")]


def _notes(of: Names) -> list[Probe]:
    path = f"/runs/{of.done}/notes/{of.item}"
    return [Probe(path, ACTS, form={"text": "seen"}), Probe(path, ACTS, form={"remove": of.note})]


RESULTS_PAGES: dict[Key, Make] = {
    ("GET", "/runs/{run_id}/results"): lambda of: [
        Probe(f"/runs/{of.done}/results"),
        Probe(f"/runs/{of.done}/results?show=flagged"),
        Probe(f"/runs/{of.done}/results?item={quote(of.item)}"),
        Probe(f"/runs/{of.done}/results?sort=differ&order=desc"),
        Probe(f"/runs/{of.done}/results?at={quote(of.item)}"),
    ],
    ("GET", "/runs/{run_id}/export"): lambda of: [
        Probe(f"/runs/{of.done}/export?form={form}") for form in ("csv", "jsonl")
    ],
    ("POST", "/runs/{run_id}/picked/export"): lambda of: [
        Probe(f"/runs/{of.done}/picked/export", form={"pick": f"0:{of.item}", "form": form})
        for form in ("csv", "jsonl")
    ],
    ("POST", "/runs/{run_id}/picked/flag"): lambda of: [
        Probe(f"/runs/{of.done}/picked/flag", ACTS, form={"pick": f"0:{of.item}"})
    ],
    ("GET", "/runs/{run_id}/items/{item_id:path}"): _item,
    ("POST", "/runs/{run_id}/notes/{item_id:path}"): _notes,
}
