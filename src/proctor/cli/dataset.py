"""`proctor dataset`: one's own questions by a name, here or on a server."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from proctor.cli.options import json_option
from proctor.cli.server_call import ServerCall, server_of
from proctor.errors import NotFound
from proctor.settings import read_settings

BY = "command line"
Told = Mapping[str, Any]


@click.group("dataset")
def dataset_command() -> None:
    """Keep files of questions under a name that runs, schedules and boards know (here, or with --server there)."""


_LAYOUT = (
    click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="PART=COLUMN",
        help="Which column is the question, answer, choices (repeatable), id or cluster; repeatable.",
    ),
    click.option(
        "--sheet", metavar="NAME", help="Which sheet of a workbook.  [default: the first with cells]"
    ),
    click.option(
        "--answer-type",
        type=click.Choice(["choices", "labels", "text"]),
        help="How answers are read.  [default: seen from the rows]",
    ),
    click.option(
        "--numbers",
        type=click.Choice(["from-0", "from-1", "texts"]),
        help="What numbers as answers mean: options' places or texts.  [default: seen from the rows]",
    ),
    click.option("--lenient", is_flag=True, help="Leave out bad rows; they are named, and scores say so."),
    click.option(
        "--grader",
        metavar="NAME[:SETTINGS]",
        help="How answers in free text are graded: contains, number:rel=0.01, ...  [default: by the answers]",
    ),
)


def _layout_options(command: Any) -> Any:
    for option in reversed(_LAYOUT):
        command = option(command)
    return command


project_option = click.option(
    "--project-id", type=int, default=1, show_default=True, metavar="N", help="Whose it is."
)


@dataset_command.command("add")
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--name", metavar="NAME", help="What it is called.  [default: the file's name without its ending]"
)
@project_option
@_layout_options
@json_option
def add_command(
    files: tuple[Path, ...], name: str | None, project_id: int, as_json: bool, **layout: Any
) -> int:
    """Keep FILE (CSV, TSV, JSONL, JSON, Parquet, XLSX), or a suite's TOML and the FILES it names, as a data set."""
    with _asked() as asked:
        made = asked.add(files, name, project_id, layout)
    if not made["made"] and not as_json:
        click.echo(f"It is here already, as {made['name']!r}", err=True)
    _show(made, as_json)
    return 0


@dataset_command.command("list")
@click.option("--project-id", type=int, metavar="N", help="Only of this project.")
@json_option
def list_command(project_id: int | None, as_json: bool) -> int:
    """List the data sets."""
    from proctor.cli.tables import columns
    from proctor.service.results import documents

    with _asked() as asked:
        found = asked.listed(project_id)
    if as_json:
        click.echo(documents.to_json({"datasets": found}))
        return 0
    rows = [
        (each["name"], f"{each['rows']:,}", each["answer_type"] or "", each["format"], _state(each))
        for each in found
    ]
    for line in columns(rows, ("name", "rows", "answers", "format", "")):
        click.echo(line)
    return 0


def _state(of: Told) -> str:
    return "cannot be asked yet: see `proctor dataset show`" if of["error"] else ""


@dataset_command.command("show")
@click.argument("name")
@project_option
@json_option
def show_command(name: str, project_id: int, as_json: bool) -> int:
    """Show a data set: its columns and first rows, how it is understood, what is wrong, what it can show."""
    with _asked() as asked:
        _show(asked.one(name, project_id), as_json)
    return 0


@dataset_command.command("change")
@click.argument("name")
@project_option
@_layout_options
@json_option
def change_command(name: str, project_id: int, as_json: bool, **layout: Any) -> int:
    """Read a data set otherwise from now on. What is not named is seen in its rows again."""
    with _asked() as asked:
        _show(asked.change(name, project_id, {"layout": layout}), as_json)
    return 0


@dataset_command.command("rename")
@click.argument("name")
@click.argument("new")
@project_option
def rename_command(name: str, new: str, project_id: int) -> int:
    """Call a data set NEW, in its runs and schedules too."""
    with _asked() as asked:
        made = asked.change(name, project_id, {"name": new})
    click.echo(f"{name} is called {made['name']} now")
    return 0


@dataset_command.command("rm")
@click.argument("name")
@project_option
def rm_command(name: str, project_id: int) -> int:
    """Delete a data set; runs that have ended keep what they asked."""
    with _asked() as asked:
        asked.remove(name, project_id)
    click.echo(f"Data set {name} deleted")
    return 0


def _show(of: Told, as_json: bool) -> None:
    from proctor.service.results import documents

    if as_json:
        click.echo(documents.to_json(of))
        return
    for line in _lines(of):
        click.echo(line)


def _lines(of: Told) -> Iterator[str]:
    from proctor.cli.tables import columns
    from proctor.figures import fraction

    found = of["found"]
    yield f"{of['name']}  {found['format']}, {found['rows']:,} rows, {of['bytes']:,} bytes"
    yield from (f"  {line}" for line in found["understood"])
    if found["error"] is None:
        least = found["detectable"]
        size = "no difference of two models" if least is None else f"differences from {fraction(least)} on"
        yield f"  {found['items']:,} items show {size}, and a score to +-{fraction(found['half_width'])}"
        yield "  (with 80 % power at p < 0.05, where both are right on 80 % of the items)"
    else:
        yield from (f"  {line}" for line in found["error"].splitlines())
        parts = "question, answer, choices, id, cluster"
        yield f"  -> proctor dataset change {of['name']} --column PART=COLUMN (parts: {parts})"
    if found["first"]:
        names = [_short(name) for name in found["columns"]]
        rows = [(each["where"], *map(_short, each["cells"])) for each in found["first"]]
        yield ""
        yield from columns(rows, ("", *names))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 40 else f"{line[:39]}\u2026"


# Here or there --------------------------------------------------------------------------------------------


class _Here:
    """The data sets of this machine's store."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def add(self, files: Sequence[Path], name: str | None, project_id: int, layout: Told) -> Told:
        from proctor.service.datasets.documents import document
        from proctor.service.datasets.kept import Uploaded, Wish, upload
        from proctor.service.datasets.layout import Layout

        with ExitStack() as opened:
            came = [Uploaded(path.name, opened.enter_context(path.open("rb"))) for path in files]
            wish = Wish(name, Layout(**layout), project_id, BY)
            return document(upload(self.context, came, wish))

    def listed(self, project_id: int | None) -> Sequence[Told]:
        from proctor.service.datasets.documents import line_document
        from proctor.service.datasets.kept import listed

        return [line_document(each) for each in listed(self.context, project_id)]

    def one(self, name: str, project_id: int) -> Told:
        from proctor.service.datasets.documents import document
        from proctor.service.datasets.kept import by_word

        return document(by_word(self.context, name, project_id))

    def change(self, name: str, project_id: int, wish: Told) -> Told:
        from proctor.service.datasets.documents import document
        from proctor.service.datasets.kept import change
        from proctor.service.datasets.layout import Layout

        ident = self.one(name, project_id)["id"]
        layout = Layout(**wish["layout"]) if "layout" in wish else None
        return document(change(self.context, ident, name=wish.get("name"), layout=layout))

    def remove(self, name: str, project_id: int) -> None:
        from proctor.service.datasets.kept import remove

        remove(self.context, self.one(name, project_id)["id"])


class _There:
    """The data sets of a server."""

    def __init__(self, server: ServerCall) -> None:
        self.server = server

    def add(self, files: Sequence[Path], name: str | None, project_id: int, layout: Told) -> Told:
        fields = {"project_id": project_id, "layout": layout, **({"name": name} if name is not None else {})}
        made: Told = self.server.upload("/datasets", files, fields)
        return made

    def listed(self, project_id: int | None) -> Sequence[Told]:
        found: Sequence[Told] = self.server.get("/datasets", project_id=project_id)["datasets"]
        return found

    def one(self, name: str, project_id: int) -> Told:
        for each in self.listed(project_id):
            if name in (each["name"], each["id"]):
                found: Told = self.server.get(f"/datasets/{each['id']}")
                return found
        raise NotFound(f"Data set {name!r} not found in project {project_id}")

    def change(self, name: str, project_id: int, wish: Told) -> Told:
        changed: Told = self.server.patch(f"/datasets/{self.one(name, project_id)['id']}", wish)
        return changed

    def remove(self, name: str, project_id: int) -> None:
        self.server.delete(f"/datasets/{self.one(name, project_id)['id']}")


@contextmanager
def _asked() -> Iterator[_Here | _There]:
    """This machine's data sets, or with --server (or PROCTOR_SERVER) those of that server."""
    from proctor.service.context import open_context

    if click.get_current_context().find_root().params.get("server"):
        yield _There(server_of())
        return
    with open_context(read_settings(os.environ)) as context:
        yield _Here(context)
