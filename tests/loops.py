"""An event loop in a thread of its own, for servers of the tests that share the process with their client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loop_in_thread() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop that runs until the block ends.

    It runs from its first moment, so a stop, however early it comes, always reaches a running loop: one that came
    between two `run_until_complete` would end the first of them and be forgotten.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
