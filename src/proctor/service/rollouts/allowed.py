"""What a request may have run on the server: the tables [rollouts] and [agents.NAME] of its own proctor.toml say so.

Who sends a request is not who owns the machine. Programs, scripts, folders and addresses of agents come from the
operator's file alone, and what a trial may use of the machine is bounded by it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError, Forbidden
from proctor.given_files import toml_table
from proctor.plan.shipped_agents import installed_tables
from proctor.providers.served import FILE

ROLLOUTS, AGENTS = "rollouts", "agents"
BUILT_IN = ("null", "reference", "shell")  # agents that bring nothing of their own


@dataclass(frozen=True, slots=True)
class Allowed:
    """The most that a request may ask for, and `sandboxes` that it may name. The numbers are of one trial but for
    `parallel`, which is how many trials of one benchmark run at once."""

    sandboxes: tuple[str, ...] = ("bubblewrap", "docker")
    parallel: int = 16
    memory_mb: int = 4096
    cpus: float = 4.0
    pids: int = 4096
    disk_mb: int = 4096
    output_mb: float = 100.0


NUMBERS = tuple(each.name for each in fields(Allowed) if each.name != "sandboxes")


def allowed_by(home: Path) -> tuple[Allowed, Mapping[str, Any]]:
    """What the operator allows, and the tables of the agents that the operator installed or described, by name.

    Raises: ConfigError.
    """
    tables = _tables(home / FILE)
    told, where = _table(tables, ROLLOUTS, home), f"{home / FILE}, [{ROLLOUTS}]"
    if unknown := sorted(told.keys() - {"sandboxes", *NUMBERS}):
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; known: sandboxes, {', '.join(NUMBERS)}")
    sandboxes = told.get("sandboxes", list(Allowed().sandboxes))
    if not isinstance(sandboxes, list) or not all(isinstance(each, str) for each in sandboxes):
        raise ConfigError(f'{where}: sandboxes is a list of names, such as ["bubblewrap"]')
    numbers = {name: told[name] for name in NUMBERS if name in told}
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise ConfigError(f"{where}: {name} is a number above 0")
    return Allowed(tuple(sandboxes), **numbers), {**installed_tables(home), **_table(tables, AGENTS, home)}


def _tables(path: Path) -> Mapping[str, Any]:
    return toml_table(path.read_bytes(), str(path)) if path.is_file() else {}


def _table(tables: Mapping[str, Any], name: str, home: Path) -> Mapping[str, Any]:
    found = tables.get(name, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{home / FILE}: [{name}] is a table")
    return found


def need_allowed(wanted: Mapping[str, float], sandbox: str | None, allowed: Allowed) -> None:
    """Raises: Forbidden for a sandbox that the operator does not offer, or for more than a trial may use."""
    if sandbox is not None and sandbox not in allowed.sandboxes:
        raise Forbidden(
            f"sandbox {sandbox!r}: this server offers {', '.join(allowed.sandboxes) or 'none'}; its operator may allow "
            f"others by [{ROLLOUTS}] sandboxes in {FILE}"
        )
    for name, value in wanted.items():
        if value > (most := getattr(allowed, name)):
            raise Forbidden(
                f"{name} {value:g}: this server allows {most:g} at most; its operator may allow more by "
                f"[{ROLLOUTS}] {name} in {FILE}"
            )
