"""The reference of `make bench`: the barest aiohttp loop that could do the asking part of a run's work.

    python bare.py URL BODIES TEXTS PARALLEL

BODIES holds one ready JSON request a line; the text of each reply is appended to TEXTS. There is no
rendering, scoring, pacing, retrying or database here: that is what proctor's ratio to it measures.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import aiohttp
import orjson
import uvloop

HEADERS = {"Content-Type": "application/json"}


async def ask_all(url: str, bodies: list[bytes], texts: TextIO, *, parallel: int) -> None:
    """Send every body once, at most `parallel` at a time.

    Raises: aiohttp.ClientError for a connection that broke or a status beyond 399.
    """
    waiting = iter(bodies)
    connector = aiohttp.TCPConnector(limit=parallel)
    async with aiohttp.ClientSession(connector=connector, raise_for_status=True) as session:
        await asyncio.gather(*(_work(session, url, waiting, texts) for _ in range(parallel)))


async def _work(session: aiohttp.ClientSession, url: str, waiting: Iterator[bytes], texts: TextIO) -> None:
    for body in waiting:
        async with session.post(url, data=body, headers=HEADERS) as response:
            reply = orjson.loads(await response.read())
        texts.write(reply["choices"][0]["message"]["content"].replace("\n", " ") + "\n")


def main() -> int:
    url, bodies, texts, parallel = sys.argv[1:]
    ready = Path(bodies).read_bytes().splitlines()
    with Path(texts).open("a", encoding="utf-8") as file:
        uvloop.run(ask_all(url, ready, file, parallel=int(parallel)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
