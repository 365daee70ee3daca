"""Commands that serve a model, as proctor.toml names them; proctor starts one for a run (service/serving)."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from proctor.errors import ConfigError, ModelNotFound
from proctor.given_files import toml_table
from proctor.offered import ListedModel
from proctor.plan import parse_duration
from proctor.providers.contract import Opening
from proctor.providers.protocols.dialects import OPENAI
from proctor.providers.protocols.openai import OpenAI
from proctor.providers.wire.refusals import Place
from proctor.types import Model, Sampling

# In PROCTOR_HOME alone: what lies in a folder that one happens to stand in must not decide which programs start.
FILE = "proctor.toml"
TABLES = frozenset({"serve", "agents", "rollouts"})  # the last two: see service/rollouts/allowed.py
PORT = "{port}"  # where it stands, a free port of this machine is put
_NAME = re.compile(r"[\w][\w.-]{0,60}")
_KEYS = frozenset({"command", "address", "health", "wait", "model", "env"})
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServeCommand:
    """A table `[serve.NAME]`. `health` is asked for until it answers 200; None: the server's list of models."""

    name: str
    command: tuple[str, ...]
    address: str  # as base URLs are, with /v1
    health: str | None = None  # a path at the address's host
    wait_s: float = 600.0
    model: str | None = None  # as the server calls it; None: the only one that it lists, else `name`
    env: tuple[str, ...] = ()  # variables with keys that it is given all the same

    def at(self, port: int | None) -> ServeCommand:
        """The same with a port in the place of {port}."""
        put: Callable[[str], str] = lambda text: text.replace(PORT, str(port))  # noqa: E731 - of one line
        command = tuple(put(word) for word in self.command)
        return ServeCommand(
            self.name, command, put(self.address), self.health, self.wait_s, self.model, self.env
        )


def read_commands(home: Path) -> dict[str, ServeCommand]:
    """The commands by name; none where there is no file. Raises: ConfigError that names the key."""
    path = home / FILE
    if not path.is_file():
        return {}
    tables = toml_table(path.read_bytes(), str(path))
    if unknown := sorted(tables.keys() - TABLES):
        raise ConfigError(
            f"{path}: unknown table {unknown[0]!r}; known: [serve.NAME], [agents.NAME], [rollouts]"
        )
    served = _typed(tables, "serve", dict, "tables [serve.NAME]", str(path)) or {}
    return {name: _command(name, table, f"{path}, [serve.{name}]") for name, table in served.items()}


def command_named(home: Path, name: str) -> ServeCommand:
    """Raises: ModelNotFound, ConfigError."""
    commands = read_commands(home)
    if name not in commands:
        known = f"it has {', '.join(commands)}" if commands else "there is none yet"
        raise ModelNotFound(
            f"serve/{name}: no table [serve.{name}] in {home / FILE}; {known}. See docs/batches.md"
        )
    return commands[name]


def _command(name: str, table: object, where: str) -> ServeCommand:
    if not isinstance(table, dict) or not _NAME.fullmatch(name):
        raise ConfigError(f"{where}: write a table whose name has letters, digits, dots and dashes alone")
    if unknown := sorted(table.keys() - _KEYS):
        raise ConfigError(f"{where}: unknown key {unknown[0]!r}; known: {', '.join(sorted(_KEYS))}")
    address = _typed(
        table, "address", str, "the address of the server, such as http://127.0.0.1:8000/v1", where
    )
    if not address or not address.startswith(("http://", "https://")):
        raise ConfigError(f"{where}: address is needed, such as http://127.0.0.1:8000/v1")
    wait = table.get("wait", 600.0)
    return ServeCommand(
        name=name,
        command=_words(table, where),
        address=address.rstrip("/"),
        health=_typed(table, "health", str, "a path such as /health", where),
        wait_s=parse_duration(str(wait)),
        model=_typed(table, "model", str, "the model's name at the server", where),
        env=_texts(table.get("env", []), f"{where}: env is a list of names of variables"),
    )


def _words(table: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """The program and its words: no shell reads them."""
    told = table.get("command")
    fault = (
        f'{where}: command is needed, such as ["llama-server", "-m", "model.gguf"] or the same as one text'
    )
    if isinstance(told, str):
        try:
            told = shlex.split(told)
        except ValueError as error:
            raise ConfigError(f"{where}: command: {error}") from None
    words = _texts(told, fault)
    if not words:
        raise ConfigError(fault)
    return words


def _texts(told: object, fault: str) -> tuple[str, ...]:
    if not isinstance(told, list) or not all(isinstance(word, str) for word in told):
        raise ConfigError(fault)
    return tuple(told)


def _typed(table: Mapping[str, Any], key: str, kind: type[T], wanted: str, where: str) -> T | None:
    value = table.get(key)
    if value is not None and not isinstance(value, kind):
        raise ConfigError(f"{where}: {key} is {wanted}")
    return value


def open_served(model: Model, sampling: Sampling, opening: Opening) -> OpenAI:
    """The server that was started for the run; its address stands in `base_url`. It gets no key."""
    if model.base_url is None:
        raise ConfigError(f"{model} is started for a run: there is no server to ask before")
    return OpenAI(model, sampling, opening, Place("serve", model.base_url, model.name), None, OPENAI)


async def list_served(opening: Opening) -> list[ListedModel]:
    """The commands that there are; none of them is started. Raises: ConfigError."""
    commands = read_commands(opening.settings.home).values()
    return [
        ListedModel(Model("serve", each.name), note=f"started for a run: {each.command[0]}")
        for each in commands
    ]
