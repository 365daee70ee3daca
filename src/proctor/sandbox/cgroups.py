"""Control groups: the limits of a box that the kernel holds, and what it counted. Versions 1 and 2 are two tables.

Which files say what: Linux, Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst. Version 1 has a tree for each
controller, version 2 one tree for all. A box has a group in each tree; a command of it has one more below, in which
nothing is limited, so that its processes are known.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import SandboxError, SandboxMissing
from proctor.sandbox.contract import Policy
from proctor.trial_record import Consumed

PERIOD_US = 100_000
OWN_PROCESSES = 3  # of every command: bubblewrap outside and inside, and the shell that begins it
GONE_S = 2.0
MB = 1 << 20
CONTROLLERS = ("memory", "cpu", "pids")
MISSING = (
    "This machine offers no control group for {what} ({told}). Limits need root and a writable /sys/fs/cgroup: "
    "in a container, start it with --privileged and its own cgroup namespace"
)


@dataclass(frozen=True, slots=True)
class Gauge:
    """A number in a file of a group: the whole file, or the field of that name; `unit` makes it ours."""

    tree: str
    file: str
    field: str = ""
    unit: float = 1


@dataclass(frozen=True, slots=True)
class Version:
    """What the files of one version are called. `optional` are limits of what a kernel may lack, as swap."""

    trees: Sequence[str]  # the controllers that have a tree of their own; "" is the one tree of version 2
    commands: str  # the tree with the groups of commands: one in which a group below counts for the one above
    optional: frozenset[str]
    gauges: Mapping[str, Gauge]

    def limits(self, policy: Policy) -> Iterator[tuple[str, str, str]]:
        """(tree, file, text), in the order of writing."""
        memory = str((policy.memory_mb + policy.disk_mb) * MB)
        quota, pids = str(round(policy.cpus * PERIOD_US)), str(policy.pids + OWN_PROCESSES)
        if self.trees == ("",):
            yield "", "memory.max", memory
            yield "", "memory.swap.max", "0"
            yield "", "pids.max", pids
            yield "", "cpu.max", f"{quota} {PERIOD_US}"
            return
        yield "memory", "memory.limit_in_bytes", memory
        yield "memory", "memory.memsw.limit_in_bytes", memory
        yield "pids", "pids.max", pids
        yield "cpu", "cpu.cfs_period_us", str(PERIOD_US)
        yield "cpu", "cpu.cfs_quota_us", quota


V1 = Version(
    ("memory", "pids", "cpu", "cpuacct"),
    "cpuacct",
    frozenset({"memory.memsw.limit_in_bytes"}),
    {
        "peak_memory_bytes": Gauge("memory", "memory.max_usage_in_bytes"),
        "out_of_memory": Gauge("memory", "memory.oom_control", "oom_kill"),
        "cpu_s": Gauge("cpuacct", "cpuacct.usage", unit=1e-9),
        "throttled_s": Gauge("cpu", "cpu.stat", "throttled_time", 1e-9),
        "processes_refused": Gauge("pids", "pids.events", "max"),
    },
)
V2 = Version(
    ("",),
    "",
    frozenset({"memory.swap.max"}),
    {
        "peak_memory_bytes": Gauge("", "memory.peak"),
        "out_of_memory": Gauge("", "memory.events", "oom_kill"),
        "cpu_s": Gauge("", "cpu.stat", "usage_usec", 1e-6),
        "throttled_s": Gauge("", "cpu.stat", "throttled_usec", 1e-6),
        "processes_refused": Gauge("", "pids.events", "max"),
    },
)


@dataclass(frozen=True, slots=True)
class Trees:
    """Where this machine's groups are made: a folder for each tree."""

    version: Version
    places: Mapping[str, Path]

    def group(self, name: str) -> BoxGroups:
        return BoxGroups(self.version, {tree: place / name for tree, place in self.places.items()})


@dataclass(frozen=True, slots=True)
class BoxGroups:
    """The groups of one box, one in each tree."""

    version: Version
    folders: Mapping[str, Path]

    def make(self, policy: Policy) -> None:
        """Raises: SandboxError where a limit is not taken."""
        for folder in self.all:
            folder.mkdir()
        for tree, file, text in self.version.limits(policy):
            path = self.folders[tree] / file
            if path.name in self.version.optional and not path.exists():
                continue
            try:
                path.write_text(text)
            except OSError as error:
                raise SandboxError(f"{path} does not take {text}: {error.strerror}") from error

    @property
    def all(self) -> Sequence[Path]:
        """Each once: trees may be one, as cpu and cpuacct often are."""
        return tuple(dict.fromkeys(self.folders.values()))

    @property
    def main(self) -> Path:
        """The tree in which the processes of commands are told apart."""
        return self.folders[self.version.commands]

    def begin(self, name: str) -> Sequence[Path]:
        """Make the group of a command. A process joins by writing 0 to each of these files."""
        own = self.main / name
        own.mkdir()
        others = [folder for folder in self.all if folder != self.main]
        return [each / "cgroup.procs" for each in (*others, own)]

    def consumed(self) -> Consumed:
        read = {name: self._read(gauge) for name, gauge in self.version.gauges.items()}
        whole = {
            name: None if (value := read[name]) is None else int(value)
            for name in ("peak_memory_bytes", "out_of_memory", "processes_refused")
        }
        return Consumed(**whole, cpu_s=read["cpu_s"], throttled_s=read["throttled_s"])

    def _read(self, gauge: Gauge) -> float | None:
        try:
            text = (self.folders[gauge.tree] / gauge.file).read_text()
        except OSError:
            return None
        lines = (line.split() for line in text.splitlines())
        found = {words[0]: words[-1] for words in lines} if gauge.field else {"": text}
        value = found.get(gauge.field)
        return None if value is None else int(value) * gauge.unit

    def remove(self) -> None:
        """Kill what is in it, and take it away. It never raises: what cannot be removed is left for the next start."""
        remove(self.all)


def remove(groups: Iterable[Path]) -> None:
    """Kill what is in these groups or in one below them, and take them away."""
    for folder in groups:
        for each in (*(below for below in folder.glob("*") if below.is_dir()), folder):
            kill(each)
            gone(each)


def processes(group: Path) -> list[int]:
    """Who is in a group, by the process ids that we see."""
    try:
        return [int(line) for line in (group / "cgroup.procs").read_text().split() if line != "0"]
    except OSError:
        return []


def kill(group: Path) -> None:
    """Kill everything in it, also what is being forked meanwhile, and wait until it is dead."""
    until = time.monotonic() + GONE_S
    with suppress(OSError):
        (group / "cgroup.kill").write_text("1")  # version 2, from Linux 5.14
    while (found := processes(group)) and time.monotonic() < until:
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def gone(group: Path) -> bool:
    """Remove an empty group. The dead leave it a moment after they ended."""
    until = time.monotonic() + GONE_S
    while group.is_dir():
        try:
            group.rmdir()
        except OSError:
            if time.monotonic() > until:
                return False
            time.sleep(0.001)
    return True


def find_trees(mounts: str, own: str) -> Trees:
    """The trees of this machine; the arguments are the texts of /proc/self/mounts and /proc/self/cgroup.

    Raises: SandboxMissing where a controller that a limit needs is in none of them.
    """
    one, named = _mounted(mounts)
    paths = _own(own)
    if all(each in named for each in V1.trees):
        return Trees(V1, {each: _writable(named[each], paths.get(each, "/")) for each in V1.trees})
    if one is None:
        lacking = ", ".join(each for each in CONTROLLERS if each not in named)
        raise SandboxMissing(MISSING.format(what=lacking, told="no cgroup file system is mounted"))
    return Trees(V2, {"": _delegated(one, paths.get("", "/"))})


def _mounted(mounts: str) -> tuple[Path | None, dict[str, Path]]:
    one, named = None, {}
    for line in mounts.splitlines():
        _, place, kind, options, *_ = line.split()
        if kind == "cgroup2":
            one = Path(place)
        elif kind == "cgroup":
            named.update({each: Path(place) for each in options.split(",")})
    return one, named


def _own(told: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in told.splitlines():
        _, names, path = line.split(":", 2)
        found.update(dict.fromkeys(names.split(","), path))
    return found


def _writable(tree: Path, own: str) -> Path:
    """Our own group in that tree, so that our limits hold for boxes too; its root where that is not seen."""
    ours = tree / own.lstrip("/")
    return ours if ours.is_dir() else tree


def _delegated(tree: Path, own: str) -> Path:
    """The group of version 2 below which controllers may be given on. It may hold no process itself, but for the root.

    Raises: SandboxMissing.
    """
    told = "no group"
    for place in dict.fromkeys((tree / own.lstrip("/"), tree)):
        try:
            missing = set(CONTROLLERS) - set((place / "cgroup.subtree_control").read_text().split())
            if missing:
                text = " ".join(f"+{each}" for each in sorted(missing))
                (place / "cgroup.subtree_control").write_text(text)
            return place
        except OSError as error:
            told = f"{place}: {error.strerror}"
    raise SandboxMissing(MISSING.format(what=", ".join(CONTROLLERS), told=told))


def this_machine() -> Trees:
    """Raises: SandboxMissing."""
    return find_trees(Path("/proc/self/mounts").read_text(), Path("/proc/self/cgroup").read_text())
