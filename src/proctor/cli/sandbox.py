"""`proctor sandbox`: what agents run in, and whether this machine can hold it."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import click

from proctor.cli.options import json_option
from proctor.settings import read_settings


@click.group("sandbox")
def sandbox_command() -> None:
    """Make the roots that agents begin with, and try whether this machine contains what runs in them."""


@sandbox_command.command("image")
@click.option("--name", default="base", show_default=True, metavar="NAME", help="What benchmarks call it.")
@click.option(
    "--with",
    "wanted",
    multiple=True,
    metavar="NAME",
    help="A Python package that is installed beside proctor, such as pytest, with what it needs, or a program of "
    "this machine, such as sqlite3; repeatable.",
)
@click.option(
    "--from",
    "rootfs",
    type=click.Path(exists=True, path_type=Path),
    help="Make it of this folder or archive (tar) with a whole root in it.",
)
@click.option("--debian", metavar="RELEASE", help="Make it of Debian's packages, by debootstrap: bookworm.")
@click.option("--anew", is_flag=True, help="Make it again, also where nothing has changed.")
@click.option("--prune", is_flag=True, help="Then delete images that no name leads to any more.")
@json_option
def image_command(
    name: str,
    wanted: tuple[str, ...],
    rootfs: Path | None,
    debian: str | None,
    anew: bool,
    prune: bool,
    as_json: bool,
) -> int:
    """Make an image: by itself of this machine's shell, tools, git and Python, in seconds and without a network.

    `base` is what benchmarks use that name no other, and is made by itself too. Boxes are copies on write of it:
    nothing that runs in one changes it.
    """
    from proctor.service.context import open_context
    from proctor.service.results import documents
    from proctor.service.rollouts.sandboxes import clear, make

    with open_context(read_settings(os.environ)) as context:
        made = make(context, name, wanted, rootfs=rootfs, debian=debian, anew=anew)
        cleared = clear(context) if prune else []
    if as_json:
        click.echo(documents.to_json({**asdict(made), "deleted": cleared}))
        return 0
    click.echo(
        f"Image {made.name}: {made.made_of}, sha256 {made.sha256[:12]}, ready after {made.seconds:.1f} s"
    )
    click.echo(f"  {made.folder}")
    for each in cleared:
        click.echo(f"Deleted {each}")
    return 0


@sandbox_command.command("check")
@click.argument("name", default="bubblewrap")
@click.option("--image", default="base", show_default=True, metavar="NAME", help="What its boxes begin with.")
@json_option
def check_command(name: str, image: str, as_json: bool) -> int:
    """Try whether the sandbox NAME (bubblewrap, docker, modal, local) holds here, and say what to do where not."""
    from proctor.service.context import open_context
    from proctor.service.results import documents
    from proctor.service.rollouts.sandboxes import check

    with open_context(read_settings(os.environ)) as context:
        held = check(context, name, image)
    if as_json:
        click.echo(documents.to_json(asdict(held)))
        return 0
    limits = held.limits
    click.echo(f"It works here: {held.told}.")
    if held.image_sha256:
        click.echo(f"  image    {image}, sha256 {held.image_sha256[:12]}")
        click.echo(
            f"  limits   {limits.memory_mb} MB of memory, {limits.cpus:g} cores, {limits.pids} processes,"
        )
        click.echo(f"           {limits.disk_mb} MB of disk: as benchmarks have them that name none")
    click.echo(f"  a box    takes {held.box_s * 1000:.0f} ms to open, to run a command, and to close")
    return 0
