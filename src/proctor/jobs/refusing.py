"""Which waiting runs a worker leaves to others, because it lacks what they need; asked again every ten seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from proctor.errors import NotFound
from proctor.store import Store
from proctor.types import Run

AGAIN_S = 10.0
MOST = 100  # waiting runs that are looked at before their turn
BUDGET_S = 1.0  # for looking at them: a worker has more to do


@dataclass(slots=True)
class Refusals:
    """What this worker lacks, by run. `lacking` says of a run what it is, None where nothing is."""

    store: Store
    lacking: Callable[[Run], str | None]
    _known: dict[str, tuple[float, str | None]] = field(default_factory=dict)

    def may_take(self, run_id: str) -> bool:
        """Whether this worker can do the run, by what was found in the last seconds. Raises: StoreError."""
        return self._why(run_id) is None

    def look(self, waiting: Sequence[str]) -> Mapping[str, str]:
        """What this worker lacks for the runs that wait, by their ids. Raises: StoreError."""
        began, asked = time.monotonic(), set(waiting)
        self._known = {
            run_id: known
            for run_id, known in self._known.items()
            if run_id in asked or began - known[0] < AGAIN_S
        }
        for run_id in waiting[:MOST]:
            self._why(run_id)
            if time.monotonic() - began > BUDGET_S:
                break
        return {
            run_id: why for run_id, (_, why) in self._known.items() if why is not None and run_id in asked
        }

    def _why(self, run_id: str) -> str | None:
        now = time.monotonic()
        looked, why = self._known.get(run_id, (None, None))
        if looked is None or now - looked >= AGAIN_S:
            try:
                why = self.lacking(self.store.run(run_id))
            except NotFound:
                why = None  # deleted meanwhile: nothing will be taken
            self._known[run_id] = time.monotonic(), why
        return why
