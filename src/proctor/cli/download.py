"""Progress of rows that are being fetched from the hub, on standard error."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Self

import click


class Download:
    """Shows nothing until something is fetched; then a bar in a terminal, one line elsewhere."""

    def __init__(self) -> None:
        self._bars: Any = None
        self._task: Any = None
        self._said = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def tell(self, done: int, total: int) -> None:
        """Bytes that have come, of how many."""
        if not sys.stderr.isatty():
            if not self._said:
                click.echo("Fetching rows from the hub ...", err=True)
            self._said = True
            return
        if self._bars is None:
            from rich.console import Console
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

            columns = (TextColumn("Fetching rows"), BarColumn(bar_width=24), DownloadColumn())
            self._bars = Progress(*columns, console=Console(stderr=True))
            self._bars.start()
            self._task = self._bars.add_task("", total=total)
        self._bars.update(self._task, completed=done, total=total)
