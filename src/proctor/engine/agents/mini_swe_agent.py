"""The trajectory of mini-swe-agent, which is printed as one line of JSON when it ends (format mini-swe-agent-1.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.engine.agents.hearing import Event, Heard, count_at, listed, table, text
from proctor.trial_record import TrialStep
from proctor.types import Usage

FORMAT = "trajectory_format"
DONE = ("Submitted", "")
# Of its own: it kept no format, or met a limit of its settings. What else ends it is its model's server.
OWN_FAULTS = ("RepeatedFormatError", "LimitsExceeded", "TimeExceeded", "UserInterruption")


def read_mini_swe_agent(heard: Heard, event: Event, at: float) -> None:
    """Its steps are the commands of its messages; each is answered by the message with the id of its call."""
    if FORMAT not in event:
        return
    heard.understood += 1
    messages = [each for each in listed(event.get("messages")) if isinstance(each, dict)]
    answers = {text(each.get("tool_call_id")): each for each in messages if each.get("tool_call_id")}
    for message in messages:
        if message.get("role") == "assistant":
            _said(heard, message, answers, at)
    _ended(heard, table(event, "info"), messages)


def _said(heard: Heard, message: Event, answers: Mapping[str, Event], at: float) -> None:
    extra, words = table(message, "extra"), text(message.get("content"))
    response = table(extra, "response")
    usage = table(response, "usage")
    sent, received = count_at(usage, "prompt_tokens"), count_at(usage, "completion_tokens")
    heard.count(Usage(sent, received), response.get("id"))
    heard.final = words or heard.final
    actions = [each for each in listed(extra.get("actions")) if isinstance(each, dict)]
    for number, action in enumerate(actions):
        told = table(answers.get(text(action.get("tool_call_id")), {}), "extra")
        output, code = text(told.get("raw_output")), count_at(told, "returncode")
        heard.log.add(TrialStep(at, words if not number else "", text(action.get("command")), output, code))
    if not actions:
        heard.log.add(TrialStep(at, words))


def _ended(heard: Heard, info: Event, messages: Sequence[Event]) -> None:
    heard.calls = count_at(table(info, "model_stats"), "api_calls")
    heard.final = text(info.get("submission")) or heard.final
    status = text(info.get("exit_status"))
    if status in DONE:
        return
    last = table(messages[-1], "extra") if messages else {}
    told = f"{status}: {text(last.get('exception_str'))}".removesuffix(": ")
    if status == "ContextWindowExceededError":
        heard.overflow = told
    elif status in OWN_FAULTS:
        heard.fault = told
    else:
        heard.model_fault = told
