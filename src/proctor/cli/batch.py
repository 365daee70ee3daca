"""`proctor batch`: files of requests, sent to any model."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import click

from proctor.cli.batch_check import check_command
from proctor.cli.exits import OF_RUNS
from proctor.cli.options import batch_options
from proctor.plan import Wanted
from proctor.plan.doors import from_params
from proctor.settings import read_settings

LATER = {
    "compare": "batch_compare",
    "import": "batch_import",
}  # command -> its module, imported when it is called


class BatchGroup(click.Group):
    """The commands of this file, and those that have a file of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *LATER]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in LATER:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(
            import_module(f"proctor.cli.{LATER[cmd_name]}"), f"{cmd_name}_command"
        )
        return command


@click.group("batch", cls=BatchGroup)
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


batch_command.add_command(check_command)
