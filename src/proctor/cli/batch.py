"""`proctor batch`: files of requests, sent to any model."""

from __future__ import annotations

import os
from typing import Any

import click

from proctor.cli.exits import OF_RUNS
from proctor.cli.options import batch_options
from proctor.plan import Wanted
from proctor.plan.doors import from_params
from proctor.settings import read_settings


@click.group("batch")
def batch_command() -> None:
    """Send files of requests to models, and compare what came back."""


@batch_command.command("run", epilog=OF_RUNS)
@click.argument("file")
@click.option("--model", required=True, metavar="PROVIDER/NAME", help="The model that is asked.")
@batch_options
def run_command(file: str, model: str, **given: Any) -> int:
    """Send the requests of FILE to a model.

    FILE has a request a line, as OpenAI's batches have it, or is the name of an uploaded one.
    """
    from proctor.cli.finish import exit_code
    from proctor.cli.progress import shower
    from proctor.service.context import open_context
    from proctor.service.runs.lifecycle import start
    from proctor.service.runs.planning import plan_of_batch

    settings = read_settings(os.environ)
    plan = plan_of_batch(Wanted(file, (model,), from_params(given), "batch run"), settings)
    show = shower()
    with show, open_context(settings) as context:
        outcome = start(context, plan, watch=show.watch)
    click.echo(outcome)
    return exit_code(outcome)
