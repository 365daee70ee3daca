"""`proctor gauntlet`: exploits against a sandbox, and which of them changed a score, leaked or harmed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from proctor.cli.options import json_option
from proctor.cli.shipped import shipped
from proctor.errors import Exit
from proctor.settings import read_settings


@click.command("gauntlet")
@click.option(
    "--sandbox",
    type=click.Choice(["bubblewrap", "docker"]),
    default="bubblewrap",
    show_default=True,
    help="What they are run against.",
)
@click.option("--only", multiple=True, metavar="GROUP|NAME", help="Only this group or exploit; repeatable.")
@click.option("--control", is_flag=True, help="Run each where it must succeed, to show that it is one.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Exploits of one's own.  [default: ours]",
)
@click.option("--list", "listed", is_flag=True, help="Only list them.")
@json_option
def gauntlet_command(
    sandbox: str, only: tuple[str, ...], control: bool, folder: Path | None, listed: bool, as_json: bool
) -> int:
    """Run exploits against a sandbox, and say which of them changed a score, leaked, or harmed.

    Exit codes: 0 none did (with --control: each did); 1 one did; 2 wrong request; 5 the sandbox cannot be used.
    """
    from proctor.service.gauntlet.exploits import read_exploits
    from proctor.service.gauntlet.running import run_gauntlet
    from proctor.service.gauntlet.telling import document, lines_of_list, row, summary
    from proctor.service.results import documents

    exploits = read_exploits(folder or shipped("examples") / "gauntlet", only)
    if listed:
        click.echo("\n".join(lines_of_list(exploits)))
        return Exit.DONE
    shown = []
    for each in run_gauntlet(read_settings(os.environ), exploits, sandbox, control=control):
        shown.append(each)
        if not as_json:
            click.echo(row(each))
    click.echo(documents.to_json(document(shown, sandbox)) if as_json else summary(shown, sandbox))
    held = all(each.worked == control or each.setting == "none" for each in shown)
    return Exit.DONE if held and (control or not any(each.signs for each in shown)) else Exit.DEFECT


@click.command("gauntlet-trials", hidden=True)
@click.argument("sandbox")
@click.argument("room", type=click.Path(exists=True, path_type=Path))
def gauntlet_trials_command(sandbox: str, room: Path) -> int:
    """Run trials of exploits as lines on the input ask for; started by `proctor gauntlet`."""
    from proctor.service.gauntlet.trying import serve

    asyncio.run(serve(sandbox, room))
    return Exit.DONE
