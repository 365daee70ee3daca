"""How much memory a run's process group uses, and how much room its disk has."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from proctor.settings import Settings

MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Excess:
    """A limit that was passed: the slug of its error, and what to say."""

    slug: str
    message: str


def excess(group: int, settings: Settings) -> Excess | None:
    """The first limit that a process group passes, or None."""
    used = memory_bytes(group)
    if used > settings.most_memory_bytes:
        return Excess(
            "resource-limit",
            f"its processes used {used / MB:,.0f} MB of memory; {settings.most_memory_bytes / MB:,.0f} MB are allowed",
        )
    free = free_bytes(settings)
    if free < settings.least_disk_bytes:
        return Excess(
            "resource-limit",
            f"{free / MB:,.0f} MB are free in {settings.home}; {settings.least_disk_bytes / MB:,.0f} MB must stay so",
        )
    return None


def memory_bytes(group: int) -> int:
    """The resident memory of all processes of a group; pages that they share are counted for each."""
    import psutil

    total = 0
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group:
                total += process.memory_info().rss
        except (ProcessLookupError, PermissionError, psutil.Error):
            continue  # it ended while being looked at, or is somebody else's
    return total


def free_bytes(settings: Settings) -> int:
    """Room on the disk of PROCTOR_HOME, for users without privileges."""
    folder = settings.home
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free
