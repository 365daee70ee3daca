"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

Command = Callable[..., Any]

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")

kept_grader_option = click.option(
    "--grader",
    metavar="NAME",
    help="By the grades of `proctor grade RUN --grader NAME` in place of the runs' first ones.",
)

# option, type, metavar, help
_SAMPLING: tuple[tuple[str, Any, str, str], ...] = (
    ("--temperature", float, "T", "Sampling temperature, 0 to 2.  [default: 0]"),
    ("--top-p", float, "P", "Nucleus sampling, 0 to 1."),
    ("--top-k", int, "K", "Sample from the K likeliest tokens, 0 to 100."),
    ("--min-p", float, "P", "Drop tokens below P times the likeliest."),
    ("--repeat-penalty", float, "R", "Penalty on repeated tokens; 1 is none."),
    ("--repeat-last-n", int, "N", "How far back repetition is looked for; -1 is the whole context."),
    (
        "--max-tokens",
        int,
        "N",
        "Most tokens of a reply (Ollama: num_predict); -1: no limit.  [default: 512; 8192 with --think]",
    ),
    ("--context-tokens", int, "N", "Context size (Ollama: num_ctx).  [default: 8192]"),
    ("--seed", int, "N", "Seed of the sampling; -1: none.  [default: 0]"),
    ("--think", str, "HOW", "Reasoning of models that can: on, off, low, medium, high, max."),
)

_BUDGET: tuple[tuple[str, Any, str, str], ...] = (
    ("--parallel", int, "N", "Requests under way at once.  [default: found by watching the server]"),
    ("--for", str, "TIME", "Stop asking after this time (10m, 1h30m) and score what is complete."),
    ("--max-cost", float, "USD", "Stop asking at this cost and score what is complete."),
    ("--timeout", str, "TIME", "Give a run up after this time; it can be resumed.  [default: 3h]"),
    ("--request-timeout", str, "TIME", "Give a single request up after this time.  [default: 10m]"),
)

WAIT_FOR_SERVER = (
    "--wait-for-server",
    str,
    "TIME",
    "Wait so long for a server that dies or loads its model; 0: not at all.  [default: 2m]",
)

# What is asked, and how it is put and read.
_SOURCE: tuple[Callable[[Command], Command], ...] = (
    click.option("--tasks", metavar="A,B", help="Only these tasks of the suite."),
    click.option(
        "--preset",
        type=click.Choice(["quick", "standard", "full"]),
        help="Size of a suite's run: 200, 2,000 or all items.  [default: quick]",
    ),
    click.option(
        "--limit", type=int, metavar="N", help="At most N items of each task (of the file, for a file)."
    ),
    click.option(
        "--data",
        "rows",
        type=click.Choice(["imported", "hub", "sample"]),
        help="Where a suite's rows come from.  [default: imported, else the hub's]",
    ),
    click.option(
        "--shots", type=click.IntRange(min=0), metavar="K", help="Worked examples before each question."
    ),
    click.option("--repeats", type=int, default=1, metavar="K", help="Ask every item K times.  [default: 1]"),
    click.option(
        "--style",
        metavar="NAME",
        help="Prompt style of MMLU: proctor, original-5shot, simple-evals, lm-eval-generative.",
    ),
    click.option(
        "--wording",
        type=click.Choice(["1", "2", "3", "all"]),
        default="1",
        help="Which of the three wordings of each prompt.  [default: 1]",
    ),
    click.option("--shuffle", is_flag=True, help="Lettered options in a seeded order of each item's own."),
    click.option(
        "--mode",
        type=click.Choice(["generate", "structured", "logprob"]),
        default="generate",
        help="How answers are drawn: written, written under a schema, or ranked by first-token log-probability.",
    ),
    click.option(
        "--grader",
        metavar="NAME[:SETTINGS]",
        help="How answers in free text are graded: contains, number:rel=0.01, ...  [default: by the answers]",
    ),
    click.option(
        "--extractor", metavar="NAME", help="How answers are read.  [default: the style's, proctor/2]"
    ),
    click.option(
        "--answer-type",
        type=click.Choice(["choices", "labels", "text"]),
        help="How answers of a file are read.  [default: seen from the rows]",
    ),
    click.option(
        "--numbers",
        type=click.Choice(["from-0", "from-1", "texts"]),
        help="What numbers as answers of a file mean: options' places or texts.  [default: seen from the rows]",
    ),
    click.option(
        "--lenient", is_flag=True, help="Leave out a file's bad rows; they are named, and the score says so."
    ),
)


def source_options(command: Command) -> Command:
    for option in reversed(_SOURCE):
        command = option(command)
    return command


def sampling_options(command: Command) -> Command:
    command = click.option(
        "--stop", multiple=True, metavar="TEXT", help="Text that ends a reply; repeatable."
    )(command)
    return _all(_SAMPLING, command)


def budget_options(command: Command) -> Command:
    return _all((*_BUDGET, WAIT_FOR_SERVER), command)


def waiting_option(command: Command) -> Command:
    option, kind, metavar, what = WAIT_FOR_SERVER
    return _all(((option, kind, metavar, what.replace("2m", "as the old run")),), command)


def _all(table: Sequence[tuple[str, Any, str, str]], command: Command) -> Command:
    for option, kind, metavar, what in reversed(table):
        names = [option, "for_"] if option == "--for" else [option]
        command = click.option(*names, type=kind, metavar=metavar, help=what)(command)
    return command
