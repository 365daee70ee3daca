"""What is said before anything is spent: what was understood, how many calls, what that can show."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.figures import among, fraction
from proctor.protocols import Source
from proctor.service.forecast.forecast import beyond_shares, power_of
from proctor.service.kinds.planned import planned
from proctor.stats.power import Assumed
from proctor.types import Plan

ENOUGH_TO_TELL = 200  # items of a task; fewer show only differences of 8 points and more


def plan_lines(plan: Plan, source: Source) -> Iterator[str]:
    """Lines for a person, before the first request."""
    yield from source.understood
    models, wordings = len(plan.cells), 3 if source.facts.worded else 1
    calls = len(source) * sum(cell.repeats for cell in plan.cells)
    n = len(source) // wordings
    items = f"{n:,} {'item' if n == 1 else 'items'}"
    yield f"{source.title}: {items}, {models} {'model' if models == 1 else 'models'}, {calls:,} calls."
    if (shard := plan.cells[0].limits.shard) is not None:
        yield f"Of these calls this asks shard {shard}: {sum(planned(cell, source) for cell in plan.cells):,}."
    asked = source.facts.asked
    if len(asked) > 1 and min(asked.values()) < ENOUGH_TO_TELL:
        least, most = min(asked.values()), max(asked.values())
        alike = least == most
        sizes, few = (
            f"{least:,}" if alike else f"{least:,} to {most:,}",
            "too few" if alike else "some too few",
        )
        yield f"{len(asked)} tasks with {sizes} items each: {few} to compare two models task by task."
    if models < 2:
        return
    power = power_of(source, Assumed(), models=models)
    if power.detectable is not None:
        smallest = f"{fraction(power.detectable)} or more (80 % power{among(power.comparisons)})"
        yield f"{n:,} items show a difference between two models if it is about {smallest}."
        yield from beyond_shares(source)
    if plan.cells[0].limits.until_decided:
        yield (
            "So many at the most: asking stops once it is sure which model is better, or unlikely that the rest would "
            "show it (--until-decided)."
        )
