"""The words of the system: what is asked, and what came back. What that shows is in findings.py.

A benchmark is a table. Its rows are models, its columns are sources of items.

    Plan     the table somebody wants            made of Cells
    Cell     one model on one source             filled by a Run
    Item     one thing asked                     answered by a Reply, or a Failure says why not
    Attempt  one try at one Item                 kept by the store, never changed
    Run      a Cell on its way                   has a Status
Everything here is frozen and, when it runs, imports nothing of ours but references.py: the sources by their names.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from proctor.references import Agent, SourceRef

if TYPE_CHECKING:
    from proctor.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Model:
    """Who is asked: `provider/name`, and the server when it is not the provider's usual one."""

    provider: str
    name: str
    base_url: str | None = None

    def __str__(self) -> str:
        return f"{self.provider}/{self.name}"


Think = bool | Literal["low", "medium", "high", "max"]
Mode = Literal["generate", "structured", "logprob"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How to draw from the model. None leaves a choice to the provider.

    `think` is True, False or an effort ("low", "medium", "high", "max") for models that reason. `mode`
    is how the answer is drawn: written freely, written under a schema that admits only the item's
    options, or ranked by the log-probability of the first token.
    """

    temperature: float | None = 0.0
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    repeat_last_n: int | None = None
    max_tokens: int | None = 512
    context_tokens: int | None = 8192
    seed: int | None = 0
    stop: tuple[str, ...] = ()
    think: Think | None = None
    mode: Mode = "generate"


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Chat:
    """What a model is shown: messages in the order in which they are said.

    `max_tokens` is what this one reply may have, where that is less than the sampling allows.
    """

    messages: tuple[Message, ...] = ()
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A request in its user's own words: it is sent as it stands, but for the name of the model.

    `url` is the endpoint's path, such as "/v1/chat/completions"; `body` the JSON object that is sent there, as it
    was written; `model` the model that it named, which the run's own replaces.
    """

    url: str
    body: bytes
    model: str | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the model is shown, for people and graders: the texts alone; images and tools are in `body`."""
        fields = json.loads(self.body)
        asked = fields.get("messages", fields.get("input", fields.get("prompt", "")))
        told = asked if isinstance(asked, list) else [asked]
        return tuple(_message(each) for each in told)


def _message(told: object) -> Message:
    if not isinstance(told, dict):
        told = {"content": told if isinstance(told, str) else json.dumps(told)}
    content = told.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "".join(part for part in parts if isinstance(part, str))
    said = content if isinstance(content, str) else ""
    # Half a surrogate pair may stand in a JSON string, and in no text that is written anywhere.
    return Message(str(told.get("role", "user")), said.encode(errors="replace").decode())


@dataclass(frozen=True, slots=True)
class TaskFolder:
    """A prepared task that an agent works on: a folder with files, an instruction, and what verifies the work.

    `path` is the absolute path of the folder; `overrides` that of the file of overrides that is applied to a private
    copy of it, None where none is. The item's hash is that of the folder's content with the overrides.
    """

    path: str
    instruction: str
    overrides: str | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the agent is told, for people and graders."""
        return (Message("user", self.instruction),)


@dataclass(frozen=True, slots=True)
class Gold:
    """What is right: a letter where there are choices, else a label or a text; `aliases` are right too."""

    target: str
    aliases: tuple[str, ...] = ()

    @classmethod
    def of(cls, target: str | None, aliases: Sequence[str] = ()) -> Gold | None:
        """None where no target is known."""
        return None if target is None else cls(target, tuple(aliases))


@dataclass(frozen=True, slots=True)
class Item:
    """One thing asked: what is asked, how it may be answered, and apart from them what is known of the right answer.

    `choices` are the texts of lettered answers; `options` is every answer that may be given, as it is to be
    written (letters, labels), empty where it is free. Items that share a `cluster` (questions on one passage)
    are not independent. `hash` is the SHA-256 of what the model is shown and of the targets, in 32 hex digits.
    """

    id: str  # stable from run to run, e.g. "boolq/17"
    group: str  # the task it is scored in, e.g. "boolq"
    ask: Chat | Request | TaskFolder
    gold: Gold | None = None  # None: nothing is known
    choices: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    cluster: str | None = None
    hash: str = ""

    @property
    def target(self) -> str | None:
        return None if self.gold is None else self.gold.target

    @property
    def aliases(self) -> tuple[str, ...]:
        return () if self.gold is None else self.gold.aliases

    @property
    def accepted(self) -> tuple[str, ...]:
        """Every text that is right; empty where none is known."""
        return () if self.gold is None else (self.gold.target, *self.gold.aliases)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens and cost in US dollars of one or several requests; None where the server did not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None  # with the reasoning tokens
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        """The sum of what is known.

        >>> Usage(10, None, 0.5) + Usage(1, 2)
        Usage(input_tokens=11, output_tokens=2, cost_usd=0.5)
        """
        if other is NOTHING_USED:
            return self
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Usage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            sum(costs) if costs else None,
        )


NOTHING_USED = Usage()


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said. `latency_s` is the request on the wire; model loading is not in it.

    `service_s` is the part of it in which the server worked on this request, by its own clock: reading the
    prompt and writing the reply, without waiting for a slot.
    """

    text: str
    reasoning: str | None = None
    # stop, length, refused, tools (it asks for calls, which stand at the end of the text); unknown where the source
    # does not say, "cut?" if it then ends inside a sentence
    finish: str = "stop"
    input_tokens: int | None = None
    output_tokens: int | None = None  # with the reasoning tokens
    reasoning_tokens: int | None = None
    latency_s: float | None = None
    cost_usd: float | None = None
    service_s: float | None = None
    # The likeliest first tokens with their natural log-probabilities, in mode "logprob".
    first_token: tuple[tuple[str, float], ...] = ()
    raw: bytes = b""  # the server's own words
    request_id: str | None = None  # by which the server knows the request, where it says so
    # Of replies that came in pieces: until the first token of any kind, and on average between two tokens after it.
    first_token_s: float | None = None
    inter_token_s: float | None = None
    unused: Usage = NOTHING_USED  # of an agent's trial: what requests took whose replies were of no use


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no reply: a slug of errors.py and a sentence for a person.

    `status` and `raw` are the server's own answer, where it gave one: its HTTP status, and its words.
    """

    slug: str
    message: str
    retryable: bool = False
    status: int | None = None
    raw: bytes = b""


class Outcome(StrEnum):
    """What became of an attempt. `error` measured nothing; every other one has a reply."""

    CORRECT = "correct"
    WRONG = "wrong"
    ANSWERED = "answered"  # read, but neither right nor wrong: no target, or a grade between
    NO_ANSWER = "no_answer"  # a reply, but no answer could be read from it
    TRUNCATED = "truncated"  # cut by the length limit before an answer
    REFUSED = "refused"
    ERROR = "error"  # no reply: says nothing about the model


@dataclass(frozen=True, slots=True)
class Grade:
    """What a grader makes of a reply: its outcome, its score, and the answer that was read.

    `score` is None where nothing was measured; `rung` is the step of a reader that found the answer.
    `grader` is its name and version, `note` why, in words for a person, `cost_usd` what grading cost.
    """

    outcome: Outcome
    score: float | None
    answer: str | None = None
    rung: int | None = None
    grader: str = ""
    note: str | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at one item. Exactly one of `reply` and `failure` is set.

    `score` is None when nothing was measured; it is never 0 for "unknown". `retries` counts the
    requests sent again inside this attempt. `in_flight` is how many requests of ours the server had at
    once, this one among them: the mean of when it was sent and when it was answered. `unused` is what the server
    told of requests inside this attempt whose replies were of no use.
    """

    item: Item
    position: int  # the item's place in the run's order, from 0
    repeat: int
    attempt: int
    at: float  # Unix time at its end
    grade: Grade
    reply: Reply | None = None
    failure: Failure | None = None
    retries: int = 0
    in_flight: float | None = None
    unused: Usage = NOTHING_USED


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `of` parts of a run, counted from 0 (from 1 in words): each asking is in exactly one of them."""

    index: int
    of: int

    def __str__(self) -> str:
        return f"{self.index + 1}/{self.of}"

    def holds(self, position: int, repeat: int) -> bool:
        """Neighbours are dealt out in turn, so that all parts get on through the rows alike."""
        return (position + repeat) % self.of == self.index


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop drawing items (`for_s`, `max_...`, `until_decided`) and when to give up (`timeout_s`)."""

    parallel: int | None = None  # None: found by watching the server
    for_s: float | None = None
    max_cost_usd: float | None = None
    max_total_tokens: int | None = None  # in and out, over all replies of the run
    timeout_s: float = 3 * 3600.0
    request_timeout_s: float = 600.0
    wait_for_server_s: float = 120.0  # for a server that is gone or loads its model; 0: not at all
    shard: Shard | None = None  # the only part to be asked here; the others are asked elsewhere
    until_decided: bool = False  # asked side by side with the plan's other models, as long as a verdict needs


@dataclass(frozen=True, slots=True)
class Cell:
    """One model on one source, or one agent: then `model` is the agent's name and that of the model it asks."""

    model: Model
    source: SourceRef
    sampling: Sampling = Sampling()
    limits: Limits = Limits()
    repeats: int = 1
    agent: Agent | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """The table somebody wants. `replies` is the file that replay models answer from."""

    cells: tuple[Cell, ...]
    name: str = ""
    replies: str | None = None
    workers: int = 1  # processes of this machine at work on each run
    only: bool = False  # its models alone count in its verdict, whatever else has runs on these items


class Status(StrEnum):
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Run:
    """A cell on its way, as the store knows it. `planned` counts items times repeats."""

    id: str
    plan_id: str
    status: Status
    cell: Cell
    source_title: str
    planned: int
    settled: int  # items with an outcome other than error
    manifest: Manifest
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    elapsed_s: float = 0.0
    stopped: str | None = None  # why fewer than `planned` were asked, in words
    error: str | None = None
    error_slug: str | None = None
    parent_id: str | None = None
    comparability: str | None = None  # runs may be compared, on the items they share, where this is equal
    exam: str | None = None  # runs were asked the very same, all items alike, where this is equal too
    sample: bool = False  # made of sample rows, which measure nothing real

    @property
    def partial(self) -> bool:
        """True while planned items lack an outcome; a partial run never passes for a complete one."""
        return self.settled < self.planned

    @property
    def unmeasured(self) -> int:
        """How many of its planned items an ended run has no outcome for: errors, and what was not asked."""
        return 0 if self.finished_at is None else max(0, self.planned - self.settled)
