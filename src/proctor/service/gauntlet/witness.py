"""What an exploit did to this machine, seen from outside of all boxes: processes, files, mounts, control groups, use.

An exploit's processes are known by a marker, a word of their environment that is new for each: whoever inherits the
environment is found, wherever it hides. The trials themselves run in a process that has no marker.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

LOOK_S = 0.08
GONE_S = 1.0  # what was killed may take this long until the kernel has taken it away
WATCHED = (
    "/tmp",
    "/var/tmp",
    "/run",
    "/dev",
    "/dev/shm",
    "/usr/bin",
    "/etc",
    "/opt",
    "/",
)  # of this machine: where a file with the marker may turn up
GROUPS = Path("/sys/fs/cgroup")
MB = 1 << 20


@dataclass(slots=True)
class Witness:
    """Watches one exploit from before it begins until after it ended. `boxes` is where its boxes lie."""

    marker: str
    outside: Path  # a folder of this machine that belongs to nobody in a box
    boxes: Path
    process: int  # that runs the trials
    peaks: dict[str, float] = field(default_factory=dict)
    opened: set[str] = field(default_factory=set)  # names of boxes that were there
    _files: frozenset[str] = frozenset()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look again and again until the block ends; its seconds are a peak, too."""
        done = threading.Event()
        self._files = frozenset(self._there())
        began, memory = time.monotonic(), _memory_mb(self.process)
        thread = threading.Thread(target=self._look_on, args=(done,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            self.peaks["seconds"] = time.monotonic() - began
            self.peaks["proctor_mb"] = max(0.0, _memory_mb(self.process) - memory)

    def _look_on(self, done: threading.Event) -> None:
        while not done.wait(LOOK_S):
            self._look()

    def _look(self) -> None:
        with suppress(OSError):
            self.opened |= {each.name for each in self.boxes.iterdir()}
        own = [Path("/proc", str(pid)) for pid in marked(self.marker)]
        resident = sum(_resident_mb(each) for each in own)
        seen = {
            "processes": float(len(own)),
            "memory_mb": resident,
            "descriptors": _descriptors(self.process),
        }
        for name, value in seen.items():
            self.peaks[name] = max(self.peaks.get(name, 0.0), value)

    def alive(self) -> list[str]:
        """Processes of the exploit that still run, once what was killed has had its moment to go; they are ended."""
        until = time.monotonic() + GONE_S
        while (found := marked(self.marker)) and time.monotonic() < until:
            time.sleep(LOOK_S)
        told = [f"{pid} {_words(pid)}" for pid in found]
        end_marked(self.marker)
        return told

    def new_files(self) -> list[str]:
        """What lies outside of boxes now and did not before; it is deleted."""
        new = sorted(set(self._there()) - self._files)
        for each in new:
            with suppress(OSError):
                Path(each).unlink()
        return new

    def _there(self) -> Iterator[str]:
        yield from (str(each) for each in self.outside.rglob("*"))
        for folder in WATCHED:
            with suppress(OSError):
                yield from (str(each) for each in Path(folder).iterdir() if self.marker in each.name)

    def left(self) -> list[str]:
        """Boxes, mounts and control groups of this exploit's trials."""
        boxes = [each.name for each in self.boxes.iterdir()] if self.boxes.is_dir() else []
        mounts = [line.split()[1] for line in _mounts() if str(self.boxes) in line]
        groups = [
            str(place)
            for tree in (GROUPS, *GROUPS.glob("*/"))
            for name in self.opened
            if (place := tree / f"proctor-{name}").exists()
        ]
        return [*boxes, *mounts, *groups]


def marked(marker: str) -> list[int]:
    """The processes whose environment or command line holds a marker, but this one."""
    word, found = marker.encode(), []
    for each in Path("/proc").iterdir():
        if not each.name.isdigit() or int(each.name) == os.getpid():
            continue
        with suppress(OSError):
            told = (each / "environ").read_bytes() + (each / "cmdline").read_bytes()
            if word in told and not _dead(each):
                found.append(int(each.name))
    return found


def end_marked(marker: str) -> None:
    """Kill them, each by its id."""
    for pid in marked(marker):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _dead(place: Path) -> bool:
    return (place / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")[:80]
    except OSError:
        return ""


def _resident_mb(place: Path) -> float:
    try:
        return int((place / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MB
    except (OSError, ValueError, IndexError):
        return 0.0


def _memory_mb(pid: int) -> float:
    """The most that a process has held so far."""
    try:
        told = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        return int(told["VmHWM"].split()[0]) / 1024
    except (OSError, ValueError, KeyError):
        return 0.0


def _descriptors(pid: int) -> float:
    try:
        return float(sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0.0


def _mounts() -> Sequence[str]:
    return Path("/proc/self/mounts").read_text(errors="replace").splitlines()


def kept_mb(folder: Path) -> float:
    """What a folder takes on the disk."""
    blocks = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            blocks += path.lstat().st_blocks
    return blocks * 512 / MB


def used_mb(told: Mapping[str, float | None]) -> dict[str, float]:
    """Of what a sandbox measured: bytes that were written, and printed, in MB."""
    names = {"written_bytes": "disk_mb", "output_bytes": "printed_mb"}
    return {mine: float(value) / MB for name, mine in names.items() if (value := told.get(name)) is not None}
