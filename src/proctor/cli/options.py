"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")

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
        "Most tokens of a reply (Ollama: num_predict).  [default: 512; 8192 with --think]",
    ),
    ("--context-tokens", int, "N", "Context size (Ollama: num_ctx).  [default: 8192]"),
    ("--seed", int, "N", "Seed of the sampling.  [default: 0]"),
    ("--think", str, "HOW", "Reasoning of models that can: on, off, low, medium, high, max."),
)

_BUDGET: tuple[tuple[str, Any, str, str], ...] = (
    ("--parallel", int, "N", "Requests under way at once.  [default: found by watching the server]"),
    ("--for", str, "TIME", "Stop asking after this time (10m, 1h30m) and score what is complete."),
    ("--max-cost", float, "USD", "Stop asking at this cost and score what is complete."),
    ("--timeout", str, "TIME", "Give a run up after this time; it can be resumed.  [default: 3h]"),
    ("--request-timeout", str, "TIME", "Give a single request up after this time.  [default: 10m]"),
)


def sampling_options(command: Command) -> Command:
    command = click.option(
        "--stop", multiple=True, metavar="TEXT", help="Text that ends a reply; repeatable."
    )(command)
    return _all(_SAMPLING, command)


def budget_options(command: Command) -> Command:
    return _all(_BUDGET, command)


def _all(table: tuple[tuple[str, Any, str, str], ...], command: Command) -> Command:
    for option, kind, metavar, what in reversed(table):
        names = [option, "for_"] if option == "--for" else [option]
        command = click.option(*names, type=kind, metavar=metavar, help=what)(command)
    return command
