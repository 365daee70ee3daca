"""`proctor rollouts summarize`, `compare` and `list`: what benchmarks show, of what is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from proctor.cli.options import json_option
from proctor.errors import NotFound
from proctor.settings import Settings, read_settings

Command = Callable[..., Any]


def which_option(command: Command) -> Command:
    """--latest or --rollout TS; without either, the latest."""
    latest = click.option(
        "--latest", is_flag=True, help="The newest rollout of NAME; so it is without --rollout."
    )
    stamp = click.option(
        "--rollout", "stamp", metavar="STAMP", help="That of this time, such as 20250824__12-34-56."
    )
    return latest(stamp(command))


def one_of(latest: bool, stamp: str | None) -> str | None:
    if latest and stamp is not None:
        raise click.UsageError("--latest and --rollout: give one of them")
    return stamp


@click.command("summarize")
@click.argument("name")
@which_option
@json_option
def summarize_command(name: str, latest: bool, stamp: str | None, as_json: bool) -> int:
    """Show what a rollout of the benchmark NAME measured: rates with intervals, every trial, every denominator.

    NAME may also be a time (STAMP) or an id. Its files are brought up to date. Of a rollout that is not in the store,
    as one whose folder came from another machine, its summary.md is shown.
    """
    from proctor.service.context import open_context
    from proctor.service.rollouts.local.found import benchmark_runs
    from proctor.service.rollouts.local.summarize import kept_summary, summarized

    settings = read_settings(os.environ)
    stamp = one_of(latest, stamp)
    with open_context(settings) as context:
        try:
            runs = benchmark_runs(context, name, stamp)
        except NotFound:
            text = kept_summary(settings.home, name, stamp)
            if text is None or as_json:
                raise
            click.echo("Not in the store of this machine; its files say:", err=True)
            click.echo(text)
            return 0
        found = summarized(context, runs)
    if as_json:
        from proctor.service.results import documents

        click.echo(documents.to_json({**documents.evaluation(found.evaluation), "benchmark": found.manifest}))
        return 0
    _tell(found.evaluation, found.rows, settings, found.folder)
    return 0


def _tell(evaluation: Any, trials: Sequence[Sequence[str]], settings: Settings, folder: Path) -> None:
    from proctor.cli.finish import say
    from proctor.cli.rollouts_lines import shown
    from proctor.cli.tables import columns, evaluation_lines

    say(evaluation_lines(evaluation))
    click.echo("")
    for line in columns(trials[1:], trials[0]):
        click.echo(line)
    click.echo(f"Files: {shown(folder)} (summary.md, manifest.json)", err=True)


@click.command("compare")
@click.argument("benchmarks", nargs=-1, required=True, metavar="A B...")
@json_option
def compare_command(benchmarks: tuple[str, ...], as_json: bool) -> int:
    """Set the rows of benchmarks side by side, on the tasks that they have in common.

    Each is a NAME (its latest rollout), NAME@STAMP, a STAMP, or the id of a plan or run. A task is the same where its
    content is.
    """
    from proctor.cli.finish import say
    from proctor.cli.tables import evaluation_lines
    from proctor.service.context import open_context
    from proctor.service.results import documents
    from proctor.service.rollouts.local.found import benchmark_runs
    from proctor.service.runs.lifecycle import look

    with open_context(read_settings(os.environ)) as context:
        ids = [run.id for word in benchmarks for run in benchmark_runs(context, word)]
        evaluation = look(context, list(dict.fromkeys(ids)))
    if as_json:
        click.echo(documents.to_json(documents.evaluation(evaluation)))
    else:
        say(evaluation_lines(evaluation))
    return 0


@click.command("list")
@click.option("--limit", type=click.IntRange(1, 200), default=20, show_default=True, help="At most so many.")
@click.option("--name", metavar="NAME", help="Only rollouts of this benchmark.")
@json_option
def list_command(limit: int, name: str | None, as_json: bool) -> int:
    """List the newest rollouts of benchmarks."""
    from proctor.cli.tables import columns
    from proctor.service.context import open_context
    from proctor.service.results import documents
    from proctor.service.rollouts.local.summarize import lines_of

    with open_context(read_settings(os.environ)) as context:
        lines = lines_of(context, name, limit)
    if as_json:
        click.echo(documents.to_json({"rollouts": lines}))
    elif not lines:
        click.echo(
            "No rollouts yet. `proctor examples`, then `proctor rollouts run configs/demo.toml` makes some."
        )
    else:
        heads = tuple(lines[0])
        for line in columns([[str(each[head]) for head in heads] for each in lines], heads):
            click.echo(line)
    return 0
