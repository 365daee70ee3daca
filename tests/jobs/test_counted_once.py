"""What is counted once, at a run's end or at first need, is what the attempts say, however often it is asked."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson
import pytest
from sqlalchemy import select, update

from jobs_world import World, step, until, world
from proctor.findings import Difference
from proctor.jobs.child import command
from proctor.jobs.worker import Worker
from proctor.service.admin import prune
from proctor.service.evidence.cache import Lately
from proctor.service.evidence.history import history, trend
from proctor.service.evidence.leaderboard import leaderboard
from proctor.service.results.results import marks, shape
from proctor.stats.compare import differences
from proctor.store import Store
from proctor.store.core.tables import RUN
from proctor.store.read.lists import RunFilter
from proctor.types import Model, Run, Status

pytestmark = pytest.mark.slow  # whole runs in processes of their own

# The process of a job as it is, but for the moment after its row says that it has ended.
KILLED_AFTER_ITS_END = """
import os, signal, sys
from proctor.service.evidence import changes
changes.count = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from proctor.app import main
main(sys.argv[1:])
"""
ALL = {"metric": "score", "limit": 10, "project_id": None}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path) as made:
        made.simulate()
        yield made


def done(here: World, *models: str, worker: Worker | None = None) -> list[Run]:
    """One run after the other, each ended."""
    worker = worker or here.worker()
    found = []
    for model in models:
        run = here.submit(model)
        until(lambda run=run: here.ended(run), "the run ends", step=lambda: step(worker))  # type: ignore[misc]  # of this turn
        until(lambda: not worker.children, "its process ends", step=lambda: step(worker))
        found.append(here.run(run))
    assert {run.status for run in found} == {Status.COMPLETED}
    return found


def killed(run_id: str, owner: str, lease_s: float) -> list[str]:
    return [sys.executable, "-c", KILLED_AFTER_ITS_END, *command(run_id, owner, lease_s)[3:]]


def counted(store: Store, run: Run, before: Run) -> Difference:
    """From the attempts, without anything that is kept."""
    return differences(list(marks(store, run)), list(marks(store, before)), shape(run), tasks=False)[0]


def kept(store: Store, runs: Sequence[Run]) -> list[int]:
    """How many changes each run has in its summary."""
    with store.reading() as connection:
        found = dict(connection.execute(select(RUN.c.id, RUN.c.summary)).all())
    return [len(orjson.loads(found[run.id]).get("changes", {})) for run in runs]


def test_a_change_is_kept_at_the_runs_end_and_is_what_the_attempts_say(
    tmp_path: Path, database_url: str
) -> None:
    with world(tmp_path, database_url) as here:
        here.simulate()
        first, second, third = runs = done(here, *["ollama/sim"] * 3)
        assert kept(here.store, runs) == [0, 1, 1]
        points = trend(here.context, RunFilter(model="sim"))
        assert [point.run.id for point in points] == [third.id, second.id, first.id]
        wanted = [counted(here.store, third, second), counted(here.store, second, first), None]
        assert [point.change for point in points] == wanted
        assert [line.change for line in history(here.context, model="sim").runs] == wanted
        with here.store.writing() as connection:  # as an older version left it
            summary = RUN.c.summary
            for run in runs:
                text = connection.execute(select(summary).where(RUN.c.id == run.id)).scalar_one()
                plain = {name: value for name, value in orjson.loads(text).items() if name != "changes"}
                connection.execute(
                    update(RUN).where(RUN.c.id == run.id).values(summary=orjson.dumps(plain).decode())
                )
        assert trend(here.context, RunFilter(model="sim")) == points
        assert kept(here.store, runs) == [0, 1, 1]  # made good


def test_a_process_killed_after_its_end_and_before_the_counting_leaves_right_figures(here: World) -> None:
    (first,) = done(here, "ollama/sim")
    worker = here.worker()
    worker.command = killed
    (second,) = done(here, "ollama/sim", worker=worker)
    assert kept(here.store, [second]) == [0]  # it was killed indeed
    (point, _) = trend(here.context, RunFilter(model="sim"))
    assert point.change == counted(here.store, second, first)
    assert kept(here.store, [second]) == [1]


def test_what_was_kept_of_another_run_before_it_is_not_shown(here: World) -> None:
    first, second, third = done(here, *["ollama/sim"] * 3)
    prune.delete(here.context, second.id)
    (point, _) = trend(here.context, RunFilter(model="sim"))
    assert point.run.id == third.id
    assert point.change == counted(here.store, third, first)


def test_a_board_is_made_anew_when_a_run_of_its_own_ends_and_only_then(here: World) -> None:
    done(here, "ollama/sim", "ollama/sim-small")
    lately, suite = Lately(here.context), here.file.name
    board = lately.board(suite, **ALL)  # type: ignore[arg-type]  # by name
    assert board == leaderboard(here.context, suite=suite)
    waits = here.submit("ollama/sim")  # it has not ended
    assert lately.board(suite, **ALL) is board  # type: ignore[arg-type]  # by name
    done(here, "ollama/sim-perfect")
    assert here.ended(waits)
    fresh = lately.board(suite, **ALL)  # type: ignore[arg-type]  # by name
    assert fresh is not board and fresh == leaderboard(here.context, suite=suite)
    assert {str(place.result.run.cell.model) for place in fresh.places} == {
        str(Model("ollama", name)) for name in ("sim", "sim-small", "sim-perfect")
    }
