"""`proctor index-batch`: what a server starts so that rows of a batch are found soon; not for people, in no list."""

from __future__ import annotations

import os

import click

from proctor.settings import read_settings


@click.command("index-batch", hidden=True)
@click.argument("run")
def index_batch_command(run: str) -> int:
    """Make the search files of the batch RUN."""
    from proctor.service.batches.find.files import build
    from proctor.service.context import open_context

    os.nice(10)  # whoever looks at pages comes first
    with open_context(read_settings(os.environ)) as context:
        build(context, run)
    return 0
