"""`proctor help`: the pages of the documents, in the terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from proctor.cli.shipped import shipped
from proctor.errors import NotFound

GENERATED = re.compile(r"^<!--.*?-->\n", re.MULTILINE)
WIDEST = 120  # columns; lines of prose that are longer are hard to read


@click.command("help")
@click.argument("topic", required=False, metavar="[TOPIC]")
@click.pass_context
def help_command(ctx: click.Context, topic: str | None) -> int:
    """Read a page of the documents, such as `proctor help graders`; without TOPIC, list them.

    A command is a topic too: `proctor help batch` is `proctor batch --help`, where no page has that name.
    """
    pages = topics()
    if topic is None:
        click.echo("Topics of `proctor help TOPIC`:\n")
        for name, path in pages.items():
            click.echo(f"  {name:<17} {_title(path)}")
        click.echo("\nA command's own words: proctor COMMAND --help")
        return 0
    if topic in pages:
        _show(pages[topic])
        return 0
    group = ctx.parent.command if ctx.parent is not None else None
    command = group.get_command(ctx.parent, topic) if isinstance(group, click.Group) and ctx.parent else None
    if command is None:
        raise NotFound(f"There is no page and no command {topic!r}; `proctor help` lists the topics")
    click.echo(command.get_help(click.Context(command, info_name=topic, parent=ctx.parent)))
    return 0


def topics() -> dict[str, Path]:
    """The pages by name: those of docs, and the references."""
    root = shipped("docs")
    return {path.stem: path for folder in (root, root / "reference") for path in sorted(folder.glob("*.md"))}


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as page:
        return page.readline().lstrip("# ").rstrip()


def _show(path: Path) -> None:
    """Laid out for a terminal and handed to its pager; as it is written for whatever else reads it."""
    text = GENERATED.sub("", path.read_text(encoding="utf-8"))
    if not sys.stdout.isatty():
        click.echo(text)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    console.width = min(console.width, WIDEST)
    with console.pager(styles=True):
        console.print(Markdown(text, hyperlinks=False))
