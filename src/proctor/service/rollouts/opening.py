"""From a benchmark's file, or the body of a request, to a plan with a stamp of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from proctor.errors import OutputError, ProctorError
from proctor.plan.rollouts import Surroundings, plan_of_toml
from proctor.providers import PROVIDERS
from proctor.references import RolloutsRef
from proctor.service.context import Context
from proctor.service.output.benchmark_files import refresh
from proctor.service.output.stamps import release, stamped
from proctor.service.results.outcome import PlanOutcome
from proctor.service.runs.lifecycle import resume, start
from proctor.service.runs.pace.progress import Watch
from proctor.settings import Settings
from proctor.types import Plan, Run, Shard


def plan_of_config(path: Path, settings: Settings, *, shard: Shard | None = None) -> Plan:
    """The plan of a TOML file, or of one part of it, without a stamp yet: `with_stamp` gives it one.

    Paths in it are relative to the working directory. Raises: ConfigError.
    """
    plan = plan_of_toml(path, told_by(settings, str(path)))
    if shard is not None:
        cells = (replace(cell, limits=replace(cell.limits, shard=shard)) for cell in plan.cells)
        plan = replace(plan, cells=tuple(cells))
    return plan


def told_by(settings: Settings, where: str) -> Surroundings:
    return Surroundings(where, settings.home, tuple(PROVIDERS), sandbox=settings.sandbox)


@contextmanager
def with_stamp(context: Context, plan: Plan) -> Iterator[Plan]:
    """The plan with a stamp of its own, which is given back where it ends before anything was written.

    Raises: ConfigError for a folder that cannot be made.
    """
    plan = stamped(plan, context.settings.home, context.store)
    try:
        yield plan
    except (ProctorError, KeyboardInterrupt):
        for ref in {cell.source for cell in plan.cells if isinstance(cell.source, RolloutsRef)}:
            release(context.settings.home, ref.name, ref.stamp, context.store)
        raise


def run_plan(context: Context, plan: Plan, *, watch: Watch | None = None) -> PlanOutcome:
    """Run a new benchmark to its end; a part of one that was begun here before goes on.

    Raises: ProctorError while nothing is stored.
    """
    outcome = start(context, plan, watch=watch)
    used = {result.run.cell.source for result in (outcome.evaluation.results if outcome.evaluation else ())}
    for ref in {cell.source for cell in plan.cells} - used:
        if isinstance(ref, RolloutsRef):
            release(context.settings.home, ref.name, ref.stamp, context.store)
    return with_files(context, outcome)


def go_on(context: Context, runs: Sequence[Run], *, watch: Watch | None = None) -> PlanOutcome:
    """Continue a benchmark's runs with what is missing or measured nothing. Raises: ProctorError."""
    return with_files(context, resume(context, [run.id for run in runs], watch=watch))


def with_files(context: Context, outcome: PlanOutcome) -> PlanOutcome:
    """The outcome, the benchmark's files brought to what they say now that its runs have ended."""
    for result in outcome.evaluation.results[:1] if outcome.evaluation else ():
        try:
            refresh(context, result.run)
        except OSError as error:
            told = OutputError(f"The benchmark's files are not up to date: {error}")
            return replace(outcome, error=outcome.error or told)
    return outcome
