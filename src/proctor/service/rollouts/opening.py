"""From a benchmark's file, or the body of a request, to a plan with a stamp of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proctor.errors import ProctorError
from proctor.plan.rollouts import Surroundings, plan_of_table, plan_of_toml
from proctor.providers import PROVIDERS
from proctor.references import RolloutsRef
from proctor.service.context import Context
from proctor.service.output.stamps import release, stamped
from proctor.service.results.outcome import PlanOutcome
from proctor.service.runs.lifecycle import start
from proctor.service.runs.progress import Watch
from proctor.settings import Settings
from proctor.types import Plan


def plan_of_config(path: Path, settings: Settings) -> Plan:
    """The plan of a TOML file. Paths in it are relative to the working directory. Raises: ConfigError."""
    return stamped(plan_of_toml(path, told_by(settings, str(path))), settings.home)


def plan_of_body(table: Mapping[str, Any], settings: Settings, where: str = "body") -> Plan:
    """The plan of the same table in a request. Raises: ConfigError."""
    return stamped(plan_of_table(table, told_by(settings, where)), settings.home)


def told_by(settings: Settings, where: str) -> Surroundings:
    return Surroundings(where, settings.home, tuple(PROVIDERS), sandbox=settings.sandbox)


def run_plan(context: Context, plan: Plan, *, watch: Watch | None = None) -> PlanOutcome:
    """Run a new benchmark to its end. Raises: ProctorError while nothing is stored; its stamp is free again then."""
    try:
        return start(context, plan, watch=watch)
    except (ProctorError, KeyboardInterrupt):
        for ref in {cell.source for cell in plan.cells if isinstance(cell.source, RolloutsRef)}:
            release(Path(ref.data), ref.name, ref.stamp)
        raise
