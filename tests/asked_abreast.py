"""Runs of models that are asked side by side, and their kept attempts, made by hand for tests of decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from compared import run
from proctor.manifest import UNOPENED, ExamFacts, TaskSpec
from proctor.service.deciding import Decider
from proctor.store import AttemptRow
from proctor.types import Limits, Outcome, Run

OUTCOMES = {None: Outcome.ERROR, 1.0: Outcome.CORRECT, 0.0: Outcome.WRONG}


def side(name: str, items: int | Mapping[str, int], *, repeats: int = 1, **facts: Any) -> Run:
    """A run of `sim/name` on a task "q" of so many items, or on several tasks, that is asked until it is decided."""
    sizes = {"q": items} if isinstance(items, int) else items
    tasks = {
        key: TaskSpec(key.upper(), "choices", official=("accuracy",), asked=size, full_size=size)
        for key, size in sizes.items()
    }
    known = {"suite": "s", "tasks": tasks, "n": sum(sizes.values()), "aggregate": "micro", **facts}
    plain = run(name)
    cell = replace(plain.cell, repeats=repeats, limits=Limits(until_decided=True))
    manifest = replace(UNOPENED, facts=ExamFacts(**known))
    wordings = 3 if facts.get("wording") == "all" else 1
    return replace(plain, cell=cell, planned=sum(sizes.values()) * wordings * repeats, manifest=manifest)


def kept(place: int, score: float | None, **other: Any) -> AttemptRow:
    """The latest attempt at a place of the order; a score of None is an error."""
    known: dict[str, Any] = {
        "item_id": f"q/{place}",
        "repeat": 0,
        "attempt": 0,
        "position": place,
        "task": "q",
        "item_hash": f"content of {place}",
        "target": "A",
        "cluster": None,
        "outcome": OUTCOMES.get(score, Outcome.ANSWERED),
        "score": score,
        "answer": "A" if score else "B",
    }
    nothing = dict.fromkeys(
        ("rung", "latency_s", "input_tokens", "output_tokens", "reasoning_tokens", "cost_usd")
    )
    return AttemptRow(**{**known, **other}, **nothing, retries=0, error_slug=None, at=0.0)


def answered(abilities: Sequence[float], items: int, seed: int = 0) -> list[list[float]]:
    """Rights and wrongs of models of these abilities, model by model; hard items are hard for all."""
    chance = Random(seed)
    hardness = [chance.random() for _ in range(items)]
    return [[float(0.7 * h + 0.3 * chance.random() < ability) for h in hardness] for ability in abilities]


def fed(runs: Sequence[Run], rows: Iterable[tuple[str, AttemptRow]]) -> Decider:
    """A decider that has taken these rows in, in their order, with each one's run."""
    decider = Decider(runs)
    for run_id, row in rows:
        decider.row(run_id, row)
    return decider
