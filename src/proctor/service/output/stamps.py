"""The time in `data/rollouts/NAME/STAMP`, and in the names of all its trials: no two benchmarks have the same one.

It is reserved below PROCTOR_HOME, where benchmarks of other stores may lie, and in the store, which homes may share.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from proctor.errors import ConfigError
from proctor.plan.rollouts import benchmark_fault
from proctor.references import RolloutsRef
from proctor.store.core.schema import Database
from proctor.store.datasets.content import give_name_back, take_name
from proctor.types import Plan

FORM = "%Y%m%d__%H-%M-%S"  # UTC
ROLLOUTS, RUNS = "rollouts", "runs"


def benchmark_folder(data: Path, name: str, stamp: str) -> Path:
    return data / ROLLOUTS / name / stamp


def reserve(home: Path, name: str, store: Database | None = None, *, now: datetime | None = None) -> str:
    """A stamp that no other benchmark below `home` or in `store` has, and its folder; a second's second gets a suffix.

    Raises: ConfigError for a name that no folder can have, or a folder that is a link; StoreError.
    """
    if fault := benchmark_fault(name):
        raise ConfigError(f"Benchmark name: {fault}")
    second = (now or datetime.now(UTC)).strftime(FORM)
    own = home / ROLLOUTS / name
    try:
        (home / ROLLOUTS).mkdir(parents=True, exist_ok=True)
        with _alone(home / ROLLOUTS):
            own.mkdir(exist_ok=True)
            no_links(home, own)
            taken = set(_stamps(home))
            free = (f"{second}_{number}" if number > 1 else second for number in count(1))
            stamp = next(
                each
                for each in free
                if each not in taken and (store is None or take_name(store, _named(each)))
            )
            (own / stamp).mkdir()
    except OSError as error:
        raise ConfigError(f"{own} cannot be made: {error.strerror}") from error
    return stamp


def _named(stamp: str) -> str:
    """What a stamp is called in the store."""
    return f"stamps/{stamp}"


def no_links(home: Path, folder: Path) -> None:
    """Raises: ConfigError where a folder below `home` is reached by a link, through which files would go elsewhere."""
    for each in (folder, *folder.parents):
        if each == home / ROLLOUTS or each == home:
            return
        if each.is_symlink():
            raise ConfigError(
                f"{each} is a link: nothing is written through it. Remove it, or take another name"
            )


def release(home: Path, name: str, stamp: str, store: Database | None = None) -> None:
    """Take a reserved folder away in which nothing was written, and the stamp's name."""
    with suppress(OSError):
        benchmark_folder(home, name, stamp).rmdir()
        if store is not None:
            give_name_back(store, _named(stamp))
        (home / ROLLOUTS / name).rmdir()


def stamped(plan: Plan, home: Path, store: Database | None = None) -> Plan:
    """The plan with a stamp reserved for its tasks, one for all rows. Raises: ConfigError."""
    refs = [cell.source for cell in plan.cells if isinstance(cell.source, RolloutsRef)]
    fresh = dict(zip(refs, afresh(refs, home, store), strict=True))
    return replace(
        plan,
        cells=tuple(
            replace(cell, source=fresh[cell.source]) if isinstance(cell.source, RolloutsRef) else cell
            for cell in plan.cells
        ),
    )


def afresh(refs: Sequence[RolloutsRef], home: Path, store: Database | None = None) -> list[RolloutsRef]:
    """The references with a new stamp, the same for all that share a name and a stamp by now. Raises: ConfigError."""
    stamps = {
        key: reserve(home, key[0], store) for key in dict.fromkeys((ref.name, ref.stamp) for ref in refs)
    }
    return [replace(ref, data=str(home.absolute()), stamp=stamps[ref.name, ref.stamp]) for ref in refs]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Only one process at a time looks and takes."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _stamps(home: Path) -> Iterator[str]:
    """Every stamp that a benchmark or a trial has."""
    yield from (stamp.name for stamp in (home / ROLLOUTS).glob("*/*"))
    if (home / RUNS).is_dir():
        yield from (each.name.rpartition("-")[0] for each in (home / RUNS).iterdir())
