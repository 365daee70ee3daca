"""Jobs for the tests of the queue; and a program that submits or takes many at once."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from proctor.errors import QueueFull
from proctor.references import ExamRef
from proctor.store import Store
from proctor.store.queue import entries, taking
from proctor.store.queue.entries import Ticket
from proctor.types import Cell, Model, Plan, Run

NOW = 1_800_000_000.0
CELL = Cell(Model("ollama", "qwen3:8b"), ExamRef("suite", "superglue"))


def submitted(
    store: Store, user: str = "ann", *, priority: str = "high", now: float = NOW, most: int = 100
) -> Run:
    ticket = Ticket(user, 1, priority, title="SuperGLUE")
    return entries.submit(store, Plan((CELL,)), ticket, most_queued=most, now=now)


def taken(store: Store, owner: str = "w1", *, now: float = NOW, most: int = 100) -> Run | None:
    return taking.take_next(store, owner=owner, now=now, lease_s=60.0, most_running=most)


def submit_one(store: Store, user: str) -> str:
    """What became of a submission."""
    try:
        return submitted(store, user, most=10).id
    except QueueFull as error:
        assert error.http_status == 429
        return "full"


def take_one(store: Store, owner: str) -> str:
    run = taken(store, owner, most=3)
    return run.id if run else "none"


WAYS: dict[str, Callable[[Store, str], str]] = {"submit": submit_one, "take": take_one}


def at_once(url: str, way: str, names: list[str], threads: int) -> list[str]:
    """What the threads of a process for each name were told, all of them let go at one moment."""
    command = [sys.executable, str(Path(__file__)), url, way, str(threads)]
    processes = [
        subprocess.Popen([*command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for name in names
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    outputs = []
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        outputs.append(process.communicate(timeout=60)[0])
        assert process.returncode == 0
    return " ".join(outputs).split()


def main(url: str, way: str, count: str, name: str) -> None:
    store = Store.open(url)
    barrier = threading.Barrier(int(count) + 1)
    told: list[str] = []

    def work() -> None:
        barrier.wait()
        told.append(WAYS[way](store, name))

    threads = [threading.Thread(target=work) for _ in range(int(count))]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    sys.stdin.readline()
    barrier.wait()
    for thread in threads:
        thread.join()
    print("\n".join(told))
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
