"""A program for a process that may enter no namespace: what boxes of docker reach there, by a relay, as JSON."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
import time
from pathlib import Path

from proctor.references import RolloutsRef
from proctor.sandbox.contract import Box, Command, Policy
from proctor.sandbox.opening import open_sandbox

sys.path.append(str(Path(__file__).parent))
from sights import looked

SMALL = Policy(memory_mb=128, cpus=1.0, pids=32, disk_mb=32)
MOST = 1 << 20
STREAMS = 24
SPEAK = f"""
import socket, hashlib
from concurrent.futures import ThreadPoolExecutor
def one(number):
    said = number.to_bytes(2, "big") * ({MOST} // 2)
    with socket.create_connection(("127.0.0.1", 8080)) as line:
        line.sendall(said)
        line.shutdown(socket.SHUT_WR)
        heard = b"".join(iter(lambda: line.recv(65536), b""))
    return heard == hashlib.sha256(said).digest() + said
with ThreadPoolExecutor({STREAMS}) as pool:
    print(sum(pool.map(one, range({STREAMS}))))
"""
HANG = """
import socket
line = socket.create_connection(("127.0.0.1", 8080))
line.sendall(b"half a requ")
line.recv(1)
"""


async def told_back(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    said = await reader.read()
    writer.write(hashlib.sha256(said).digest() + said)
    writer.close()


async def spoken(box: Box) -> tuple[str, list[int], str]:
    """How many connections at once came through whole, what a server had heard of one that was killed, and who runs."""
    heard: list[int] = []
    spoken_to = asyncio.Event()

    async def listening(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said = await reader.read(1)
        spoken_to.set()
        heard.append(len(said + await reader.read()))
        writer.close()

    made = (await box.listen(8080)).socket
    server = await asyncio.start_server(told_back, sock=made.dup())
    whole = (await box.run(Command(("python3", "-c", SPEAK), cwd="/", timeout_s=60))).said.decode().strip()
    server.close()
    async with await asyncio.start_server(listening, sock=made):
        began = time.monotonic()
        still = {"waited_s": lambda: 0.0 if spoken_to.is_set() else time.monotonic() - began}
        await box.run(Command(("python3", "-c", HANG), cwd="/", timeout_s=0.2, **still))
        running = await box.run(Command(("ps", "-eo", "uid,comm", "--no-headers"), cwd="/"))
    return whole, heard, running.said.decode()


async def main() -> None:
    sandbox = open_sandbox(RolloutsRef("tests", sandbox="docker"), Path(sys.argv[1]))
    await sandbox.check(SMALL)
    one, other, third = await asyncio.gather(*(sandbox.open(SMALL) for _ in range(3)))
    try:
        sights, (whole, heard, running) = await asyncio.gather(looked(one, other), spoken(third))
    finally:
        await asyncio.gather(*(each.close() for each in (one, other, third)))
    print(
        json.dumps(
            {"told": sandbox.told, "sights": sights, "whole": whole, "heard": heard, "running": running}
        )
    )


if __name__ == "__main__":
    asyncio.run(main())
