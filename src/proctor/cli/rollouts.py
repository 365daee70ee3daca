"""`proctor rollouts`: agents work on prepared tasks in sandboxes, and each other's work is verified in clean ones."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from proctor.cli.options import json_option, option_named, shard_from
from proctor.errors import Exit
from proctor.settings import read_settings

LATER = {
    "summarize": "rollouts_results",
    "eval": "rollouts_eval",
    "resume": "rollouts_resume",
    "compare": "rollouts_results",
    "list": "rollouts_results",
    "trajectory": "rollouts_trajectory",
}  # command -> its module, imported when it is called
EXITS = "Exit codes: " + "; ".join(
    f"{code:d} {words}"
    for code, words in (
        (Exit.DONE, "every trial has an outcome, passed or not"),
        (Exit.REQUEST, "wrong request, nothing was begun"),
        (
            Exit.PART,
            "some trials have none: their sandbox, verifier or model server failed, or they were not run",
        ),
        (Exit.NOTHING, "none has one"),
        (Exit.INTERRUPTED, "Ctrl-C"),
    )
)
verbose_option = click.option(
    "-v",
    "verbose",
    count=True,
    help="-v: progress alone, without icons. -vv: with all that agents and verifiers print.",
)


class RolloutsGroup(click.Group):
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


@click.group("rollouts", cls=RolloutsGroup)
def rollouts_command() -> None:
    """Have agents work on prepared tasks, and say which is better."""


@rollouts_command.command("run", epilog=EXITS)
@click.argument("config", type=click.Path(path_type=Path))
@option_named("shard")
@verbose_option
@option_named("workers")
@json_option
def run_command(config: Path, verbose: int, workers: int | None, as_json: bool, **given: Any) -> int:
    """Run every task of CONFIG, a TOML file, as often as it says.

    Everything is kept in PROCTOR_HOME: rollouts/NAME/STAMP has the benchmark's files, runs/STAMP-NUMBER those of each
    trial. Paths in CONFIG are relative to the working directory.
    """
    from proctor.cli.rollouts_lines import Lines, last_words
    from proctor.service.context import open_context
    from proctor.service.rollouts.opening import plan_of_config, run_plan, with_stamp

    settings = read_settings(os.environ)
    plan = replace(plan_of_config(config, settings, shard=shard_from(given)), workers=workers or 1)
    with open_context(settings) as context, with_stamp(context, plan) as plan:
        with Lines(context, plan, verbose=verbose, to_stderr=as_json) as lines:
            lines.begin()
            outcome = run_plan(context, plan, watch=lines.watch)
            lines.ended(outcome)
        return last_words(context, outcome, as_json=as_json)
