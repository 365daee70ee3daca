"""An agent as a benchmark's TOML tells it: a table [agents.NAME], and how the model that it asks is drawn from."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from proctor.errors import ConfigError
from proctor.plan.wanted import OPTIONS
from proctor.references import Agent
from proctor.types import Sampling

KINDS: Sequence[str] = get_args(get_type_hints(Agent)["kind"])
WITHOUT_MODEL = ("null", "reference", "scripted")
# Rollouts of one task are to differ, and a reply that thinks and then acts is longer than an answer.
AGENT_SAMPLING = Sampling(temperature=0.7, max_tokens=8192, context_tokens=32_768)
# TOML key -> field of Sampling; a reply's limit is called otherwise than a trial's.
DRAWN = {name: name for name in ("temperature", "top_p", "top_k", "min_p", "context_tokens", "seed", "think")}
DRAWN["max_reply_tokens"] = "max_tokens"
ASKING = ("base_url", *DRAWN)
OF_KIND: Mapping[str, Sequence[str]] = {
    "null": (),
    "reference": (),
    "scripted": ("script", "environment_variables"),
    "shell": ("command_s", "environment_variables", *ASKING),
    "command": ("argv", "binary", "log", "log_fields", "environment_variables", "secret_env", "base_url"),
}
NEEDED = {"scripted": "script", "command": "argv"}
TYPES: Mapping[str, tuple[type, str]] = {
    "script": (str, "the path of a file"),
    "binary": (str, "the path of a file or folder, or the name of a program"),
    "log": (str, "the name of a reader"),
    "base_url": (str, "an address"),
    "argv": (list, "a list of texts"),
    "secret_env": (list, "a list of names"),
    "environment_variables": (dict, "a table of texts"),
    "log_fields": (dict, "a table of texts"),
}


def agent_of(name: str, agents: Mapping[str, Any], model: str | None, where: str) -> Agent:
    """The agent of that name: a table of `agents`, or one that proctor has by itself.

    `where` is the entry that names it. Paths are relative to the working directory. Raises: ConfigError.
    """
    table, kind, place = _table(name, agents, where)
    if kind in WITHOUT_MODEL:
        model = None
    elif kind == "shell" and model is None:
        raise ConfigError(f'{where}: the agent {name!r} asks a model: model = "PROVIDER/NAME"')
    found = shutil.which(table["binary"]) if _bare(table.get("binary")) else table.get("binary")
    return Agent(
        name,
        kind,  # type: ignore[arg-type]  # checked against KINDS
        model,
        table.get("base_url"),
        tuple(table.get("argv", ())),
        # What is not found is told when the agent is checked, before anything is spent.
        table.get("binary") if found is None else str(Path(found).resolve()),
        str(Path(table["script"]).absolute()) if "script" in table else None,
        _pairs(table.get("environment_variables", {})),
        table.get("log"),
        _pairs(table.get("log_fields", {})),
        tuple(table.get("secret_env", ())),
        _seconds(table.get("command_s", 120.0), place),
    )


def sampling_of(name: str, agents: Mapping[str, Any], where: str) -> Sampling:
    """How an agent's model is drawn from. Raises: ConfigError."""
    table, _, place = _table(name, agents, where)
    options = {option.name: option for option in OPTIONS if option.part == "sampling"}
    drawn: dict[str, Any] = {}
    for key, field in DRAWN.items():
        if key in table:
            drawn[field] = options[field].read(table[key], f"{place}.{key} = {table[key]!r}")
            options[field].check(drawn[field])
    if "max_tokens" in drawn and drawn["max_tokens"] is None:
        raise ConfigError(f"{place}.max_reply_tokens: a reply of an agent's model needs a limit")
    return replace(AGENT_SAMPLING, **drawn)


def _table(name: str, agents: Mapping[str, Any], where: str) -> tuple[Mapping[str, Any], str, str]:
    """The table, its kind, and how to name it. Raises: ConfigError for what nobody reads, or of another type."""
    place = f"[agents.{name}]"
    if name not in agents and name not in KINDS[:-1]:
        own = ", ".join(KINDS[:-1])
        raise ConfigError(f"{where}: no agent {name!r}: write a table {place}, or name one of {own}")
    table = agents.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{place} is no table")
    kind = table.get("kind", name if name in KINDS else "command")
    if kind not in KINDS:
        raise ConfigError(f"{place}: no kind {kind!r}; there are {', '.join(KINDS)}")
    known = ("kind", *OF_KIND[kind])
    if unknown := sorted(table.keys() - set(known)):
        raise ConfigError(
            f"{place}: unknown key {unknown[0]!r}; an agent of kind {kind} has {', '.join(known)}"
        )
    if (needed := NEEDED.get(kind)) and needed not in table:
        raise ConfigError(f"{place}: an agent of kind {kind} needs {needed}")
    for key, (wanted, told) in TYPES.items():
        value = table.get(key, wanted())
        inner = value.values() if isinstance(value, dict) else value
        if not isinstance(value, wanted) or not all(isinstance(each, str) for each in inner):
            raise ConfigError(f"{place}.{key} is {value!r}: give {told}")
    return table, kind, place


def _bare(binary: str | None) -> bool:
    """Whether it is the name of a program rather than a path."""
    return binary is not None and "/" not in binary


def _pairs(table: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in table.items())


def _seconds(told: object, place: str) -> float:
    if isinstance(told, bool) or not isinstance(told, int | float) or not told > 0:
        raise ConfigError(f"{place}.command_s = {told!r}: give seconds, more than 0")
    return float(told)
