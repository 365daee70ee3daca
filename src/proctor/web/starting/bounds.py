"""What a benchmark of tasks may take at the most, before it is begun: trials, tokens, dollars, hours."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.references import RolloutsRef
from proctor.types import Cell, Plan


@dataclass(frozen=True, slots=True)
class RolloutsBounds:
    """Of all trials together, at the most. None: not bounded. `asking` trials ask a model; `rows` say who works."""

    trials: int
    asking: int
    tasks: int
    rows: tuple[str, ...]
    tokens: int | None
    cost_usd: float | None
    seconds: float


def forecast_of(plan: Plan) -> RolloutsBounds:
    """The bounds that follow from the limits of each trial; what it will really take is mostly far less."""
    trials = [(cell, _trials(cell)) for cell in plan.cells]
    asking = [(cell, n) for cell, n in trials if cell.agent is not None and cell.agent.model is not None]
    tokens = [(_ref(cell).limits.max_tokens, n) for cell, n in asking]
    costs = [(_ref(cell).limits.max_cost_usd, n) for cell, n in asking]
    return RolloutsBounds(
        sum(n for _, n in trials),
        sum(n for _, n in asking),
        len({entry.folder for cell in plan.cells for entry in _ref(cell).tasks}),
        tuple(str(cell.model) for cell in plan.cells),
        None if any(most is None for most, _ in tokens) else sum((most or 0) * n for most, n in tokens),
        None if any(most is None for most, _ in costs) else sum((most or 0) * n for most, n in costs),
        # Rows are done one after the other, the trials of each so many at once.
        sum(-(-n // (cell.limits.parallel or 1)) * _ref(cell).limits.trial_s for cell, n in trials),
    )


def _ref(cell: Cell) -> RolloutsRef:
    assert isinstance(cell.source, RolloutsRef)
    return cell.source


def _trials(cell: Cell) -> int:
    return sum(entry.rollouts for entry in _ref(cell).tasks)
