"""What can be asked until it is decided, and which runs go on together."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.errors import ConfigError
from proctor.protocols import Source
from proctor.service.deciding import decision_of
from proctor.service.rows.marks import shape_of
from proctor.stats.sequential.measure import measure_of
from proctor.store import Store
from proctor.types import Plan, Run


def check_decidable(plan: Plan, sources: Sequence[Source]) -> None:
    """Raises ConfigError where the score that a verdict is about is no mean over items."""
    source = sources[0]
    if not plan.cells[0].limits.until_decided:
        return
    found = measure_of(shape_of(source.facts, source.title), source.facts.asked)
    if isinstance(found, str):
        raise ConfigError(f"--until-decided does not go with {source.title}: {found}")


def going_on_together(store: Store, runs: Sequence[Run], workers: int) -> tuple[list[Run], list[Run]]:
    """All runs of the plan of runs that are asked until it is decided, and those of them that are still to be asked.

    Raises: ConfigError for runs of several plans, and for helpers; StoreError.
    """
    plans = list(dict.fromkeys(run.plan_id for run in runs))
    if len(plans) > 1:
        raise ConfigError(
            f"Runs that are asked until it is decided go on with the others of their plan, and with no others: "
            f"give one plan, such as `proctor resume {plans[0][:8]}`"
        )
    if workers > 1:
        raise ConfigError("Runs that are asked until it is decided go on in one process: leave --workers out")
    together = store.plan_runs(plans[0])
    finished = decision_of(store, together).finished
    return together, [
        run for run in together if run.id not in finished and (run.partial or run.finished_at is None)
    ]
