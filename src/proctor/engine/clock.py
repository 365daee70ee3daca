"""An agent's time, which stands still while it waits through no fault of its own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Protocol


class StandingClock(Protocol):
    """Whoever waits for a model's server tells it what of the time was not the agent's."""

    def standing(self) -> AbstractContextManager[None]:
        """What passes in the block is not the agent's."""

    def in_vain(self, began: float) -> None:
        """A request that was sent at `began` (monotonic) came to nothing, through no fault of the agent."""


@dataclass(slots=True)
class WorkClock:
    """`seconds` are the agent's own; `deadline_s` is when it must have ended whatever it waited for, None: never."""

    seconds: float
    deadline_s: float | None = None
    waited_s: float = 0.0
    began: float = field(default_factory=time.monotonic)

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self.began

    @property
    def left_s(self) -> float:
        """What is left of the agent's own time; negative where it is over."""
        return self.seconds - (self.elapsed_s - self.waited_s)

    @property
    def rest_s(self) -> float | None:
        """What is left until the deadline; None: there is none."""
        return None if self.deadline_s is None else max(0.0, self.deadline_s - self.elapsed_s)

    @contextmanager
    def standing(self) -> Iterator[None]:
        """What passes in the block is not the agent's."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.waited_s += time.monotonic() - began

    def in_vain(self, began: float) -> None:
        self.waited_s += time.monotonic() - began
