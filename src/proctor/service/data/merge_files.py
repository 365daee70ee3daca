"""The files of trials that a part left on the disk, brought to the merged run's own."""

from __future__ import annotations

from proctor.errors import OutputError
from proctor.references import RolloutsRef
from proctor.service.context import Context
from proctor.service.data.parts import PartFound
from proctor.service.hosts.places import RUNS, trial_folder
from proctor.service.hosts.trials import copied, fetched_of, send_all
from proctor.service.output.benchmark_files import refresh
from proctor.types import Run


def bring_files(context: Context, part: PartFound, run: Run) -> None:
    """Copy the folders of a part's trials to where the merged run's trials have theirs. Raises: OutputError.

    Of parts without a PROCTOR_HOME at hand (bundles) they are had from where machines share, if the part put them
    there; else trials have their records, without files.
    """
    old, new = part.run.cell.source, run.cell.source
    if not isinstance(old, RolloutsRef) or not isinstance(new, RolloutsRef):
        return
    shards, number = part.shard, 0
    for position, entry in enumerate(old.tasks):
        for repeat in range(entry.rollouts):
            if shards.holds(position, repeat):
                ours = trial_folder(new, context.settings, new.first + number)
                if part.home is not None:
                    copied(part.home / RUNS / f"{old.stamp}-{old.first + number}", ours)
                else:
                    fetched_of(context, part.run.id, old.first + number, ours)
            number += 1


def write_files(context: Context, run: Run) -> OutputError | None:
    """Have the benchmark's documented files say what the merged run shows; what kept that from being done."""
    if not isinstance(run.cell.source, RolloutsRef):
        return None
    try:
        send_all(context, run)
        refresh(context, run)
    except OSError as error:
        return OutputError(f"The benchmark's files are not up to date: {error}")
    return None
