"""`proctor simulate`: the simulator as a server of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from proctor.settings import read_settings


def _options(command: click.Command) -> click.Command:
    from proctor.service.opening.simulate import USER_OPTIONS

    for option in USER_OPTIONS:
        if option.kind is bool:
            made = click.Option([option.flag], is_flag=True, help=option.help)
        else:
            kind = click.Choice(option.choices) if option.choices else option.kind
            shown = option.default not in (None, (), "")
            made = click.Option(
                [option.flag],
                type=kind,
                default=option.default,
                multiple=option.repeatable,
                help=option.help,
                show_default=shown,
            )
        command.params.append(made)
    return command


@click.command("simulate")
@click.option(
    "--rows",
    "files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Questions of your own that the models shall know; repeatable.",
)
def _command(files: tuple[Path, ...], **values: Any) -> int:
    """Start the model simulator: an OpenAI and Ollama server on this machine, for dry runs and tests.

    It knows the sample rows, the imported rows and the questions of --rows, and answers as often right
    as told. Point OLLAMA_HOST at it, or OPENAI_BASE_URL with /v1 after the address.
    """
    from proctor.service.opening.simulate import serve_simulator

    return serve_simulator(read_settings(os.environ), files, values)


simulate_command = _options(_command)
