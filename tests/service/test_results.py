"""What a run shows by itself: also one whose source has nothing to measure by."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from opened import over
from proctor.app import program
from proctor.findings import RunResult
from proctor.manifest_json import manifest_from
from proctor.references import ExamRef
from proctor.service.context import open_store
from proctor.service.results.results import close, make_good, shown
from proctor.store import AttemptWriter, Store
from proctor.types import Attempt, Cell, Chat, Grade, Item, Message, Model, Outcome, Plan, Reply, Run, Status
from simulators import settings

SAYS_NOTHING_OF_METRICS = {"data_sha256": {"lines": "0"}}


def answered(store: Store) -> Run:
    """A run at work whose manifest names no metric, with a reply that there is nothing to compare with."""
    cell = Cell(Model("ollama", "m"), ExamRef("suite", "lines"))
    plan = store.add_plan(Plan((cell,)), now=time.time())
    silent = manifest_from(SAYS_NOTHING_OF_METRICS)
    run = store.add_run(
        plan, cell, source_title="lines", planned=2, manifest=silent, comparability=None,
        sample=False, now=time.time(),
    )  # fmt: skip
    run = store.claim(run.id, owner="me", now=time.time(), lease_s=600)
    with AttemptWriter(store, run.id, owner="me") as keeper:
        for n in range(2):
            item = Item(f"q/{n}", "q", Chat((Message("user", f"Line {n}?"),)), None, hash=f"h{n}")
            keeper.keep(Attempt(item, n, 0, 0, 1.0, Grade(Outcome.ANSWERED, None), Reply("A")))
    return run


def closed(store: Store, run: Run) -> RunResult:
    return close(store, run.id, Status.COMPLETED, owner="me", now=time.time(), elapsed_s=1.0)


def test_a_run_without_metrics_shows_its_tally_while_it_works_and_when_it_has_ended(store: Store) -> None:
    run = answered(store)
    assert (shown(store, run).scores, shown(store, run).tally.outcomes) == ((), {"answered": 2})
    ended = closed(store, run)
    assert (ended.run.settled, ended.scores, ended.tally.outcomes) == (2, (), {"answered": 2})
    again = shown(store, store.run(run.id))
    assert (again.scores, again.tally) == ((), ended.tally)


def test_such_a_run_that_ended_without_figures_gets_its_tally(store: Store) -> None:
    run = answered(store)
    store.finish(run.id, Status.COMPLETED, owner="me", now=time.time(), elapsed_s=1.0)
    hopeless: set[str] = set()
    assert len(make_good(over(store), hopeless=hopeless)) == 1 and not hopeless
    assert make_good(over(store)) == [], "once"


@pytest.mark.parametrize("words", [("list",), ("show",), ("history",), ("report", "-o", "-")])
def test_commands_show_such_a_run(tmp_path: Path, words: tuple[str, ...]) -> None:
    with open_store(settings(tmp_path)) as store:
        run = answered(store)
        closed(store, run)
    name = [run.id] if words[0] in ("show", "report") else []
    done = CliRunner(env={"PROCTOR_HOME": str(tmp_path)}).invoke(program(), [words[0], *name, *words[1:]])
    assert done.exit_code == 0, (done.output, done.exception)
    if words[0] == "show":
        told = CliRunner(env={"PROCTOR_HOME": str(tmp_path)}).invoke(program(), ["show", run.id, "--json"])
        (record,) = json.loads(told.output)["runs"]
        assert (record["scores"], record["outcomes"]) == ([], {"answered": 2})
