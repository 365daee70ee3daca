"""Runs of agents on tasks, as the store has them after the trials: written by its own writer, one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from proctor.findings import METRIC_VERSIONS
from proctor.manifest import Manifest, RolloutFacts, TaskSpec
from proctor.references import Agent, RolloutsRef, TaskEntry
from proctor.service.context import open_store
from proctor.service.results.comparable import comparability, exam
from proctor.service.results.results import close
from proctor.settings import Settings
from proctor.sources.rollouts.source import GROUP, SCORE, SUCCESS
from proctor.store import AttemptWriter
from proctor.trial_record import RubricScore, TrialRecord, record_bytes
from proctor.types import (
    Attempt,
    Cell,
    Failure,
    Gold,
    Grade,
    Item,
    Model,
    Outcome,
    Plan,
    Reply,
    Status,
    TaskFolder,
)

PATCH = "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 1\n+a = {n}\n"


@dataclass(frozen=True)
class Kept:
    """A trial that ended: passed or not, with its score; or the slug of what kept it from measuring anything."""

    passed: bool = False
    score: float | None = None
    slug: str | None = None
    at_limit: bool = False
    reply: Mapping[str, Any] = field(default_factory=dict)


P, F = Kept(True), Kept()
SANDBOX, VERIFIER, PROVIDER = (Kept(slug=slug) for slug in ("sandbox", "verifier", "agent-model"))
LIMIT = Kept(at_limit=True)


def half(score: float) -> Kept:
    return Kept(score=score)


def sha(task: str) -> str:
    return hashlib.sha256(task.encode()).hexdigest()


def kept_run(
    known: Settings,
    model: str,
    trials: Mapping[str, Sequence[Kept | None]],
    *,
    contents: Mapping[str, str] | None = None,
    status: Status = Status.COMPLETED,
    plan_id: str | None = None,
    **ref: Any,
) -> str:
    """The run's id. `trials` are a task's rollouts in order, None one that was not run; `contents` what is in a task.

    `ref` are fields of RolloutsRef.
    """
    provider, _, name = model.partition("/")
    entries = tuple(TaskEntry(f"/tasks/{task}", len(each)) for task, each in trials.items())
    source = RolloutsRef(**{"name": "bench", "tasks": entries, "data": str(known.home), **ref})
    cell = Cell(
        Model(provider, name), source, repeats=max(map(len, trials.values())), agent=Agent(provider, "null")
    )
    manifest = _manifest(source, trials, {task: sha((contents or {}).get(task, task)) for task in trials})
    assert isinstance(manifest.facts, RolloutFacts)
    hashes = manifest.facts.folders
    with open_store(known) as store:
        run = store.add_run(
            plan_id or store.add_plan(Plan((cell,), source.name), now=0.0),
            cell,
            source_title=source.name,
            planned=sum(map(len, trials.values())),
            manifest=manifest,
            comparability=comparability(manifest),
            exam=exam(manifest),
            sample=False,
            now=0.0,
        )
        store.claim(run.id, owner="test", now=0.0, lease_s=60.0)
        writer = AttemptWriter(store, run.id, owner="test", lease_s=60.0, timed=False)
        for position, (task, each) in enumerate(trials.items()):
            item = _item(task, hashes[task])
            for repeat, one in enumerate(each):
                if one is not None:
                    writer.keep(
                        attempt_of(item, position, repeat, one, f"20250101__00-00-00-{position}{repeat}")
                    )
        writer.close()
        close(store, run.id, status, owner="test", now=2.0, elapsed_s=2.0)
    return run.id


def _manifest(
    source: RolloutsRef, trials: Mapping[str, Sequence[Kept | None]], hashes: Mapping[str, str]
) -> Manifest:
    facts = RolloutFacts(
        rows="rollouts",
        tasks={GROUP: TaskSpec(source.name, "text", SUCCESS, SCORE, asked=len(trials))},
        metric_versions={metric: METRIC_VERSIONS[metric] for metric in (*SUCCESS, *SCORE)},
        n=len(trials),
        item_set_sha256=sha(" ".join(sorted(hashes.values()))),
        folders=hashes,
        rollouts={task: len(each) for task, each in trials.items()},
        pass_score=source.pass_score,
    )
    return Manifest(facts, proctor="test", repeats=max(map(len, trials.values())))


def _item(task: str, digest: str) -> Item:
    return Item(task, GROUP, TaskFolder(f"/tasks/{task}", f"Mend {task}"), Gold("passed"), hash=digest[:32])


def attempt_of(item: Item, position: int, repeat: int, one: Kept, run_id: str) -> Attempt:
    if one.slug is not None:
        failure = Failure(one.slug, f"{one.slug} broke")
        return Attempt(item, position, repeat, 0, 1.0, Grade(Outcome.ERROR, None), failure=failure)
    score = float(one.passed) if one.score is None else one.score
    outcome, word = (Outcome.CORRECT, "passed") if one.passed else (Outcome.WRONG, "failed")
    record = TrialRecord(
        run_id,
        f"/data/runs/{run_id}",
        "limit" if one.at_limit else "done",
        score,
        one.passed,
        limits_met=("the agent's time: 5 s",) if one.at_limit else (),
        rubrics={"works": RubricScore("it works", 1.0, score, 4, round(4 * score))},
        custom_metrics={"lines": 3},
        sandbox="bubblewrap",
        hashes={"patch": sha(PATCH.format(n=repeat))},
    )
    reply = Reply(
        PATCH.format(n=repeat),
        finish=record.ended,
        raw=record_bytes(record),
        **{"latency_s": 2.0, "input_tokens": 100, "output_tokens": 10, "cost_usd": 0.1, **one.reply},
    )
    return Attempt(item, position, repeat, 0, 1.0, Grade(outcome, score, word, grader="verifier/1"), reply)


def unpriced(one: Kept) -> Kept:
    return replace(one, reply={"cost_usd": None})
