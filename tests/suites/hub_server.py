"""A hub of our own on this machine: the addresses of the real one, a second host for the files, and faults."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import web
from arro3.core import Array, DataType, Field, Table, list_array, struct_array
from arro3.io import write_parquet

from loops import loop_in_thread

COMMIT = "a" * 40
OTHER_COMMIT = "b" * 40
TYPES = {int: DataType.int64, float: DataType.float32, str: DataType.string, bool: DataType.bool}


def column(values):
    """An Arrow array of plain values, lists or objects, as the hub's tables have them."""
    first = values[0]
    if isinstance(first, dict):
        parts = [column([value[name] for value in values]) for name in first]
        fields = [Field(name, part.type) for name, part in zip(first, parts, strict=True)]
        return struct_array(parts, fields=fields)
    if isinstance(first, list):
        ends = [0]
        for value in values:
            ends.append(ends[-1] + len(value))
        inner = [each for value in values for each in value]
        return list_array(Array(ends, DataType.int32()), column(inner))
    return Array(values, TYPES[type(first)]())


def parquet(*rows):
    """A Parquet file of the rows."""
    table = Table.from_pydict({name: column([row[name] for row in rows]) for name in rows[0]})
    out = io.BytesIO()
    write_parquet(table, out, compression="snappy")
    return out.getvalue()


@dataclass
class HubServer:
    """What it serves, what it is to do wrong, and what it was asked.

    `faults` gives for a path what happens to the next requests, one after the other: a status, "cut",
    "size", "hash" or "commit". `seen` holds the host that was asked, the path and the Authorization header.
    """

    files: dict[str, dict[str, bytes]] = field(default_factory=dict)  # data set -> path -> body
    commit: str = COMMIT
    claimed: str | None = None  # the commit that listings name, where it is not the true one
    raw: dict[str, bytes] = field(default_factory=dict)  # what GitHub would serve
    faults: dict[str, list] = field(default_factory=lambda: defaultdict(list))
    seen: list[tuple[str, str, str | None]] = field(default_factory=list)
    url: str = ""
    store_url: str = ""  # where the files lie: another host, as with the real hub

    def asked(self, part):
        return [path for _, path, _ in self.seen if part in path]

    async def answer(self, request):
        host = "store" if request.host in self.store_url else "hub"
        self.seen.append((host, request.path, request.headers.get("Authorization")))
        fault = next(
            (self.faults[p].pop(0) for p in list(self.faults) if p in request.path and self.faults[p]), None
        )
        if isinstance(fault, int):
            return web.Response(status=fault, headers={"Retry-After": "7"})
        if request.path.startswith("/api/datasets/"):
            return self.listing(request.path.removeprefix("/api/datasets/"))
        if request.path.startswith("/datasets/"):
            return self.resolve(request.path.removeprefix("/datasets/"), fault)
        if request.path.startswith("/store/"):
            return await self.blob(request, request.path.removeprefix("/store/"), fault)
        body = self.raw.get(request.path.removeprefix("/raw/"))
        return web.Response(status=404) if body is None else web.Response(body=body)

    def listing(self, rest):
        dataset, _, revision = rest.partition("/revision/")
        if dataset not in self.files or revision not in ("main", self.commit):
            return web.Response(status=404)
        siblings = [{"rfilename": name} for name in ("README.md", *self.files[dataset])]
        return web.json_response({"id": dataset, "sha": self.claimed or self.commit, "siblings": siblings})

    def resolve(self, rest, fault):
        dataset, _, place = rest.partition("/resolve/")
        commit, _, path = place.partition("/")
        body = self.files.get(dataset, {}).get(path)
        if body is None or commit != self.commit:
            return web.Response(status=404)
        headers = {
            "x-linked-size": str(len(body) + (fault == "size")),
            "x-linked-etag": f'"{hashlib.sha256(body + b"!" * (fault == "hash")).hexdigest()}"',
            "x-repo-commit": OTHER_COMMIT if fault == "commit" else commit,
            "Location": f"{self.store_url}/store/{dataset}/{path}",
        }
        return web.Response(status=302, headers=headers)

    async def blob(self, request, rest, fault):
        dataset = next(name for name in self.files if rest.startswith(f"{name}/"))
        body = self.files[dataset][rest.removeprefix(f"{dataset}/")]
        if fault != "cut":
            return web.Response(body=body)
        response = web.StreamResponse(headers={"Content-Length": str(len(body))})
        await response.prepare(request)
        await response.write(body[: len(body) // 2])
        request.transport.close()
        return response


@contextmanager
def running_hub() -> Iterator[HubServer]:
    """The server in a thread with an event loop of its own: the client runs one too."""
    server = HubServer()

    async def start():
        app = web.Application()
        app.router.add_get("/{path:.*}", server.answer)
        runner = web.AppRunner(app)
        await runner.setup()
        for _ in range(2):
            await web.TCPSite(runner, "127.0.0.1", 0).start()
        ports = [address[1] for address in runner.addresses]
        server.url, server.store_url = (f"http://127.0.0.1:{port}" for port in ports)
        return runner

    with loop_in_thread() as loop:
        runner = asyncio.run_coroutine_threadsafe(start(), loop).result()
        try:
            yield server
        finally:
            asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
