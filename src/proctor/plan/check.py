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
    if any(cell.limits.until_decided for cell in plan.cells):
        _check_until_decided(plan)
    return plan


def _check_until_decided(plan: Plan) -> None:
    """Raises ConfigError unless models are to be compared that one process can ask side by side."""
    if len(plan.cells) < 2:
        raise ConfigError(
            "--until-decided asks until it is sure which of several models is better: give --model once for each"
        )
    if any(cell.limits.shard for cell in plan.cells):
        raise ConfigError(
            "--until-decided does not go with --shard: what decides is what all models have answered, and no part "
            "knows of the others. Leave one of the two out"
        )
    if plan.workers > 1:
        raise ConfigError(
            "--until-decided does not go with --workers: one process asks the models side by side and looks at what "
            "they have answered. --parallel says how many requests may be under way at each model"
        )
    alike = {(cell.source, cell.repeats) for cell in plan.cells}
    if len(alike) > 1 or any(cell.agent for cell in plan.cells):
        raise ConfigError("--until-decided compares models on the same questions, each asked equally often")


def check_ranges(cell: Cell, plan: Plan) -> None:
    """Raises ConfigError for the first option whose value lies outside what it takes."""
    parts = parts_of(cell, plan)
    for option in OPTIONS:
        option.check(getattr(parts[option.part], option.name, None))
