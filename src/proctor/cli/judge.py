"""`proctor grade RUN --grader judge`: a model grades the kept replies of a run by a rubric."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.options import Command, with_options
from proctor.errors import ConfigError, Exit
from proctor.plan.doors import from_params
from proctor.plan.wanted import OF_JUDGINGS
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.context import Context
    from proctor.service.judges.todo import Judged, JudgingTodo

JUDGE = "judge"


def judge_options(command: Command) -> Command:
    """Who judges, and by what."""
    judge = click.option(
        "--judge",
        "judges",
        multiple=True,
        metavar="PROVIDER/NAME",
        help="Model that judges the replies; repeatable: several judges are a panel.",
    )
    rubric = click.option(
        "--rubric",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="TOML with the criteria that judges grade by.  [default: correct]",
    )
    votes = click.option(
        "--votes",
        type=int,
        default=1,
        metavar="K",
        help="Ask each judge K times about each reply; the majority counts.  [default: 1]",
    )
    return judge(rubric(votes(command)))


def judging_options(command: Command) -> Command:
    """All that a judging can be told."""
    only_plan = click.option(
        "--plan", "only_plan", is_flag=True, help="Say what judging would take, and ask nothing."
    )
    pairwise = click.option(
        "--pairwise",
        metavar="RUN2",
        help="Ask which of RUN's and RUN2's replies is better, in both orders of each pair.",
    )
    return judge_options(pairwise(only_plan(with_options(OF_JUDGINGS, command))))


@dataclass(frozen=True, slots=True)
class JudgingAsked:
    """What the command line says of a judging, as far as its own options do."""

    judges: tuple[str, ...]
    rubric: Path | None
    votes: int
    pairwise: str | None
    only_plan: bool

    def refuse_without_judge(self) -> None:
        """Raises ConfigError where something of a judging was said, and no judge is to grade."""
        said = {
            "--judge": self.judges,
            "--rubric": self.rubric,
            "--votes": self.votes > 1,
            "--pairwise": self.pairwise,
            "--plan": self.only_plan,
        }
        if named := [name for name, value in said.items() if value]:
            raise ConfigError(f"{named[0]} is for --grader judge")


def judged(runs: Sequence[str], asked: JudgingAsked, given: dict[str, Any], *, as_json: bool) -> int:
    """Judge the kept replies of runs; nothing is asked that was asked before."""
    from proctor.plan.rubrics import rubric_file
    from proctor.service.context import open_context
    from proctor.service.judges.todo import judging_todo
    from proctor.service.judges.wanted import JudgingWanted
    from proctor.service.results import documents

    rubric = rubric_file(asked.rubric) if asked.rubric else None
    wanted = JudgingWanted(tuple(runs), asked.judges, rubric, asked.votes, asked.pairwise, from_params(given))
    with open_context(read_settings(os.environ)) as context:
        todo = judging_todo(context, wanted)
        if asked.only_plan:
            return _planned(context, todo, as_json=as_json)
        found = judge_all(context, todo)
        if as_json:
            click.echo(documents.to_json(judged_document(context, found)))
        else:
            tell(context, todo, found)
        return exit_of(found)


def judge_all(context: Context, todo: JudgingTodo) -> Judged:
    """Judge what is to be judged, and show how it gets on."""
    from proctor.cli.progress import shower
    from proctor.service.judges.todo import judge

    _said_before(todo)
    show = shower()
    with show:
        return judge(
            context,
            todo,
            begin=lambda plan, sources: _said(context, plan, sources),
            watch=show.watch,
        )


def _said(context: Context, plan: Any, sources: Any) -> None:
    from proctor.service.judges.forecast import judging_lines

    for line in judging_lines(context, plan, sources):
        click.echo(line, err=True)


def _said_before(todo: JudgingTodo) -> None:
    for run in todo.done:
        click.echo(
            f"Run {run.id[:8]} has judged this already ({run.cell.model}): nothing is asked again.", err=True
        )
    for run in todo.begun:
        click.echo(
            f"Going on with run {run.id[:8]} ({run.cell.model}): {run.settled:,} of {run.planned:,} verdicts stand.",
            err=True,
        )


def _planned(context: Context, todo: JudgingTodo, *, as_json: bool) -> int:
    from dataclasses import asdict

    from proctor.service.judges.forecast import judging_lines, judging_takes
    from proctor.service.results import documents
    from proctor.service.runs.lifecycle import open_sources

    _said_before(todo)
    if todo.plan is None:
        return 0
    sources = open_sources(todo.plan, context.settings)
    found = judging_takes(context, todo.plan, sources)
    if as_json:
        click.echo(documents.to_json({"cells": [asdict(each) for each in found]}))
        return 0
    for line in judging_lines(context, todo.plan, sources):
        click.echo(line)
    from proctor.cli.plan import takes_lines

    for line in takes_lines(found):
        click.echo(line)
    return 0


def judged_document(context: Context, found: Judged) -> dict[str, Any]:
    from proctor.service.checked.at_hand import told_document
    from proctor.service.checked.leaning import leaning_of_judging

    told = [
        {**told_document(context, run), "leaning": leaning_of_judging(context, run)} for run in found.runs
    ]
    return {"judgings": told}


def tell(context: Context, todo: JudgingTodo, found: Judged) -> None:
    """What came of it, and of what was judged before."""
    from proctor.cli.finish import finish, say
    from proctor.service.checked.at_hand import panel_told, told_lines
    from proctor.service.judging.panel import panels

    for outcome in found.outcomes:
        finish(outcome, as_json=False)
    for run in todo.done:
        lines = told_lines(context, run)
        say([f"{run.cell.model}  {run.source_title}", *(f"  {line}" for line in lines)])
    if len({run.plan_id for run in found.runs}) > 1:
        for judges in panels(found.runs):
            say(panel_told(context, judges))


def exit_of(found: Judged) -> int:
    from proctor.cli.finish import exit_code

    return max((exit_code(outcome) for outcome in found.outcomes), default=Exit.DONE)
