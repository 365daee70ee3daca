"""What was looked at beside a verdict, in one sentence: the reader who knows it can tell a finding from a pick."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proctor.figures import listed
from proctor.findings import Evaluation
from proctor.findings.looks import Chosen, Looks, Rerun

WAYS: Mapping[Chosen, str] = {
    "wordings": "wordings",
    "styles": "styles of prompts",
    "modes": "modes of answering",
    "extractors": "extractors",
    "graders": "graders",
    "tasks": "sets of tasks",
    "selections": "selections of items",
    "settings": "settings of sampling",
    "metrics": "metrics",
}
SENTENCES = ("this is ", "these are ", "only ", "the runs ", "each of ")


def looks_said(of: Evaluation) -> str:
    """The sentence with which `of.verdict` ends; "" where there is nothing to say."""
    if of.looks is None or len(of.results) < 2:
        return ""
    looks, compared = of.looks, len(of.comparisons)
    # Of runs that are stopped when they are decided, every look is allowed for beforehand.
    by_plan = all(result.run.cell.limits.until_decided for result in of.results)
    parts = [
        *_chosen(looks, compared),
        *_reruns(looks),
        *(() if by_plan else _peeks(looks)),
        *_deleted(looks),
    ]
    if not parts:
        return ""
    if parts[0].startswith(SENTENCES):  # and not with the name of a model
        parts[0] = f"{parts[0][0].upper()}{parts[0][1:]}"
    return f"{'; '.join(parts)}."


def _chosen(looks: Looks, compared: int) -> Iterator[str]:
    parts = []
    every = (
        "pairs of models named beforehand"
        if looks.fixed
        else (f"pairs of the {looks.models:,} models with complete runs on these items")
    )
    if looks.pairs > compared:
        what = "one" if compared == 1 else f"{compared:,}"
        parts.append(f"{what} of {looks.pairs:,} {every}")
    if looks.alternatives:
        ways = listed([f"{each.of:,} {WAYS[each.what]}" for each in looks.alternatives])
        parts.append(f"one choice out of {ways}")
    if parts:
        yield f"{'this is' if compared == 1 else 'these are'} {', and '.join(parts)}"
    if looks.fixed:
        which = "only this pair counts" if looks.pairs == 1 else f"only {looks.pairs:,} pairs count"
        yield f"{which}, named beforehand, though {looks.models:,} models have complete runs on these items"


def _reruns(looks: Looks) -> Iterator[str]:
    models = [each.model for each in looks.reruns]
    alike: dict[str, list[str]] = {}
    for each in looks.reruns:
        name = f"{each.model} (run {each.run_id[:8]})" if models.count(each.model) > 1 else each.model
        alike.setdefault(_of_its_runs(each), []).append(name)
    for said, names in alike.items():
        yield f"{names[0] if len(names) == 1 else f'each of {listed(names)}'} {said}"


def _of_its_runs(each: Rerun) -> str:
    counts = ((each.stopped, "incomplete"), (each.deleted, "deleted"))
    further = listed([f"{of:,} {what}" for of, what in counts if of] or [""])
    if each.of == 1:
        return f"has further runs here: {further}"
    rest = f", and further ones: {further}" if further else ""
    if each.counted > 1:
        of = f"all its {each.of:,}" if each.counted == each.of else f"{each.counted:,} of its {each.of:,}"
        return f"is the mean of {of} runs here{rest}"
    which = "the latest" if each.latest else "one, and not the latest,"
    return f"is {which} of its {each.of:,} runs here{rest}"


def _peeks(looks: Looks) -> Iterator[str]:
    if looks.peeks:
        times = {1: "once", 2: "twice"}.get(looks.peeks, f"{looks.peeks:,} times")
        yield f"the runs were looked at {times} before they were whole"


def _deleted(looks: Looks) -> Iterator[str]:
    if looks.deleted:
        models = "a model" if looks.deleted == 1 else f"{looks.deleted:,} models"
        yield f"the runs of {models} on these items were deleted"
