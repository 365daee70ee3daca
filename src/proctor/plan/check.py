"""What cannot be meant: a plan without a model, one asked twice, and values out of their ranges."""

from __future__ import annotations

from proctor.errors import ConfigError
from proctor.plan.build import parts_of
from proctor.plan.wanted import OPTIONS
from proctor.types import Cell, Plan


def check(plan: Plan) -> Plan:
    """The plan, if its values can be meant; else ConfigError naming the option."""
    if not plan.cells:
        raise ConfigError("No model given: add --model PROVIDER/NAME (`proctor models` lists them)")
    for cell in plan.cells:
        check_ranges(cell, plan)
    if doubled := sorted({str(c.model) for c in plan.cells if plan.cells.count(c) > 1}):
        raise ConfigError(f"--model {doubled[0]} is given twice; to ask a model again, run it again")
    return plan


def check_ranges(cell: Cell, plan: Plan) -> None:
    """Raises ConfigError for the first option whose value lies outside what it takes."""
    parts = parts_of(cell, plan)
    for option in OPTIONS:
        option.check(getattr(parts[option.part], option.name, None))
