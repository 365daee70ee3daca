"""Probes of the pages of rollouts."""

from __future__ import annotations

from probe import ACTS, NOTHING, Key, Make, Probe, lists, query, run, same
from walls_world import Names

ONE = "/rollouts/{ident}"
TRIAL = f"{ONE}/trials/{{run_id}}/{{rollout}}"


def _trial(beyond: str = "", *, word: str = "", **more: str) -> Make:
    """By the benchmark's id, and by its run's."""

    def made(of: Names) -> list[Probe]:
        paths = [f"/rollouts/{ident}/trials/{of.rollouts_row}/0" for ident in (of.rollouts, of.rollouts_row)]
        return [Probe(query(f"{path}{beyond}", task=of.rollouts_task, **more), word=word) for path in paths]

    return made


def _nothing(beyond: str, **more: str) -> Make:
    def made(of: Names) -> list[Probe]:
        path = f"/rollouts/{of.rollouts}/trials/{of.rollouts_row}/0{beyond}"
        return [Probe(query(path, task=of.rollouts_task, **more), NOTHING)]

    return made


def _key(of: Names) -> str:
    return f"{of.rollouts_row}/0/{of.rollouts_task}"


def _trials(of: Names) -> list[Probe]:
    path = f"/rollouts/{of.rollouts}/trials"
    return [Probe(path), Probe(query(path, at=_key(of)))]


def _events(of: Names) -> list[Probe]:
    path = f"/rollouts/{of.rollouts}/trials/{of.rollouts_row}/0/events"
    return [Probe(query(path, task=of.rollouts_task), NOTHING, endless=True)]


ROLLOUT_PAGES: dict[Key, Make] = {
    ("GET", "/rollouts"): lists("/rollouts", project="project", after="rollouts_partial"),
    ("GET", "/rollouts/live"): lists("/rollouts/live", project="project"),
    ("GET", "/rollouts/events"): same("/rollouts/events", NOTHING, endless=True),
    ("GET", "/rollouts/new"): same("/rollouts/new", NOTHING),
    ("POST", "/rollouts/new"): same("/rollouts/new", NOTHING, form={"name": "walled"}),
    ("POST", "/rollouts/new/plan"): same("/rollouts/new/plan", NOTHING, form={"name": "walled"}),
    ("GET", ONE): run("/rollouts/{}", name="rollouts"),
    ("GET", f"{ONE}/events"): lambda of: [Probe(f"/rollouts/{of.rollouts}/events", NOTHING, endless=True)],
    ("POST", f"{ONE}/cancel"): run("/rollouts/{}/cancel", ACTS, "rollouts_waiting"),
    ("POST", f"{ONE}/resume"): run("/rollouts/{}/resume", ACTS, "rollouts_partial"),
    ("POST", f"{ONE}/delete"): run("/rollouts/{}/delete", ACTS, "rollouts_doomed"),
    ("GET", f"{ONE}/trials"): _trials,
    ("POST", f"{ONE}/picked/export"): lambda of: [
        Probe(f"/rollouts/{of.rollouts}/picked/export", form={"pick": _key(of)}, word="+new ")
    ],
    ("GET", TRIAL): _trial(),
    ("GET", f"{TRIAL}/events"): _events,
    ("GET", f"{TRIAL}/patch"): _trial("/patch", word="+new "),
    ("GET", f"{TRIAL}/file"): _nothing("/file", file="agent.log"),
    ("GET", f"{TRIAL}/trajectory"): _trial("/trajectory", word="the last words of"),
    ("GET", f"{TRIAL}/calls/{{number}}"): _nothing("/calls/0"),
    ("GET", f"{TRIAL}/calls/{{number}}/body"): _nothing("/calls/0/body", which="request"),
}
