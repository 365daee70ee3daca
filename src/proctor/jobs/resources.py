"""How much memory the process groups of runs use, and how much room their disk has."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from proctor.settings import Settings

MB = 1_000_000


def too_much_memory(used_bytes: int, settings: Settings) -> str | None:
    """What to say of a run whose processes use more memory than they may, or None."""
    most = settings.most_memory_bytes
    if used_bytes <= most:
        return None
    return f"its processes used {used_bytes / MB:,.0f} MB of memory, and {most / MB:,.0f} MB are allowed"


def too_little_room(settings: Settings, *, to_begin: bool = False) -> str | None:
    """What to say of runs while the disk has less room than must stay free, or None.

    To begin a run takes a tenth more, or one that was put back would begin again at once.
    """
    free, least = free_bytes(settings.home), settings.least_disk_bytes * (1.1 if to_begin else 1.0)
    if free >= least:
        return None
    rule = "must be free before a run begins" if to_begin else "must stay free"
    return f"{free / MB:,.0f} MB are free on the disk of PROCTOR_HOME, and {least / MB:,.0f} MB {rule}"


@dataclass(slots=True)
class Used:
    """What the processes of a group use: resident memory, and the processor's time since they began."""

    memory_bytes: int = 0
    cpu_s: float = 0.0


def used_by(groups: Collection[int]) -> dict[int, Used]:
    """Pages that processes of a group share are counted for each of them."""
    import psutil

    used = {group: Used() for group in groups}
    for process in psutil.process_iter():
        try:
            group = os.getpgid(process.pid)
            if group in used:
                used[group].memory_bytes += process.memory_info().rss
                times = process.cpu_times()
                used[group].cpu_s += times.user + times.system
        except (ProcessLookupError, PermissionError, psutil.Error):
            continue  # it ended while being looked at, or is somebody else's
    return used


def free_bytes(folder: Path) -> int:
    """Room on the folder's disk for users without privileges."""
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free
