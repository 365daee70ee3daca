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


def looks_said(of: Evaluation) -> str:
    """The sentence with which `of.verdict` ends; "" where there is nothing to say."""
    if of.looks is None or len(of.results) < 2:
        return ""
    said = "; ".join([*_chosen(of.looks, len(of.comparisons)), *_reruns(of.looks), *_peeks(of.looks)])
    return f"{said}." if said else ""


def _chosen(looks: Looks, compared: int) -> Iterator[str]:
    parts = []
    if looks.pairs > compared:
        what = "one" if compared == 1 else f"{compared:,}"
        gone = f" ({looks.deleted:,} of them deleted since)" if looks.deleted else ""
        parts.append(
            f"{what} of {looks.pairs:,} pairs of the {looks.models:,} models with complete runs on these items{gone}"
        )
    if looks.alternatives:
        ways = listed([f"{each.of:,} {WAYS[each.what]}" for each in looks.alternatives])
        parts.append(f"one choice out of {ways}")
    if parts:
        yield f"{'This is' if compared == 1 else 'These are'} {', and '.join(parts)}"
    if looks.fixed:
        yield f"{'no' if parts else 'No'} further models count, since these were named beforehand"


def _reruns(looks: Looks) -> Iterator[str]:
    models = [each.model for each in looks.reruns]
    for each in looks.reruns:
        name = f"{each.model} (run {each.run_id[:8]})" if models.count(each.model) > 1 else each.model
        yield f"{name} is {_of_its_runs(each)}"


def _of_its_runs(each: Rerun) -> str:
    more = [f"{each.stopped:,} more stopped early"] if each.stopped else []
    more += [f"{each.deleted:,} more deleted since"] if each.deleted else []
    besides = f", {' and '.join(more)}" if more else ""
    if each.of == 1:
        return f"its only complete run here{besides}"
    if each.counted > 1:
        of = f"all its {each.of:,}" if each.counted == each.of else f"{each.counted:,} of its {each.of:,}"
        return f"the mean of {of} runs here{besides}"
    which = "the latest" if each.latest else "one, and not the latest,"
    return f"{which} of its {each.of:,} runs here{besides}"


def _peeks(looks: Looks) -> Iterator[str]:
    if looks.peeks:
        times = {1: "once", 2: "twice"}.get(looks.peeks, f"{looks.peeks:,} times")
        yield f"the runs were looked at {times} while they were at work"
