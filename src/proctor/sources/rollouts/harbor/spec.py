"""task.toml in all of its dialects: what a task of Harbor's format tells of itself. Unknown keys are let be.

The format is that of Harbor's tasks (schema 1.0 to 1.4); docs/tasks-of-others.md tells what is understood of it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from proctor.sources.rollouts.faults import MOST_NUMBER, JsonTold, TaskFaults, named
from proctor.sources.rollouts.place import HealthCheck

TASK = "task.toml"
Strategy = Literal["mean", "final"]
_SIZES = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0 * 1024.0}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT])i?B?\s*", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_HOST = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
_STEP = re.compile(r"[\w][\w.-]{0,99}")


@dataclass(frozen=True, slots=True)
class HarborStep:
    """One [[steps]] table. `least` are rewards by key that the next step needs."""

    name: str
    agent_s: float | None = None
    verifier_s: float | None = None
    verifier_env: Mapping[str, str] = field(default_factory=dict)
    healthcheck: HealthCheck | None = None
    least: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HarborSpec:
    """The file, read. `lacking` is what no box can give, `remarks` what a person should know, both in sentences."""

    name: str | None = None
    title: str | None = None
    tags: tuple[str, ...] = ()
    agent_s: float | None = None
    verifier_s: float | None = None
    build_s: float = 600.0
    verifier_env: Mapping[str, str] = field(default_factory=dict)
    solution_env: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    memory_mb: int | None = None
    disk_mb: int | None = None
    cpus: float | None = None
    image: str | None = None
    workdir: str | None = None
    healthcheck: HealthCheck | None = None
    steps: Sequence[HarborStep] = ()
    strategy: Strategy = "mean"
    lacking: Sequence[str] = ()
    remarks: Sequence[str] = ()


def read_spec(body: bytes, faults: TaskFaults) -> HarborSpec:
    """What is wrong with the file is added to the faults."""
    try:
        found = tomllib.loads(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, endless brackets
        faults.add(TASK, f"no TOML: {error}")
        return HarborSpec()
    told = JsonTold(found, TASK, faults)
    about, metadata = told.object("task"), told.object("metadata")
    agent, verifier = told.object("agent"), told.object("verifier")
    environment = told.object("environment")
    lacking, remarks = _beyond(environment, verifier, agent)
    steps = [_step(each) for each in told.objects("steps")]
    if len({step.name for step in steps}) < len(steps):
        told.fault("steps", "two of them have the same name")
    return HarborSpec(
        about.text("name"),
        about.text("description") or None,
        metadata.texts("tags") or about.texts("keywords"),
        _seconds(agent, "timeout_sec"),
        _seconds(verifier, "timeout_sec"),
        _seconds(environment, "build_timeout_sec") or 600.0,
        env_of(verifier),
        env_of(told.object("solution")),
        env_of(environment),
        _size(environment, "memory"),
        _size(environment, "storage"),
        environment.number("cpus", least=0.01, most=1024),
        environment.text("docker_image"),
        _workdir(environment),
        _healthcheck(environment),
        steps,
        _strategy(told),
        lacking,
        remarks,
    )


def _seconds(told: JsonTold, name: str) -> float | None:
    return told.number(name, least=0.001)


def _size(told: JsonTold, name: str) -> int | None:
    """Megabytes: `memory_mb = 2048`, or of older files `memory = "2G"`."""
    number = told.number(f"{name}_mb", least=1, most=1e9)
    text = told.left.pop(name, None)
    if text is None:
        return None if number is None else int(number)
    if isinstance(text, int | float) and not isinstance(text, bool):
        return int(text)
    size = _SIZE.fullmatch(text) if isinstance(text, str) else None
    if size is None:
        told.fault(name, f"{named(text)} where a size such as 2G belongs")
        return None
    return max(1, int(float(size[1]) * _SIZES[size[2].upper()]))


def env_of(told: JsonTold) -> Mapping[str, str]:
    """A table `env`; ${NAME} of the host is never filled in, its default is."""
    value = told.left.pop("env", None)
    if value is None:
        return {}
    if not isinstance(value, dict):
        told.fault("env", f"{named(value)} where a table of texts belongs")
        return {}
    found: dict[str, str] = {}
    for name, each in value.items():
        if not _VARIABLE.fullmatch(name) or not isinstance(each, str | int | float) or "\0" in str(each):
            told.fault("env", f"{name!r} is no variable with a text")
            continue
        text = ("true" if each else "false") if isinstance(each, bool) else str(each)
        missing = [host[1] for host in _HOST.finditer(text) if host[2] is None]
        if not missing:  # a variable of this machine never enters a box
            found[name] = _HOST.sub(lambda host: host[2] or "", text)
    return found


def _workdir(told: JsonTold) -> str | None:
    path = told.text("workdir")
    if path and not path.startswith("/"):
        told.fault("workdir", f"{path!r} is no absolute path")
        return None
    return path or None


def _healthcheck(told: JsonTold) -> HealthCheck | None:
    if told.left.get("healthcheck") is None:
        return None
    check = told.object("healthcheck")
    command = check.text("command")
    if not command:
        check.fault("command", "is missing")
        return None
    return HealthCheck(
        command,
        _or(check.number("interval_sec", most=600), 5.0),
        _or(check.number("timeout_sec", least=0.001, most=3600), 30.0),
        int(_or(check.number("retries", most=1000), 3)),
    )


def _or(value: float | None, other: float) -> float:
    return other if value is None else value


def _strategy(told: JsonTold) -> Strategy:
    word = told.text("multi_step_reward_strategy")
    if word is not None and word not in get_args(Strategy):
        told.fault("multi_step_reward_strategy", f"{word!r} is none of mean, final")
    return "final" if word == "final" else "mean"


def _step(told: JsonTold) -> HarborStep:
    name = told.text("name") or ""
    if not _STEP.fullmatch(name) or ".." in name:
        told.fault("name", f"{name!r} is no name of a folder" if name else "is missing")
    agent, verifier = told.object("agent"), told.object("verifier")
    return HarborStep(
        name,
        _seconds(agent, "timeout_sec"),
        _seconds(verifier, "timeout_sec"),
        env_of(verifier),
        _healthcheck(told),
        _least(told),
    )


def _least(told: JsonTold) -> Mapping[str, float]:
    """`min_reward = 1.0` is of the key `reward`; a table is of its keys."""
    value = told.left.get("min_reward")
    if isinstance(value, dict):
        table = told.object("min_reward")
        found = {key: table.number(key, least=-MOST_NUMBER) for key in list(table.left)}
        return {key: number for key, number in found.items() if number is not None}
    number = told.number("min_reward", least=-MOST_NUMBER)
    return {} if number is None else {"reward": number}


def _beyond(environment: JsonTold, verifier: JsonTold, agent: JsonTold) -> tuple[list[str], list[str]]:
    """What a box of ours cannot give, and what is different in it."""
    lacking, remarks = [], []
    if environment.number("gpus", most=1024):
        lacking.append("it wants a GPU (environment.gpus)")
    system = environment.text("os")
    if system and system.lower() != "linux":
        lacking.append(f"it wants {system} (environment.os)")
    if environment.left.get("mcp_servers"):
        lacking.append("it wants MCP servers (environment.mcp_servers)")
    if verifier.text("environment_mode") == "separate" or verifier.left.get("environment"):
        lacking.append("its verifier wants an image of its own (verifier.environment)")
    for name, table in (("verifier", verifier), ("agent", agent)):
        if user := table.left.get("user"):
            remarks.append(f"{name}.user is {user!r}: a box has one user, without rights")
    wanted = [name for name, table in (("the task", environment), ("its agent", agent)) if _network(table)]
    if wanted:
        remarks.append(f"{' and '.join(wanted)} may ask for a network: a box has none")
    return lacking, remarks


def _network(told: JsonTold) -> bool:
    """Whether a table asks for a network, in any of the ways that versions have to say so."""
    table = told.left.get("network")
    mode = told.left.get("network_mode") or (table.get("mode") if isinstance(table, dict) else None)
    return told.left.get("allow_internet") is True or mode in ("public", "allowlist")
