"""`proctor keys` and `proctor projects`: who may use the server, and what its runs belong to."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from proctor.cli.options import json_option
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.context import Context

BY = "command line"


@click.group("keys")
def keys_command() -> None:
    """Create, list, change and revoke the API keys of the server."""


@keys_command.command("create")
@click.option(
    "--user", required=True, metavar="NAME", help="Whose key it is; limits and the audit trail go by it."
)
@click.option("--name", default="", metavar="TEXT", help="What it is for, such as a machine's name.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(["read", "label", "run", "admin"]),
    default=("read", "run"),
    show_default=True,
    help="What it may do; each holds those before it. Repeatable.",
)
@click.option(
    "--project",
    "projects",
    multiple=True,
    metavar="NAME",
    help="A project that it reaches; repeatable.  [default: default; every project with --scope admin]",
)
@json_option
def create_command(
    user: str, name: str, scopes: tuple[str, ...], projects: tuple[str, ...], as_json: bool
) -> int:
    """Create a key and print it, this once; only its SHA-256 is kept.

    Whoever shows it sees and touches the projects that it names, and nothing of another; admin reaches all.
    """
    from proctor.service.admin.access import create_key, reached_words
    from proctor.service.context import open_context

    with open_context(read_settings(os.environ)) as context:
        named = _ids(context, projects) if projects else None
        made, secret = create_key(context, user, name, scopes, by=BY, projects=named)
        reached = reached_words(context, made)
    if as_json:
        import json

        said = {
            "id": made.id,
            "user": made.user,
            "scopes": list(made.scopes),
            "projects": reached,
            "key": secret,
        }
        click.echo(json.dumps(said))
    else:
        click.echo(secret)
        about = f"Key {made.id} of {user} ({', '.join(scopes)}; projects: {reached})"
        click.echo(f"{about}. It is not shown again.", err=True)
    return 0


def _ids(context: Context, names: tuple[str, ...]) -> list[int]:
    from proctor.service.admin.access import project_named

    return [project_named(context, name).id for name in names]


@keys_command.command("change")
@click.argument("number", type=int, metavar="ID")
@click.option(
    "--project", "projects", multiple=True, required=True, metavar="NAME", help="What it reaches; repeatable."
)
def change_command(number: int, projects: tuple[str, ...]) -> int:
    """Let a key reach these projects from now on, and no other."""
    from proctor.service.admin.access import reached_words, set_projects
    from proctor.service.context import open_context

    with open_context(read_settings(os.environ)) as context:
        changed = set_projects(context, number, _ids(context, projects), by=BY)
        reached = reached_words(context, changed)
    click.echo(f"Key {changed.id} of {changed.user} reaches {reached}.")
    return 0


@keys_command.command("list")
def list_command() -> int:
    """List the keys, without their secrets, and which projects each reaches."""
    from proctor.cli.tables import columns
    from proctor.service.admin.access import keys, reached_words
    from proctor.service.context import open_context

    with open_context(read_settings(os.environ)) as context:
        rows = [
            (
                str(k.id),
                k.user,
                k.name,
                f"{k.prefix}...",
                ",".join(k.scopes),
                reached_words(context, k),
                _day(k.last_used_at),
                _day(k.revoked_at),
            )
            for k in keys(context)
        ]
    for line in columns(rows, ("id", "user", "name", "key", "scopes", "projects", "last used", "revoked")):
        click.echo(line)
    return 0


@keys_command.command("revoke")
@click.argument("number", type=int, metavar="ID")
def revoke_command(number: int) -> int:
    """Revoke a key; from now on the server refuses it."""
    from proctor.service.admin.access import revoke_key
    from proctor.service.context import open_context

    with open_context(read_settings(os.environ)) as context:
        revoked = revoke_key(context, number, by=BY)
    click.echo(f"Key {revoked.id} of {revoked.user} is revoked.")
    return 0


@click.group("projects")
def projects_command() -> None:
    """List and create projects."""


@projects_command.command("list")
def list_projects_command() -> int:
    """List the projects."""
    from proctor.cli.tables import columns
    from proctor.service.admin.access import projects
    from proctor.service.context import open_context

    with open_context(read_settings(os.environ)) as context:
        found = projects(context)
    for line in columns([(str(p.id), p.name, _day(p.created_at)) for p in found], ("id", "name", "created")):
        click.echo(line)
    return 0


@projects_command.command("create")
@click.argument("name")
def create_project_command(name: str) -> int:
    """Create a project and print its id."""
    from proctor.service.admin.access import create_project
    from proctor.service.context import open_context

    with open_context(read_settings(os.environ)) as context:
        click.echo(str(create_project(context, name, by=BY).id))
    return 0


def _day(at: float | None) -> str:
    return "-" if at is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
