"""Any command-line program as an agent: its program is shown to the box read-only, and what it prints is read."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from proctor.engine.agents.contract import AgentJob, AgentWork
from proctor.engine.agents.filling import Filling, filled, filling_of, put_home
from proctor.engine.agents.own import NO_PROGRAM, time_met, variables
from proctor.engine.agents.readers import LogReading, Reader, reader_of
from proctor.engine.agents.wired import ModelWire, wired
from proctor.engine.gateway import Gateway
from proctor.errors import AgentModelError, ConfigError
from proctor.offered import ListedModel
from proctor.providers.contract import ALL_SAMPLING
from proctor.references import Agent
from proctor.sandbox.contract import Command, CommandEnd, Mount
from proctor.trial_record import AgentEnd

AT = "/opt/agent"
LOOK_S = 0.5  # between two looks at what it printed
MOST_WORD_BYTES = 100_000  # of an argument


@dataclass(slots=True)
class CommandAgent:
    """Made by `open_command`. Its program, with the files of its home, is hashed once, before anything is spent."""

    agent: Agent
    reader: Reader | None
    gateway: Gateway | None = None
    unsent: Collection[str] = ALL_SAMPLING
    adjustments: Sequence[str] = ()
    sha256: str = NO_PROGRAM
    _found: set[str] = field(default_factory=set)  # programs that a box has been seen to have

    @property
    def mounts(self) -> Sequence[Mount]:
        return () if self.agent.binary is None else (Mount(Path(self.agent.binary), AT),)

    async def check(self) -> ListedModel | None:
        """Raises: ConfigError where its program is not on this machine."""
        told, agent = self.agent.binary, self.agent
        if told is not None:
            self.sha256 = await asyncio.to_thread(_program, agent.name, told)
        if agent.home_files:
            self.sha256 = hashlib.sha256("\0".join([self.sha256, *agent.home_files]).encode()).hexdigest()
        return None if self.gateway is None else await self.gateway.check()

    async def warm(self) -> None:
        if self.gateway is not None:
            await self.gateway.warm()

    async def work(self, job: AgentJob) -> AgentWork:
        async with wired(self.gateway, job) as wire:
            put = {**filling_of(self.agent, job), **({} if wire is None else wire.put)}
            argv = [self._word(word, put) for word in self.agent.argv]
            await put_home(self.agent, job, put)
            await self._need_program(job, argv[0])
            env = {**({} if wire is None else wire.environment), **self._environment(job, put)}
            command = Command(
                argv, env, job.cwd, timeout_s=job.seconds, output=job.log, output_bytes=job.output_bytes
            )
            watched = _Watched(job, LogReading(self.reader), wire)
            ended = await watched.run(command)
        return self._told(job, watched, ended)

    def _environment(self, job: AgentJob, put: Filling) -> dict[str, str]:
        own = {name: filled(value, put) for name, value in variables(self.agent.environment).items()}
        return {name: value for name, value in {**job.told, **own}.items() if name not in self.agent.secrets}

    def _word(self, template: str, put: Filling) -> str:
        word = filled(template, put)
        if len(word.encode("utf-8", "replace")) > MOST_WORD_BYTES:
            raise ConfigError(
                f"agent {self.agent.name}: the instruction is too long for a command line; give "
                "{instruction_file} in argv in place of {instruction}"
            )
        return word

    async def _need_program(self, job: AgentJob, program: str) -> None:
        """Raises: ConfigError. A program that no box has is no fault of an agent's."""
        if program in self._found:
            return
        look = await job.box.run(Command(("sh", "-c", 'command -v "$0" >/dev/null', program), cwd="/"))
        if look.code:
            raise ConfigError(
                f"agent {self.agent.name}: the sandbox has no program {program}: give its file or folder as "
                f"`binary`, which is seen at {AT}, or use an image that has it"
            )
        self._found.add(program)

    def _told(self, job: AgentJob, watched: _Watched, ended: CommandEnd) -> AgentWork:
        """What became of it. Raises: AgentModelError where its model's server failed it."""
        heard, wire, late = watched.reading.heard, watched.wire, time_met(ended, job.seconds)
        if wire is not None:
            wire.need_sound(self.agent.name, stopped=bool(late))
        met = (*watched.met, *late)
        if heard.overflow and wire is None:
            met = (*met, f"its model's context was full: {heard.overflow}")
        if heard.model_fault and wire is None and not met:
            raise AgentModelError(f"agent {self.agent.name}: {heard.model_fault}", usage=heard.usage)
        failed = heard.fault or heard.model_fault or (f"exit code {ended.code}" if ended.code else None)
        how: AgentEnd = "limit" if met else "failed" if failed else "done"
        silent = self.reader is not None and not heard.understood
        unread = f"What the agent printed held no line that the log reader {self.agent.log} understands."
        work = AgentWork(
            how,
            ended.code,
            met,
            heard.usage,
            heard.calls,
            heard.log.steps,
            heard.final or heard.fault or heard.model_fault or "",
            steps_left_out=heard.log.left_out,
            notes=(unread,) if silent else (),
        )
        return work if wire is None else _by_wire(work, wire)


@dataclass(slots=True)
class _Watched:
    """A command whose output is read while it runs, and that is stopped once its tokens are used up."""

    job: AgentJob
    reading: LogReading
    wire: ModelWire | None = None
    _by_log: tuple[str, ...] = ()
    _read: int = 0
    _began: float = field(default_factory=time.monotonic)

    async def run(self, command: Command) -> CommandEnd:
        """Raises: SandboxError."""
        running = asyncio.create_task(self.job.box.run(command))
        try:
            while not running.done():
                await asyncio.wait([running], timeout=LOOK_S)
                self._look(last=running.done())
                if self._is_over and not running.done():
                    running.cancel()
                    with suppress(asyncio.CancelledError):
                        await running
                    return CommandEnd(137, seconds=time.monotonic() - self._began)
            return running.result()
        finally:
            running.cancel()

    def _look(self, *, last: bool) -> None:
        with suppress(FileNotFoundError), self.job.log.open("rb") as log:
            log.seek(self._read)
            piece = log.read()
            self._read += len(piece)
            self.reading.take(piece, time.monotonic() - self._began, last=last)
        if self.wire is None:
            self._by_log = self._limits_met()

    @property
    def met(self) -> tuple[str, ...]:
        """The limits of the trial that forbid it more of its model."""
        return self._by_log if self.wire is None else self.wire.trial.limits_met

    @property
    def _is_over(self) -> bool:
        return bool(self._by_log) if self.wire is None else self.wire.over

    def _limits_met(self) -> tuple[str, ...]:
        limits, usage = self.job.limits, self.reading.heard.usage
        tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
        met = []
        if limits.max_tokens is not None and tokens >= limits.max_tokens:
            met.append(f"{tokens:,} of {limits.max_tokens:,} tokens were used")
        if limits.max_cost_usd is not None and (usage.cost_usd or 0.0) >= limits.max_cost_usd:
            met.append(f"${usage.cost_usd or 0.0:.4f} of ${limits.max_cost_usd:g} were spent")
        return tuple(met)


def _by_wire(work: AgentWork, wire: ModelWire) -> AgentWork:
    """What the gateway saw is taken for true; the log tells what only it knows."""
    spending, steps = wire.trial.spending, wire.steps()
    if steps is not None:
        work = replace(work, steps=steps.steps, steps_left_out=steps.left_out)
    notes = (*work.notes, *wire.notes)
    return replace(work, usage=spending.usage, unused=spending.unused, calls=spending.calls, notes=notes)


def open_command(agent: Agent, gateway: Gateway | None = None) -> CommandAgent:
    """Raises: ConfigError for a log reader that there is not."""
    if not agent.argv:
        raise ConfigError(f"agent {agent.name}: it needs argv, the words of its command")
    fields = variables(agent.log_fields)
    return CommandAgent(agent, reader_of(agent.log, fields, agent.name), gateway)


def _program(agent: str, told: str) -> str:
    """The hash of an agent's program. Raises: ConfigError where it is not on this machine."""
    if not Path(told).exists():
        what = "file" if "/" in told else "program"
        raise ConfigError(f"agent {agent}: no {what} {told}: install it, or correct `binary`")
    return program_digest(Path(told))


def program_digest(path: Path) -> str:
    """SHA-256 of a file, or over the names and contents of a folder's files in the order of their names."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    found = hashlib.sha256()
    for each in sorted(path.rglob("*")):
        if each.is_file():
            found.update(f"{each.relative_to(path).as_posix()}\0{program_digest(each)}\n".encode())
    return found.hexdigest()
