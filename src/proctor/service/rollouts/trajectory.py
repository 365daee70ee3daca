"""The trajectory of a trial: the calls of its agent to a model, in order, with what was said, run and came back.

It is read from the trial's folder, on the machine that ran it. Elsewhere, and of agents whose calls nobody keeps, the
steps of the record are all there is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from proctor.errors import DataError, NotFound
from proctor.interop.atif import ToldTrial, atif_document
from proctor.references import RolloutsRef
from proctor.replies.calls import KeptCall, kept_calls
from proctor.replies.spoken import tools_of
from proctor.replies.turns import Turn, turns_of
from proctor.replies.wire import totals_of
from proctor.service.context import Context
from proctor.service.rollouts import folders
from proctor.service.rollouts.benchmark import columns_of
from proctor.service.rollouts.trial import (
    FoundTrial,
    TrialName,
    find_trial,
    instruction_of,
    said_in,
    try_of,
)
from proctor.trial_record import TrialRecord, WireTotals, record_in
from proctor.types import Run

CALLS = ("logs", "calls.jsonl")


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What a trial's agent did. `turns` None: its calls are not kept, or not on this machine.

    `record` None: there is no verdict, or none yet. `wire` is what the calls come to so far. `began_at` is when the
    agent began, in Unix seconds; None: not known. `fault` says why the file of calls cannot be read to its end.
    """

    run_id: str
    label: str
    agent: str
    model: str | None
    instruction: str | None
    record: TrialRecord | None
    turns: Sequence[Turn] | None
    tools: Sequence[Mapping[str, Any]]
    wire: WireTotals | None
    began_at: float | None
    about: Mapping[str, Any]
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class OneCall:
    """One call with its bodies as indented JSON, or as the text that they are; `turn` is what it says."""

    turn: Turn
    request: str
    response: str
    before: int | None
    after: int | None


def trajectory_of(context: Context, name: TrialName, *, attempt: int | None = None) -> Trajectory:
    """The trajectory of a trial's last try, or of the one that is asked for. Raises: NotFound."""
    read = _read(context, name, attempt)
    found, kept, agent = read.found, read.kept, read.found.run.cell.agent
    return Trajectory(
        run_id=found.run_id,
        label=str(found.run.cell.model),
        agent=agent.name if agent else "",
        model=agent.model if agent else None,
        instruction=instruction_of(context, found.rows[0] if found.rows else None),
        record=read.record,
        turns=None if kept is None else turns_of(kept),
        tools=_tools(kept or ()),
        wire=None if kept is None else totals_of(kept),
        began_at=_began_at(context, found, read.record),
        about=_about(found, name),
        fault=read.fault,
    )


def atif_of(context: Context, name: TrialName, *, attempt: int | None = None) -> bytes:
    """The trajectory as an ATIF document, indented. Raises: NotFound."""
    told = trajectory_of(context, name, attempt=attempt)
    hashes: Mapping[str, str] = told.record.hashes if told.record else {}
    document = atif_document(
        ToldTrial(
            run_id=told.run_id,
            agent=told.agent,
            version=hashes.get("agent", "")[:12] or "unknown",
            model=told.model,
            instruction=told.instruction,
            record=told.record,
            turns=told.turns,
            tools=told.tools,
            wire=told.wire,
            began_at=told.began_at,
            about=told.about,
        )
    )
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def calls_of(context: Context, name: TrialName, *, attempt: int | None = None) -> Iterator[bytes]:
    """A line of JSON for each call, whole: request, response, usage, times. Raises: NotFound where none are kept."""
    read = _read(context, name, attempt)
    if read.kept is None:
        raise NotFound(f"Trial {read.found.run_id} has no calls on this machine")
    return (_line(each) for each in read.kept)


def one_call(context: Context, name: TrialName, number: int, *, attempt: int | None = None) -> OneCall:
    """Raises: NotFound."""
    read = _read(context, name, attempt)
    kept = {each.numbers.number: each for each in read.kept or ()}
    if number not in kept:
        raise NotFound(f"Trial {read.found.run_id} has no call {number} on this machine")
    return OneCall(
        next(each for each in turns_of(kept.values()) if each.call.number == number),
        _indented(kept[number].request),
        _indented(kept[number].response),
        max((each for each in kept if each < number), default=None),
        min((each for each in kept if each > number), default=None),
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """A try with the calls that its folder has; None: none."""

    found: FoundTrial
    record: TrialRecord | None
    kept: list[KeptCall] | None
    fault: str | None = None


def _read(context: Context, name: TrialName, attempt: int | None) -> _Read:
    found = find_trial(context, name)
    record = record_in(said_in(context, found.run, try_of(found, attempt)))
    place = _place(context, found, attempt, record)
    body = folders.read(context.settings.home, found.run_id, place) if found.here else None
    if body is None:
        return _Read(found, record, None)
    kept: list[KeptCall] = []
    try:
        for call in kept_calls(body.splitlines(keepends=True)):
            kept.append(call)
    except DataError as error:
        return _Read(found, record, kept, str(error))
    return _Read(found, record, kept)


def _line(kept: KeptCall) -> bytes:
    told = asdict(kept.numbers)
    bodies = {"request": _json(kept.request), "response": _json(kept.response)}
    return orjson.dumps({**told, **bodies}) + b"\n"


def _json(body: Any) -> Any:
    """A body as a value of JSON: what is no object, as its text."""
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else body


def _indented(body: Any) -> str:
    if isinstance(body, bytes):
        return body.decode("utf-8", "replace")
    return "" if body is None else orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()


def _place(
    context: Context, found: FoundTrial, attempt: int | None, record: TrialRecord | None
) -> Sequence[str]:
    """Where a try's calls are: in the trial's folder, or with what earlier tries left in it."""
    if attempt is None:
        return CALLS
    number = record.tries if record else attempt + 1
    if folders.try_number(context.settings.home, found.run_id) in (None, number):
        return CALLS
    return ("attempts", str(number - 1), *CALLS)


def _began_at(context: Context, found: FoundTrial, record: TrialRecord | None) -> float | None:
    if record is not None:
        return next((each.began_at for each in record.phases if each.name == "agent"), None)
    live = folders.live_phase(context.settings.home, found.run_id) if found.here else None
    return live.since if live is not None and live.phase == "agent" else None


def _tools(kept: Sequence[KeptCall]) -> Sequence[Mapping[str, Any]]:
    """The tools that the agent offered its model first; a later call may offer others."""
    found = (tools_of(each.request) for each in kept if isinstance(each.request, dict))
    return next(filter(None, found), [])


def _about(found: FoundTrial, name: TrialName) -> Mapping[str, Any]:
    ref, run = found.run.cell.source, found.run
    benchmark = ref.name if isinstance(ref, RolloutsRef) else ""
    return {
        "benchmark": benchmark,
        "benchmark_id": found.plan,
        "job_id": run.id,
        "label": str(run.cell.model),
        "task": name.task,
        "task_sha256": _hash_of(run, name.task),
        "rollout": name.rollout,
    }


def _hash_of(run: Run, task: str) -> str | None:
    return next((each.sha256 for each in columns_of(run) if each.id == task), None)
