"""Benchmarks of tasks for tests of pages: every state, a hostile agent, one at work, and many trials."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from called import Json, call, codex, item
from opened import over
from proctor.manifest import UNOPENED, RolloutFacts, TaskSpec
from proctor.references import Agent, RolloutsRef, TaskEntry
from proctor.replies.calls import CallLog, kept_calls
from proctor.replies.wire import totals_of
from proctor.service.watch.job_states import result_of
from proctor.store import AttemptWriter, Store
from proctor.trial_record import (
    AgentCall,
    Consumed,
    PhaseTime,
    RubricScore,
    TestResult,
    TrialRecord,
    TrialStep,
    record_bytes,
)
from proctor.types import (
    Attempt,
    Cell,
    Failure,
    Gold,
    Grade,
    Item,
    Limits,
    Model,
    Outcome,
    Plan,
    Reply,
    Run,
    Status,
    TaskFolder,
    Usage,
)
from rollouts_made import made

SCRIPT = "<script>window.hit=1</script>"
IMAGE = '<img src=x onerror="window.hit=2">'
TURNED = "\u202egnp.exe"  # read from right to left
RED = "\x1b[31mred\x1b[0m"
HOSTILE = f"{SCRIPT}{IMAGE}</pre></td></table></textarea>{RED}{TURNED}"
ODD_TASK = f"mend/../{IMAGE}"
STAMP = "20261122__13-00-00"
CODED = "20261122__16-00-00"
ENDS = {
    ("one", 0): ("passed", "passed", "failed"),
    ("one", 1): ("failed", "limit", "failed"),
    ("two", 0): ("passed", "failed", "passed"),
    ("two", 1): ("sandbox", "verifier", "rate-limited"),
    ("three", 0): ("passed", "passed", "passed"),
    ("three", 1): ("passed", None, None),
}
PATCH = f"""diff --git a/figures.py b/figures.py
index 1111111..2222222 100644
--- a/figures.py
+++ b/figures.py
@@ -1,3 +1,5 @@
 def mean(numbers):
-    return sum(numbers) / len(numbers)
+    if not numbers:
+        return None
+    return sum(numbers) / len(numbers)  # {HOSTILE}
{" "}
diff --git a/blob.bin b/blob.bin
new file mode 100644
index 0000000..3333333
GIT binary patch
literal 3
Kcmb=J0000

literal 0
HcmV?d00001

diff --git "a/a\\"b<b>.txt" "b/a\\"b<b>.txt"
deleted file mode 100644
--- "a/a\\"b<b>.txt"
+++ /dev/null
@@ -1 +0,0 @@
-gone
"""

STEPS = (
    TrialStep(0.0, said=f"I look at {HOSTILE}", ran=f"cat figures.py; {SCRIPT}", output=HOSTILE, exit_code=0),
    TrialStep(
        1.5,
        said="I run the tests.",
        ran="python3 -m unittest",
        output=f"{'long ' * 2000}the end",
        exit_code=1,
    ),
)


def every_state(store: Store, home: Path, name: str = "states") -> str:
    """A benchmark of three tasks by two agents, three rollouts each, with every state; its id."""
    runs = made(
        store,
        home,
        name,
        lambda row, task, rollout: ENDS[task, row][rollout],
        tasks=("one", "two", "three"),
        rollouts=3,
    )
    for run in runs:
        result_of(over(store), run.id)  # counts and keeps what it shows, as a run's end does
    return runs[0].plan_id


def large(store: Store, home: Path, tasks: int = 300, agents: int = 4, rollouts: int = 5) -> str:
    """A benchmark of many trials; its id."""
    words = ("passed", "passed", "failed", "failed", "passed", "limit", "sandbox")
    runs = made(
        store,
        home,
        "large",
        lambda row, task, rollout: words[(row * 3 + int(task[5:]) * 5 + rollout) % len(words)],
        tasks=[f"task-{number:03}" for number in range(tasks)],
        rollouts=rollouts,
        agents=[f"agent-{letter}" for letter in "abcdefgh"[:agents]],
    )
    return runs[0].plan_id


def hostile(store: Store, home: Path) -> Run:
    """A run of one task whose name, agent, words, patch and tests are hostile; its only trial took two tries."""
    run = _run(store, home, "hostile", ODD_TASK, 1)
    writer = AttemptWriter(store, run.id, owner="maker")
    item = _item(ODD_TASK, HOSTILE)
    failure = Failure("sandbox", f"no box: {HOSTILE}")
    writer.keep(Attempt(item, 0, 0, 0, time.time(), Grade(Outcome.ERROR, None), failure=failure))
    writer.keep(_hostile_trial(item, f"{STAMP}-0"))
    writer.close()
    folder = home / "runs" / f"{STAMP}-0" / "logs"
    folder.mkdir(parents=True)
    (folder / "agent.log").write_text(f"the agent printed {HOSTILE}\n")
    return store.finish(run.id, Status.COMPLETED, owner="maker", now=time.time(), elapsed_s=3.0)


def _hostile_trial(item: Item, run_id: str) -> Attempt:
    at = 1_795_000_000.0
    phases = (("prepare", 0.5), ("agent", 4.0), ("collect", 0.1), ("verify", 2.0), ("score", 0.001))
    times, record_phases = at, []
    for name, seconds in phases:
        record_phases.append(PhaseTime(name, times, seconds))
        times += seconds
    record = TrialRecord(
        run_id,
        f"/somewhere/{run_id}",
        "limit",
        0.4,
        False,
        exit_code=137,
        limits_met=("It had 4 s, and they are over.",),
        phases=tuple(record_phases),
        steps=STEPS,
        steps_left_out=7,
        calls=2,
        agent_used=Consumed(93_400_000, 1.5, 0.75, 1, 12, 2_000_000, 10_042),
        verifier_used=Consumed(20_000_000, 0.5),
        rubrics={
            "mended": RubricScore(f"The mean of nothing is None {IMAGE}", 0.6, 0.0, 1, 0),
            "kept": RubricScore("The mean of numbers is what it was", 0.4, 1.0, 1, 1),
            "style": RubricScore("It reads well", 0.5, None),
        },
        tests={
            "test_empty.py": TestResult(False, f"AssertionError: {HOSTILE}"),
            "test_numbers.py": TestResult(True, "ok"),
        },
        custom_metrics={"complexity": 3, SCRIPT: HOSTILE},
        diff_lines=PATCH.count("\n"),
        sandbox="bubblewrap, no network",
        hashes={"task": "ab" * 32, "patch": "cd" * 32},
        notes=(f"A link that led out was left out: {TURNED}",),
    )
    reply = Reply(
        PATCH,
        finish="limit",
        input_tokens=1200,
        output_tokens=340,
        cost_usd=0.0123,
        latency_s=6.6,
        raw=record_bytes(record),
    )
    grade = Grade(Outcome.WRONG, 0.4, "failed", grader="verifier/1")
    return Attempt(item, 0, 0, 1, time.time(), grade, reply=reply)


def many() -> Iterator[AgentCall]:
    """A codex that goes on: hostile words, a call that is cut, one refused, and the rest builds."""
    yield from codex()
    asked: list[Json] = [{"role": "user", "content": f"Go on. {HOSTILE}"}]
    for number in range(4, 70):
        command = item("exec_command", f"b{number}", cmd=f"make step-{number}  # {SCRIPT}")
        words = f"I go on with step {number}. {HOSTILE if number == 4 else ''}"
        said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]}
        usage = {"input_tokens": 900, "input_tokens_details": {"cached_tokens": 640}, "output_tokens": 40}
        ended = {30: "cut", 31: "refused", 32: "cancelled"}.get(number, "answered")
        yield call(
            number,
            {"model": "m", "input": asked},
            {"model": "m-1", "output": [said, command], "usage": usage} if ended == "answered" else {},
            ended,
            at=2.7 * number,
            usage=Usage(900, 40) if ended == "answered" else Usage(),
            seconds=1.9,
            first_token_s=0.25,
            retries=2 if number == 5 else 0,
            note="all 70 calls of its model were made" if ended == "refused" else "",
            status=429 if ended == "refused" else 200,
        )
        code = 2 if number % 7 == 0 else 0
        told = (
            f"Process exited with code {code}\nOutput:\n{HOSTILE if number == 6 else 'built ' * 8 * number}"
        )
        asked = [
            *asked,
            said,
            command,
            {"type": "function_call_output", "call_id": f"b{number}", "output": told},
        ]


def coded(store: Store, home: Path) -> Run:
    """A run of one trial whose agent asked its model 70 times, with hostile words, failures, and long outputs."""
    run = _run(store, home, "coded", "mend", 1, CODED)
    folder = home / "runs" / f"{CODED}-0" / "logs"
    folder.mkdir(parents=True)
    with CallLog(folder / "calls.jsonl") as log:
        for each in many():
            log.add(each)
    with (folder / "calls.jsonl").open("rb") as file:
        wire = totals_of(kept_calls(file))
    at = 1_795_000_000.0
    times = (
        PhaseTime("prepare", at, 0.4),
        PhaseTime("agent", at + 0.4, 190.0),
        PhaseTime("verify", at + 191, 2.0),
    )
    record = TrialRecord(
        f"{CODED}-0", f"/somewhere/{CODED}-0", "done", 1.0, True, 0, phases=times, calls=70, final="Done.", wire=wire,
        rubrics={"mended": RubricScore("It is mended", 1.0, 1.0, 1, 1)}, tests={"test.py": TestResult(True, "ok")},
    )  # fmt: skip
    reply = Reply(
        "", "done", input_tokens=9_000, output_tokens=500, latency_s=193.0, raw=record_bytes(record)
    )
    grade = Grade(Outcome.CORRECT, 1.0, "passed", grader="verifier/1")
    writer = AttemptWriter(store, run.id, owner="maker")
    writer.keep(Attempt(_item("mend", "Mend the mean."), 0, 0, 0, time.time(), grade, reply=reply))
    writer.close()
    return store.finish(run.id, Status.COMPLETED, owner="maker", now=time.time(), elapsed_s=3.0)


def at_work(store: Store, home: Path, stamp: str = "20261122__14-00-00") -> Run:
    """A run of two trials that this process is said to work on: one verifies, the other waits."""
    run = _run(store, home, "live", "mend", 2, stamp)
    folder = home / "runs" / f"{stamp}-0"
    folder.mkdir(parents=True, exist_ok=True)
    phase_of(folder, "verify")
    return run


def phase_of(folder: Path, phase: str) -> None:
    state = {
        "phase": phase,
        "since": time.time() - 3.0,
        "pid": os.getpid(),
        "try": 1,
        "finished": ["prepare"],
    }
    (folder / "new.json").write_text(json.dumps(state))
    (folder / "new.json").rename(folder / "state.json")


def _item(task: str, instruction: str) -> Item:
    return Item(task, "tasks", TaskFolder(f"/prepared/{task}", instruction), Gold("passed"), hash="ab" * 16)


def _run(store: Store, home: Path, name: str, task: str, rollouts: int, stamp: str = STAMP) -> Run:
    """A run that has begun."""
    ref = RolloutsRef(
        name,
        tasks=(TaskEntry("/prepared/task", rollouts),),
        config="configs/x.toml",
        data=str(home.absolute()),
        stamp=stamp,
    )
    agent = Agent("shell", "shell", f"ollama/{IMAGE if name == 'hostile' else 'sim'}")
    cell = Cell(
        Model("shell", str(agent.model)), ref, limits=Limits(parallel=2), repeats=rollouts, agent=agent
    )
    plan_id = store.add_plan(Plan((cell,), name=name), now=time.time())
    facts = RolloutFacts(
        rows="rollouts",
        tasks={"tasks": TaskSpec(name, "text", ("success_rate",), ("mean_score",), asked=1)},
        n=1,
        folders={task: "ef" * 32},
        rollouts={task: rollouts},
        sandbox="bubblewrap: no network, 2,048 MB memory",
    )
    run = store.add_run(
        plan_id,
        cell,
        source_title=name,
        planned=rollouts,
        manifest=replace(UNOPENED, facts=facts),
        comparability=None,
        sample=False,
        now=time.time(),
    )
    store.claim(run.id, owner="maker", now=time.time(), lease_s=6000)
    return run
