"""`proctor rollouts trajectory`: what the agent of one trial said, ran and saw, call by call."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from proctor.errors import Exit, OutputError
from proctor.settings import read_settings


@click.command("trajectory")
@click.argument("trial")
@click.option(
    "--format",
    "shape",
    type=click.Choice(["text", "atif", "jsonl"]),
    default="text",
    show_default=True,
    help="text to read; atif: an ATIF 1.8 document; jsonl: a line for each call, with its request and response whole.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@click.option("--try", "attempt", type=click.IntRange(0), help="Which try, from 0; default: the last.")
def trajectory_command(trial: str, shape: str, output: Path | None, attempt: int | None) -> int:
    """Say what the agent of TRIAL did: its calls to its model, what it ran, and what came back.

    TRIAL is a trial's folder in PROCTOR_HOME/runs, such as 20261122__12-00-00-0, or a benchmark of a single trial. Of
    an agent that asks no model, and where another machine ran it, the steps that its log told are shown.
    """
    from proctor.service.context import open_context
    from proctor.service.rollouts.local.found import trial_named
    from proctor.service.rollouts.trajectory import atif_of, calls_of, trajectory_of
    from proctor.service.rollouts.trajectory_text import text_of

    with open_context(read_settings(os.environ)) as context:
        name = trial_named(context, trial)
        if shape == "atif":
            _write([atif_of(context, name, attempt=attempt), b"\n"], output)
        elif shape == "jsonl":
            _write(calls_of(context, name, attempt=attempt), output)
        else:
            _write([text_of(trajectory_of(context, name, attempt=attempt)).encode()], output)
    return Exit.DONE


def _write(pieces: Iterable[bytes], output: Path | None) -> None:
    """Raises: OutputError."""
    if output is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    try:
        with output.open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise OutputError(f"{output} could not be written: {error.strerror or error}") from None
    click.echo(f"Written to {output}", err=True)
