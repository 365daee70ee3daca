"""What a judging will take, before anything is asked: calls, tokens, time and cost of each judge and judged run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from proctor.figures import dollars
from proctor.protocols import Source
from proctor.references import JudgingRef
from proctor.service.context import Context
from proctor.service.forecast.forecast import Takes, takes
from proctor.sources.judging.source import JudgingSource
from proctor.types import Cell, Plan


def judging_takes(context: Context, plan: Plan, sources: Sequence[Source]) -> list[Takes]:
    """By cell of the plan. Raises ConfigError for a bad prices.toml."""
    return [
        takes(context, replace(plan, cells=(cell,)), source, len(source))
        for cell, source in zip(plan.cells, sources, strict=True)
    ]


def judging_lines(context: Context, plan: Plan, sources: Sequence[Source]) -> Iterator[str]:
    """What is said before the first call: who judges what, in how many calls, and what they cost."""
    found = judging_takes(context, plan, sources)
    for cell, source in zip(plan.cells, sources, strict=True):
        yield _line(cell, source)
    calls = sum(each.cell.calls for each in found)
    costs = [each.cell.cost_usd for each in found]
    if all(cost.value is not None for cost in costs):
        yield f"{calls:,} calls in all, about {dollars(sum(cost.value or 0.0 for cost in costs))} ({costs[0].basis})."
    elif len(found) > 1:
        yield f"{calls:,} calls in all."
    if plan.cells[0].repeats > 1:
        yield (
            f"{plan.cells[0].repeats} votes are drawn at temperature {plan.cells[0].sampling.temperature:g}: at 0 a "
            "judge would say the same each time."
        )


def _line(cell: Cell, source: Source) -> str:
    ref = cell.source
    assert isinstance(ref, JudgingRef)
    criteria = len(ref.rubric.criteria)
    assert isinstance(source, JudgingSource)
    replies = len(source.replies)
    what = "pairs of replies" if ref.against else "replies"
    parts = [f"{replies:,} {what}"]
    parts += [f"{criteria} criteria"] if criteria > 1 else []
    parts += ["both orders"] if ref.against else []
    parts += [f"{cell.repeats} votes"] if cell.repeats > 1 else []
    calls = len(source) * cell.repeats
    return (
        f"{cell.model} judges run {ref.run[:8]} ({ref.name}) by {ref.rubric.words}: {', '.join(parts)}, "
        f"{calls:,} {'call' if calls == 1 else 'calls'}."
    )
