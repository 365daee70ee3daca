"""`proctor look-at`: what a server starts for each uploaded file, to be read apart; not for people, and in no list."""

from __future__ import annotations

import resource
import sys

import click


@click.command("look-at", hidden=True)
def look_at_command() -> int:
    """Read how and what to look at from standard input, and write what was found."""
    from proctor.service.datasets.bounded import LOOK_MEMORY_BYTES, MOST_LOOK_S, answer

    resource.setrlimit(resource.RLIMIT_AS, (LOOK_MEMORY_BYTES, LOOK_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (int(MOST_LOOK_S), int(MOST_LOOK_S)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.buffer.write(answer(sys.stdin.buffer.read()))
    return 0
