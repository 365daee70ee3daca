"""What programs of boxes see of networks: two boxes that are listened in, each asked whom it reaches."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from proctor.sandbox.contract import Box, Command

Sight = dict[str, Any]
# What a program sees of networks: what it was handed, and whom it reaches.
LOOK = """
import json, os, socket, sys

def reached(family, address):
    try:
        with socket.socket(family) as line:
            line.settimeout(20)
            line.connect(address)
            line.sendall(b"who is there?\\n")
            return line.makefile().readline().strip()
    except OSError as error:
        return type(error).__name__

here, abstract = int(sys.argv[1]), "\\0" + sys.argv[2]
lines = lambda path: open(path).read().splitlines()
print(json.dumps({
    "8080": reached(socket.AF_INET, ("127.0.0.1", 8080)),
    "8081": reached(socket.AF_INET, ("127.0.0.1", 8081)),
    "port of the machine": reached(socket.AF_INET, ("127.0.0.1", here)),
    "far": reached(socket.AF_INET, ("192.0.2.1", 80)),
    "far6": reached(socket.AF_INET6, ("2001:db8::1", 80)),
    "abstract": reached(socket.AF_UNIX, abstract),
    "devices": [line.split(":")[0].strip() for line in lines("/proc/net/dev")[2:]],
    "routes": lines("/proc/net/route")[1:],
    "routes6": sorted({line.split()[-1] for line in lines("/proc/net/ipv6_route")}),
    "unix": [line.split()[-1] for line in lines("/proc/net/unix")[1:] if "@" in line],
    "descriptors": [each for each in range(3, 64) if os.path.lexists(f"/proc/self/fd/{each}")],
    "network": os.readlink("/proc/self/ns/net"),
}))
"""


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"heard: " + await reader.readline())
    writer.close()


async def _seen(box: Box, port: int, abstract: str) -> Sight:
    ended = await box.run(Command(("python3", "-c", LOOK, str(port), abstract), cwd="/", timeout_s=100))
    assert ended.code == 0, ended.said.decode()
    told: Sight = json.loads(ended.said)
    return told


async def looked(one: Box, other: Box) -> tuple[Sight, Sight, Sight]:
    """What two boxes see while each is listened in, the second at another port, and this machine serves as well."""
    name = f"proctor-tests-{os.getpid()}"
    own = socket.socket(socket.AF_UNIX)
    own.bind(f"\0{name}")
    own.listen()
    first, second = await one.listen(8080), await other.listen(8081)
    machine = await asyncio.start_server(_echo, "127.0.0.1", 0)
    port = machine.sockets[0].getsockname()[1]
    servers = [await asyncio.start_server(_echo, sock=each.socket) for each in (first, second)]
    try:
        sights = (await _seen(one, port, name), await _seen(other, port, name))
        servers[0].close()
        return *sights, await _seen(one, port, name)
    finally:
        own.close()
        for each in (machine, *servers):
            each.close()


def nothing_but_its_own(sight: Sight) -> None:
    assert sight["devices"] == ["lo"]
    assert sight["routes"] == []
    assert sight["routes6"] == ["lo"]
    assert sight["unix"] == []
    assert sight["descriptors"] == []
    told = [sight[each] for each in ("port of the machine", "abstract", "far", "far6")]
    assert told == ["ConnectionRefusedError", "ConnectionRefusedError", "OSError", "OSError"]


def networks_here() -> set[str]:
    """The networks that processes of this machine are in."""
    found = set()
    for each in Path("/proc").glob("[0-9]*/ns/net"):
        with suppress(OSError):
            found.add(str(each.readlink()))
    return found


def each_reaches_its_own(
    sights: tuple[Sight, Sight, Sight], gone: Sequence[str] = ("ConnectionRefusedError",)
) -> None:
    """The first at 8080, the second at 8081; the first once more, when nobody listens any longer."""
    one, other, afterwards = sights
    assert (one["8080"], one["8081"]) == ("heard: who is there?", "ConnectionRefusedError")
    assert (other["8080"], other["8081"]) == ("ConnectionRefusedError", "heard: who is there?")
    assert afterwards["8080"] in gone
    assert one["network"] == afterwards["network"] != other["network"]
    assert not networks_here() & {one["network"], other["network"]}
    for each in sights:
        nothing_but_its_own(each)
