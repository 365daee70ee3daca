"""Agents in real boxes whose model is behind the gateway: what is kept of them, and a benchmark's budget over runs."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks import Desk, entry
from talking import LISTED, described
from talking import Desk as Table

from odd_servers import odd_server, said
from proctor.errors import AgentModelError, AuthError
from proctor.references import Agent, BenchmarkBudget, RolloutsRef, TrialLimits
from proctor.replies.calls import read_calls
from proctor.sandbox.bubblewrap import Bubblewrap
from proctor.service.sharing.accounts import BenchmarkAccounts
from proctor.store import Store
from proctor.trial_record import record_from
from rollouts_made import made
from simulators import nearby

KEY = "sk-the-hosts-own-0123456789"
# Mends the task, asks its model five times, and tells lies of what it used.
AGENT = """
import json, os, urllib.error, urllib.request

open("figures.py", "w").write("def double(number):\\n    return 2 * number\\n")
assert os.environ["OPENAI_API_KEY"] == "none"
for number in range(5):
    said = "trial %s, call %d" % (os.environ["TASK_ROLLOUT"], number)
    body = json.dumps({"messages": [{"role": "user", "content": said}]})
    asked = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body.encode())
    try:
        urllib.request.urlopen(asked).read()
    except urllib.error.HTTPError as error:
        print(json.dumps({"told": json.load(error)["error"]["message"]}))
    print(json.dumps({"in": 1000000, "out": 1000000}))
"""
FIELDS = 'log_fields = { input_tokens = "in", output_tokens = "out", final = "told" }\n'


@pytest.mark.promise("C-31")
def test_a_budget_ends_a_benchmark_cleanly_and_holds_after_a_resume(tmp_path: Path) -> None:
    """Seven calls: one trial has its five, one is refused three, and the third is not begun, also not by a resume."""
    desk = Desk.made(tmp_path)
    task = desk.task("one")
    (tmp_path / "agent.py").write_text(AGENT)
    with nearby([]) as url:
        table = (
            f'[agents.mine]\nargv = ["python3", "/opt/agent"]\nbinary = "./agent.py"\nlog = "jsonl"\n{FIELDS}'
        )
        parts = ("[budget]\nmax_calls = 7\n", f'{table}base_url = "{url}/v1"\n')
        config = desk.config("b", *parts, entry(task, "mine", 3, 'model = "openai/sim"\n'), parallel=1)
        first = desk.rollouts("run", config, OPENAI_API_KEY=KEY)
        again = desk.rollouts("resume", "b", OPENAI_API_KEY=KEY)
    for told in (first, again):
        assert "all 7 calls of the benchmark's budget were made" in told.stdout
    folders = sorted((desk.data / "runs").iterdir())
    assert len(folders) == 2
    whole, cut = (record_from((folder / "record.json").read_bytes()) for folder in folders)
    assert (whole.calls, cut.calls, whole.ended, cut.ended, cut.passed) == (5, 2, "done", "limit", True)
    assert cut.limits_met == ("all 7 calls of the benchmark's budget were made",)
    assert cut.final.startswith("No further call may be made: all 7 calls")
    assert whole.wire is not None and whole.wire.usage.output_tokens == 20  # not what the agent says
    calls = list(read_calls(folders[1] / "logs/calls.jsonl"))
    assert [call.ended for call in calls] == ["answered"] * 2 + ["refused"] * 3
    assert json.loads(calls[2].response)["error"]["code"] == "budget_exceeded"
    kept = [path for path in desk.data.rglob("*") if path.is_file() and "images" not in path.parts]
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]


# Asks without end, whatever it is told.
ENDLESS = """
import json, os, urllib.error, urllib.request
while True:
    try:
        body = json.dumps({"messages": [{"role": "user", "content": "again"}]}).encode()
        urllib.request.urlopen(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body).read()
    except urllib.error.HTTPError:
        pass
"""
ONCE = ENDLESS.replace("while True", "for _ in range(1)")


def asking(program: str, url: str) -> Agent:
    table = {"argv": ["python3", "-c", program], "base_url": url}
    return described("mine", {"mine": table}, "openai/m")[0]


def test_an_agent_that_cannot_get_anywhere_is_stopped(bubblewrap: Bubblewrap, box_home: Path) -> None:
    """At its limit after some refusals, at a wrong key at once; what its model's server did wrong is not scored."""
    found: Any = said("word", "m")
    with odd_server(LISTED, lambda _: found) as server:
        desk = Table(bubblewrap, box_home, seconds=100.0)
        began = time.monotonic()
        work = desk.work(asking(ENDLESS, server.url), TrialLimits(max_calls=3))
        assert (work.ended, work.calls, len(server.asked)) == ("limit", 3, 3)
        assert work.limits_met == ("all 3 calls of its model were made",)
        assert (work.usage.input_tokens, work.usage.output_tokens) == (27, 9)
        found = (401, {"error": {"message": "no such key"}})
        with pytest.raises(AuthError, match="no such key"):
            desk.work(asking(ENDLESS, server.url))
        found = (418, b"I am a teapot")
        assert (
            desk.work(asking(ONCE, server.url)).ended == "done"
        )  # the request's own fault, and the agent's affair
        found = (404, {"detail": "Not Found"})
        with pytest.raises(AgentModelError, match="agent mine: "):
            desk.work(asking(ONCE, server.url))
        assert time.monotonic() - began < desk.seconds


def test_what_the_store_has_of_a_benchmark_counts_for_its_budget(store: Store, tmp_path: Path) -> None:
    """All rows together, and trials of this process once."""
    runs = made(store, tmp_path, "budgeted", lambda row, _task, _rollout: "passed")
    kept = [row for run in runs for row in store.latest(run.id)]
    tokens = sum((row.input_tokens or 0) + (row.output_tokens or 0) for row in kept)
    source = runs[0].cell.source
    assert isinstance(source, RolloutsRef)
    bounded = replace(source, budget=BenchmarkBudget(max_tokens=tokens, max_calls=10**6))
    run = replace(runs[0], cell=replace(runs[0].cell, source=bounded))
    accounts = BenchmarkAccounts()
    ledger = accounts.ledger(run.cell)
    assert ledger is not None and ledger is accounts.ledger(replace(run.cell, repeats=9))
    assert ledger.used_up is None
    accounts.add_up(store, run)
    assert (ledger.elsewhere_tokens, tokens > 0) == (tokens, True)
    assert ledger.used_up is not None and "of the benchmark's budget were used" in ledger.used_up
    assert accounts.ledger(runs[0].cell) is None
