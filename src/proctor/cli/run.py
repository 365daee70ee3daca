"""`proctor run`: from words on the command line to a verdict."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import click

from proctor.cli.exits import OF_RUNS
from proctor.cli.options import Command, budget_options, json_option, sampling_options, source_options
from proctor.plan import Uploaded, check, parse_duration, parse_source, parse_think, unless_free
from proctor.settings import Settings, read_settings
from proctor.types import Cell, ExamRef, Limits, Plan, Sampling

SAMPLING = ("temperature", "top_p", "top_k", "min_p", "repeat_penalty", "repeat_last_n", "max_tokens")
THINKING_TOKENS = 8192
_PASSED_ON = (
    "preset",
    "limit",
    "rows",
    "style",
    "shuffle",
    "extractor",
    "grader",
    "answer_type",
    "numbers",
    "lenient",
)


def model_options(command: Command) -> Command:
    """Who is asked, for `run` and `plan` alike."""
    for option in (
        click.option(
            "--replies",
            type=click.Path(dir_okay=False),
            metavar="FILE",
            help="Replies for replay/NAME models.",
        ),
        click.option("--base-url", metavar="URL", help="Address of the OpenAI-compatible or Ollama server."),
        click.option(
            "--model",
            "models",
            multiple=True,
            required=True,
            metavar="PROVIDER/NAME",
            help="Model to ask; give it again for each further model.",
        ),
    ):
        command = option(command)
    return command


@click.command("run", epilog=OF_RUNS)
@click.argument("source")
@model_options
@source_options
@sampling_options
@budget_options
@json_option
def run_command(source: str, models: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Ask models the questions of SOURCE and say which is better.

    SOURCE is a file of questions (JSONL, CSV, XLSX, ...), a suite (glue, superglue, mmlu, medical), a suite of
    your own (TOML), or a data set (`proctor dataset list`).
    """
    from proctor.cli.download import Download
    from proctor.cli.finish import begin, finish
    from proctor.service.context import open_context
    from proctor.service.runs.lifecycle import open_sources, start

    settings = read_settings(os.environ)
    plan = plan_from(source, models, given, settings)
    with Download() as download:
        sources = open_sources(plan, settings, tell=download.tell)
    show = begin(plan, sources[0])
    with show, open_context(settings) as context:
        outcome = start(context, plan, watch=show.watch, sources=sources)
    return finish(outcome, as_json=as_json)


def plan_from(source: str, models: tuple[str, ...], given: dict[str, Any], settings: Settings) -> Plan:
    """The plan that the words of `run` or `plan` mean. Raises ConfigError."""
    from proctor.service.datasets.kept import here
    from proctor.service.opening.sources import models_named, suite_names
    from proctor.service.runs.lifecycle import resolved

    ref = _source(source, suite_names(), given, here(settings))
    cells = tuple(
        Cell(
            model,
            ref,
            _sampling(given),
            limits_from(given),
            given["repeats"],
        )
        for model in models_named(models, settings, base_url=given["base_url"])
    )
    return resolved(check(Plan(cells, name=source, replies=given["replies"])), settings)


def _source(text: str, suites: tuple[str, ...], given: dict[str, Any], uploaded: Uploaded) -> ExamRef:
    from proctor.service.kinds import kind_of, untaken

    tasks = tuple(t.strip() for t in (given["tasks"] or "").split(",") if t.strip())
    wording = given["wording"]
    ref = parse_source(
        text,
        suites,
        uploaded=uploaded,
        tasks=tasks,
        wording="all" if wording == "all" else int(wording),
        shots=given["shots"],
        **{name: given[name] for name in _PASSED_ON},
    )
    if not ref.preset and not ref.limit:
        ref = replace(ref, **kind_of(ref).unsized)
    for name, takers in untaken(ref):
        option = {"rows": "--data"}.get(name, f"--{name.replace('_', '-')}")
        raise click.UsageError(f"{option} is for {takers}")
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
        chosen["seed"] = unless_free(given["seed"])
    if "max_tokens" in chosen:
        chosen["max_tokens"] = unless_free(chosen["max_tokens"])
    return Sampling(**chosen, stop=tuple(given["stop"]), think=think, mode=given["mode"])


def limits_from(given: dict[str, Any]) -> Limits:
    """Limits from the budget options."""
    chosen: dict[str, Any] = {"parallel": given["parallel"], "max_cost_usd": given["max_cost"]}
    for option, name in (
        ("for_", "for_s"),
        ("timeout", "timeout_s"),
        ("request_timeout", "request_timeout_s"),
        ("wait_for_server", "wait_for_server_s"),
    ):
        if given[option] is not None:
            chosen[name] = parse_duration(given[option])
    return Limits(**chosen)
