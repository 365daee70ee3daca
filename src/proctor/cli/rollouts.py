"""`proctor rollouts`: agents work on prepared tasks in sandboxes, and each other's work is verified in clean ones."""

from __future__ import annotations

import os
from datetime import UTC, datetime
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
    from proctor.plan.rollouts import plan_of_toml
    from proctor.service.context import open_context
    from proctor.service.runs.lifecycle import start

    settings = read_settings(os.environ)
    stamp = datetime.now(UTC).strftime("%Y%m%d__%H-%M-%S")
    plan = plan_of_toml(config, data=Path("data"), stamp=stamp)
    with open_context(settings) as context:
        show = shower()
        with show:
            outcome = start(context, plan, watch=show.watch)
        return finish(outcome, as_json=as_json)
