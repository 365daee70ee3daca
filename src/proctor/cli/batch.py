"""`proctor batch`: files of requests, sent to any model."""

from __future__ import annotations

import os
from pathlib import Path

import click

from proctor.references import BatchRef
from proctor.settings import read_settings
from proctor.types import Cell, Limits, Plan, Sampling


@click.group("batch")
def batch_command() -> None:
    """Send files of requests to models, and compare what came back."""


@batch_command.command("run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--model", required=True, metavar="PROVIDER/NAME", help="The model that is asked.")
@click.option("--base-url", metavar="URL", help="Address of the OpenAI-compatible or Ollama server.")
@click.option("--parallel", type=click.IntRange(1), metavar="N", help="Requests under way at once.")
def run_command(file: Path, model: str, base_url: str | None, parallel: int | None) -> int:
    """Send the requests of FILE to a model."""
    from proctor.cli.finish import exit_code
    from proctor.cli.progress import shower
    from proctor.service.context import open_context
    from proctor.service.opening.sources import model_named
    from proctor.service.runs.lifecycle import start

    settings = read_settings(os.environ)
    source = BatchRef(str(file.resolve()))
    asked = Sampling(temperature=None, max_tokens=None, context_tokens=None, seed=None)
    cell = Cell(model_named(model, settings, base_url=base_url), source, asked, Limits(parallel=parallel))
    show = shower()
    with show, open_context(settings) as context:
        outcome = start(context, Plan((cell,), name=file.name), watch=show.watch)
    click.echo(outcome)
    return exit_code(outcome)
