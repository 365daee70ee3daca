"""Progress on standard error: a live line in a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self, TextIO

from proctor.figures import amount, besides, dollars, duration, share
from proctor.service.runs.progress import Progress
from proctor.service.runs.waits import words

PLAIN_EVERY_S = 10.0
BAR_WIDTH = 24


def describe(p: Progress) -> str:
    """One line about a run under way."""
    parts = [
        f"{p.run.cell.model}: {p.done:,}/{p.total:,} ({share(p.done / p.total if p.total else None)})",
        f"{p.items_per_s:.1f} req/s",
        f"{amount(p.tokens_per_s)} tok/s" if p.tokens_per_s else "",
        f"{p.in_flight} in flight",
        f"errors: {', '.join(f'{slug} {n}' for slug, n in sorted(p.errors.items()))}" if p.errors else "",
        f"{p.retries} retries" if p.retries else "",
        dollars(p.cost_usd) if p.cost_usd else "",
        besides(p.unused),
        _left(p),
    ]
    return " | ".join(part for part in parts if part)


def _left(p: Progress) -> str:
    eta = p.eta
    if p.ended:
        return f"took {duration(p.elapsed_s)}"
    if p.waits.absence:
        return ""  # nobody knows
    if eta.low_s is not None and eta.high_s is not None:
        low, high = duration(eta.low_s), duration(eta.high_s)
        return f"{low} left" if low == high else f"{low} to {high} left"
    if eta.oldest_s is not None and eta.p95_s is not None:
        return f"{eta.running} running, oldest {duration(eta.oldest_s)}, p95 so far {duration(eta.p95_s)}"
    return ""


class Plain:
    """Lines for a log: at the start, every ten seconds, and at the end of each run."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def watch(self, p: Progress) -> None:
        now = time.monotonic()
        if p.ended or now - self._last >= PLAIN_EVERY_S:
            self._last = now
            print(" | ".join([describe(p), *words(p.waits)]), file=self._stream, flush=True)


class LiveBar:
    """A bar that moves, by Rich, with a line below it for each thing that is waited for."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self._bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=BAR_WIDTH),
            console=Console(stderr=True),
            refresh_per_second=4,
        )
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def watch(self, p: Progress) -> None:
        if p.run.id not in self._tasks:
            self._tasks[p.run.id] = self._bars.add_task("", total=p.total)
        bar = self._tasks[p.run.id]
        self._bars.update(bar, completed=p.done, total=p.total, description=self._lines(p))

    def _lines(self, p: Progress) -> str:
        width = self._bars.console.width - BAR_WIDTH - 1
        cut = [said if len(said) <= width else f"{said[: width - 1]}…" for said in words(p.waits)]
        return "\n".join([describe(p), *(f"  {said}" for said in cut)])


def shower() -> Plain | LiveBar:
    """What suits standard error."""
    return LiveBar() if sys.stderr.isatty() else Plain(sys.stderr)
