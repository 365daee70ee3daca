"""Ports of this machine for servers that must know theirs beforehand, and for nobody."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager

# Below those that the kernel gives to connections of others (ip(7), ip_local_port_range).
LOWEST, HIGHEST = 20_000, 32_000


def free_port() -> int:
    """One that no connection takes by chance while nobody listens there, as while a server is started again."""
    for port in random.sample(range(LOWEST, HIGHEST), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")


@contextmanager
def nobodys_port() -> Iterator[int]:
    """One at which nobody listens, and nobody else can meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
