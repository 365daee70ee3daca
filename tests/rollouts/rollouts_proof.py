"""`make fleet-rollouts`: three workers in three homes run the trials that one process runs, though one is killed.

    PYTHONPATH=tests python tests/rollouts/rollouts_proof.py [--trials 300] [--parallel 3] [--no-kill]

PostgreSQL is started here and ends with it. A benchmark of one worker comes first, then that of three; when a third of
it is done, nothing is left of the machine that owns it. Ends with 1 if a trial was lost, doubled or different, or if a
folder of one cannot be had.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from three_hosts import HOSTS, ThreeHosts, compared, three_hosts

from postgres_server import running_postgres
from proctor.service.hosts.trials import have
from proctor.types import Run

LONGEST_S = 7200.0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--parallel", type=int, default=3, help="trials at once, of all machines together")
    parser.add_argument("--no-kill", action="store_true", help="three workers that nobody disturbs")
    given = parser.parse_args()
    with (
        running_postgres() as postgres,
        tempfile.TemporaryDirectory(prefix="proctor-hosts-") as folder,
        three_hosts(Path(folder), postgres.url(postgres.new_database()), given.trials) as here,
    ):
        here.start(HOSTS[0])
        alone, alone_s = _timed(here, "alone", given.parallel)
        here.stop(HOSTS[0])
        for host in HOSTS:
            here.start(host)
        here.until(lambda: all(each.said for each in here.machines.values()), "three are there", LONGEST_S)
        run, three_s = _timed(here, "three", given.parallel, kill=not given.no_kill)
        found = compared(here, run, alone)
        host = next(iter(here.machines))
        began = time.monotonic()
        rows = {(row.item_id, row.repeat): row for row in here.store.latest(run.id)}
        trials = here.shown(run, host)
        folders = sum(
            have(here.context(host), run, number, rows.get((trial.task, trial.rollout)))
            for number, trial in enumerate(trials)
        )
        took_s = time.monotonic() - began
        told = [
            ("trials", f"{found.trials:,}"),
            ("seconds with 1 worker", f"{alone_s:.1f}"),
            ("seconds with 3 workers", f"{three_s:.1f}"),
            ("lost", str(found.lost)),
            ("doubled", str(found.doubled)),
            ("different", str(found.different)),
            (
                "folders had",
                f"{folders} of {found.trials}, in {took_s:.1f} s on one of the machines that are left",
            ),
        ]
        for name, value in told:
            print(f"{name:<24}{value}")
        return 0 if found.same and folders == found.trials == given.trials else 1


def _timed(here: ThreeHosts, name: str, parallel: int, *, kill: bool = False) -> tuple[Run, float]:
    """The run, and the seconds from handing it in to its end."""
    began = time.monotonic()
    run = here.submit(name, parallel)
    if kill:
        third = here.trials // 3
        here.until(lambda: here.settled(run) >= third and len(here.at_work(run)) > 1, "all work", LONGEST_S)
        owner = here.owner(run)
        print(f"{'killed':<24}{owner}, which owns it, at {here.settled(run)} trials", flush=True)
        here.kill(owner)
    here.until(lambda: here.ended(run), "it ends", LONGEST_S)
    return here.store.run(run.id), time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
