"""`proctor show` and `proctor list`."""

from __future__ import annotations

import os

import click

from proctor.cli.options import json_option, kept_grader_option
from proctor.settings import read_settings


@click.command("show")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@kept_grader_option
@json_option
def show_command(runs: tuple[str, ...], grader: str | None, as_json: bool) -> int:
    """Show RUN: its scores, its counts, and what they rest on; several runs are compared."""
    from proctor.cli.finish import say
    from proctor.cli.tables import evaluation_lines, manifest_lines, on_resume
    from proctor.service.context import open_context
    from proctor.service.grades.view import graders_of
    from proctor.service.results import documents
    from proctor.service.runs import fleet
    from proctor.service.runs.lifecycle import look

    with open_context(read_settings(os.environ)) as context:
        evaluation = look(context, runs, grader=grader)
        parts = {result.run.id: fleet.divided(context, result.run.id) for result in evaluation.results}
        others = {result.run.id: graders_of(context, result.run.id) for result in evaluation.results}
    if as_json:
        shown = documents.evaluation(evaluation)
        for each in shown["runs"]:
            found = parts[each["run_id"]]
            each["shards"] = found and {
                "of": found.of,
                "done": found.done,
                "at_work": found.at_work,
                "owners": found.owners,
            }
        click.echo(documents.to_json(shown))
        return 0
    say(evaluation_lines(evaluation))
    lacking = [
        r for r in evaluation.results if r.run.partial and (r.run.status != "running" or r.run.stopped)
    ]
    say(on_resume(lacking))
    for result in evaluation.results:
        click.echo("")
        for line in manifest_lines(result):
            click.echo(line)
        if told := parts[result.run.id]:
            click.echo(f"  shards: {told.done} of {told.of} done, {told.at_work} at work")
        for each in others[result.run.id]:
            click.echo(f"  also graded by: {each.grader}, {each.attempts:,} replies (--grader {each.grader})")
    return 0


@click.command("list")
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="At most N runs."
)
@click.option("--model", metavar="PROVIDER/NAME", help="Only runs of this model.")
@click.option("--source", metavar="NAME", help="Only runs of this suite or file.")
@click.option(
    "--status",
    type=click.Choice(["pending", "running", "completed", "failed", "cancelled"]),
    help="Only runs in this state.",
)
@json_option
def list_command(limit: int, model: str | None, source: str | None, status: str | None, as_json: bool) -> int:
    """List the newest runs."""
    from proctor.cli.tables import list_entry, list_lines
    from proctor.service.context import open_context
    from proctor.service.results import documents
    from proctor.service.runs.lifecycle import list_runs

    with open_context(read_settings(os.environ)) as context:
        results = list_runs(context, limit=limit, model=model, source=source, status=status)
    if as_json:
        click.echo(documents.to_json({"runs": [documents.result(r) for r in results]}))
    elif not results:
        click.echo("No runs yet. `proctor demo` makes some.")
    else:
        for line in list_lines(map(list_entry, results)):
            click.echo(line)
    return 0
