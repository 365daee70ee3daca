"""Where the files of trials lie: below the PROCTOR_HOME of whoever works on or shows them, each machine its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate
from pathlib import Path, PurePath

from proctor.manifest import RolloutFacts
from proctor.references import RolloutsRef
from proctor.settings import Settings
from proctor.types import Run

RUNS = "runs"


def at_home(ref: RolloutsRef, settings: Settings) -> RolloutsRef:
    """The reference as this machine has it: what is kept says where the benchmark began, perhaps on another one."""
    return replace(ref, data=str(settings.home.absolute()))


def trial_folder(ref: RolloutsRef, settings: Settings, number: int) -> Path:
    """The folder of a trial on this machine, whether it is there or not."""
    return settings.home.absolute() / RUNS / f"{ref.stamp}-{number}"


def ids_of(run: Run, ref: RolloutsRef) -> tuple[str, ...]:
    """The ids of a run's tasks in its order; until they are opened, the names of their folders."""
    facts = run.manifest.facts
    if isinstance(facts, RolloutFacts) and len(facts.rollouts) == len(ref.tasks):
        return tuple(facts.rollouts)
    return tuple(PurePath(each.folder).name for each in ref.tasks)


def firsts_of(run: Run, ref: RolloutsRef) -> Mapping[str, int]:
    """The number of each task's first trial."""
    firsts = accumulate((entry.rollouts for entry in ref.tasks), initial=ref.first)
    return dict(zip(ids_of(run, ref), firsts, strict=False))
