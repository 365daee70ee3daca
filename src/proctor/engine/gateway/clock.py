"""What a trial waited for its model's server, with several calls at once: it counts where none of them is served."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class CallsClock:
    """An agent's clock stands while a call waits for a place, or to be sent again, and no other is served."""

    clock: Callable[[], float] = time.monotonic
    _waited_s: float = 0.0
    _counted_to: float = 0.0  # what came before is counted already, or was served
    _waiting: int = 0
    _served: int = 0
    _since: float | None = field(default=None)  # it has stood

    def waited_s(self) -> float:
        """Seconds so far."""
        return self._waited_s + (0.0 if self._since is None else self.clock() - self._since)

    @contextmanager
    def standing(self) -> Iterator[None]:
        self._waiting += 1
        self._look()
        try:
            yield
        finally:
            self._waiting -= 1
            self._look()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """A request is at the server."""
        self._served += 1
        self._look()
        try:
            yield
        finally:
            self._served -= 1
            self._look()

    def in_vain(self, began: float) -> None:
        if self._served == 0:
            now = self.clock()
            self._waited_s += max(0.0, now - max(began, self._counted_to))
            self._counted_to = now

    def served(self) -> None:
        """A reply came: the time until now was of use."""
        self._counted_to = self.clock()

    def _look(self) -> None:
        now = self.clock()
        stands = self._waiting > 0 and self._served == 0
        if stands and self._since is None:
            self._since = now
        elif not stands and self._since is not None:
            self._waited_s += now - self._since
            self._since, self._counted_to = None, now
