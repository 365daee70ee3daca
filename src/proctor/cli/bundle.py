"""`proctor bundle` and `proctor verify`: figures that others can check."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from proctor.cli.options import json_option
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.data.verify import Verified


@click.command("bundle")
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option("--all", "whole", is_flag=True, help="Every run of this PROCTOR_HOME that has ended.")
@click.option(
    "--share",
    metavar="NAME",
    help="Put the bundle where machines share (PROCTOR_SHARED), for `proctor merge shared:NAME`; no file stays here "
    "but that of --output.",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File to write.  [default: bundle-RUN.zip]",
)
@click.option(
    "--prompts",
    is_flag=True,
    help="Pack the questions too. Without it they stay out, because data sets have licences.",
)
def bundle_command(
    runs: tuple[str, ...], whole: bool, share: str | None, output: Path | None, prompts: bool
) -> int:
    """Pack RUN, or several runs with their comparison, into one zip file that `proctor verify` checks anywhere."""
    from proctor.service.context import open_context
    from proctor.service.data.bundle import bundle
    from proctor.service.data.shared_parts import ended_runs, share_bundle

    if bool(runs) == whole:
        raise click.UsageError("Name the runs, or give --all")
    with open_context(read_settings(os.environ)) as context, TemporaryDirectory() as folder:
        if whole:
            runs = ended_runs(context)
        name = Path(f"bundle-{'-'.join(run[:8] for run in runs[:3])}.zip")
        made = bundle(context, runs, output or (name if share is None else folder / name), prompts=prompts)
        if share is not None:
            click.echo(f"Shared: {share_bundle(context, made.path, made.sha256, share)}")
    word = "run" if made.runs == 1 else "runs"
    click.echo(f"{made.path}: {made.runs:,} {word}, {made.replies:,} attempts, {made.size_bytes:,} bytes")
    click.echo(f"SHA-256 {made.sha256}")
    for run in made.stale:
        click.echo(
            f"Run {run[:8]}: an older version of proctor computed the scores that `proctor show` has; the bundle holds "
            "those of this version.",
            err=True,
        )
    return 0


@click.command("verify")
@click.argument("path", type=click.Path(path_type=Path), metavar="BUNDLE")
@click.option(
    "--rows",
    is_flag=True,
    help="Compare the items with the rows on this machine too: under PROCTOR_HOME, or in the run's file.",
)
@json_option
def verify_command(path: Path, rows: bool, as_json: bool) -> int:
    """Check BUNDLE offline: its members, every reply read again, every figure recomputed.

    Exit codes: 0 verified, 1 something differs, 2 no bundle, a damaged one or one of a newer format.
    """
    from proctor.service.data.verify import verify
    from proctor.service.results.documents import to_json

    found = verify(path, rows=read_settings(os.environ) if rows else None)
    if as_json:
        click.echo(to_json({"verified": not found.faults, **asdict(found)}))
    else:
        for line in _lines(found):
            click.echo(line)
    return int(bool(found.faults))


def _lines(found: Verified) -> Iterator[str]:
    of = f" of {found.replies + found.unread:,}" if found.unread else ""
    counts = f"{found.replies:,}{of} replies read again, {found.figures:,} figures recomputed"
    if found.items:
        counts += f", {found.items:,} items compared"
    yield f"{'NOT verified' if found.faults else 'verified'}: {counts}"
    yield from (f"  {fault}" for fault in found.faults)
    yield from (f"  {note}" for note in found.notes)
