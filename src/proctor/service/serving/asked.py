"""Which model a cell asks: its own, or that of its agent."""

from __future__ import annotations

from dataclasses import replace

from proctor.types import Cell, Model


def asked_of(cell: Cell) -> Model:
    """Raises: ConfigError for an agent's model whose provider is not known."""
    if cell.agent is None:
        return cell.model
    from proctor.engine.agents.opening import model_of

    asked = model_of(cell.agent)
    return cell.model if asked is None else asked


def asking(cell: Cell, model: Model) -> Cell:
    """The cell, with its model's server where it is now."""
    if cell.agent is None:
        return replace(cell, model=model)
    return replace(cell, agent=replace(cell.agent, model=str(model), base_url=model.base_url))
