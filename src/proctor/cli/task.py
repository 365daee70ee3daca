"""`proctor task`: prepared tasks of one's own: begun, made of a repository, and tried before money is spent on them."""

from __future__ import annotations

import os
from pathlib import Path

import click

from proctor.cli.options import json_option
from proctor.errors import Exit
from proctor.settings import read_settings

MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


@click.group("task")
def task_command() -> None:
    """Make prepared tasks for agents, and check that they measure what they should."""


@task_command.command("new")
@click.argument("folder", type=click.Path(path_type=Path))
def new_command(folder: Path) -> int:
    """Write a small, whole task into FOLDER, whose name becomes the task's id; `proctor task check` passes on it."""
    from proctor.service.rollouts.making import new_task

    made = new_task(folder)
    click.echo(f"{made} is a prepared task: change its files, then `proctor task check {made}`")
    return Exit.DONE


@task_command.command("prepare")
@click.argument("created", type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="Name of the prepared folder.  [default: that of CREATED]")
@click.option(
    "--repo",
    metavar="PATH",
    help="Clone, bundle or archive of the repository on this machine.  "
    "[default: repo*.bundle or repo*.tar* in CREATED, else `repo.git_url` of tb_meta.json]",
)
@click.option(
    "--sandbox",
    type=click.Choice(["any", "docker"]),
    help="Write that the task does without its Dockerfile's RUN lines (any), or needs them (docker).",
)
@click.option("--instance", metavar="ID", help="Which instance of a JSONL of SWE-bench's kind.")
@click.option(
    "--repos",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Clones and archives of the instances' repositories, by their names or commits.",
)
def prepare_command(
    created: Path,
    name: str | None,
    repo: str | None,
    sandbox: str | None,
    instance: str | None,
    repos: Path | None,
) -> int:
    """Make PROCTOR_HOME/tasks/prepared/NAME of a created task: with its repository's files, without their history.

    CREATED may be a JSONL of SWE-bench's kind, too: FILE.jsonl with --instance, or FILE.jsonl#ID.

    Exit codes: 0 the task can be run; 1 it was made, but lacks something; 2 wrong request.
    """
    from proctor.service.rollouts.making import prepare_wished, remarks_of

    made = prepare_wished(
        read_settings(os.environ),
        created,
        name=name,
        repo=repo,
        sandbox=sandbox,
        instance=instance,
        repos=repos,
    )
    of = "" if made.baseline is None else f", the repository's as of {made.baseline[:40]}"
    click.echo(f"{made.folder}: {made.files:,} files for /app/repo{of}")
    for remark in remarks_of(made):
        click.echo(f"  {remark}")
    return Exit.DEFECT if made.task is None else Exit.DONE


@task_command.command("check")
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FOLDER...")
@click.option(
    "--repeats",
    type=click.IntRange(1, 50),
    default=3,
    show_default=True,
    metavar="N",
    help="How often the verifier judges the same work.",
)
@click.option("--sandbox", default="bubblewrap", show_default=True, metavar="NAME", help="Where it is tried.")
@click.option(
    "--image", default="base", show_default=True, metavar="NAME", help="Image that boxes begin with."
)
@click.option(
    "--overrides", type=click.Path(path_type=Path), metavar="FILE", help="Check it as these change it."
)
@json_option
def check_command(
    folders: tuple[Path, ...],
    repeats: int,
    sandbox: str,
    image: str,
    overrides: Path | None,
    as_json: bool,
) -> int:
    """Try each prepared task with agents that are known: nothing scores 0, its reference 1, a planted reward nothing.

    Exit codes: 0 all are fit; 1 one is not; 2 wrong request; 5 the sandbox cannot be used.
    """
    from proctor.service.results import documents
    from proctor.service.rollouts.checking import CheckedTask, CheckWish, check_task, document

    settings = read_settings(os.environ)
    wish = CheckWish(repeats, sandbox, image, overrides)
    checked: list[CheckedTask] = []
    for folder in folders:
        checked.append(check_task(folder, settings, wish))
        if not as_json:
            _say(checked[-1])
    fit = sum(each.fit for each in checked)
    if as_json:
        click.echo(documents.to_json([document(each) for each in checked]))
    else:
        click.echo(f"{fit} of {len(checked)} {'task is' if len(checked) == 1 else 'tasks are'} fit")
    return Exit.DONE if fit == len(checked) else Exit.DEFECT


def _say(checked: object) -> None:
    from proctor.service.rollouts.checking import CheckedTask

    assert isinstance(checked, CheckedTask)
    click.echo(checked.folder if checked.task is None else f"{checked.folder}  ({checked.task})")
    for line in checked.lines:
        click.echo(f"  {MARKS[line.how]}  {line.what}")
        if line.cure and line.how != "ok":
            click.echo(f"        {line.cure}")
