"""The program's own log: what is asked of whom, retries, limits and slow requests, a line each on standard error."""

from __future__ import annotations

import logging
import time
from typing import Literal, get_args

from proctor.errors import in_one_line

Level = Literal["debug", "info", "warning", "error"]
LEVELS: tuple[Level, ...] = get_args(Level)
VARIABLE = "PROCTOR_LOG_LEVEL"


class OneLine(logging.Formatter):
    """A line a record, whatever a server or a file has put into it; only a traceback may follow on lines of its own."""

    default_time_format = "%Y-%m-%dT%H:%M:%SZ"
    default_msec_format = ""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return in_one_line(super().formatMessage(record))


def begin(level: Level) -> None:
    """Write what is at least as serious as `level`, from now on. Of other libraries only warnings and errors."""
    handler = logging.StreamHandler()
    line = OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s")
    line.converter = time.gmtime
    handler.setFormatter(line)
    logging.basicConfig(handlers=[handler], level=max(logging.WARNING, _number(level)), force=True)
    logging.getLogger("proctor").setLevel(_number(level))


def _number(level: Level) -> int:
    return logging.getLevelNamesMapping()[level.upper()]
