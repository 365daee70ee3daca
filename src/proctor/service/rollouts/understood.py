"""How the tasks of a benchmark were understood: what overrides change, which rubrics do not count, what is built."""

from __future__ import annotations

from proctor.references import RolloutsRef
from proctor.settings import Settings
from proctor.sources.rollouts.source import remarks, tasks_of
from proctor.types import Plan


def understood(plan: Plan, settings: Settings) -> tuple[str, ...]:
    """Sentences for a person, each task's once, before anything is spent. Raises: DataError."""
    found: dict[str, None] = {}
    for cell in plan.cells:
        if isinstance(cell.source, RolloutsRef):
            tasks = tasks_of(cell.source, settings.home)
            found.update(dict.fromkeys(remarks(tasks, cell.source)))
    return tuple(found)
