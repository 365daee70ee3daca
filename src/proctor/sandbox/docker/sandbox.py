"""Docker as a sandbox: containers without network, without capabilities, with hard limits, checked in a container."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import psutil

from proctor.errors import SandboxError, SandboxMissing
from proctor.sandbox.contract import Box, Command, Mount, Policy
from proctor.sandbox.docker.box import INIT, DockerBox
from proctor.sandbox.docker.images import base_image, described, folder_of, task_image
from proctor.sandbox.docker.streams import Attached
from proctor.sandbox.image import Image

if TYPE_CHECKING:
    from docker import DockerClient

T = TypeVar("T")
THREADS = 64  # each command of a box holds one
PORT = 8080  # any
OWNER = "proctor.owner"  # the label by which containers of dead processes are found
# Of the bytes that a box may write: the repository with all of /app, the home, temporary files.
SHARES: Mapping[str, float] = {"/app": 0.5, "/home/agent": 0.25, "/tmp": 0.25}
FURTHER = 0.25  # of each further folder; all shares are parts of their sum
OF_IMAGE = ("/etc", "/usr/local", "/var")  # what an image has in them must be seen: nobody writes there
# What our own commands need as root: to end what runs, read what it left, hand files over. Others have no capability.
OF_ROOT = ("KILL", "DAC_OVERRIDE", "CHOWN", "FOWNER")
INSIDE = """cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null | head -n 1
cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null | head -n 1
grep -c : /proc/net/dev
if touch /written 2>/dev/null; then echo writable; else echo read-only; fi"""


@dataclass(slots=True)
class DockerSandbox:
    """Containers of the daemon at DOCKER_HOST on an image of this machine, or on those of the tasks' Dockerfiles."""

    image: Image
    boxes: Path
    name: str = "docker"
    client: DockerClient | None = None
    daemon: str = "docker"
    relayed: bool = False  # whether boxes are reached by a relay: their networks cannot be entered from here
    kept: dict[tuple[str, str], bytes] = field(default_factory=dict)  # what images have in folders
    pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(THREADS, "docker"))

    @property
    def told(self) -> str:
        way = ", loopback by a relay" if self.relayed else ""
        return f"{self.daemon}, no network, read-only root{way}"

    @property
    def image_sha256(self) -> str:
        return self.image.sha256

    async def check(self, policy: Policy) -> None:
        await self._away(self._connect)
        try:
            box = await self._away(lambda: self._open(policy, (), None))
        except SandboxError as error:
            raise SandboxMissing(f"{self.daemon} cannot run a container as it is wanted: {error}") from None
        try:
            ended = await box.run(Command(("/bin/sh", "-c", INSIDE), cwd="/"))
            self._need(policy, ended.said.decode("utf-8", "replace").split())
            (await box.listen(PORT)).socket.close()
            self.relayed = bool(box.ports.addresses)
        finally:
            await box.close()

    def _need(self, policy: Policy, found: Sequence[str]) -> None:
        """What the container itself sees of its limits must be what was asked for."""
        if len(found) != 4:
            raise SandboxMissing(f"{self.daemon}: a container does not tell its limits, but {found!r}")
        memory, pids, networks, root = found
        faults = [
            told
            for held, told in (
                (
                    memory.isdigit() and int(memory) <= policy.memory_mb << 20,
                    f"memory is not limited ({memory})",
                ),
                (pids.isdigit() and int(pids) <= policy.pids, f"processes are not limited ({pids})"),
                (networks == "1", f"there are {networks} network interfaces where only lo belongs"),
                (root == "read-only", "the root can be written"),
            )
            if not held
        ]
        if faults:
            raise SandboxMissing(
                f"{self.daemon} does not hold what was asked for: {'; '.join(faults)}. Its daemon needs the "
                'cgroup controllers memory, cpu and pids; or choose sandbox = "bubblewrap"'
            )

    async def open(self, policy: Policy, mounts: Sequence[Mount] = (), build: Path | None = None) -> Box:
        return await self._away(lambda: self._open(policy, mounts, build))

    def _open(self, policy: Policy, mounts: Sequence[Mount], build: Path | None) -> DockerBox:
        from docker.errors import DockerException

        client = self._connect()
        self.boxes.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix="docker-", dir=self.boxes))
        try:
            base = base_image(client, self.image)
            image = base if build is None else task_image(client, base, build)
            further = _further(policy)
            found = {each: self._held(client, image, each) for each in ("/app", *further)}
            container = client.containers.run(image, **_terms(policy, mounts))
            container.reload()  # tells the process that its network is found by
            box = DockerBox(container, _init_of(container), place, self.pool)
        except (DockerException, OSError) as error:
            place.rmdir()
            raise SandboxError(f"No container could be started: {error}") from None
        try:
            box.furnish(found.pop("/app"), _shown_in("/app", mounts))
            if further:
                box.opened(further)
            for folder, held in found.items():
                if held:
                    box.unpack(held, folder, _shown_in(folder, mounts))
        except (DockerException, OSError, SandboxError):
            box.remove()
            raise
        return box

    def _held(self, client: DockerClient, image: str, folder: str) -> bytes:
        if (image, folder) not in self.kept:
            self.kept[image, folder] = folder_of(client, image, folder)
        return self.kept[image, folder]

    def _connect(self) -> DockerClient:
        """Raises: SandboxMissing."""
        if self.client is None:
            self.client = _client()
            self.daemon = described(self.client)
            _sweep(self.client)
        return self.client

    def _away(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return asyncio.get_running_loop().run_in_executor(self.pool, work)


def _init_of(container: Any) -> Attached:
    ways = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
    return Attached(container.client.api.attach_socket(container.id, ways))


def _host() -> str:
    return os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")


def docker_answers() -> bool:
    """Whether anybody listens where the daemon should be."""
    try:
        with socket.socket(socket.AF_UNIX) as trying:
            trying.connect(_host().removeprefix("unix://"))
        return True
    except OSError:
        return False


def _client() -> DockerClient:
    try:
        import docker
        from docker.errors import DockerException
    except ImportError:
        raise SandboxMissing("The Docker client is missing: pip install 'proctor[docker]'") from None
    host = _host()
    if not host.startswith("unix://"):
        raise SandboxMissing(
            f"DOCKER_HOST={host}: the daemon must be on this machine (unix://...), since its containers are shown "
            "folders of this machine"
        )
    try:
        with socket.socket(socket.AF_UNIX) as trying:
            trying.connect(host.removeprefix("unix://"))
        return docker.DockerClient(base_url=host, timeout=120, max_pool_size=THREADS)
    except (DockerException, OSError) as error:
        raise SandboxMissing(
            f"No Docker daemon answers at {host} ({error}). Start dockerd or podman's service, set DOCKER_HOST to its "
            "socket, and try `docker ps`"
        ) from None


def _further(policy: Policy) -> list[str]:
    """The folders of a policy that get a file system of their own, beside those that every box has."""
    return [each for each in policy.writable if each not in (*SHARES, *OF_IMAGE)]


def _shown_in(folder: str, mounts: Sequence[Mount]) -> list[str]:
    """What is shown of this machine in a folder, relative to it: it is read-only, and stays."""
    return [each.target.removeprefix(f"{folder}/") for each in mounts if each.target.startswith(f"{folder}/")]


def _terms(policy: Policy, mounts: Sequence[Mount]) -> dict[str, Any]:
    """How a box's container is started."""
    shares = {**SHARES, **dict.fromkeys(_further(policy), FURTHER)}
    written = {
        target: f"rw,exec,nosuid,nodev,size={max(1, int(policy.disk_mb * share / sum(shares.values())))}m,mode=1777"
        for target, share in shares.items()
    }
    return {
        "command": list(INIT),
        "stdin_open": True,
        "entrypoint": [],
        "detach": True,
        "user": "0:0",
        "working_dir": "/",
        "environment": {},
        "network_mode": "none",
        "mem_limit": policy.memory_mb << 20,
        "memswap_limit": policy.memory_mb << 20,
        "nano_cpus": int(policy.cpus * 1e9),
        "pids_limit": policy.pids,
        "cap_drop": ["ALL"],
        "cap_add": list(OF_ROOT),
        "security_opt": ["no-new-privileges"],
        "read_only": True,
        "ipc_mode": "private",
        "shm_size": "16m",
        "tmpfs": {**written, "/run": "rw,nosuid,nodev,size=1m", "/var/tmp": "rw,nosuid,nodev,size=1m"},
        "volumes": {str(each.source): {"bind": each.target, "mode": "ro"} for each in mounts},
        "hostname": "box",
        "labels": {OWNER: _owner()},
    }


def _owner() -> str:
    """This process, so that nobody takes another with its number for it."""
    return f"{socket.gethostname()}:{os.getpid()}:{psutil.Process().create_time():.2f}"


def _sweep(client: DockerClient) -> None:
    """Remove the containers of processes of this machine that were killed."""
    from docker.errors import APIError

    for container in client.containers.list(all=True, filters={"label": OWNER}):
        host, pid, began = container.labels[OWNER].rsplit(":", 2)
        if host == socket.gethostname() and not _lives(int(pid), float(began)):
            with suppress(APIError):  # somebody else removes it at this moment
                container.remove(force=True, v=True)


def _lives(pid: int, began: float) -> bool:
    try:
        return bool(abs(psutil.Process(pid).create_time() - began) < 1.0)
    except psutil.NoSuchProcess:
        return False
