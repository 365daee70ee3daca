"""What a trial's phases may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proctor.references import TrialLimits
from proctor.sources.rollouts.task import PreparedTask

PREPARE_S, COLLECT_S = 120.0, 120.0
GRACE_S = 10.0  # agents end by themselves at their deadline; this much later they are stopped from outside


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Seconds of the agent, of all test scripts, and of the whole trial.

    The verifier's time is set aside: no agent can use it up, and so none can escape its verdict.
    """

    agent_s: float
    verifier_s: float
    trial_s: float

    @classmethod
    def of(cls, limits: TrialLimits, task: PreparedTask) -> Deadlines:
        """`limits` are the trial's own; a verifier's time of the task's own makes the whole trial's longer."""
        verifier_s = task.verifier_timeout_s or limits.verifier_s
        trial_s = limits.trial_s + max(0.0, verifier_s - limits.verifier_s)
        return cls(limits.agent_s, verifier_s, trial_s)

    @property
    def reserved_s(self) -> float:
        return min(self.verifier_s, self.trial_s / 2)

    def of_agent(self, spent_s: float) -> float:
        """What is left for the agent when so much of the trial's time is gone."""
        return max(1.0, self.trial_s - self.reserved_s - spent_s)

    def of_verifier(self, spent_s: float) -> float:
        return min(self.verifier_s, max(self.reserved_s, self.trial_s - spent_s))

    @property
    def told(self) -> Mapping[str, float]:
        """By phase."""
        agent_s, verifier_s = self.agent_s, self.verifier_s
        phases = {"prepare": PREPARE_S, "agent": agent_s, "collect": COLLECT_S, "verify": verifier_s}
        return {**phases, "trial": self.trial_s}
