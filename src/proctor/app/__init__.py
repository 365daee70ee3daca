"""The whole program: the command line with the commands that bring server and worker under one roof."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import click

from proctor import cli

# command -> (module, name in it, what --help says in the list; None keeps it out of the list)
COMMANDS: dict[str, tuple[str, str, str | None]] = {
    "serve": ("proctor.app.serve", "serve_command", "Start the server: REST API, dashboard and worker."),
    "worker": ("proctor.app.serve", "worker_command", "Work on the runs that wait in the queue."),
    "work-on": ("proctor.cli.work_on", "work_on_command", None),
    "gauntlet-trials": ("proctor.cli.gauntlet", "gauntlet_trials_command", None),
    "rq-worker": ("proctor.app.rq", "rq_worker_command", None),
    "look-at": ("proctor.cli.look_at", "look_at_command", None),
    "index-batch": ("proctor.cli.index_batch", "index_batch_command", None),
}


class Whole(cli.Lazy):
    """The command line's commands and those above."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *(name for name, _ in _listed())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, name, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        return command

    def rows(self) -> list[tuple[str, str]]:
        return [*super().rows(), *_listed()]


def _listed() -> list[tuple[str, str]]:
    return [(name, what) for name, (_, _, what) in COMMANDS.items() if what is not None]


def program() -> click.Group:
    """The command `proctor` with everything below it."""
    words = cli.proctor
    return Whole(
        name=words.name,
        callback=words.callback,
        params=words.params,
        help=words.help,
        context_settings=words.context_settings,
    )


def main(args: Sequence[str] | None = None) -> None:
    """The `proctor` program; for its exit codes see `cli.main`."""
    cli.main(args, program())
