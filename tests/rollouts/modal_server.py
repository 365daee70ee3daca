"""A server on this machine that speaks as much of Modal's gRPC API as its client needs for sandboxes.

    python3 modal_server.py ROOT PLACE      ROOT: of an image; PLACE: where its sandboxes and what it was asked for are

Its sandboxes are real: processes with a root of their own (an overlay of ROOT), in namespaces of their own, without
network. What was asked for each lies in PLACE/ID.json, and PLACE/ID.over tells that it was ended. It prints its port.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from grpclib import GRPCError, Status
from grpclib.server import Server, Stream
from modal_proto import api_pb2 as api
from modal_proto import task_command_router_pb2 as router
from modal_proto.api_grpc import ModalClientBase
from modal_proto.task_command_router_grpc import TaskCommandRouterBase

from proctor.sandbox.loopback import new_network
from proctor.sandbox.mounts import mount_disk, mount_overlay, unmount

TOKEN = ("ak-Vq8ZpT3nYw6LrKx2", "as-Hd5RmJ9uXc4WbQ7tEg1Z")
JWT = "e30.eyJleHAiOjk5OTk5OTk5OTl9.x"  # {"exp": 9999999999}
BEGIN = "mount -t proc proc {root}/proc && mount --bind /dev {root}/dev && exec chroot {root} "
CHUNK = 1 << 16
BUILT = api.GenericResult(status=api.GenericResult.GENERIC_STATUS_SUCCESS)


@dataclass
class Running:
    """One command of a sandbox."""

    process: asyncio.subprocess.Process
    written: int = 0


@dataclass
class Box:
    """One sandbox: its root and its first process."""

    name: str
    place: Path
    asked: Any
    tags: list[Any] = field(default_factory=list)
    created: float = field(default_factory=time.time)
    init: subprocess.Popen[bytes] | None = None
    commands: dict[str, Running] = field(default_factory=dict)

    def begin(self, image: Path) -> None:
        disk, root = self.place / f"{self.name}-disk", self.place / f"{self.name}-root"
        for each in (disk, root):
            each.mkdir()
        mount_disk(disk, 256)
        (disk / "upper").mkdir()
        (disk / "work").mkdir()
        mount_overlay(root, image, disk / "upper", disk / "work")
        for name in ("proc", "dev"):
            (root / name).mkdir(exist_ok=True)
        network = new_network()
        try:
            words = BEGIN.format(root=root) + '"$@"'
            apart = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", words, "sh")
            self.init = subprocess.Popen(
                ["nsenter", f"--net=/proc/{os.getpid()}/fd/{network}", *apart, *self.asked.entrypoint_args],
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            while not (children := self._children()) or _root_of(children[0]) != str(root):
                time.sleep(0.002)
        finally:
            os.close(network)

    def _children(self) -> list[int]:
        assert self.init is not None
        path = Path(f"/proc/{self.init.pid}/task/{self.init.pid}/children")
        return [int(each) for each in path.read_text().split()]

    @property
    def entered(self) -> tuple[str, ...]:
        (first,) = self._children()
        return (
            "nsenter",
            f"--target={first}",
            "--mount",
            "--pid",
            "--net",
            f"--root=/proc/{first}/root",
            "--wd=/",
        )

    def end(self) -> None:
        if self.init is None:
            return
        for each in self._children():
            os.kill(each, signal.SIGKILL)
        self.init.wait(10)
        self.init = None
        for name in ("root", "disk"):
            while unmount(self.place / f"{self.name}-{name}"):
                """Until nothing is mounted there."""
        (self.place / f"{self.name}.over").touch()


def _root_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return str(Path(f"/proc/{pid}/root").readlink())
    return ""


class Cloud:
    """What the two services share."""

    def __init__(self, image: Path, place: Path) -> None:
        self.image, self.place = image, place
        self.boxes: dict[str, Box] = {}
        self.url = ""

    def box(self, name: str) -> Box:
        found = self.boxes.get(name.removeprefix("ta-"))
        if found is None or found.init is None:
            raise GRPCError(Status.NOT_FOUND, f"there is no sandbox {name}")
        return found

    def command(self, request: Any) -> Running:
        return self.box(request.task_id).commands[request.exec_id]


def answering(base: type, answers: dict[str, Callable[..., Any]], **streams: Callable[..., Any]) -> Any:
    """A service that answers these calls, and to others that it does not."""

    def unary(answer: Callable[[Any], Any]) -> Callable[..., Any]:
        async def call(_self: Any, stream: Stream[Any, Any]) -> None:
            metadata = dict(stream.metadata or {})
            if "x-modal-token-id" in metadata:
                told = (metadata["x-modal-token-id"], metadata["x-modal-token-secret"])
                if told != TOKEN:
                    raise GRPCError(Status.UNAUTHENTICATED, "Token validation failed")
            request = await stream.recv_message()
            assert request is not None
            found = answer(request)
            await stream.send_message(await found if asyncio.iscoroutine(found) else found)

        return call

    async def unknown(_self: Any, stream: Stream[Any, Any]) -> None:
        raise GRPCError(Status.UNIMPLEMENTED, "not of this server")

    table = dict.fromkeys(getattr(base, "__abstractmethods__", ()), unknown)
    calls = {name: unary(answer) for name, answer in answers.items()}
    return type(base.__name__, (base,), {**table, **calls, **streams})()


class Control:
    """What is asked of Modal's own servers."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud, self.place = cloud, cloud.place

    def environment(self, _request: Any) -> Any:
        settings = api.EnvironmentSettings(image_builder_version="2025.06")
        metadata = api.EnvironmentMetadata(name="main", settings=settings)
        return api.EnvironmentGetOrCreateResponse(environment_id="en-1", metadata=metadata)

    def image(self, request: Any) -> Any:
        commands = list(request.image.dockerfile_commands)
        name = f"im-{len(list(self.place.glob('im-*')))}"
        (self.place / f"{name}.json").write_text(json.dumps(commands))
        if any("cannot" in each for each in commands):
            status = api.GenericResult.GENERIC_STATUS_FAILURE
            failed = api.GenericResult(status=status, exception="it cannot be built")
            return api.ImageGetOrCreateResponse(image_id=name, result=failed)
        return api.ImageGetOrCreateResponse(image_id=name, result=BUILT, metadata=api.ImageMetadata())

    async def create(self, request: Any) -> Any:
        name = f"sb-{len(self.cloud.boxes)}v2"
        box = self.cloud.boxes[name] = Box(name, self.place, request.definition, list(request.tags))
        (self.place / f"{name}.json").write_text(json.dumps(MessageToDict(request)))
        await asyncio.to_thread(box.begin, self.cloud.image)
        access = api.CommandRouterAccess(jwt=JWT, url=self.cloud.url)
        return api.SandboxCreateV2Response(
            sandbox_id=name, task_id=f"ta-{name}", command_router_access=access
        )

    async def end(self, request: Any) -> Any:
        if (box := self.cloud.boxes.get(request.sandbox_id)) is not None:
            await asyncio.to_thread(box.end)
        return api.SandboxTerminateResponse()

    def listed(self, request: Any) -> Any:
        wanted = {(each.tag_name, each.tag_value) for each in request.tags}
        found = [
            api.SandboxInfo(id=each.name, created_at=each.created, app_id="ap-1", tags=each.tags)
            for each in self.cloud.boxes.values()
            if each.init is not None
            and wanted <= {(tag.tag_name, tag.tag_value) for tag in each.tags}
            and not (request.before_timestamp and each.created >= request.before_timestamp)
        ]
        return api.SandboxListResponse(sandboxes=found)

    def tags(self, request: Any) -> Any:
        return api.SandboxTagsGetResponse(tags=self.cloud.boxes[request.sandbox_id].tags)

    def access(self, _request: Any) -> Any:
        return api.SandboxGetCommandRouterAccessResponse(jwt=JWT, url=self.cloud.url)


def control(cloud: Cloud) -> Any:
    asked = Control(cloud)
    answers: dict[str, Callable[..., Any]] = {
        "ClientHello": lambda _: api.ClientHelloResponse(),
        "AuthTokenGet": lambda _: api.AuthTokenGetResponse(token=JWT),
        "AppGetOrCreate": lambda _: api.AppGetOrCreateResponse(app_id="ap-1"),
        "EnvironmentGetOrCreate": asked.environment,
        "ImageGetOrCreate": asked.image,
        "MountGetOrCreate": lambda _: api.MountGetOrCreateResponse(mount_id="mo-1"),
        "MountPutFile": lambda _: api.MountPutFileResponse(exists=True),
        "SandboxCreateV2": asked.create,
        "SandboxTerminateV2": asked.end,
        "SandboxListV2": asked.listed,
        "SandboxTagsGetV2": asked.tags,
        "SandboxGetTaskIdV2": lambda request: api.SandboxGetTaskIdResponse(
            task_id=f"ta-{request.sandbox_id}"
        ),
        "SandboxGetCommandRouterAccess": asked.access,
    }
    return answering(ModalClientBase, answers)


def worker(cloud: Cloud) -> Any:
    async def start(request: Any) -> Any:
        box = cloud.box(request.task_id)
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "MODAL_TASK_ID": request.task_id}
        for source in request.secret_sources:
            env |= dict(source.env.contents)
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *box.entered, *request.command_args, stdin=pipe, stdout=pipe, stderr=pipe, env=env, limit=1 << 20
        )
        box.commands[request.exec_id] = Running(process)
        return router.TaskExecStartResponse()

    async def write(request: Any) -> Any:
        running = cloud.command(request)
        stdin = running.process.stdin
        assert stdin is not None
        with contextlib.suppress(ConnectionError):
            stdin.write(request.data[running.written - request.offset :])
            running.written = max(running.written, request.offset + len(request.data))
            await stdin.drain()
        if request.eof:
            stdin.close()
        return router.TaskExecStdinWriteResponse()

    async def wait(request: Any) -> Any:
        code = await cloud.command(request).process.wait()
        if code < 0:
            return router.TaskExecWaitResponse(signal=-code)
        return router.TaskExecWaitResponse(code=code)

    async def read(_self: Any, stream: Stream[Any, Any]) -> None:
        request = await stream.recv_message()
        process = cloud.command(request).process
        first = request.file_descriptor == router.TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDOUT
        source = process.stdout if first else process.stderr
        assert source is not None
        while part := await source.read(CHUNK):
            await stream.send_message(router.TaskExecStdioReadResponse(data=part))

    answers = {"TaskExecStart": start, "TaskExecStdinWrite": write, "TaskExecWait": wait}
    return answering(TaskCommandRouterBase, answers, TaskExecStdioRead=read)


async def main() -> None:
    cloud = Cloud(Path(sys.argv[1]), Path(sys.argv[2]))
    server = Server([control(cloud), worker(cloud)])
    await server.start("127.0.0.1", 0)
    assert server._server is not None
    port = server._server.sockets[0].getsockname()[1]
    cloud.url = f"http://127.0.0.1:{port}"
    print(port, flush=True)
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    await over.wait()
    for each in cloud.boxes.values():
        each.end()
    server.close()


if __name__ == "__main__":
    asyncio.run(main())
