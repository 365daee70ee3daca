"""`proctor prune`: old runs are deleted."""

from __future__ import annotations

import os

import click

from proctor.plan import parse_duration
from proctor.settings import read_settings


@click.command("prune")
@click.option(
    "--older", required=True, metavar="TIME", help="Delete runs that ended longer ago than this, such as 30d."
)
@click.option("--dry-run", is_flag=True, help="Say what would be deleted, and delete nothing.")
def prune_command(older: str, dry_run: bool) -> int:
    """Delete old runs with their attempts, replies, scores and logs. Runs that wait or work are never touched."""
    from proctor.service.admin.prune import prune
    from proctor.service.context import open_context

    with open_context(read_settings(os.environ)) as context:
        found = prune(context, parse_duration(older), by="command line", dry=dry_run)
    runs = f"{len(found.runs):,} {'run' if len(found.runs) == 1 else 'runs'}"
    if dry_run:
        click.echo(f"{runs} would be deleted.")
    else:
        click.echo(
            f"{runs} deleted, with {found.plans:,} plans and {found.items:,} items that nothing else uses."
        )
    return 0
