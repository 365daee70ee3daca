"""`make fleet`: three workers in three homes do what one process does, though one of them and Valkey are killed.

    PYTHONPATH=tests python tests/fleet/fleet_proof.py [--items 100000] [--latency 0.05] [--parallel N] [--no-kills]

PostgreSQL, Valkey and the model server are started here and end with it. The run of one process comes first, then that
of three; their rows are compared item by item. Ends with 1 if anything was lost, doubled or different.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from three_homes import HOMES, Compared, ThreeHomes, killed_on_the_way, three_homes
from valkeys import running_valkey

from postgres_server import running_postgres
from proctor.types import Run

LONGEST_S = 3600.0
LONGEST_WAIT_S = 600.0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--latency", default="0.05", help="mean seconds that a reply takes")
    parser.add_argument("--parallel", type=int, default=None, help="requests at once, of all together")
    parser.add_argument("--no-kills", action="store_true", help="three workers that nobody disturbs")
    given = parser.parse_args()

    with (
        running_postgres() as postgres,
        running_valkey() as valkey,
        tempfile.TemporaryDirectory(prefix="proctor-fleet-") as folder,
        three_homes(Path(folder), postgres.url(postgres.new_database()), valkey, given.items) as here,
    ):
        here.simulate("--latency", given.latency)
        alone, alone_s = _alone(here, given.parallel)
        run, three_s, kills = _three(here, given.parallel, kills=not given.no_kills)
        compared = here.compared(run, alone)
        _print(compared, alone_s, three_s, kills)
        settled = here.store.run(run.id).settled
        return 0 if compared.same and settled == given.items else 1


def _alone(here: ThreeHomes, parallel: int | None) -> tuple[Run, float]:
    here.start("one", redis=False)
    run, seconds = _timed(here, parallel)
    here.stop("one")
    return run, seconds


def _three(here: ThreeHomes, parallel: int | None, *, kills: bool) -> tuple[Run, float, str]:
    machines = [here.start(home) for home in HOMES]
    here.until(lambda: all(machine.said for machine in machines), "three workers are there", LONGEST_WAIT_S)
    told: list[str] = []

    def on_the_way(run: Run) -> None:
        if kills:
            told.append(killed_on_the_way(here, run, longest_s=LONGEST_WAIT_S))

    run, seconds = _timed(here, parallel, on_the_way)
    return run, seconds, "".join(told) or "none"


def _timed(
    here: ThreeHomes, parallel: int | None, on_the_way: Callable[[Run], None] = lambda _run: None
) -> tuple[Run, float]:
    """The run, and the seconds from handing it in to its end."""
    began = time.monotonic()
    run = here.submit(parallel)
    on_the_way(run)
    here.until(lambda: here.ended(run), "the run ends", LONGEST_S)
    return here.store.run(run.id), time.monotonic() - began


def _print(compared: Compared, alone_s: float, three_s: float, kills: str) -> None:
    rows = [
        ("items", f"{compared.items:,}"),
        ("seconds with 1 worker", f"{alone_s:.1f}"),
        ("seconds with 3 workers", f"{three_s:.1f}"),
        ("killed on the way", kills),
        ("lost", str(compared.lost)),
        ("doubled", str(compared.doubled)),
        ("different", str(compared.different)),
        ("scores", "different" if compared.scores_differ else "the same"),
    ]
    for name, value in rows:
        print(f"{name:<24}{value}")


if __name__ == "__main__":
    sys.exit(main())
