"""The files of trials that a part left on the disk, brought to the merged run's own."""

from __future__ import annotations

import shutil
from pathlib import Path

from proctor.errors import OutputError
from proctor.references import RolloutsRef
from proctor.service.data.parts import PartFound
from proctor.service.output.benchmark_files import refresh
from proctor.store import Store
from proctor.types import Run


def bring_files(part: PartFound, run: Run) -> None:
    """Copy the folders of a part's trials to where the merged run's trials have theirs.

    Of parts without a PROCTOR_HOME at hand (bundles) there are none; trials then have their records, without files.
    """
    old, new = part.run.cell.source, run.cell.source
    if not isinstance(old, RolloutsRef) or not isinstance(new, RolloutsRef) or part.home is None:
        return
    shards, number = part.shard, 0
    for position, entry in enumerate(old.tasks):
        for repeat in range(entry.rollouts):
            theirs = part.home / "runs" / f"{old.stamp}-{old.first + number}"
            ours = Path(new.data, "runs", f"{new.stamp}-{new.first + number}")
            if shards.holds(position, repeat) and theirs.is_dir() and not ours.exists():
                shutil.copytree(theirs, ours, symlinks=True)
            number += 1


def write_files(store: Store, run: Run) -> OutputError | None:
    """Have the benchmark's documented files say what the merged run shows; what kept that from being done."""
    if not isinstance(run.cell.source, RolloutsRef):
        return None
    try:
        refresh(store, run)
    except OSError as error:
        return OutputError(f"The benchmark's files are not up to date: {error}")
    return None
