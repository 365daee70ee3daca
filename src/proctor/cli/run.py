"""`proctor run`: from words on the command line to a verdict."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import click

from proctor.cli.options import budget_options, json_option, sampling_options
from proctor.plan import check, parse_duration, parse_source, parse_think
from proctor.settings import read_settings
from proctor.types import Cell, Limits, Plan, Sampling, SourceRef

SAMPLING = ("temperature", "top_p", "top_k", "min_p", "repeat_penalty", "repeat_last_n", "max_tokens")
THINKING_TOKENS = 8192


@click.command("run")
@click.argument("source")
@click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    metavar="PROVIDER/NAME",
    help="Model to ask; give it again for each further model.",
)
@click.option("--tasks", metavar="A,B", help="Only these tasks of the suite.")
@click.option(
    "--preset",
    type=click.Choice(["quick", "standard", "full"]),
    help="Size of a suite's run: 200, 2,000 or all items.  [default: quick]",
)
@click.option(
    "--limit", type=int, metavar="N", help="At most N items of each task (of the file, for a file)."
)
@click.option(
    "--data",
    "rows",
    type=click.Choice(["imported", "sample"]),
    help="Where a suite's rows come from.  [default: imported]",
)
@click.option(
    "--answer-type",
    type=click.Choice(["choices", "labels", "text"]),
    help="How answers of a file are read.  [default: seen from the rows]",
)
@click.option("--base-url", metavar="URL", help="Address of the OpenAI-compatible or Ollama server.")
@click.option(
    "--replies", type=click.Path(dir_okay=False), metavar="FILE", help="Replies for replay/NAME models."
)
@sampling_options
@budget_options
@json_option
def run_command(source: str, models: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Ask models the questions of SOURCE and say which is better.

    SOURCE is a file of questions (JSONL or CSV) or a suite: superglue, mmlu, medical.
    """
    from proctor.cli.finish import begin, finish
    from proctor.service.runs import open_sources, resolved, start
    from proctor.service.sources import model_named, suite_names

    settings = read_settings(os.environ)
    ref = _source(source, suite_names(), given)
    cells = tuple(
        Cell(
            model_named(name, settings, base_url=given["base_url"]), ref, _sampling(given), limits_from(given)
        )
        for name in models
    )
    plan = resolved(check(Plan(cells, name=source, replies=given["replies"])), settings)
    sources = open_sources(plan, settings)
    show = begin(plan, sources[0], as_json=as_json)
    with show:
        outcome = start(plan, settings, watch=show.watch, sources=sources)
    return finish(outcome, as_json=as_json)


def _source(text: str, suites: tuple[str, ...], given: dict[str, Any]) -> SourceRef:
    tasks = tuple(t.strip() for t in (given["tasks"] or "").split(",") if t.strip())
    ref = parse_source(
        text,
        suites,
        tasks=tasks,
        preset=given["preset"],
        limit=given["limit"],
        rows=given["rows"],
        answer_type=given["answer_type"],
    )
    if ref.kind == "suite" and not ref.preset and not ref.limit:
        ref = replace(ref, preset="quick")
    only = {"suite": ("answer_type",), "file": ("tasks", "preset", "rows")}[ref.kind]
    for name in only:
        if getattr(ref, name):
            option = {"rows": "--data"}.get(name, f"--{name.replace('_', '-')}")
            raise click.UsageError(
                f"{option} does not go with a {ref.kind} of questions"
                if ref.kind == "file"
                else f"{option} is for files of questions, not for suites"
            )
    return ref


def _sampling(given: dict[str, Any]) -> Sampling:
    """The defaults of types.Sampling, with what was given; a thinking model gets room to think."""
    chosen = {name: given[name] for name in SAMPLING if given[name] is not None}
    think = parse_think(given["think"])
    if think and "max_tokens" not in chosen:
        chosen["max_tokens"] = THINKING_TOKENS
    if given["context_tokens"] is not None:
        chosen["context_tokens"] = given["context_tokens"]
    if given["seed"] is not None:
        chosen["seed"] = given["seed"]
    return Sampling(**chosen, stop=tuple(given["stop"]), think=think)


def limits_from(given: dict[str, Any]) -> Limits:
    """Limits from the budget options."""
    chosen: dict[str, Any] = {"parallel": given["parallel"], "max_cost_usd": given["max_cost"]}
    for option, name in (
        ("for_", "for_s"),
        ("timeout", "timeout_s"),
        ("request_timeout", "request_timeout_s"),
    ):
        if given[option] is not None:
            chosen[name] = parse_duration(given[option])
    return Limits(**chosen)
