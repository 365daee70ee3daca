"""How a command's runs ended, all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from proctor.errors import ProctorError
from proctor.findings import Evaluation


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """How a command's runs ended: what they show, and the error or interruption that stopped them, if any."""

    evaluation: Evaluation | None
    unfinished: tuple[str, ...] = ()  # ids that `resume` takes
    error: ProctorError | None = None
    interrupted: bool = False
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # run id -> what is off, and the cure
