"""Figures of a task's own: what its test scripts write into /app/artifacts/custom_metrics.json of their box."""

from __future__ import annotations

import json
import math
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

CUSTOM_METRICS = "custom_metrics.json"
MOST_BYTES = 64_000
MOST_METRICS = 100
MOST_WHOLE = 2**53
MOST_NAME = 100  # characters


@dataclass(slots=True)
class CustomMetrics:
    """The figures found so far; of two of one name, the later script's stands. No score depends on them."""

    found: dict[str, float] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self.told)

    def take(self, folder: Path | None, script: str) -> None:
        """Take what a script wrote: an object of numbers, or one whose key `custom_metrics` holds them."""
        linked = folder is not None and (folder.is_symlink() or folder.parent.is_symlink())
        body = None if folder is None or linked else plain_bytes(folder / CUSTOM_METRICS, MOST_BYTES)
        if body is None:
            return
        try:
            written = json.loads(body)
        except (ValueError, RecursionError):
            self.told.append(f"{script}: {CUSTOM_METRICS} is no JSON and was left out")
            return
        if isinstance(written, dict) and isinstance(written.get("custom_metrics"), dict):
            written = written["custom_metrics"]
        if not isinstance(written, dict):
            self.told.append(f"{script}: {CUSTOM_METRICS} holds no object of numbers and was left out")
            return
        # A whole number that floats do not hold exactly is one all the same: files and databases hold no larger ones.
        good = {
            name: value if abs(value) <= MOST_WHOLE else float(value)
            for name, value in written.items()
            if _is_figure(name, value)
        }
        self.found.update(list(good.items())[: max(0, MOST_METRICS - len(self.found))])
        if len(good) < len(written):
            self.told.append(
                f"{script}: {len(written) - len(good)} custom metrics are no finite numbers and were left out"
            )


def _is_figure(name: str, value: object) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < 1e300
        and math.isfinite(value)
        and 0 < len(name) <= MOST_NAME
        and name.isprintable()
    )


def plain_bytes(place: Path, most: int) -> bytes | None:
    """The first `most` bytes of a file of a box; None where there is none. Links are not followed."""
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(handle, "rb") as file:  # noqa: PTH123 - a descriptor has no path
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        return file.read(most)
