"""Progress on standard error: a live line in a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self, TextIO

from proctor.figures import amount, besides, dollars, duration, share
from proctor.service.abreast.words import tells_of, walk_lines
from proctor.service.runs.pace.progress import Progress
from proctor.service.runs.pace.waits import words
from proctor.types import Run

PLAIN_EVERY_S = 10.0
BAR_WIDTH = 24


def describe(run: Run, p: Progress) -> str:
    """One line about a run under way."""
    parts = [
        f"{run.cell.model}: {p.done:,}/{run.planned:,} ({share(p.done / run.planned if run.planned else None)})",
        f"{p.items_per_s:.1f} req/s",
        f"{amount(p.tokens_per_s)} tok/s" if p.tokens_per_s else "",
        f"{p.in_flight} in flight",
        f"errors: {', '.join(f'{slug} {n}' for slug, n in sorted(p.failed.items()))}" if p.failed else "",
        f"{p.retries} retries" if p.retries else "",
        dollars(p.cost_usd) if p.cost_usd else "",
        besides(p.unused),
        _left(p),
    ]
    return " | ".join(part for part in parts if part)


def _left(p: Progress) -> str:
    if p.ended:
        return f"took {duration(p.elapsed_s)}"
    if p.waits.absence:
        return ""  # nobody knows
    if p.low_s is not None and p.high_s is not None:
        low, high = duration(p.low_s), duration(p.high_s)
        if p.decision is not None:
            return f"at most {high} left"  # it may be decided at any look
        return f"{low} left" if low == high else f"{low} to {high} left"
    if p.oldest_s is not None and p.p95_s is not None:
        return f"{p.in_flight} running, oldest {duration(p.oldest_s)}, p95 so far {duration(p.p95_s)}"
    return ""


class Plain:
    """Lines for a log: at the start, every ten seconds, and at the end of each run.

    Of runs that are asked side by side each has its line, and the verdict that they are asked for one more.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._began = time.monotonic()
        self._last: dict[str, float] = {}
        self._names: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def watch(self, run: Run, p: Progress) -> None:
        now = time.monotonic()
        self._names[run.id] = str(run.cell.model)
        if not p.ended and now - self._last.get(run.id, self._began) < PLAIN_EVERY_S:
            return
        self._last[run.id] = now
        print(" | ".join([describe(run, p), *words(p.waits)]), file=self._stream, flush=True)
        if p.decision is not None and tells_of(p.decision, run.id, self._names) and not p.ended:
            print("; ".join(walk_lines(p.decision, self._names)), file=self._stream, flush=True)


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
        self._names: dict[str, str] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    def watch(self, run: Run, p: Progress) -> None:
        if run.id not in self._tasks:
            self._tasks[run.id] = self._bars.add_task("", total=run.planned)
            self._names[run.id] = str(run.cell.model)
        bar = self._tasks[run.id]
        self._bars.update(bar, completed=p.done, total=run.planned, description=self._lines(run, p))

    def _lines(self, run: Run, p: Progress) -> str:
        first, room, told = describe(run, p), self._bars.console.width, words(p.waits)
        # Where the first line leaves no room for the bar, there is none.
        width = room - BAR_WIDTH - 3 if len(first) < room - BAR_WIDTH else room - 2
        if p.decision is not None and tells_of(p.decision, run.id, self._names):
            told += walk_lines(p.decision, self._names)
        cut = [said if len(said) <= width else f"{said[: width - 1]}…" for said in told]
        return "\n".join([first, *(f"  {said}" for said in cut)])


def shower() -> Plain | LiveBar:
    """What suits standard error."""
    return LiveBar() if sys.stderr.isatty() else Plain(sys.stderr)
