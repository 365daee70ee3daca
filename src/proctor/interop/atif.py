"""A trial as an ATIF document, version 1.8: the Agent Trajectory Interchange Format of the Harbor project.

Each turn is a step of the agent with what it ran, what came back and what its call took; what it was told stands before
it. What the format has no word for stands in `extra`. Of trials without calls the steps of the record are told.
Source: https://github.com/harbor-framework/harbor/blob/main/rfcs/0001-trajectory-format.md
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from proctor.replies.spoken import ToolUse
from proctor.replies.turns import Turn
from proctor.trial_record import TrialRecord, TrialStep, WireTotals
from proctor.types import NOTHING_USED, Usage

SCHEMA = "ATIF-v1.8"
Step = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToldTrial:
    """What a document says of a trial beside its turns. `began_at` is when the agent began, in Unix seconds.

    `turns` None: the agent's calls are not kept. `record` None: there is no verdict, or none yet. `about` is what only
    we have words for.
    """

    run_id: str
    agent: str
    version: str
    model: str | None
    instruction: str | None
    record: TrialRecord | None
    turns: Sequence[Turn] | None
    tools: Sequence[Mapping[str, Any]] = ()
    wire: WireTotals | None = None
    began_at: float | None = None
    about: Mapping[str, Any] | None = None


def atif_document(told: ToldTrial) -> dict[str, Any]:
    """The document, without the fields that hold nothing."""
    steps = list(_of_turns(told) if told.turns is not None else _of_record(told))
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    record = told.record
    notes = [] if record is None else [*record.limits_met, *record.notes]
    if told.turns is None:
        notes.append("The calls of the agent to a model are not kept: steps are what its log tells.")
    return _filled(
        schema_version=SCHEMA,
        session_id=told.run_id,
        trajectory_id=told.run_id,
        agent=_filled(
            name=told.agent,
            version=told.version,
            model_name=told.model,
            tool_definitions=[dict(each) for each in told.tools] or None,
        ),
        steps=numbered,
        notes="\n".join(notes) or None,
        final_metrics=_final(told, len(numbered)),
        extra={"proctor": {**(told.about or {}), **_verdict(record)}},
    )


def _of_turns(told: ToldTrial) -> Iterator[Step]:
    for turn in told.turns or ():
        when = _stamp(told.began_at, turn.call.at)
        for entry in turn.told:
            yield _filled(timestamp=when, source=entry.source, message=entry.text)
        yield _of_turn(turn, _stamp(told.began_at, turn.call.at + (turn.call.seconds or 0.0)))


def _of_turn(turn: Turn, when: str | None) -> Step:
    call, said = turn.call, turn.said
    named = [(_id(call.number, place, tool), tool) for place, tool in enumerate(said.tools)]
    asked = call.ended != "refused"  # which is not sent on to a model
    return _filled(
        timestamp=when,
        source="agent",
        model_name=said.model,
        message=said.text,
        reasoning_content=said.reasoning or None if asked else None,
        tool_calls=[_tool_call(ident, tool) for ident, tool in named if tool.name] or None,
        observation=_observation(named),
        metrics=_metrics(turn) if asked else None,
        llm_call_count=int(asked),
        extra=_filled(
            call=call.number,
            path=call.path,
            status=call.status,
            ended=call.ended,
            seconds=call.seconds,
            first_token_s=call.first_token_s,
            retries=call.retries,
            note=call.note or None,
            error=said.error or None,
            response_id=call.response_id,
            conversation=turn.conversation,
            unused=_used(call.unused) or None,
        ),
    )


def _id(number: int, place: int, tool: ToolUse) -> str:
    return tool.call_id or f"call-{number}-{place}"


def _tool_call(ident: str, tool: ToolUse) -> Step:
    return {"tool_call_id": ident, "function_name": tool.name, "arguments": dict(tool.arguments)}


def _observation(named: Sequence[tuple[str, ToolUse]]) -> Step | None:
    """What came back; of a command that no tool was called for, by no id."""
    results = [
        _filled(
            source_call_id=ident if tool.name else None,
            content=tool.output,
            extra=None if tool.exit_code is None else {"exit_code": tool.exit_code},
        )
        for ident, tool in named
        if tool.output is not None
    ]
    return {"results": results} if results else None


def _metrics(turn: Turn) -> Step | None:
    usage, said = turn.call.usage, turn.said
    extra = _filled(reasoning_tokens=said.reasoning_tokens, counted=None if turn.call.counted else False)
    found = _filled(
        prompt_tokens=usage.input_tokens,
        completion_tokens=usage.output_tokens,
        cached_tokens=said.cached_tokens,
        cost_usd=usage.cost_usd,
        extra=extra or None,
    )
    return found or None


def _of_record(told: ToldTrial) -> Iterator[Step]:
    """Steps as a log told them: what was run stands as the call of a tool `run`, which is no word of the agent's."""
    if told.instruction is not None:
        when = _stamp(told.began_at, 0.0)
        yield _filled(timestamp=when, source="user", message=told.instruction)
    record = told.record
    for number, step in enumerate(record.steps if record else ()):
        yield _of_step(step, f"step-{number}", _stamp(told.began_at, step.at))
    if record and not record.steps and record.final:
        yield {"source": "agent", "message": record.final}


def _of_step(step: TrialStep, ident: str, when: str | None) -> Step:
    extra = None if step.exit_code is None else {"exit_code": step.exit_code}
    ran = {"tool_call_id": ident, "function_name": "run", "arguments": {"command": step.ran}}
    result = _filled(source_call_id=ident if step.ran else None, content=step.output, extra=extra)
    return _filled(
        timestamp=when,
        source="agent",
        message=step.said,
        tool_calls=[ran] if step.ran else None,
        observation={"results": [result]} if step.ran or step.output else None,
    )


def _final(told: ToldTrial, steps: int) -> Step:
    wire, record = told.wire, told.record
    usage = NOTHING_USED if wire is None else wire.usage
    return _filled(
        total_prompt_tokens=usage.input_tokens,
        total_completion_tokens=usage.output_tokens,
        total_cached_tokens=None if wire is None else wire.cached_tokens,
        total_cost_usd=usage.cost_usd,
        total_steps=steps,
        extra=None if wire is None else _wire(wire, None if record is None else record.tools_s),
    )


def _wire(wire: WireTotals, tools_s: float | None) -> Step:
    return _filled(
        calls=wire.calls,
        retries=wire.retries,
        reasoning_tokens=wire.reasoning_tokens,
        unused=_used(wire.unused) or None,
        not_answered=dict(wire.ended) or None,
        uncounted_calls=wire.uncounted or None,
        model_seconds=wire.model_s,
        tools_seconds=tools_s,
    )


def _verdict(record: TrialRecord | None) -> Step:
    if record is None:
        return {}
    return {
        "score": record.score,
        "passed": record.passed,
        "ended": record.ended,
        "limits_met": list(record.limits_met),
        "rubrics": {name: each.score for name, each in record.rubrics.items()},
        "tests": {name: each.passed for name, each in record.tests.items()},
        "seconds": {each.name: each.seconds for each in record.phases},
        "steps_left_out": record.steps_left_out,
        "hashes": dict(record.hashes),
    }


def _used(usage: Usage) -> Step:
    return _filled(**asdict(usage))


def _stamp(began_at: float | None, at: float) -> str | None:
    if began_at is None:
        return None
    return (
        datetime.fromtimestamp(began_at + at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def _filled(**fields: Any) -> Step:
    """The fields that hold something: the format tells what is unknown by leaving it out."""
    return {name: value for name, value in fields.items() if value is not None}
