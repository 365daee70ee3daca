"""`proctor rollouts`: agents work on prepared tasks in sandboxes, and each other's work is verified in clean ones."""

from __future__ import annotations

import os
from pathlib import Path

import click

from proctor.cli.options import json_option
from proctor.settings import read_settings


@click.group("rollouts")
def rollouts_command() -> None:
    """Have agents work on prepared tasks, and say which is better."""


@rollouts_command.command("run")
@click.argument("config", type=click.Path(path_type=Path))
@json_option
def run_command(config: Path, as_json: bool) -> int:
    """Run every task of CONFIG, a TOML file, as often as it says."""
    from proctor.cli.finish import finish
    from proctor.cli.progress import shower
    from proctor.service.context import open_context
    from proctor.service.rollouts.opening import plan_of_config, run_plan

    settings = read_settings(os.environ)
    plan = plan_of_config(config, settings)
    with open_context(settings) as context:
        show = shower()
        with show:
            outcome = run_plan(context, plan, watch=show.watch)
        return finish(outcome, as_json=as_json)
