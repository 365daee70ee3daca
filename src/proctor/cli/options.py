"""Options that several commands share; those of a run come from the table in plan/wanted.py."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import click

from proctor.plan.array import AUTO, told_by
from proctor.plan.doors import from_params
from proctor.plan.option import RunOption
from proctor.plan.values import FilePath, Flag, NumberIn, OneOf, ShardOf, Texts
from proctor.plan.wanted import BY_NAME, OF_BATCHES, OF_EXAMS, OPTIONS, Wanted
from proctor.settings import read_settings
from proctor.types import Limits, Shard

Command = Callable[..., Any]

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
kept_grader_option = click.option(
    "--grader",
    metavar="NAME",
    help="By the grades of `proctor grade RUN --grader NAME` in place of the runs' first ones.",
)
models_option = click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    metavar="PROVIDER/NAME",
    help="Model to ask; give it again for each further model.",
)


def run_options(command: Command) -> Command:
    """Who is asked, what, how and how much: all that a run on this machine can be given."""
    return models_option(with_options(OF_EXAMS, command))


def batch_options(command: Command) -> Command:
    """What the sending of a file of requests can be given, but for its model."""
    return with_options(OF_BATCHES, command)


def server_options(command: Command) -> Command:
    """What a run at a server can be given."""
    return models_option(with_options((option for option in OF_EXAMS if option.at_server), command))


def budget_options(command: Command) -> Command:
    return with_options((o for o in OPTIONS if o.part == "limits" and o.resumed), command)


def option_named(name: str, *, unset: str | None = None) -> Callable[[Command], Command]:
    """A single option of the table, for a command of its own; `unset` says what counts there without it."""
    return lambda command: _click_option(BY_NAME[name], unset)(command)


def with_options(options: Iterable[RunOption], command: Command) -> Command:
    for option in reversed(tuple(options)):
        command = _click_option(option)(command)
    return command


def _click_option(option: RunOption, unset: str | None = None) -> Callable[[Command], Command]:
    unset = option.default_told if unset is None else unset
    about = f"{option.help}  [default: {unset}]" if unset else option.help
    names, kind = (option.flag_word, *filter(None, [option.short]), option.name), option.kind
    if isinstance(kind, Flag):
        return click.option(*names, is_flag=True, help=about)
    if isinstance(kind, Texts) and not kind.commas:
        return click.option(*names, multiple=True, metavar=option.metavar, help=about)
    if isinstance(kind, ShardOf):
        # Without a value it is that of the array's task.
        told: dict[str, Any] = {"is_flag": False, "flag_value": AUTO, "callback": _of_array}
        return click.option(*names, type=str, metavar=f"[{option.metavar}|{AUTO}]", help=about, **told)
    return click.option(*names, type=_click_type(option), metavar=option.metavar, help=about)


def _of_array(_ctx: object, _param: object, value: str | None) -> str | None:
    return str(told_by(read_settings(os.environ).array)) if value == AUTO else value


def _click_type(option: RunOption) -> Any:
    if isinstance(option.kind, NumberIn):
        return int if option.kind.whole else float
    if isinstance(option.kind, FilePath):
        return click.Path(dir_okay=False)
    # A choice with a metavar lists its words in the help text.
    if isinstance(option.kind, OneOf) and not option.metavar:
        return click.Choice(list(option.kind.values))
    return str


def wanted_from(source: str, models: tuple[str, ...], given: dict[str, Any]) -> Wanted:
    """What a command's arguments and options mean. Raises ConfigError."""
    return Wanted(source, models, from_params(given))


def shard_from(given: dict[str, Any]) -> Shard | None:
    """The part that is asked; None: the whole. Raises ConfigError."""
    shard: Shard | None = from_params(given).get("shard")
    return shard


def limits_from(given: dict[str, Any]) -> Limits | None:
    """Limits from the budget options; None where none was given. Raises ConfigError."""
    found = from_params(given)
    for name, value in found.items():
        BY_NAME[name].check(value)
    return Limits(**found) if found else None
