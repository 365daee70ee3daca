"""A trajectory as lines of text, for terminals: what was said, run and came back, call by call. Long texts are cut."""

from __future__ import annotations

from collections.abc import Iterator

from proctor import figures
from proctor.engine.agents.steps import in_bounds
from proctor.printable import printable
from proctor.replies.spoken import ToolUse
from proctor.replies.turns import Turn
from proctor.service.rollouts.trajectory import Trajectory
from proctor.trial_record import AgentCall, TrialStep, WireTotals
from proctor.types import Usage

SHOWN = 3_000  # characters of one text


def text_of(told: Trajectory) -> str:
    """The whole trajectory; what an agent or a model wrote has no character that moves a cursor."""
    return "\n".join(map(printable, _lines(told))) + "\n"


def _lines(told: Trajectory) -> Iterator[str]:
    yield f"Trial {told.run_id}: {told.about.get('task')} by {told.label}"
    if told.wire is not None:
        yield totals_told(told.wire, told.record.tools_s if told.record else None)
    if told.turns is None:
        yield "Its calls are not kept on this machine: these are the steps that its log tells."
        yield from _steps(told)
    for turn in told.turns or ():
        yield from _turn(turn)
    if told.fault:
        yield f"What follows cannot be read: {told.fault}"
    if told.record is not None:
        record = told.record
        yield ""
        yield f"{'passed' if record.passed else 'failed'} with {record.score:.1%}; the agent ended: {record.ended}"
        yield from (f"limit met: {each}" for each in record.limits_met)


def totals_told(wire: WireTotals, tools_s: float | None) -> str:
    """What the calls come to, in one line.

    >>> totals_told(WireTotals(2, Usage(1200, 30), cached_tokens=900, retries=1, model_s=2.5), 4.0)
    '2 calls: 1,200 tokens in (900 of them cached), 30 out, 1 sent again; 2.5 s in the model, 4 s besides'
    """
    parts = [_tokens(wire.usage, wire.cached_tokens)]
    parts += [f"{wire.retries:,} sent again"] if wire.retries else []
    parts += [f"{count:,} {how}" for how, count in wire.ended.items()]
    if spent := (wire.unused.input_tokens or 0) + (wire.unused.output_tokens or 0):
        parts.append(f"{spent:,} tokens of no use")
    besides = "" if tools_s is None else f", {figures.duration(tools_s)} besides"
    calls = f"{wire.calls:,} call{'' if wire.calls == 1 else 's'}"
    return (
        f"{calls}: {', '.join(filter(None, parts))}; {figures.duration(wire.model_s)} in the model{besides}"
    )


def _tokens(usage: Usage, cached: int | None) -> str:
    if usage.input_tokens is None and usage.output_tokens is None:
        return "tokens not told"
    parts = [] if usage.input_tokens is None else [f"{usage.input_tokens:,} tokens in"]
    if parts and cached:
        parts[0] += f" ({cached:,} of them cached)"
    parts += [] if usage.output_tokens is None else [f"{usage.output_tokens:,} out"]
    parts += [] if usage.cost_usd is None else [figures.dollars(usage.cost_usd)]
    return ", ".join(parts)


def _turn(turn: Turn) -> Iterator[str]:
    for entry in turn.told:
        yield ""
        yield f"[{entry.source}] {_cut(entry.text)}"
    yield ""
    yield f"--- call {turn.call.number + 1} {_call_told(turn.call, turn.said.cached_tokens)}"
    if turn.said.reasoning:
        yield f"(thought) {_cut(turn.said.reasoning)}"
    if turn.said.text:
        yield _cut(turn.said.text)
    if turn.call.ended != "answered":
        yield f"[{turn.call.ended}, status {turn.call.status}] {turn.call.note or turn.said.error}"
    for tool in turn.said.tools:
        yield from _tool(tool)


def _call_told(call: AgentCall, cached: int | None) -> str:
    parts = [f"at {figures.duration(call.at)}"]
    parts += [] if call.seconds is None else [f"{figures.duration(call.seconds)}"]
    parts.append(_tokens(call.usage, cached))
    parts += [f"sent {call.retries + 1} times"] if call.retries else []
    return ", ".join(parts)


def _tool(tool: ToolUse) -> Iterator[str]:
    yield f"$ {_cut(tool.ran)}"
    if tool.output:
        yield from (f"  {line}" for line in _cut(tool.output).splitlines())
    if tool.exit_code is not None:
        yield f"  [exit code {tool.exit_code}]"


def _steps(told: Trajectory) -> Iterator[str]:
    if told.instruction:
        yield ""
        yield f"[user] {_cut(told.instruction)}"
    for step in told.record.steps if told.record else ():
        yield from _step(step)
    if told.record and told.record.final:
        yield ""
        yield f"Its last words: {_cut(told.record.final)}"


def _step(step: TrialStep) -> Iterator[str]:
    yield ""
    yield f"--- at {figures.duration(step.at)}"
    if step.said:
        yield _cut(step.said)
    if step.ran:
        yield from _tool(ToolUse(step.ran, output=step.output, exit_code=step.exit_code))


def _cut(text: str) -> str:
    return in_bounds(text.rstrip(), SHOWN)
