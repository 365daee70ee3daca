"""What is known of one trial beside its patch: phases, limits that were met, steps of the agent, the verdict.

A trial is one rollout of one task by one agent. Its patch is the reply's text; this record is the reply's own words
(`Reply.raw`), as JSON. It is written by engine/trials and read by whatever shows a trial.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import orjson

from proctor.errors import DataError
from proctor.json_object import JsonObject
from proctor.types import NOTHING_USED, Usage

PhaseName = Literal["prepare", "agent", "collect", "verify", "score"]
PHASES: tuple[PhaseName, ...] = ("prepare", "agent", "collect", "verify", "score")
# How the agent's own work ended: by itself, with an error of its own, or at a limit. All three are scored.
AgentEnd = Literal["done", "failed", "limit"]
# How a call of an agent to its model ended: the agent was cut off, or went away; `failed` is the model's server's.
CallEnd = Literal["answered", "refused", "cut", "cancelled", "failed"]
MOST_STEPS = 500
STEP_CHARACTERS = 4_000
# What tables of trials have of the calls of their agents.
BY_WIRE = ("cached_tokens", "unused_tokens", "retries", "model_seconds", "tools_seconds")
OUTPUT_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class PhaseTime:
    """When a phase began, in Unix seconds, and how many seconds it took."""

    name: str
    began_at: float
    seconds: float


@dataclass(frozen=True, slots=True)
class TrialStep:
    """One step of the agent: what it said, what it ran, what came back. `at` in seconds since the agent began."""

    at: float
    said: str = ""
    ran: str = ""
    output: str = ""
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class AgentCall:
    """One request of an agent to its model, with its reply, as both crossed the gateway.

    `at` is in seconds since the agent began, as `first_token_s` and `seconds` are since the request came. `request` is
    the body as the agent wrote it and `response` the whole body that it was given, both JSON; a stream is put
    together. `usage` is what the reply took, `unused` what requests took that were sent for it in vain. `counted`
    says whether the model's server told the tokens; else they are taken from what came.
    """

    number: int  # of the trial's calls, from 0
    at: float
    path: str  # as the agent asked: "/v1/responses"
    ended: CallEnd
    status: int = 200  # as the agent was told
    request: bytes = b"{}"
    response: bytes = b"{}"
    response_id: str | None = None
    usage: Usage = NOTHING_USED
    unused: Usage = NOTHING_USED
    retries: int = 0
    first_token_s: float | None = None
    seconds: float | None = None
    counted: bool = True
    note: str = ""  # why it was refused, or what was left out of it on its way, in words


@dataclass(frozen=True, slots=True)
class WireTotals:
    """What the calls of a trial come to, by what crossed the wire. None: nobody told.

    `model_s` is the time in which one of them at least was under way. `cached_tokens` are part of the tokens in,
    `reasoning_tokens` of those out; `ended` counts the calls that were not answered, by how they ended.
    """

    calls: int
    usage: Usage = NOTHING_USED
    unused: Usage = NOTHING_USED
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    retries: int = 0
    model_s: float = 0.0
    ended: Mapping[str, int] = field(default_factory=dict)
    uncounted: int = 0  # calls whose tokens the model's server did not tell


@dataclass(frozen=True, slots=True)
class Consumed:
    """What a sandbox measured. None: it could not be measured there.

    `throttled_s` is the time for which its processes wanted a core beyond their share and got none.
    """

    peak_memory_bytes: int | None = None
    cpu_s: float | None = None
    throttled_s: float | None = None
    out_of_memory: int | None = None  # processes that were killed for it
    processes_refused: int | None = None  # forks beyond the limit
    written_bytes: int | None = None
    output_bytes: int | None = None  # what was printed, kept or not


@dataclass(frozen=True, slots=True)
class RubricScore:
    """One criterion of the task: its weight, and how many of its tests passed."""

    criterion: str
    weight: float
    score: float | None  # None: it has no tests, and does not count
    tests: int = 0
    passed: int = 0
    gate: bool = False  # it gives no points, and where one of its tests fails the whole score is 0


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test script of the verifier: whether it passed, and the end of what it printed.

    `why` tells a failure that is not the script's own verdict: its time was up, or it ended before its end. `share`
    is what a script gives that tells more than whether it passed, 0 to 1.
    """

    passed: bool
    output: str = ""
    rubric: str | None = None
    seconds: float | None = None
    exit_code: int | None = None
    why: Literal["", "timeout", "unfinished"] = ""
    share: float | None = None

    @property
    def given(self) -> float:
        """What the script gives, 0 to 1."""
        return float(self.passed) if self.share is None else self.share


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """All that is known of one trial beside its patch.

    `run_id` is its folder's name in `data/runs`, `run_dir` that folder's absolute path on the machine that ran it.
    `score` is the share of the rubrics' weights, 0 to 1. `limits_met` are sentences. `deadlines` are seconds. Hashes
    are SHA-256 in hex: of task, image, agent, limits, patch and verdict, and `chain`, which binds all of them.
    """

    run_id: str
    run_dir: str
    ended: AgentEnd
    score: float
    passed: bool
    exit_code: int | None = None
    limits_met: tuple[str, ...] = ()
    phases: tuple[PhaseTime, ...] = ()
    steps: tuple[TrialStep, ...] = ()
    steps_left_out: int = 0
    calls: int | None = None  # requests of the agent to its model; None: not measured
    agent_used: Consumed = Consumed()
    verifier_used: Consumed = Consumed()
    rubrics: Mapping[str, RubricScore] = field(default_factory=dict)
    tests: Mapping[str, TestResult] = field(default_factory=dict)
    custom_metrics: Mapping[str, Any] = field(default_factory=dict)
    diff_lines: int = 0
    sandbox: str = ""  # how it was contained, in words
    hashes: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what of the agent's work was left out or put back, and why
    tries: int = (
        1  # how often an agent was begun on it; what earlier tries left is in `attempts/` of the folder
    )
    verified: int = 1  # how often its patch was verified; a broken verifier's times count
    final: str = ""  # the agent's last words
    deadlines: Mapping[str, float] = field(default_factory=dict)
    wire: WireTotals | None = None  # None: its agent asks no model, or not by a gateway

    @property
    def by_wire(self) -> Mapping[str, float | None]:
        """The columns BY_WIRE; None: not measured, or nobody told."""
        wire = self.wire
        if wire is None:
            return dict.fromkeys(BY_WIRE)
        told = (wire.cached_tokens, tokens_of(wire.unused), wire.retries, wire.model_s, self.tools_s)
        return dict(zip(BY_WIRE, told, strict=True))

    @property
    def agent_s(self) -> float | None:
        """How long the agent's phase took; None where that is not known."""
        return next((each.seconds for each in self.phases if each.name == "agent"), None)

    @property
    def tools_s(self) -> float | None:
        """What of it was not spent in calls of its model."""
        if self.wire is None or self.agent_s is None:
            return None
        return max(0.0, self.agent_s - self.wire.model_s)


def tokens_of(usage: Usage) -> int | None:
    """In and out together, as far as they were told."""
    known = [each for each in (usage.input_tokens, usage.output_tokens) if each is not None]
    return sum(known) if known else None


def record_bytes(record: TrialRecord) -> bytes:
    return orjson.dumps(asdict(record))


def record_from(raw: bytes, where: str = "trial") -> TrialRecord:
    """Raises: DataError for what is no record of a trial."""
    try:
        return _record(JsonObject(orjson.loads(raw), where))
    except orjson.JSONDecodeError as error:
        raise DataError(f"{where} is no JSON: {error}") from None
    except TypeError as error:  # a part of it has fields that it should not have, or lacks some
        raise DataError(f"{where} is no record of a trial: {error}") from None


def record_in(said: Mapping[str, Any]) -> TrialRecord | None:
    """The record in what the store keeps of a try.

    None for one without a verdict, and for a record of another version that cannot be read.
    """
    if said.get("text") is None or not said.get("raw"):
        return None
    try:
        return record_from(str(said["raw"]).encode())
    except (DataError, TypeError):
        return None


def _record(told: JsonObject) -> TrialRecord:
    return TrialRecord(
        run_id=told.need("run_id", str),
        run_dir=told.need("run_dir", str),
        ended=told.word("ended", AgentEnd) or "done",
        score=float(told.need("score", float)),
        passed=told.need("passed", bool),
        exit_code=told.take("exit_code", int),
        limits_met=told.texts("limits_met"),
        phases=tuple(PhaseTime(**each) for each in told.take("phases", list) or []),
        steps=tuple(TrialStep(**each) for each in told.take("steps", list) or []),
        steps_left_out=told.take("steps_left_out", int) or 0,
        calls=told.take("calls", int),
        agent_used=Consumed(**(told.take("agent_used", dict) or {})),
        verifier_used=Consumed(**(told.take("verifier_used", dict) or {})),
        rubrics={key: RubricScore(**each) for key, each in (told.take("rubrics", dict) or {}).items()},
        tests={key: TestResult(**each) for key, each in (told.take("tests", dict) or {}).items()},
        custom_metrics=told.take("custom_metrics", dict) or {},
        diff_lines=told.take("diff_lines", int) or 0,
        sandbox=told.take("sandbox", str) or "",
        hashes=told.table("hashes", str) or {},
        notes=told.texts("notes"),
        tries=told.take("tries", int) or 1,
        verified=told.take("verified", int) or 1,
        final=told.take("final", str) or "",
        deadlines=told.take("deadlines", dict) or {},
        wire=_wire(told.object("wire")),
    )


def _wire(told: JsonObject | None) -> WireTotals | None:
    if told is None:
        return None
    return WireTotals(
        told.need("calls", int),
        Usage(**told.need("usage", dict)),
        Usage(**told.need("unused", dict)),
        told.take("cached_tokens", int),
        told.take("reasoning_tokens", int),
        told.take("retries", int) or 0,
        told.take("model_s", float, int) or 0.0,
        told.table("ended", int) or {},
        told.take("uncounted", int) or 0,
    )
