"""A kept patch verified again, in clean boxes as in its trial. No agent is asked; the trial's own files stay."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from proctor.engine.agents.own import NullAgent
from proctor.engine.trials.baseline import Baselines
from proctor.engine.trials.trial import Trial
from proctor.engine.trials.verifying import PatchVerdict
from proctor.references import RolloutsRef
from proctor.sandbox.contract import Sandbox
from proctor.sources.rollouts.source import RolloutsSource


@dataclass(frozen=True, slots=True)
class AgainVerifier:
    """Verifies patches of the tasks of a benchmark."""

    ref: RolloutsRef
    source: RolloutsSource
    sandbox: Sandbox
    baselines: Baselines = field(default_factory=Baselines)

    async def verdict(self, task_id: str, rollout: int, patch: bytes, log: Path) -> PatchVerdict:
        """What the task's tests say of this patch now; they print into `log`.

        Raises: VerifierError, SandboxError, DiskFull; KeyError for a task that the benchmark does not have.
        """
        task, entry = self.source.by_id[task_id]
        trial = Trial(self.ref, task, entry, rollout, log.parent, self.sandbox, NullAgent(), self.baselines)
        cache = Path(self.ref.data, "cache")
        with tempfile.TemporaryDirectory(prefix="again-", dir=cache) as private:
            return await trial.verdict(patch, None, Path(private), trial.deadlines.verifier_s, log)
