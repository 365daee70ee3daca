"""The agents that a benchmark's file describes: tables [agents.NAME], and how the model of each is drawn from."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, get_args, get_type_hints

from proctor.errors import ConfigError
from proctor.given_files import is_file, is_folder
from proctor.plan.names import parse_model
from proctor.plan.shipped_agents import INSTALLED, SHIPPED, AgentPlaces, shipped_tables
from proctor.plan.table import TableReader
from proctor.plan.wanted import OPTIONS
from proctor.references import Agent
from proctor.types import Sampling

KINDS: Sequence[str] = get_args(get_type_hints(Agent)["kind"])
ASK_NOBODY = ("null", "reference", "scripted")
BUILT_IN = ("null", "reference", "shell")  # agents that need no table
MOST_COMMAND_S = 86_400.0
MOST_HOME_FILE_BYTES = 1_000_000
# Who has one of these in its table asks a model.
ASKING = ("{model}", "{model_name}", "{base_url}", "{port}")
# Rollouts of one task are to differ, and a reply that thinks and then acts is longer than an answer.
AGENT_SAMPLING = Sampling(temperature=0.7, max_tokens=8192, context_tokens=32_768)
# TOML key -> field of Sampling; a reply's limit is called otherwise than a trial's.
DRAWN = {name: name for name in ("temperature", "top_p", "top_k", "min_p", "context_tokens", "seed", "think")}
DRAWN["max_reply_tokens"] = "max_tokens"


@dataclass(frozen=True, slots=True)
class AgentTables:
    """The agents of a file: those that have a table, those that proctor ships, and those that need none.

    Paths are of the working directory; `places` are the folders that tables name in braces.
    """

    tables: Mapping[str, Any]
    providers: Sequence[str]
    places: AgentPlaces = field(default_factory=AgentPlaces)

    def named(self, name: str, model: str | None, of: TableReader) -> tuple[Agent, Sampling] | None:
        """The agent that an entry names, and how its model is drawn from.

        None, with the fault noted in `of`, where it cannot be meant.
        """
        if name not in self.tables and name not in (*BUILT_IN, *SHIPPED):
            known = ", ".join(dict.fromkeys([*BUILT_IN, *SHIPPED, *self.tables]))
            of.note("agent", f"{name!r}: there are {known}; others need a table [agents.{name}]")
            return None
        agent, sampling = self._described(name, of)
        asks = agent.kind == "shell" or any(each in word for word in _templates(agent) for each in ASKING)
        if model is None and asks:
            of.note("model", f'agent {name!r} asks a model: model = "PROVIDER/NAME"')
            return None
        if model is not None and agent.kind in ASK_NOBODY:
            of.note("model", f"agent {name!r} asks no model: leave it out")
            return None
        return replace(agent, model=None if model is None else self._model(agent, model, of)), sampling

    def _model(self, agent: Agent, name: str, of: TableReader) -> str:
        try:
            model = parse_model(name, self.providers, base_url=agent.base_url)
        except ConfigError as error:
            of.note("", str(error))
            return name
        if model is None:
            told = f"{name!r}: which provider? PROVIDER/NAME; there are {', '.join(self.providers)}"
            of.note("model", told)
        return name if model is None else str(model)

    def _described(self, name: str, of: TableReader) -> tuple[Agent, Sampling]:
        table = self.tables[name] if name in self.tables else shipped_tables().get(name, {})
        if not isinstance(table, dict):
            of.faults.note(f"[agents.{name}]: a table belongs here")
            return Agent(name, "null"), Sampling()
        read = TableReader(table, of.faults, f"[agents.{name}]")
        if (like := read.word("like", SHIPPED)) is not None:
            read.table = {**shipped_tables()[like], **table}
        kind = read.word("kind", KINDS) or (name if name in BUILT_IN else "command")
        agent = Agent(name, kind)  # type: ignore[arg-type]  # one of KINDS, which are its words
        if kind == "shell":
            agent = replace(_spoken_to(agent, read), command_s=_command_s(read))
        elif kind == "command":
            agent = _command(_spoken_to(agent, read), read, self.places)
        elif kind == "scripted":
            agent = replace(agent, script=_script(read), environment=_environment(read))
        sampling = _sampling(read) if kind == "shell" else Sampling()
        read.close()
        return agent, sampling


def _spoken_to(agent: Agent, read: TableReader) -> Agent:
    return replace(agent, base_url=read.text("base_url"), environment=_environment(read))


def _templates(agent: Agent) -> Sequence[str]:
    """All that is filled in for a trial."""
    return (*agent.argv, *agent.environment, *agent.home_files)


def _command(agent: Agent, read: TableReader, places: AgentPlaces) -> Agent:
    argv = read.texts("argv")
    if not argv:
        read.note("argv", "what is run? A list of words, such as ['/opt/agent/bin/codex', '{instruction}']")
    return replace(
        agent,
        argv=argv,
        binary=_binary(read, places),
        log=read.text("log"),
        log_fields=_pairs(read.variables("log_fields")),
        secrets=read.texts("secret_env"),
        home_files=_home_files(read, places),
        model_name=read.text("model_name"),
    )


def _binary(read: TableReader, places: AgentPlaces) -> str | None:
    """The absolute path of a program's file or folder; what is no path is looked up as shells do.

    What is installed keeps its braces: each machine that works on the plan has it in a folder of its own.
    """
    told = read.text("binary")
    if told is None:
        return None
    if told.startswith(INSTALLED):
        if (fault := places.not_installed(told)) is not None:
            read.note("binary", fault)
        return told
    told = places.put_into(told)
    found = str(Path(told).absolute()) if "/" in told else shutil.which(told)
    if found is None or not (is_file(Path(found)) or is_folder(Path(found))):
        what = "file" if "/" in told else "program"
        read.note("binary", f"no {what} {told}: install it, or correct `binary`")
        return told
    return str(Path(found).resolve())


def _home_files(read: TableReader, places: AgentPlaces) -> tuple[str, ...]:
    """What the files of a home hold, as "PATH=CONTENT"; the table tells the path of a file that holds it."""
    found: dict[str, str] = {}
    for target, told in (read.take("home_files", dict) or {}).items():
        parts = PurePosixPath(target).parts
        if not parts or target.startswith("/") or {"..", "="} & {*parts, *target} or not target.isprintable():
            read.note("home_files", f"{target!r} is no path of a file below the agent's home")
        elif not isinstance(told, str):
            read.note("home_files", f"{target}: the path of a file belongs here")
        else:
            found[target] = _content(read, Path(places.put_into(told)))
    return _pairs(found)


def _content(read: TableReader, path: Path) -> str:
    try:
        body = path.read_bytes() if is_file(path) else None
        if body is not None and len(body) <= MOST_HOME_FILE_BYTES:
            return body.decode()
        read.note("home_files", f"there is no file {path}" if body is None else f"{path} is larger than 1 MB")
    except (OSError, UnicodeDecodeError) as error:
        read.note("home_files", f"{path} cannot be read as text: {error}")
    return ""


def _script(read: TableReader) -> str | None:
    told = read.text("script")
    if told is None:
        read.note("script", "which script? The path of a file")
        return None
    path = Path(told).absolute()
    if not is_file(path):
        read.note("script", f"there is no file {told}")
    return str(path)


def _environment(read: TableReader) -> tuple[str, ...]:
    return _pairs(read.variables("environment_variables"))


def _command_s(read: TableReader) -> float:
    return read.number("command_s", 0.1, MOST_COMMAND_S) or Agent("", "shell").command_s


def _sampling(read: TableReader) -> Sampling:
    options = {option.name: option for option in OPTIONS if option.part == "sampling"}
    drawn: dict[str, Any] = {}
    for key, name in DRAWN.items():
        read.known.append(key)
        if key not in read.table:
            continue
        try:
            drawn[name] = options[name].read(read.table[key], repr(read.table[key]))
            options[name].check(drawn[name])
        except ConfigError as error:
            read.note(key, str(error))
    if "max_tokens" in drawn and drawn["max_tokens"] is None:
        read.note("max_reply_tokens", "a reply of an agent's model needs a limit")
    return replace(AGENT_SAMPLING, **drawn)


def _pairs(table: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{key}={value}" for key, value in table.items())
