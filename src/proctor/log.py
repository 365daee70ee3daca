"""The program's own log: what is asked of whom, retries, limits and slow requests, a line each on standard error."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal, get_args

from proctor.errors import in_one_line

if TYPE_CHECKING:
    import logging

Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = get_args(Level)
VARIABLE = "PROCTOR_LOG_LEVEL"


def begin(level: Level) -> None:
    """Write what is at least as serious as `level`, from now on. Of other libraries only warnings and errors."""
    # Imported here: `--help` writes no log, and it would be an eighth of its time.
    import logging

    numbers = logging.getLevelNamesMapping()
    handler = logging.StreamHandler()
    handler.setFormatter(_one_line())
    logging.basicConfig(handlers=[handler], level=max(logging.WARNING, numbers[level.upper()]), force=True)
    logging.getLogger("proctor").setLevel(numbers[level.upper()])


def _one_line() -> logging.Formatter:
    """A line a record, whatever a server or a file has put into it; only a traceback may follow on lines of its own."""
    from logging import Formatter, LogRecord

    class OneLine(Formatter):
        default_time_format = "%Y-%m-%dT%H:%M:%SZ"
        default_msec_format = ""

        def formatMessage(self, record: LogRecord) -> str:
            return in_one_line(super().formatMessage(record))

    line = OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s")
    line.converter = time.gmtime
    return line
