"""`proctor data`: the rows of suites."""

from __future__ import annotations

import os
from pathlib import Path

import click

from proctor.cli.options import json_option
from proctor.settings import read_settings


@click.group("data")
def data_command() -> None:
    """Import the official rows of suites, and list what is here."""


@data_command.command("import")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@json_option
def import_command(path: Path, as_json: bool) -> int:
    """Import PATH: a file, an archive, or any folder above several data sets.

    Files that are not recognised are listed and passed over.
    """
    from proctor.cli.imports import import_lines, import_record
    from proctor.service import documents
    from proctor.service.transfer import import_data

    report = import_data(path, read_settings(os.environ))
    if as_json:
        click.echo(documents.to_json(import_record(report)))
    else:
        for line in import_lines(report):
            click.echo(line)
    return 2 if report.failed or not report.imported else 0


@data_command.command("list")
@json_option
def list_command(as_json: bool) -> int:
    """List the rows that are here, task by task."""
    from proctor.cli.tables import columns
    from proctor.service import documents
    from proctor.service.transfer import present_data

    rows = present_data(read_settings(os.environ))
    if as_json:
        click.echo(documents.to_json({"tasks": rows}))
    elif not rows:
        click.echo(
            "No rows imported. `proctor data import PATH` takes the official files; `--data sample` needs none."
        )
    else:
        cells = [
            (r["task"], r["split"], f"{r['n']:,}", r["sha256"][:12], ", ".join(r["source"])) for r in rows
        ]
        for line in columns(cells, ("task", "split", "rows", "sha256", "from")):
            click.echo(line)
    return 0
