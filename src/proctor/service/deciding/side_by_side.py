"""The decision between runs of one plan, for whoever compares some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from proctor.errors import ConfigError
from proctor.findings.looks import Decision, Path
from proctor.service.deciding.decider import decision_of
from proctor.service.rows.marks import Kept
from proctor.store import Store
from proctor.types import Run

Paths = Mapping[tuple[str, str], Path]


def plan_of(runs: Sequence[Run], store: Store | None = None) -> Sequence[Run]:
    """The runs that were asked side by side with these; none where these were not, or are of several plans.

    Without a `store` they are all that is known of their plan.
    """
    if len({run.plan_id for run in runs}) > 1 or not all(run.cell.limits.until_decided for run in runs):
        return ()
    return runs if store is None else [r for r in store.plan_runs(runs[0].plan_id) if r.manifest.opened]


def decided(kept: Kept, plan: Sequence[Run]) -> Decision | None:
    """What is decided between the runs of a plan, by their kept rows; None where nothing was to be."""
    try:
        return decision_of(kept, plan) if len(plan) > 1 else None
    except ConfigError:  # asked by a version that could follow what this one cannot
        return None


def side_by_side(kept: Kept, runs: Sequence[Run], store: Store | None = None) -> Decision | None:
    """What is decided in the plan of these runs; None where they were not asked side by side. See `plan_of`."""
    return decided(kept if store is None else store, plan_of(runs, store))


def both_ways(of: Decision | None) -> Paths:
    """The paths of a decision, each pair by both orders of its runs."""
    if of is None:
        return {}
    return {**of.paths, **{(other, one): turned(path) for (one, other), path in of.paths.items()}}


def turned(path: Path) -> Path:
    """The same, second minus first."""
    return replace(path, points=tuple(replace(point, walk=-point.walk) for point in path.points))
