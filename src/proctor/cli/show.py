"""`proctor show` and `proctor list`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

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
    from proctor.cli.judged import judged_lines
    from proctor.cli.tables import evaluation_lines, manifest_lines, on_resume
    from proctor.service.checked.at_hand import said
    from proctor.service.checked.documents import side_by_side_document
    from proctor.service.checked.evaluated import judged_beside, leaning_words
    from proctor.service.context import open_context
    from proctor.service.grades.view import graders_of
    from proctor.service.results import documents
    from proctor.service.runs import fleet
    from proctor.service.runs.lifecycle import look

    with open_context(read_settings(os.environ)) as context:
        evaluation = look(context, runs, grader=grader)
        parts = {result.run.id: fleet.divided(context, result.run.id) for result in evaluation.results}
        others = {result.run.id: graders_of(context, result.run.id) for result in evaluation.results}
        runs_of = [result.run for result in evaluation.results if result.run.finished_at is not None]
        notes = {run.id: said(context, run) for run in runs_of}
        judged = judged_beside(context, evaluation, grader)
        leanings = leaning_words(context, judged) if judged else ()
    if as_json:
        shown = _with_shards(documents.evaluation(evaluation), parts)
        beside = {"judged": side_by_side_document(judged, leanings)} if judged else {}
        click.echo(documents.to_json(shown | beside))
        return 0
    say(evaluation_lines(evaluation, notes))
    if judged:
        say(["", *judged_lines(judged, leanings)])
    lacking = [
        r for r in evaluation.results if r.run.partial and (r.run.status != "running" or r.run.stopped)
    ]
    say(on_resume(lacking))
    for result in evaluation.results:
        for line in ("", *manifest_lines(result), *_beside(parts[result.run.id], others[result.run.id])):
            click.echo(line)
    return 0


def _with_shards(shown: dict[str, Any], parts: Mapping[str, Any]) -> dict[str, Any]:
    for each in shown["runs"]:
        found = parts[each["run_id"]]
        each["shards"] = found and {
            "of": found.of,
            "done": found.done,
            "at_work": found.at_work,
            "owners": found.owners,
        }
    return shown


def _beside(told: Any, graders: Iterable[Any]) -> Iterator[str]:
    """How far the shards of a run are, and whose grades of it are kept beside the first ones."""
    from proctor.figures import dollars

    if told:
        yield f"  shards: {told.done} of {told.of} done, {told.at_work} at work"
    for each in graders:
        cost = f", for {dollars(each.cost_usd)}" if each.cost_usd is not None else ""
        yield f"  also graded by: {each.grader}, {each.attempts:,} replies{cost} (--grader {each.grader})"


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
