"""Images of a Docker daemon: proctor's own, brought to it without a registry, and those of tasks' Dockerfiles."""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from proctor.errors import SandboxError
from proctor.sandbox.docker.streams import BOX_USER
from proctor.sandbox.image import Image

if TYPE_CHECKING:
    from docker import DockerClient

BASE = "proctor-base"  # what a task's Dockerfile names: FROM proctor-base
DOCKERFILE = "Dockerfile"
SHORT = 16  # hex digits of a hash in a tag
_ID = re.compile("sha256:[0-9a-f]{64}")
BUILDING = Lock()  # one build at a time: trials of one task wait for the first one's


def base_image(client: DockerClient, image: Image) -> str:
    """The name of proctor's own image in the daemon, which is given it where it lacks it. Raises: SandboxError."""
    tag = f"{BASE}:{image.sha256[:SHORT]}"
    with BUILDING:
        if not _has(client, tag):
            _import(client, image, tag)
        client.images.get(tag).tag(BASE, "latest")
    return tag


def task_image(client: DockerClient, base: str, folder: Path) -> str:
    """The name of the image that a task's Dockerfile describes; the base where it has none. Raises: SandboxError."""
    from docker.errors import APIError, BuildError

    if not (folder / DOCKERFILE).is_file():
        return base
    context = _context(folder)
    digest = hashlib.sha256(base.encode() + b"\0" + context).hexdigest()
    tag = f"proctor-task:{digest[:SHORT]}"
    with BUILDING:
        if _has(client, tag):
            return tag
        try:
            client.images.build(
                fileobj=io.BytesIO(context), custom_context=True, tag=tag, rm=True, forcerm=True
            )
        except BuildError as error:
            said = "".join(str(line.get("stream", "")) for line in error.build_log)[-2_000:]
            raise SandboxError(f"{folder / DOCKERFILE}: it cannot be built: {error.msg}\n{said}") from None
        except APIError as error:
            raise SandboxError(f"{folder / DOCKERFILE}: it cannot be built: {error.explanation}") from None
    return tag


def _has(client: DockerClient, tag: str) -> bool:
    from docker.errors import ImageNotFound

    try:
        client.images.get(tag)
    except ImageNotFound:
        return False
    return True


def _import(client: DockerClient, image: Image, tag: str) -> None:
    """The root as one layer, streamed, so that it is nowhere on this machine a second time."""
    name, _, version = tag.partition(":")
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as source:
        feeding = _Feeding(image.root, writer)
        feeding.start()
        told = client.api.import_image_from_stream(source, repository=name, tag=version)
        feeding.join()
    if (taken := _ID.search(told)) is None:
        raise SandboxError(f"The Docker daemon did not take the image {tag}: {told}")
    client.images.get(taken[0]).tag(name, version)  # podman imports it as "latest", whatever was asked for


class _Feeding:
    """A thread that writes a root as a tar archive into a pipe."""

    def __init__(self, root: Path, pipe: int) -> None:
        from threading import Thread

        self._root, self._pipe = root, pipe
        self._thread = Thread(target=self._write, daemon=True)
        self.start, self.join = self._thread.start, self._thread.join

    def _write(self) -> None:
        with os.fdopen(self._pipe, "wb") as target, tarfile.open(fileobj=target, mode="w|") as archive:
            archive.add(self._root, arcname=".")


def _context(folder: Path) -> bytes:
    """A folder as a build context, the same bytes for the same content."""
    found = io.BytesIO()
    with tarfile.open(fileobj=found, mode="w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, path.relative_to(folder).as_posix(), recursive=False, filter=_timeless)
    return found.getvalue()


def _timeless(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mtime, member.uid, member.gid, member.uname, member.gname = 0, 0, 0, "", ""
    return member


def folder_of(client: DockerClient, tag: str, folder: str) -> bytes:
    """What an image has in a folder, as a tar archive that belongs to the box's user: a box's own is given it.

    Empty where it has nothing there.
    """
    from docker.errors import NotFound

    container = client.containers.create(tag, command=["true"])
    try:
        parts, _ = container.get_archive(f"{folder}/.")
        return _owned(b"".join(parts))
    except NotFound:
        return b""
    finally:
        container.remove()


def _owned(archive: bytes) -> bytes:
    found = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(archive)) as members,
        tarfile.open(fileobj=found, mode="w") as owned,
    ):
        for member in members:
            member.name = f"./{member.name.removeprefix('./')}"
            member.uid = member.gid = BOX_USER
            member.uname = member.gname = ""
            owned.addfile(member, members.extractfile(member) if member.isreg() else None)
    return found.getvalue()


def described(client: Any) -> str:
    """Which daemon answers, for summaries."""
    version = client.version()
    names = [part.get("Name", "") for part in version.get("Components") or []]
    engine = "podman" if any("Podman" in name for name in names) else "docker"
    return f"{engine} {version.get('Version', '')}".strip()
