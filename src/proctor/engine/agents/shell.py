"""The built-in shell agent: a conversation with any model that chats, a command a turn, run in the box.

It is as small as it can be, so that what a trial shows is the model's doing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proctor.engine.agents import shell_prompt
from proctor.engine.agents.contract import AgentJob, AgentWork
from proctor.engine.agents.keeping import TalkCalls
from proctor.engine.agents.own import variables
from proctor.engine.agents.shell_reply import ReadReply, read_reply
from proctor.engine.agents.steps import StepLog
from proctor.engine.asking import AskedModel
from proctor.engine.clock import WorkClock
from proctor.engine.spending import AgentSpending, Conversation, held
from proctor.errors import AgentModelError, AttemptError, ContextOverflow
from proctor.offered import ListedModel
from proctor.providers.ledger import Demand, Ledger, UsedUp
from proctor.providers.prices import Price
from proctor.replies.calls import CallLog, Scrub
from proctor.sandbox.contract import HOME, Command, CommandEnd, Mount
from proctor.trial_record import AgentEnd, TrialStep
from proctor.types import NOTHING_USED, Message, Reply, Sampling

# A new shell for each command, bash where there is one. What the last one exported, and where it stood, it begins
# with, or in "$2"; the command itself stands in "$1".
ANY_SHELL = 'if command -v bash >/dev/null 2>&1; then exec bash -c "$0" sh "$1" "$2"; fi; exec sh -c "$0" sh "$1" "$2"'
CARRIED = f"{HOME}/.carried"
ONE_COMMAND = f"""
if [ -r {CARRIED} ]; then . {CARRIED}; cd -- "$PWD" 2>/dev/null || cd -- "$2"; fi
trap 'export -p > {CARRIED}' EXIT
eval "$1"
"""
PLAIN = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "NO_COLOR": "1"}
BEGINNING_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ShellAgent:
    """Works with every provider: its model is asked from this machine, and the box needs no network."""

    model: AskedModel
    name: str  # the model's, for messages
    sampling: Sampling
    command_s: float
    environment: Sequence[str] = ()
    price: Price | None = None
    budget: Ledger | None = None
    scrub: Scrub = bytes
    mounts: Sequence[Mount] = ()
    sha256: str = shell_prompt.SHA256

    @property
    def unsent(self) -> Collection[str]:
        return self.model.provider.unsent

    @property
    def adjustments(self) -> Sequence[str]:
        return self.model.provider.adjustments

    async def check(self) -> ListedModel:
        return await self.model.check()

    async def warm(self) -> None:
        await self.model.provider.warm()

    async def work(self, job: AgentJob) -> AgentWork:
        spending = AgentSpending(job.limits, self.name, self.price, self.budget)
        clock = WorkClock(job.seconds, job.deadline_s)
        calls = TalkCalls(self.name, clock, CallLog(job.calls, self.scrub) if job.calls else None)
        talk = _Talk(self, job, spending, Conversation(spending), clock, calls)
        try:
            async with asyncio.timeout(clock.rest_s):
                return await talk.to_its_end()
        except TimeoutError:
            return talk.out_of_time()
        except AttemptError as error:
            spending.wasted(error.usage or NOTHING_USED)
            error.usage = spending.whole
            raise
        finally:
            calls.close()


@dataclass(slots=True)
class _Talk:
    """One trial's conversation on its way."""

    agent: ShellAgent
    job: AgentJob
    spending: AgentSpending
    conversation: Conversation
    clock: WorkClock
    calls: TalkCalls
    messages: list[Message] = field(default_factory=list)
    log: StepLog = field(default_factory=StepLog)
    faults: int = 0  # in a row

    async def to_its_end(self) -> AgentWork:
        self._say("user", self._opening())
        while True:
            if met := self._met():
                return self._ended("limit", met)
            try:
                reply = await self._asked()
            except UsedUp as used_up:
                return self._ended("limit", str(used_up))
            except ContextOverflow as error:
                self.spending.wasted(error.usage or NOTHING_USED)
                return self._ended("limit", f"its model's context was full: {error}")
            said = read_reply(reply.text, cut=reply.finish == "length")
            if reply.finish == "refused":
                self._step(reply)
                return self._ended("failed", final=f"Its model refused: {reply.text.strip() or '(no words)'}")
            if said.done:
                self._step(reply)
                return self._ended("done", final=reply.text)
            if said.command is None and self._faulty(reply, said):
                return self._ended("failed", final=f"{self.faults} replies in a row held no command")
            if said.command is not None:
                await self._run(reply, said)

    def out_of_time(self) -> AgentWork:
        """Raises: AgentModelError where it would have had its time but for waiting."""
        left_s, waited_s = self.clock.left_s, self.clock.waited_s
        if left_s <= 0.0:
            return self._ended("limit", self._time_met())
        if waited_s >= left_s:
            raise AgentModelError(
                f"The agent waited {waited_s:.0f} s for its model's server, and could not work for its "
                f"{self.job.seconds:g} s before the trial had to end. Fewer trials at once, or a longer trial_s, help",
                usage=self.spending.whole,
            )
        return self._ended(
            "limit", f"the trial had to end after {self.clock.elapsed_s:.0f} s of the agent's work"
        )

    def _opening(self) -> str:
        limits = self.job.limits
        return shell_prompt.opening(
            self.job.instruction,
            place=self.job.cwd,
            seconds=self.job.seconds,
            command_s=self.agent.command_s,
            tokens=limits.max_tokens,
            calls=limits.max_calls,
        )

    def _met(self) -> str | None:
        return self._time_met() if self.clock.left_s <= 0.0 else self.spending.met(self._demand)

    def _time_met(self) -> str:
        return f"stopped after {self.job.seconds:g} s"

    def _say(self, role: str, content: str) -> None:
        self.messages.append(Message(role, content))
        if role == "user":
            self.conversation.said(len(content))

    @property
    def _demand(self) -> Demand:
        return self.conversation.demand(self.agent.sampling.max_tokens)

    async def _asked(self) -> Reply:
        """Raises: UsedUp, and as AskedModel.ask."""
        with self.clock.standing():
            hold = await self.spending.admitted(self._demand)
        with held(self.spending, hold):
            asking = self.agent.model.ask(self.messages, self.clock, most=hold.most, rollout=self.job.rollout)
            asked = await self.calls.kept(asking, self.messages, hold.most)
            self.spending.wasted(asked.unused)
            self.conversation.asked(asked.reply)
        # Some servers take no message without words.
        self._say("assistant", asked.reply.text if asked.reply.text.strip() else "(no words)")
        return asked.reply

    def _faulty(self, reply: Reply, said: ReadReply) -> bool:
        """Tell the model what was wrong with its reply; True where it has been told often enough."""
        self.faults += 1
        self._step(reply, output=said.fault or "")
        self._say("user", shell_prompt.FAULT.format(fault=said.fault))
        return self.faults >= shell_prompt.MOST_FAULTS

    async def _run(self, reply: Reply, said: ReadReply) -> None:
        self.faults = 0
        ended, output = await self._command(said.command or "")
        self._step(reply, said.command or "", output, ended.code)
        calls = self.job.limits.max_calls
        left = shell_prompt.left_told(
            self.clock.left_s,
            self.spending.tokens_left,
            None if calls is None else calls - self.spending.calls,
        )
        self._say("user", shell_prompt.told(ended, output, said.note, left))

    async def _command(self, command: str) -> tuple[CommandEnd, str]:
        beginning = self.job.log.with_name("command.out")
        own = variables(self.agent.environment)
        ended = await self.job.box.run(
            Command(
                ("sh", "-c", ANY_SHELL, ONE_COMMAND, command, self.job.cwd),
                {**PLAIN, **self.job.told, **own},
                self.job.cwd,
                timeout_s=min(self.agent.command_s, max(0.1, self.clock.left_s)),
                output=beginning,
                output_bytes=BEGINNING_BYTES,
            )
        )
        try:
            return ended, shell_prompt.output_of(ended, _head(beginning))
        finally:
            beginning.unlink(missing_ok=True)

    def _step(self, reply: Reply, ran: str = "", output: str = "", code: int | None = None) -> None:
        self.log.add(TrialStep(self.clock.elapsed_s, reply.text, ran, output, code))
        how = "" if code is None else f"[exit code {code}]\n"
        told = f"--- {self.clock.elapsed_s:.1f} s\n{reply.text}\n{how}{output}\n"
        _append(self.job.log, told, self.job.output_bytes)

    def _ended(self, ended: AgentEnd, *limits_met: str, final: str = "") -> AgentWork:
        spent = self.spending
        notes = () if spent.counted else ("The server of the agent's model does not tell all tokens.",)
        return AgentWork(
            ended,
            None,
            limits_met,
            spent.usage,
            spent.calls,
            self.log.steps,
            final,
            spent.unused,
            self.log.left_out,
            (*notes, *self.calls.notes),
        )


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(BEGINNING_BYTES)
    except FileNotFoundError:
        return b""


def _append(log: Path, told: str, most: int) -> None:
    """Grow the log of what the agent said and did, up to its limit."""
    with log.open("ab") as file:
        room = max(0, most - file.tell())
        file.write(told.encode("utf-8", "replace")[:room])
