"""Readers of what command-line agents print: steps, tokens, and how it ended, a line at a time as it comes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from proctor.engine.agents.hearing import Event, Heard, count_of, table, text
from proctor.engine.agents.mini_swe_agent import read_mini_swe_agent
from proctor.errors import ConfigError
from proctor.trial_record import TrialStep
from proctor.types import Usage

FIELDS = (
    *("said", "ran", "output", "exit_code", "input_tokens", "output_tokens", "cost_usd"),
    *("id", "final", "error", "model_error"),
)


Reader = Callable[[Heard, Event, float], None]


@dataclass(slots=True)
class LogReading:
    """A log on its way: `take` is given bytes as they come, and reads every whole line that holds a JSON object.

    What else is printed between them is left alone: programs warn where they like.
    """

    reader: Reader | None
    heard: Heard = field(default_factory=Heard)
    _rest: bytes = b""

    def take(self, piece: bytes, at: float, *, last: bool = False) -> None:
        if self.reader is None:
            return
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if last:
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            try:
                event = orjson.loads(line) if line.lstrip().startswith(b"{") else None
            except orjson.JSONDecodeError:
                continue
            if isinstance(event, dict):
                self.reader(self.heard, event, at)


def read_codex(heard: Heard, event: Event, at: float) -> None:
    """An event of `codex exec --json`. Cached tokens are part of its input tokens, and reasoning of its output.

    An item of the type `error` is a warning. A turn fails where its model's server does, but for a full context.
    """
    kind = event.get("type")
    if kind == "item.completed" and (item := table(event, "item")):
        _codex_item(heard, item, at)
    elif kind == "turn.completed":
        usage = table(event, "usage")
        counts = Usage(count_of(usage.get("input_tokens")), count_of(usage.get("output_tokens")))
        heard.count(counts, event.get("response_id"))
        heard.model_fault = None  # what was wrong before has been got over
    elif kind == "turn.failed":
        said = text(table(event, "error").get("message")) or "its turn failed without a word"
        if "context window" in said or "context_length_exceeded" in said:
            heard.overflow = said
        else:
            heard.model_fault = said
    elif kind not in ("thread.started", "turn.started", "item.started", "item.updated", "error"):
        return
    heard.understood += 1


def _codex_item(heard: Heard, item: Event, at: float) -> None:
    kind = item.get("type")
    if kind == "command_execution":
        code = count_of(item.get("exit_code"))
        output = text(item.get("aggregated_output"))
        heard.log.add(TrialStep(at, ran=text(item.get("command")), output=output, exit_code=code))
    elif kind == "file_change":
        changes = item.get("changes")
        told = [each for each in changes if isinstance(each, dict)] if isinstance(changes, list) else []
        lines = [f"{text(each.get('kind'))} {text(each.get('path'))}" for each in told]
        heard.log.add(TrialStep(at, ran="\n".join(lines)))
    elif kind in ("reasoning", "agent_message"):
        words = text(item.get("text"))
        heard.log.add(TrialStep(at, said=words))
        heard.final = words if kind == "agent_message" else heard.final
    elif kind == "error":
        heard.log.add(TrialStep(at, said=f"warning: {text(item.get('message'))}"))


def jsonl_reader(fields: Mapping[str, str]) -> Reader:
    """A reader of JSON lines in which `fields` says where what stands: "said" -> "message.text"."""
    paths = {name: path.split(".") for name, path in fields.items()}

    def read(heard: Heard, event: Event, at: float) -> None:
        found = {name: value for name, path in paths.items() if (value := _at(event, path)) is not None}
        if not found:
            return
        heard.understood += 1
        if found.keys() & {"said", "ran", "output"}:
            said, ran, output = (text(found.get(name)) for name in ("said", "ran", "output"))
            heard.log.add(TrialStep(at, said, ran, output, count_of(found.get("exit_code"))))
        if found.keys() & {"input_tokens", "output_tokens", "cost_usd"}:
            sent, received = count_of(found.get("input_tokens")), count_of(found.get("output_tokens"))
            heard.count(Usage(sent, received, _number(found.get("cost_usd"))), found.get("id"))
        heard.final = text(found.get("final")) or heard.final
        heard.fault = text(found.get("error")) or heard.fault
        heard.model_fault = text(found.get("model_error")) or heard.model_fault

    return read


WRITTEN: Mapping[str, Reader] = {"codex": read_codex, "mini-swe-agent": read_mini_swe_agent}
READERS = ("none", "jsonl", *WRITTEN)


def reader_of(name: str | None, fields: Mapping[str, str], agent: str) -> Reader | None:
    """Raises: ConfigError for a reader or a field that there is not."""
    if name not in (None, *READERS):
        raise ConfigError(f"agent {agent}: no log reader {name!r}; there are {', '.join(READERS)}")
    if bool(fields) != (name == "jsonl"):
        raise ConfigError(f'agent {agent}: log = "jsonl" goes with log_fields, which say where what stands')
    if unknown := sorted(fields.keys() - set(FIELDS)):
        raise ConfigError(f"agent {agent}: log_fields knows no {unknown[0]!r}; it knows {', '.join(FIELDS)}")
    return jsonl_reader(fields) if name == "jsonl" else WRITTEN.get(name or "none")


def _at(event: Event, path: Sequence[str]) -> object:
    """What stands at a path of keys; None where nothing does."""
    place: object = event
    for key in path:
        place = place.get(key) if isinstance(place, dict) else None
    return place


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
