"""`proctor resume` and `proctor rerun`."""

from __future__ import annotations

import os
from typing import Any

import click

from proctor.cli.exits import OF_RUNS
from proctor.cli.options import budget_options, json_option, limits_from, option_named
from proctor.settings import read_settings


@click.command("resume", epilog=OF_RUNS)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@budget_options
@option_named("workers")
@click.option(
    "--all", "whole", is_flag=True, help="Ask all of it, also where --until-decided has ended the run before."
)
@json_option
def resume_command(
    runs: tuple[str, ...], workers: int | None, whole: bool, as_json: bool, **given: Any
) -> int:
    """Continue RUN with what is missing or failed; nothing that has an outcome is asked again.

    RUN is a run's id, its beginning, or the id of a plan of several runs. Runs that were begun with --until-decided
    go on together, until it is decided.
    """
    from proctor.cli.finish import finish
    from proctor.cli.progress import shower
    from proctor.service.context import open_context
    from proctor.service.runs.lifecycle import resume

    show = shower()
    with show, open_context(read_settings(os.environ)) as context:
        limits = limits_from(given)
        outcome = resume(context, runs, limits=limits, watch=show.watch, workers=workers or 1, whole=whole)
    return finish(outcome, as_json=as_json)


@click.command("rerun", epilog=OF_RUNS)
@click.argument("run")
@option_named("wait_for_server_s", unset="as the old run")
@json_option
def rerun_command(run: str, as_json: bool, **given: Any) -> int:
    """Start a new run from the words of an old one; the old one stays as it is."""
    from proctor.cli.finish import finish
    from proctor.cli.progress import shower
    from proctor.service.context import open_context
    from proctor.service.runs.lifecycle import rerun

    limits = limits_from(given)
    wait_s = limits.wait_for_server_s if limits else None
    show = shower()
    with show, open_context(read_settings(os.environ)) as context:
        outcome = rerun(context, run, watch=show.watch, wait_for_server_s=wait_s)
    return finish(outcome, as_json=as_json)
