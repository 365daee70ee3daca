"""`proctor gate`: run, hold against the accepted run, and end with 4 where it is worse; for pipelines."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.options import json_option, wanted_from, with_options
from proctor.errors import Exit
from proctor.plan.wanted import OF_EXAMS
from proctor.settings import Settings, read_settings

if TYPE_CHECKING:
    from proctor.service.context import Context
    from proctor.service.gate.gate import GateFound
    from proctor.types import Run

EXITS = "Exit codes: " + "; ".join(
    f"{code:d} {words}"
    for code, words in (
        (Exit.DONE, "passed"),
        (Exit.REQUEST, "wrong request, or a run that cannot be compared"),
        (Exit.PART, "passed, but some items have no outcome"),
        (Exit.GATE, "not passed"),
        (Exit.NOTHING, "no item has an outcome"),
        (Exit.INTERRUPTED, "Ctrl-C"),
    )
)
OF_GATE = tuple(option for option in OF_EXAMS if option.name not in ("shard", "until_decided"))


class GateGroup(click.Group):
    """What is no command is a source: `proctor gate exam.jsonl` means `proctor gate run exam.jsonl`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in self.get_help_option_names(ctx):
            args = ["run", *args]
        return super().parse_args(ctx, args)


def gate_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        (
            click.option(
                "--accepted",
                metavar="FILE.zip|NAME|RUN",
                help="What the run is held against: a bundle, a name under which a run was accepted, or a run.  "
                "[default: the name made of source and model]",
            ),
            click.option(
                "--worse-by",
                type=click.FloatRange(min=0),
                default=0.0,
                show_default=True,
                metavar="D",
                help="How much lower the score may be, in its own units.",
            ),
            click.option(
                "--exclude-worse",
                "exclude",
                is_flag=True,
                help="Pass where a loss of more than --worse-by is excluded (non-inferiority), not where none is seen.",
            ),
            click.option(
                "--need-accepted",
                "needed",
                is_flag=True,
                help="Do not pass where there is no accepted run yet.",
            ),
            click.option(
                "--accept-first", is_flag=True, help="Where there is no accepted run yet, accept this one."
            ),
            click.option(
                "--summary",
                type=click.Path(dir_okay=False, path_type=Path),
                metavar="FILE",
                help="Write what was found as Markdown; GITHUB_STEP_SUMMARY gets it too, where that is set.",
            ),
            click.option(
                "--items",
                type=click.IntRange(min=0),
                default=10,
                show_default=True,
                metavar="N",
                help="Show at most N items that scored higher before.",
            ),
        )
    ):
        command = option(command)
    return json_option(command)


@click.group("gate", cls=GateGroup)
def gate_command() -> None:
    """Hold a new run against the last accepted one: `proctor gate exam.jsonl --model ollama/qwen3:8b`.

    The first word may be left out: `proctor gate SOURCE` is `proctor gate run SOURCE`.
    """


@gate_command.command("run", epilog=EXITS)
@click.argument("source")
@click.option("--model", required=True, metavar="PROVIDER/NAME", help="The model that is asked.")
@partial(with_options, OF_GATE)
@gate_options
def run_command(source: str, model: str, as_json: bool, **given: Any) -> int:
    """Ask a model the questions of SOURCE, and hold the run against the accepted one."""
    from proctor.cli.download import Download
    from proctor.cli.finish import begin, exit_code, finish
    from proctor.service.context import open_context
    from proctor.service.gate.accepted import name_of
    from proctor.service.runs.lifecycle import open_sources, start
    from proctor.service.runs.planning import plan_of_wanted

    settings = read_settings(os.environ)
    plan = plan_of_wanted(wanted_from(source, (model,), given), settings)
    held = _Held(settings, given, as_json)
    with open_context(settings) as context:
        held.look(context, name_of(plan.cells[0].source.listed, str(plan.cells[0].model)), model)
        with Download() as download:
            sources = open_sources(plan, settings, tell=download.tell)
        show = begin(plan, sources[0])
        with show:
            outcome = start(context, plan, watch=show.watch, sources=sources)
        code = exit_code(outcome)
        if outcome.evaluation is None or code not in (Exit.DONE, Exit.PART):
            return finish(outcome, as_json=as_json)
        if not as_json:
            finish(outcome, as_json=False)
        return held.told(context, outcome.evaluation.results[0].run, code)


@gate_command.command("check", epilog=EXITS)
@click.argument("run")
@gate_options
def check_command(run: str, as_json: bool, **given: Any) -> int:
    """Hold a RUN that has ended against the accepted one; nothing is asked."""
    from proctor.service.context import open_context
    from proctor.service.gate.accepted import ended_run, usual_name

    settings = read_settings(os.environ)
    held = _Held(settings, given, as_json)
    with open_context(settings) as context:
        found = ended_run(context, run)
        held.look(context, usual_name(found), str(found.cell.model))
        return held.told(context, found, Exit.PART if found.partial else Exit.DONE)


@gate_command.command("accept")
@click.argument("run")
@click.option(
    "--as",
    "word",
    metavar="FILE.zip|NAME",
    help="Where it is kept: a file, such as one in the repository, or a name in this PROCTOR_HOME.  "
    "[default: the name made of source and model]",
)
def accept_command(run: str, word: str | None) -> int:
    """Make RUN the accepted one, in the place of the one before."""
    from proctor.service.context import open_context
    from proctor.service.gate.accepted import accept

    with open_context(read_settings(os.environ)) as context:
        made = accept(context, run, word)
    click.echo(f"Accepted: {made.path} ({made.replies:,} attempts, {made.size_bytes:,} bytes)")
    return 0


class _Held:
    """What a run is held against, and by which rule."""

    def __init__(self, settings: Settings, given: dict[str, Any], as_json: bool) -> None:
        from proctor.service.gate.gate import GateRule

        self.rule = GateRule(given["worse_by"], given["exclude"])
        self.settings, self.given, self.as_json = settings, given, as_json

    def look(self, context: Context, usual: str, model: str) -> None:
        """Read the accepted run, before anything is asked. Raises: ConfigError, NotFound, DataError."""
        from proctor.service.gate.accepted import accepted_run, place_of

        self.word = self.given["accepted"] or usual
        self.accepted = accepted_run(context, self.word, model)
        if self.accepted is None:
            where = place_of(self.word, self.settings)
            click.echo(f"No accepted run yet: {where} is not there", err=True)

    def told(self, context: Context, run: Run, code: Exit) -> Exit:
        """Print what the gate found, write the summaries; the exit code."""
        from proctor.service.gate.accepted import accept
        from proctor.service.gate.gate import gate
        from proctor.service.gate.summary import summary, write_summary

        given = self.given
        found = gate(context, run, self.accepted, self.rule, items=given["items"], needed=given["needed"])
        self._say(found)
        for path, append in ((given["summary"], False), (self.settings.step_summary, True)):
            if path is not None:
                write_summary(summary(found), path, append=append)
        if self.accepted is None and given["accept_first"]:
            made = accept(context, run.id, self.word)
            click.echo(f"Accepted: {made.path}", err=True)
        return code if found.passed else Exit.GATE

    def _say(self, found: GateFound) -> None:
        from proctor.cli.finish import say
        from proctor.cli.tables import columns
        from proctor.service.gate.gate import gate_document, said
        from proctor.service.results import documents

        if self.as_json:
            told = documents.evaluation(found.evaluation) if found.evaluation else {}
            click.echo(documents.to_json({"gate": gate_document(found), **told}))
            return
        if found.pair is not None and found.evaluation is not None:
            say([found.evaluation.verdict])
            if found.lost:
                click.echo(f"Items that scored higher before ({found.losses:,}):")
                rows = [
                    (i.item_id, i.target or "-", said(i, found.pair.first), said(i, found.pair.second))
                    for i in found.lost
                ]
                for line in columns(rows, ("item", "right answer", "accepted run", "now")):
                    click.echo(f"  {line}")
        click.echo(found.sentence)
