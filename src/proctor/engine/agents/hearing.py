"""What is heard of an agent while it works: its steps, its tokens, how it ended; and values of other programs' logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proctor.engine.agents.steps import StepLog
from proctor.types import NOTHING_USED, Usage

Event = Mapping[str, object]  # a line of another program's log


@dataclass(slots=True)
class Heard:
    """What has been read so far. `fault` is an error of the agent's own, `model_fault` one of its model's server.

    `seen` are the ids of replies whose tokens are counted: some programs tell the same count twice.
    """

    log: StepLog = field(default_factory=StepLog)
    usage: Usage = NOTHING_USED
    calls: int | None = None
    final: str = ""
    fault: str | None = None
    model_fault: str | None = None
    overflow: str | None = None
    understood: int = 0
    seen: set[str] = field(default_factory=set)

    def count(self, usage: Usage, reply: object = None) -> None:
        if reply is not None:
            if str(reply) in self.seen:
                return
            self.seen.add(str(reply))
        self.usage += usage


def table(event: Event, key: str) -> Event:
    found = event.get(key)
    return found if isinstance(found, dict) else {}


def text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def count_of(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def count_at(event: Event, key: str) -> int | None:
    return count_of(event.get(key))


def listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()
