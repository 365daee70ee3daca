"""The steps of an agent, as many and as long as a record may have; and texts that are cut in their middle."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace

from proctor.trial_record import MOST_STEPS, STEP_CHARACTERS, TrialStep

FIRST = MOST_STEPS // 2


def in_bounds(text: str, most: int = STEP_CHARACTERS) -> str:
    """The text, or its beginning and end with a word on how much is left out between them.

    >>> in_bounds("a" * 50 + "b" * 50, 60)
    'aaaaaaaaaa\\n[... 80 characters left out ...]\\nbbbbbbbbbb'
    """
    if len(text) <= most:
        return text
    kept = max(0, most - 40) // 2
    said = f"\n[... {len(text) - 2 * kept:,} characters left out ...]\n"
    return f"{text[:kept]}{said}{text[len(text) - kept :]}"


@dataclass(slots=True)
class StepLog:
    """The first half of what a record may have, and the last half; what stands between them is counted."""

    left_out: int = 0
    _first: list[TrialStep] = field(default_factory=list)
    _last: deque[TrialStep] = field(default_factory=deque)

    def add(self, step: TrialStep) -> None:
        cut = replace(step, said=in_bounds(step.said), ran=in_bounds(step.ran), output=in_bounds(step.output))
        if len(self._first) < FIRST:
            self._first.append(cut)
            return
        if len(self._last) == MOST_STEPS - FIRST:
            self._last.popleft()
            self.left_out += 1
        self._last.append(cut)

    @property
    def steps(self) -> tuple[TrialStep, ...]:
        return (*self._first, *self._last)
