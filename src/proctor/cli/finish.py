"""The beginning and the end of a run as people and programs see them."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable

import click

from proctor.cli.exits import Ended, ended
from proctor.cli.progress import LiveBar, Plain, shower
from proctor.cli.tables import evaluation_lines, on_resume
from proctor.errors import Exit, OutputError
from proctor.protocols import Source
from proctor.service.forecast.words import plan_lines
from proctor.service.results import documents
from proctor.service.results.outcome import PlanOutcome
from proctor.types import Plan


def begin(plan: Plan, source: Source) -> Plain | LiveBar:
    """Say on standard error what was understood and what it can show; give what shows the progress."""
    for line in plan_lines(plan, source):
        click.echo(line, err=True)
    return shower()


def finish(outcome: PlanOutcome, *, as_json: bool) -> Exit:
    """Print what the runs show; the exit code."""
    sys.stderr.flush()
    if as_json:
        click.echo(documents.to_json(documents.outcome(outcome)))
    elif outcome.evaluation is not None:
        say(evaluation_lines(outcome.evaluation, outcome.notes))
    _how_it_ended(outcome, told=not as_json)
    return exit_code(outcome)


def say(lines: Iterable[str]) -> None:
    """Print the lines; in a terminal, long sentences break between words."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in lines:
        # Score lines are short and must stay whole; only prose outgrows a terminal.
        click.echo(textwrap.fill(line, width) if 0 < width < len(line) and line[:1].strip() else line)


def _how_it_ended(outcome: PlanOutcome, *, told: bool) -> None:
    """What stopped the runs, and how they go on; `told` where the causes of failures stand above already."""
    error, results = outcome.error, outcome.evaluation.results if outcome.evaluation else ()
    if error is not None:
        click.echo(f"Error ({error.slug}): {error}", err=True)
        if not (told and any(result.causes for result in results)):
            click.echo(f"  {error.cure}", err=True)
    if outcome.interrupted:
        click.echo("Interrupted. What was asked is kept.", err=True)
    lacking = [result for result in results if result.run.id in outcome.unfinished]
    for line in on_resume(lacking):
        click.echo(line, err=True)
    if outcome.unfinished and not lacking:
        ids = " ".join(ident[:8] for ident in outcome.unfinished)
        click.echo(f"To go on: proctor resume {ids}", err=True)


def exit_code(outcome: PlanOutcome) -> Exit:
    """See `errors.EXITS`."""
    if outcome.interrupted:
        return Exit.INTERRUPTED
    if outcome.evaluation is None:
        return Exit.PART  # the database has gone, with what was measured until then in it
    decision = outcome.evaluation.decision
    if outcome.error is None and decision is not None and decision.over:
        return Exit.DONE  # though some lack items
    if outcome.error is not None and outcome.error.exit_code < Exit.PART:
        return Exit(outcome.error.exit_code)
    code = ended([Ended.of(result) for result in outcome.evaluation.results])
    # All may be answered, and the file that they were asked for still lacks some.
    return Exit.PART if code is Exit.DONE and isinstance(outcome.error, OutputError) else code
