"""The small form of `make fleet`: three workers in three homes, one of them and Valkey killed on the way."""

from __future__ import annotations

from pathlib import Path

import pytest
from three_homes import HOMES, Compared, killed_early, three_homes
from valkeys import Valkey

from proctor.store.queue import shards
from proctor.types import Status

N = 1000
LONGEST_S = 100.0


@pytest.mark.slow
@pytest.mark.promise("X-17")
def test_three_machines_of_which_one_is_killed_come_to_what_a_single_process_comes_to(
    tmp_path: Path, postgres_url: str, own_valkey: Valkey
) -> None:
    with three_homes(tmp_path, postgres_url, own_valkey, N) as here:
        here.simulate("--latency", "0.05")
        here.start("one", redis=False)
        alone = here.submit(64)
        here.until(lambda: here.ended(alone), "a single process ends", LONGEST_S)
        here.stop("one")
        assert shards.standing(here.store, alone.id, now=0.0) is None
        for home in HOMES:
            here.start(home)
        here.until(
            lambda: all(machine.said for machine in here.machines.values()), "all are there", LONGEST_S
        )
        run = here.submit(12)
        killed_early(here, run, longest_s=LONGEST_S)
        here.until(lambda: here.ended(run), "two of them end it", LONGEST_S)
        done = here.store.run(run.id)
        assert (done.status, done.settled, done.error) == (Status.COMPLETED, N, None)
        standing = shards.standing(here.store, run.id, now=0.0)
        assert standing is not None and standing.done == standing.of > 1
        assert here.compared(run, alone) == Compared(N, lost=0, doubled=0, different=0, scores_differ=False)
