"""Under which conditions agents worked: told beside a comparison where they differ, and no reason to refuse it.

The tasks and what passes must be the same (service/results/comparable.py). Sandbox, image and limits are what is
compared in a sweep; with other ones a difference may be theirs and not the agent's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

from proctor.figures import listed
from proctor.manifest import RolloutFacts
from proctor.references import RolloutsRef, TaskEntry
from proctor.types import Run

DIGITS = 12  # of a hash


def unlike(runs: Sequence[Run]) -> str:
    """What of the conditions differs between the runs, in a sentence; "" where nothing does."""
    told = [dict(_conditions(run)) for run in runs]
    names = dict.fromkeys(name for each in told for name in each)
    apart = []
    for name in names:
        values = [each.get(name, "none") for each in told]
        if len(set(values)) > 1:
            apart.append(f"{name} {_by_run(runs, values)}")
    if not apart:
        return ""
    return f"They did not work under the same conditions, which may be what made a difference: {'; '.join(apart)}."


def _by_run(runs: Sequence[Run], values: Sequence[str]) -> str:
    """Each value with who had it; of many only the values."""
    if len(runs) > 3:
        return listed(list(dict.fromkeys(values)))
    models = [str(run.cell.model) for run in runs]
    names = models if len(set(models)) == len(models) else [run.id[:8] for run in runs]
    return listed([f"{value} ({name})" for value, name in zip(values, names, strict=True)])


def _conditions(run: Run) -> Iterator[tuple[str, str]]:
    ref, facts = run.cell.source, run.manifest.facts
    if not isinstance(ref, RolloutsRef):
        return
    yield "sandbox", ref.sandbox
    digest = facts.image_sha256 if isinstance(facts, RolloutFacts) else None
    yield "image", ref.image if digest is None else f"{ref.image} {digest[:DIGITS]}"
    limits = {name: value for name, value in asdict(ref.limits).items() if name != "agent_s"}
    for name, value in limits.items():
        yield f"limit {name}", "none" if value is None else f"{value:g}"
    yield from _of_entries(ref.tasks, ref.limits.agent_s)


def _of_entries(entries: Sequence[TaskEntry], agent_s: float) -> Iterator[tuple[str, str]]:
    """The agent's time, and the names of variables: their values may be secrets."""
    times = sorted({entry.timeout_s or agent_s for entry in entries})
    yield "agent's time", listed([f"{seconds:g} s" for seconds in times]) if times else "none"
    variables: Mapping[str, set[str]] = _values(entries)
    for name, values in variables.items():
        yield f"variable {name}", "set" if len(values) == 1 else "set by task"


def _values(entries: Sequence[TaskEntry]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for entry in entries:
        for each in entry.environment:
            name, _, value = each.partition("=")
            found.setdefault(name, set()).add(value)
    return found
