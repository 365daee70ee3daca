"""`proctor merge`: one run of the parts that were asked apart."""

from __future__ import annotations

import os

import click

from proctor.cli.exits import OF_RUNS
from proctor.cli.options import json_option
from proctor.errors import Exit
from proctor.settings import read_settings


@click.command("merge", epilog=OF_RUNS)
@click.argument("sources", nargs=-1, required=True, metavar="HOME|BUNDLE|shared:NAME|RUN...")
@click.option(
    "--partial",
    is_flag=True,
    help="Merge although parts are missing or have not ended; `proctor resume` asks what the run then lacks.",
)
@click.option(
    "--run",
    "chosen",
    multiple=True,
    metavar="ID",
    help="Of a part that is there twice take the run whose id begins so; repeatable.",
)
@json_option
def merge_command(sources: tuple[str, ...], partial: bool, chosen: tuple[str, ...], as_json: bool) -> int:
    """Make one run of the parts that `--shard` asked apart.

    HOME is the PROCTOR_HOME of a part (it is only read), BUNDLE a file of `proctor bundle --prompts`, shared:NAME
    what `proctor bundle --share NAME` put where machines share, RUN a run of this store. Parts that were not asked the
    same are refused, and so are missing ones. The same parts again are the same run.
    """
    from proctor.cli.finish import finish
    from proctor.service.context import open_context
    from proctor.service.data.merge import merge

    with open_context(read_settings(os.environ)) as context:
        found = merge(context, sources, partial=partial, chosen=chosen)
    for line in found.told:
        click.echo(line, err=True)
    code = finish(found.outcome, as_json=as_json)
    # A part that its own bound ended was done; the run that lacks what it did not ask is not.
    return Exit.PART if code is Exit.DONE and found.outcome.unfinished else code
