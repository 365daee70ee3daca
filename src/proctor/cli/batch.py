"""`proctor batch`: files of requests, sent to any model."""

from __future__ import annotations

from importlib import import_module

import click

from proctor.cli.batch_check import check_command

LATER = {
    "run": "batch_run",
    "plan": "batch_plan",
    "export": "batch_export",
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


batch_command.add_command(check_command)
