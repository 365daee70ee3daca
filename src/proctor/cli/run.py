"""`proctor run`: from words on the command line to a verdict."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.exits import OF_RUNS
from proctor.cli.judge import judge_all, judge_options, judged_document, tell
from proctor.cli.options import json_option, run_options, wanted_from
from proctor.errors import ConfigError
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.context import Context
    from proctor.service.judges.in_suites import SuiteJudge
    from proctor.service.results.outcome import PlanOutcome
    from proctor.types import Plan


@click.command("run", epilog=OF_RUNS)
@click.argument("source")
@run_options
@judge_options
@json_option
def run_command(
    source: str,
    models: tuple[str, ...],
    judges: tuple[str, ...],
    rubric: Path | None,
    votes: int,
    as_json: bool,
    **given: Any,
) -> int:
    """Ask models the questions of SOURCE and say which is better.

    SOURCE is a file of questions (JSONL, CSV, XLSX, ...), a suite (glue, superglue, mmlu, medical), a suite of
    your own (TOML), or a data set (`proctor dataset list`). With --judge, or a table [judge] in the TOML, a model
    then grades the replies, as `proctor grade RUN --grader judge` does.
    """
    from proctor.cli.download import Download
    from proctor.cli.finish import begin, exit_code, finish
    from proctor.service.context import open_context
    from proctor.service.opening.sources import models_named
    from proctor.service.runs.lifecycle import open_sources, start
    from proctor.service.runs.planning import plan_of_wanted

    settings = read_settings(os.environ)
    plan = plan_of_wanted(wanted_from(source, models, given), settings)
    judge = _judge(plan, judges, rubric, votes, given.get("base_url"))
    if judge is not None and plan.cells[0].limits.until_decided:
        raise ConfigError(
            "--until-decided goes by the grade that each reply gets as it comes, and a judge reads them when all are "
            "there: leave one of the two out"
        )
    if judge is not None:
        models_named(judge.judges, settings, base_url=judge.given.get("base_url"))  # before anything is asked
    with Download() as download:
        sources = open_sources(plan, settings, tell=download.tell)
    show = begin(plan, sources[0])
    with open_context(settings) as context:
        with show:
            outcome = start(context, plan, watch=show.watch, sources=sources)
        if judge is None:
            return finish(outcome, as_json=as_json)
        code = exit_code(outcome) if as_json else finish(outcome, as_json=False)
        return max(code, _judged(context, judge, outcome, as_json=as_json))


def _judge(
    plan: Plan, judges: tuple[str, ...], rubric: Path | None, votes: int, base_url: str | None
) -> SuiteJudge | None:
    """Who judges; what the command says goes before what the suite says. Raises: ConfigError."""
    from proctor.plan.rubrics import rubric_file
    from proctor.service.judges.in_suites import SuiteJudge, suite_judge

    if judges:
        # Where an address was named, replies are sent to no other: a judge of the same provider is asked there.
        there = base_url and {each.partition("/")[0] for each in judges} <= {
            c.model.provider for c in plan.cells
        }
        given = {"base_url": base_url} if there else {}
        return SuiteJudge(judges, rubric_file(rubric) if rubric else None, votes, given)
    if rubric or votes > 1:
        raise ConfigError(f"{'--rubric' if rubric else '--votes'} is for a judge: add --judge PROVIDER/NAME")
    return suite_judge(plan)


def _judged(context: Context, judge: SuiteJudge, outcome: PlanOutcome, *, as_json: bool) -> int:
    """Have the runs judged that have replies, once all have ended."""
    from proctor.cli.judge import exit_of
    from proctor.service.judges.todo import judging_todo
    from proctor.service.results import documents

    results = outcome.evaluation.results if outcome.evaluation else ()
    runs = tuple(result.run.id for result in results if result.run.settled)
    if outcome.interrupted or not runs:
        who = " ".join(f"--judge {name}" for name in judge.judges)
        ids = " ".join(run[:8] for run in runs) or "RUN"
        click.echo(f"Nothing was judged. Then: proctor grade {ids} --grader judge {who}", err=True)
        if as_json:
            click.echo(documents.to_json(documents.outcome(outcome)))
        return 0
    todo = judging_todo(context, judge.wanted(runs))
    found = judge_all(context, todo)
    if as_json:
        click.echo(documents.to_json({**documents.outcome(outcome), **judged_document(context, found)}))
    else:
        click.echo("")
        tell(context, todo, found)
    return exit_of(found)
