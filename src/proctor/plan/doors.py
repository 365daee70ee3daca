"""The spellings of a Wanted: words of the command line, a REST config, keywords of Python, and back.

Each reader takes what its door parsed, leaves out what was not said, and gives values by the names of OPTIONS.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from proctor.errors import ConfigError
from proctor.plan.option import Given, RunOption, Told
from proctor.plan.values import Flag, Texts
from proctor.plan.wanted import BY_NAME, OF_EXAMS, OPTIONS, Wanted


def from_params(params: Told) -> Given:
    """What a parsed command line gave; parameters have the names of OPTIONS. Raises ConfigError."""
    told = ((option, params.get(option.name)) for option in OPTIONS)
    return {option.name: option.read(value) for option, value in told if option.kind.says(value)}


def from_config(config: Told) -> Given:
    """What a REST `config` gave; `ollama_params` count before the fields beside them. Raises ConfigError."""
    params = config.get("ollama_params") or {}
    given = {}
    for option in OPTIONS:
        told = params.get(option.ollama) if option.ollama else None
        told = config.get(option.key) if told is None else told
        if option.at_server and option.kind.says(told):
            given[option.name] = option.read(told, f"{option.key} {told!r}")
    return given


def from_keywords(keywords: Told, options: Sequence[RunOption] = OF_EXAMS, called: str = "evaluate") -> Given:
    """What Python's keywords gave. None is not said, but of options where it leaves the choice to the provider.

    Raises ConfigError, for an unknown keyword too.
    """
    known = {option.name for option in options}
    if unknown := sorted(keywords.keys() - known):
        raise ConfigError(f"{called}: unknown option {unknown[0]!r}; known: {', '.join(sorted(known))}")
    given: dict[str, Any] = {}
    for name, told in keywords.items():
        option = BY_NAME[name]
        if told is None and option.opens:
            given[name] = None
        elif option.kind.says(told):
            given[name] = option.read(told, f"{name}={told!r}")
    return given


def as_words(wanted: Wanted) -> list[str]:
    """The words after `proctor run`, or `proctor batch run`, that mean the same."""
    words = [wanted.source]
    for model in wanted.models:
        words += ["--model", model]
    for option in OPTIONS:
        if option.name in wanted.given:
            words += _option_words(option, wanted.given[option.name])
    return words


def _option_words(option: RunOption, value: Any) -> list[str]:
    if isinstance(option.kind, Flag):
        return [option.flag_word] if value else []
    if isinstance(option.kind, Texts) and not option.kind.commas:
        return [word for text in value for word in (option.flag_word, text)]
    return [option.flag_word, option.kind.word(value)]


def as_command(wanted: Wanted) -> str:
    """The same thing on the command line, for a shell."""
    return shlex.join(["proctor", *wanted.command.split(), *as_words(wanted)])


def as_config(wanted: Wanted) -> Told:
    """The fields of a REST `config` that mean the same, without provider and model.

    Raises ConfigError for what a server does not take.
    """
    config = {}
    for name, value in wanted.given.items():
        option = BY_NAME[name]
        if not option.at_server:
            raise ConfigError(f"{option.flag_word} is for runs on this machine; the server has no such file")
        config[option.key] = option.kind.plain(value)
    return config
