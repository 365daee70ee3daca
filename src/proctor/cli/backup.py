"""`proctor backup` and `proctor restore`: everything that cannot be made again, in one file and back."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.admin.restore import BackupTold


@click.command("backup")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@click.option("--replace", is_flag=True, help="Write over FILE if it is there already.")
def backup_command(path: Path, replace: bool) -> int:
    """Write the database and the files of PROCTOR_HOME to FILE, while server and workers go on.

    SQLite or PostgreSQL alike, as of one moment; `proctor restore` puts it back into either. Keys of providers
    (keys.env) are not in it, nor what is made again: images of sandboxes, caches. Prompts and replies are: keep FILE as
    you keep the database.
    """
    from proctor.service.admin.backup import back_up
    from proctor.service.context import open_context

    with open_context(read_settings(os.environ)) as context:
        made = back_up(context, path, replace=replace)
    click.echo(f"{made.path}: {_held(made.rows, made.files)}, {made.size_bytes:,} bytes")
    click.echo(f"SHA-256 {made.sha256}")
    if made.left_out:
        click.echo(f"Not in it: {', '.join(made.left_out)}")
    return 0


@click.command("restore")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE")
@click.option("--check", is_flag=True, help="Only read FILE through and compare its sums; change nothing.")
@click.option(
    "--replace",
    is_flag=True,
    help="Put it in the place of what is there: files and a SQLite database are moved to a folder before-restore-... "
    "in PROCTOR_HOME, and what a PostgreSQL database holds is gone.",
)
def restore_command(path: Path, check: bool, replace: bool) -> int:
    """Put back what `proctor backup` wrote to FILE, into an empty PROCTOR_HOME and an empty database.

    The database is the one of PROCTOR_DATABASE_URL: what was SQLite may become PostgreSQL, and the other way. Every sum
    is checked before anything is touched. A backup of an older version is brought up to date. Stop the server
    and its workers first.
    """
    from proctor.service.admin.restore import check_backup, restore

    if check:
        click.echo(f"{path} is whole: {_told(check_backup(path))}")
        return 0
    settings = read_settings(os.environ)
    told = restore(settings, path, replace=replace)
    click.echo(f"Restored to {settings.home}: {_told(told)}")
    click.echo("Runs that waited or were at work are taken up by the next worker; `proctor list` shows them.")
    return 0


def _told(told: BackupTold) -> str:
    at = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(told.made_at))
    return f"{_held(told.rows, told.files)}, of {at}, by proctor {told.proctor}"


def _held(rows: Mapping[str, int], files: int) -> str:
    return (
        f"{rows['run']:,} runs, {rows['attempt']:,} attempts, {rows['dataset']:,} data sets, {files:,} files"
    )
