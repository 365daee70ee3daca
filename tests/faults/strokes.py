"""The faults: what each needs of its world, how it strikes, and how it passes."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from faults.proxy import fill
from faults.world import World

AWAY_S = (0.2, 2.0)  # for so long lasts what passes by itself


@dataclass(frozen=True)
class Fault:
    """`strike` does it and returns when it has passed; `needs` are the world's options."""

    name: str
    strike: Callable[[World], None]
    needs: Mapping[str, Any] = field(default_factory=dict)


def _pause(world: World) -> None:
    time.sleep(world.luck.uniform(*AWAY_S))


def _kill(found: list[psutil.Process]) -> None:
    for each in found:
        try:
            each.kill()
        except psutil.NoSuchProcess:
            continue  # it has just ended by itself


def kill_child(world: World) -> None:
    _kill(world.processes("work-on"))


def kill_worker(world: World) -> None:
    """The process that does the run goes on without it."""
    _kill(world.processes("worker"))


def kill_worker_and_child(world: World) -> None:
    _kill([*world.processes("worker"), *world.processes("work-on")])


def kill_server(world: World) -> None:
    """Its worker notices that its parent is gone, and ends."""
    assert world.process is not None
    world.process.kill()
    world.process.wait()
    _pause(world)
    world.serve_again()


def kill_all(world: World) -> None:
    """As a machine does that loses its power, but for what the disk had not written."""
    assert world.process is not None
    below = psutil.Process(world.process.pid).children(recursive=True)
    world.process.kill()
    _kill(below)
    world.process.wait()
    _pause(world)
    world.serve_again()


def crash_postgres(world: World) -> None:
    assert world.postgres is not None
    os.kill(world.postgres.pid, signal.SIGQUIT)
    _pause(world)
    world.postgres.crash_and_recover()


def cut_database(world: World) -> None:
    assert world.database is not None
    world.database.be("cut")
    _pause(world)
    world.database.be("pass")


def model_server(mode: str) -> Callable[[World], None]:
    def strike(world: World) -> None:
        world.model.be(mode)
        _pause(world)
        world.model.be("pass")

    return strike


def fill_disk(world: World) -> None:
    filler = fill(world.home)
    _pause(world)
    filler.unlink()


def move_clock(world: World, seconds: int) -> None:
    """Of every process of the server at once; what stands there is added to."""
    # In place: the processes have the file mapped.
    with Path(world.environ["FAULTS_CLOCK"]).open("r+b") as clock:
        ahead = int.from_bytes(clock.read(8), sys.byteorder, signed=True) + seconds
        clock.seek(0)
        clock.write(ahead.to_bytes(8, sys.byteorder, signed=True))


def jump_clock(world: World) -> None:
    """An hour ahead or back."""
    move_clock(world, world.luck.choice((3600, -3600)))


FAULTS = (
    Fault("kill -9 of the run's process", kill_child),
    Fault("kill -9 of the worker", kill_worker),
    Fault("kill -9 of worker and run", kill_worker_and_child),
    Fault("kill -9 of the server", kill_server),
    Fault("kill -9 of everything", kill_all),
    Fault("PostgreSQL crashes", crash_postgres, {"postgres": True}),
    Fault("line to PostgreSQL cut", cut_database, {"postgres": True}),
    Fault("line to the model cut", model_server("cut")),
    Fault("model server slow as loris", model_server("slow")),
    Fault("model server never ends", model_server("endless")),
    Fault("model server says garbage", model_server("garbage")),
    Fault("disk full", fill_disk, {"room_mb": 64}),
    Fault("clock jumps an hour", jump_clock, {"clock": True}),
)
