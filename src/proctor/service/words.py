"""What is said before anything is spent: what was understood, how many calls, what that can show."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.figures import fraction
from proctor.stats.paired import smallest_difference
from proctor.types import Plan, Source


def plan_lines(plan: Plan, source: Source) -> Iterator[str]:
    """Lines for a person, before the first request."""
    yield from source.understood
    n, models = len(source), len(plan.cells)
    calls = n * sum(cell.repeats for cell in plan.cells)
    asked = f"{n:,} {'item' if n == 1 else 'items'}"
    yield f"{source.title}: {asked}, {models} {'model' if models == 1 else 'models'}, {calls:,} calls."
    if models > 1:
        least = smallest_difference(n)
        yield f"{asked.capitalize()} show a difference between two models if it is about {fraction(least)} or more."
