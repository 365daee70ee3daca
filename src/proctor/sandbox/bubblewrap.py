"""Bubblewrap: boxes are copies on write of an image, in namespaces of their own, without network and without daemon.

root      an overlay of the image and of a file system in memory, which is the box's disk limit; read-only inside,
          but for WRITABLE, whose folders are mounted so that nobody inside can put a link in their place
/proc     read-only: to the machine, uid 1000 of a box is the user that runs proctor
limits    control groups, which a command has joined before its first instruction
kill      whatever ends a command, its pid namespace ends with it
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from proctor.errors import SandboxError, SandboxMissing
from proctor.sandbox.cgroups import BoxGroups, gone, kill, processes, this_machine
from proctor.sandbox.contract import ARTIFACTS, HOME, REPO, Box, Command, CommandEnd, Loopback, Mount, Policy
from proctor.sandbox.copying import copy_into, inside
from proctor.sandbox.image import Image
from proctor.sandbox.loopback import listen_in, new_network
from proctor.sandbox.mounts import mount_disk, mount_overlay
from proctor.sandbox.places import BoxPlace, new_place, sweep
from proctor.sandbox.running import Start, run_program, to_its_end
from proctor.trial_record import Consumed

PATH = "/usr/local/bin:/usr/bin:/bin"
WRITABLE = ("/app", REPO, ARTIFACTS, HOME, "/tmp", "/var/tmp", "/run")  # of a box
NEEDED = ("/proc", "/dev")
ENTERING = "nsenter"
HOLDING = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"),
    *("--hostname", "box", "--die-with-parent", "--new-session", "--clearenv", "--chdir", "/"),
)
# What it prints goes to one place; the other is a socket on which it says that it has come so far. It joins its groups
# (0 is whoever writes), and becomes bubblewrap, whose command line and environment tell nothing.
# Inside, nothing begins before the first process of the namespace waits: only then has it asked the kernel to end with
# bubblewrap outside, and bubblewrap with us. Whoever cannot be told then has died before, and the command never begins.
OUTER = (
    'exec 9>&2 2>&1; ulimit -c 0; o=$1; shift; while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done; shift; '
    'exec "$@" 8< "$o"'
)
INNER = (
    'until read -r _ _ state _ < /proc/1/stat && [ "$state" = S ]; do :; done; unset state; '
    'echo >&9 || exit 126; exec 9>&-; cd -- "$1" || exit 126; unset OLDPWD; shift; exec "$@"'
)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Boxes below the folder `boxes`, on an image."""

    image: Image
    boxes: Path
    name: str = "bubblewrap"

    @property
    def told(self) -> str:
        return "bubblewrap, no network"

    @property
    def image_sha256(self) -> str:
        return self.image.sha256

    async def check(self, policy: Policy) -> None:
        from proctor.sandbox.probing import probe

        await probe(self, policy)

    async def open(self, policy: Policy, mounts: Sequence[Mount] = (), build: Path | None = None) -> Box:
        return await asyncio.to_thread(self._open, policy, mounts)

    def _open(self, policy: Policy, mounts: Sequence[Mount]) -> Box:
        program = shutil.which("bwrap")
        if program is None:
            raise SandboxMissing("There is no bubblewrap on this machine: apt-get install bubblewrap")
        place = new_place(self.boxes, "box-")
        group = this_machine().group(f"proctor-{place.folder.name}")
        box = BubblewrapBox(program, place, group, tuple(mounts), (*WRITABLE, *policy.writable))
        try:
            place.owns(group.all)
            group.make(policy)
            self._furnish(place.folder, policy)
            box.furnish()
        except OSError as error:
            box.leave()
            raise SandboxError(f"A box could not be made in {self.boxes}: {error}") from error
        except SandboxError:
            box.leave()
            raise
        return box

    def _furnish(self, place: Path, policy: Policy) -> None:
        disk, root = place / "disk", place / "root"
        for each in (disk, root):
            each.mkdir()
        mount_disk(disk, policy.disk_mb)
        for name in ("upper", "work", "shm"):
            (disk / name).mkdir()
        (disk / "shm").chmod(0o1777)
        mount_overlay(root, self.image.root, disk / "upper", disk / "work")

    def sweep(self) -> list[str]:
        """Take away what killed processes left in this folder of boxes."""
        return sweep(self.boxes)


@dataclass(slots=True)
class BubblewrapBox:
    """A mounted root; each command runs in namespaces of its own, which end with it."""

    program: str
    place: BoxPlace
    group: BoxGroups
    mounts: Sequence[Mount]
    writable: Sequence[str] = WRITABLE
    used: Consumed = field(default=Consumed(written_bytes=0, output_bytes=0))
    numbers: count[int] = field(default_factory=count)
    network: int | None = (
        None  # descriptor of the one that its commands share; None: each has its own, of nothing
    )

    @property
    def folder(self) -> Path:
        return self.place.folder

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def furnish(self) -> None:
        """Make the folders that every box has, and the places of what is seen in it."""
        for each in (*NEEDED, *self.writable):
            inside(self.root, each).mkdir(parents=True, exist_ok=True)
        for mount in self.mounts:
            target = inside(self.root, mount.target)
            if mount.source.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch()

    async def run(self, command: Command) -> CommandEnd:
        name = f"run-{next(self.numbers)}"
        try:
            ours, theirs = socket.socketpair()
            with ours, theirs:
                start = self._start(name, command, theirs.fileno())
                ended = await run_program(start, command, Joined(self.group.main / name))
                theirs.close()
                began = ours.recv(1)
        except OSError as error:
            raise SandboxError(f"A command could not be begun in a box: {error}") from error
        finally:
            (self.folder / name).unlink(missing_ok=True)
        self._count(ended)
        if not began:
            told = ended.said.decode("utf-8", "replace").strip()
            raise SandboxError(f"A command could not be begun in a box: {told or ended.why}")
        return ended

    def _start(self, name: str, command: Command, told: int) -> Start:
        """Raises: OSError."""
        options = self.folder / name
        options.write_bytes(b"".join(os.fsencode(each) + b"\0" for each in self._options(command)))
        joined = map(str, self.group.begin(name))
        outer = ("/bin/sh", "-c", OUTER, "sh", str(options), *joined, "--", *self._entered, self.program)
        outer = (*outer, "--args", "8")
        return Start((*outer, "/bin/sh", "-c", INNER, "sh", command.cwd, *command.argv), {}, Path("/"), told)

    @property
    def _entered(self) -> Sequence[str]:
        """What enters the network of the box before bubblewrap begins."""
        return () if self.network is None else (ENTERING, f"--net=/proc/{os.getpid()}/fd/{self.network}")

    def _options(self, command: Command) -> list[str]:
        root = str(self.root)
        writable = [part for each in self.writable for part in ("--bind", root + each, each)]
        seen = [part for each in self.mounts for part in ("--ro-bind", str(each.source), each.target)]
        env = {"PATH": PATH, "HOME": HOME, **command.env}
        return [
            *("--ro-bind", root, "/", "--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"),
            *("--bind", str(self.folder / "disk/shm"), "/dev/shm", "--remount-ro", "/dev"),
            *(*writable, *seen, *HOLDING, *(() if self.network is None else ("--share-net",))),
            *(part for name, value in env.items() for part in ("--setenv", name, value)),
        ]

    def _count(self, ended: CommandEnd) -> None:
        """What was written is the most that lay on the disk when a command had ended."""
        self.used = replace(
            self.used,
            output_bytes=(self.used.output_bytes or 0) + ended.printed_bytes,
            written_bytes=max(self.used.written_bytes or 0, self._on_disk()),
        )

    def _on_disk(self) -> int:
        told = os.statvfs(self.folder / "disk")
        return (told.f_blocks - told.f_bfree) * told.f_frsize

    async def put(self, source: Path, target: str) -> None:
        await asyncio.to_thread(copy_into, self.root, target, source)

    async def files(self, target: str) -> Path:
        return await asyncio.to_thread(inside, self.root, target)

    async def listen(self, port: int) -> Loopback:
        try:
            if self.network is None:
                await to_its_end(asyncio.to_thread(self._make_network))
            assert self.network is not None
            return Loopback(await asyncio.to_thread(listen_in, self.network, port), port)
        except OSError as error:
            raise SandboxError(f"Nothing can listen at port {port} of a box: {error}") from error

    def _make_network(self) -> None:
        if shutil.which(ENTERING) is None:
            raise SandboxMissing(f"There is no {ENTERING} on this machine: apt-get install util-linux")
        self.network = new_network()

    def consumed(self) -> Consumed:
        return replace(
            self.group.consumed(),
            written_bytes=self.used.written_bytes,
            output_bytes=self.used.output_bytes,
        )

    async def close(self) -> None:
        await to_its_end(asyncio.to_thread(self.leave))

    def leave(self) -> None:
        """Kill what runs, unmount, delete."""
        self.group.remove()
        if self.network is not None:
            os.close(self.network)
            self.network = None
        self.place.leave()


@dataclass(slots=True)
class Joined:
    """The processes of a command, by the control group that it joined."""

    group: Path

    def begun(self, pid: int) -> None:
        """The group tells who is in it."""

    def signal(self, number: signal.Signals) -> None:
        """To everybody but bubblewrap, which is outside of the pid namespace or its first process."""
        for pid in processes(self.group):
            with suppress(OSError):
                if _pid_inside(pid) > 1:
                    os.kill(pid, number)

    def end(self) -> None:
        kill(self.group)
        if not gone(self.group):
            raise SandboxError(f"Processes of a box do not die: {processes(self.group)}")


def _pid_inside(pid: int) -> int:
    """The process id in the innermost namespace, 0 for a process of ours (proc(5), NSpid)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("NSpid:"):
            _, *ids = line.split()
            return int(ids[-1]) if len(ids) > 1 else 0
    return 0
