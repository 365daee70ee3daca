"""`proctor batch check`: what is wrong with a file of requests, line by line, before anything is sent."""

from __future__ import annotations

import os
from typing import Any

import click

from proctor.cli.options import json_option, with_options
from proctor.errors import Exit
from proctor.plan import Wanted
from proctor.plan.doors import from_params
from proctor.plan.wanted import BY_NAME
from proctor.settings import read_settings

READING = ("endpoint", "columns", "template", "system", "fields", "gold", "candidate", "lenient")


def reading_options(command: Any) -> Any:
    return with_options([BY_NAME[name] for name in READING], command)


@click.command("check")
@click.argument("file")
@click.option(
    "--openai",
    is_flag=True,
    help="Also ask what OpenAI's own batches do: one model, all four fields, 50,000 lines.",
)
@click.option(
    "--faults",
    "listed",
    type=click.IntRange(1, 100_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Name at most N bad lines; all are counted.",
)
@reading_options
@json_option
def check_command(file: str, openai: bool, listed: int, as_json: bool, **given: Any) -> int:
    """Say which lines of FILE cannot be sent, and why, without sending anything.

    Exit codes: 0 every line can be sent; 1 some cannot (with --lenient: none can); 2 wrong request.
    """
    from proctor.service.batches.checking import check_wanted, document, in_words
    from proctor.service.results import documents

    wanted = Wanted(file, (), from_params(given), "batch run")
    checked = check_wanted(wanted, read_settings(os.environ), openai=openai, listed=listed)
    if as_json:
        click.echo(documents.to_json(document(checked)))
    else:
        for line in in_words(checked):
            click.echo(line)
    fine = checked.ok or (bool(given.get("lenient")) and checked.count > 0)
    return Exit.DONE if fine else Exit.DEFECT
