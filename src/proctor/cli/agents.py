"""`proctor agents`: agents that others wrote, installed where boxes see them."""

from __future__ import annotations

import os
from dataclasses import asdict

import click

from proctor.cli.options import json_option
from proctor.settings import read_settings


@click.group("agents")
def agents_command() -> None:
    """Install agents that others wrote, such as codex, and list what is here."""


@agents_command.command("install")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@json_option
def install_command(names: tuple[str, ...], as_json: bool) -> int:
    """Install NAME (codex, mini-swe-agent) in the version that proctor pins, into PROCTOR_HOME/agents.

    What is there already is left; what is half there, or has changed, is installed again. codex comes by npm, and its
    program is held to a hash; mini-swe-agent comes by pip. Sandboxes see an agent read-only, and never install one.
    """
    from proctor.service.agents.installing import install
    from proctor.service.context import open_context
    from proctor.service.results import documents

    with open_context(read_settings(os.environ)) as context:
        done = [install(context, name, lambda line: click.echo(line, err=True)) for name in names]
    if as_json:
        click.echo(documents.to_json([asdict(each) for each in done]))
        return 0
    for each in done:
        took = "was there" if each.seconds is None else f"installed in {each.seconds:.0f} s"
        click.echo(f"{each.name} {each.version} {took}, sha256 {(each.sha256 or '')[:12]}")
        click.echo(f"  {each.folder}")
    return 0


@agents_command.command("list")
@json_option
def list_command(as_json: bool) -> int:
    """List the agents that can be installed: version, hash and place of those that are here."""
    from proctor.service.agents.installing import listed
    from proctor.service.context import open_context
    from proctor.service.results import documents

    with open_context(read_settings(os.environ)) as context:
        found = listed(context)
    if as_json:
        click.echo(documents.to_json([{**asdict(each), "to_do": each.to_do} for each in found]))
        return 0
    for each in found:
        if each.version is None:
            click.echo(f"{each.name:16}not installed; {each.to_do} installs {each.pinned}")
            continue
        anew = "" if each.to_do is None else f"; proctor pins {each.pinned}: {each.to_do}"
        click.echo(f"{each.name:16}{each.version}, sha256 {(each.sha256 or '')[:12]}{anew}")
        click.echo(f"{'':16}{each.folder}")
    return 0
