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

PhaseName = Literal["prepare", "agent", "collect", "verify", "score"]
PHASES: tuple[PhaseName, ...] = ("prepare", "agent", "collect", "verify", "score")
# How the agent's own work ended: by itself, with an error of its own, or at a limit. All three are scored.
AgentEnd = Literal["done", "failed", "limit"]
MOST_STEPS = 500
STEP_CHARACTERS = 4_000
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

    `why` tells a failure that is not the script's own verdict: its time was up, or it ended before its end.
    """

    passed: bool
    output: str = ""
    rubric: str | None = None
    seconds: float | None = None
    exit_code: int | None = None
    why: Literal["", "timeout", "unfinished"] = ""


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
    )
