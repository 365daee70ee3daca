"""Trajectories: what an agent's calls say of a trial, as documents of ATIF, lines of JSON and text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from atif import Trajectory as AtifTrajectory
from talking import LISTED, MEND, benchmark, block, playing, shell_at, usage

import forks
from called import blocks, call, chat, codex
from odd_servers import odd_server
from opened import over, start
from proctor.errors import NotFound
from proctor.references import Agent
from proctor.replies.calls import CallLog, read_calls
from proctor.service.context import open_store
from proctor.service.rollouts.trajectory import atif_of, calls_of, one_call, trajectory_of
from proctor.service.rollouts.trajectory_text import text_of
from proctor.service.rollouts.trial import TrialName
from proctor.store import Store
from proctor.trial_record import AgentCall, TrialRecord, record_from
from proctor.types import Usage
from programs import HANG_S, environment
from rollouts_made import STAMP, made
from simulators import settings

KEY = {"OPENAI_API_KEY": "sk-tests-0123456789"}


def ended(store: Store, home: Path, calls: list[AgentCall]) -> TrialName:
    """A trial that has ended with these calls."""
    run = made(store, home, "told", lambda *_: "passed", tasks=("one",), rollouts=1, agents=("coder",))[0]
    logs = home / "runs" / f"{STAMP}-0" / "logs"
    logs.mkdir(parents=True)
    with CallLog(logs / "calls.jsonl") as log:
        for each in calls:
            log.add(each)
    return TrialName(run.plan_id, run.id, "one", 0)


def valid(document: bytes) -> Mapping[str, Any]:
    """A document that the format's own models take, in their strict mode."""
    found = AtifTrajectory.model_validate_json(document, strict=True)
    told: Mapping[str, Any] = json.loads(document)
    assert found.to_json_dict() == told  # nothing stands in it that the format does not know
    return told


@pytest.mark.promise("C-20")
@pytest.mark.parametrize("calls", [codex, chat, blocks, list], ids=["codex", "chat", "blocks", "none"])
def test_every_trajectory_is_a_document_that_the_formats_own_models_take(
    store: Store, tmp_path: Path, calls: Any
) -> None:
    told = valid(atif_of(over(store, settings(tmp_path)), ended(store, tmp_path, calls())))
    assert told["schema_version"] == "ATIF-v1.8"
    assert (told["session_id"], told["agent"]["name"]) == (f"{STAMP}-0", "coder")
    assert told["extra"]["proctor"]["task"] == "one"
    assert told["extra"]["proctor"]["passed"] is True


def test_a_document_has_what_was_told_said_and_run_with_what_each_call_took(
    store: Store, tmp_path: Path
) -> None:
    told = valid(atif_of(over(store, settings(tmp_path)), ended(store, tmp_path, codex())))
    assert [each["source"] for each in told["steps"]] == [
        "system",
        "user",
        "agent",
        "agent",
        "agent",
        "agent",
    ]
    first, _, failed, last = told["steps"][2:]
    assert [each["function_name"] for each in first["tool_calls"]] == ["exec_command", "exec_command"]
    assert first["tool_calls"][0]["arguments"] == {"cmd": "ls"}
    assert [each["source_call_id"] for each in first["observation"]["results"]] == ["c1", "c2"]
    assert [each["extra"]["exit_code"] for each in first["observation"]["results"]] == [0, 2]
    assert first["metrics"] == {"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 4}
    assert (first["reasoning_content"], first["model_name"], first["llm_call_count"]) == ("I look.", "m-1", 1)
    assert (failed["extra"]["ended"], failed["extra"]["error"], last["message"]) == (
        "failed",
        "busy",
        "Done.",
    )
    final = told["final_metrics"]
    assert (final["total_prompt_tokens"], final["total_completion_tokens"]) == (100, 20)
    assert (final["total_cached_tokens"], final["extra"]["not_answered"]) == (4, {"failed": 1})
    assert told["agent"]["tool_definitions"][0]["name"] == "exec_command"


def test_a_trial_without_calls_is_told_by_the_steps_of_its_record(store: Store, tmp_path: Path) -> None:
    name = ended(store, tmp_path, [])
    told = valid(atif_of(over(store, settings(tmp_path)), name))
    assert [each["message"] for each in told["steps"]] == ["Do one of told.", "the last words of told"]
    assert "calls of the agent to a model are not kept" in told["notes"]
    assert "the last words of told" in text_of(trajectory_of(over(store, settings(tmp_path)), name))
    with pytest.raises(NotFound, match="has no calls on this machine"):
        calls_of(over(store, settings(tmp_path)), name)


def test_calls_are_given_whole_line_by_line(store: Store, tmp_path: Path) -> None:
    calls = codex()
    name = ended(store, tmp_path, calls)
    lines = [orjson.loads(line) for line in calls_of(over(store, settings(tmp_path)), name)]
    assert [(each["request"], each["response"]) for each in lines] == [
        (orjson.loads(each.request), orjson.loads(each.response)) for each in calls
    ]
    assert lines[2]["ended"] == "failed" and lines[0]["usage"]["input_tokens"] == 10
    one = one_call(over(store, settings(tmp_path)), name, 1)
    assert (one.before, one.after, orjson.loads(one.request)) == (0, 2, lines[1]["request"])
    with pytest.raises(NotFound, match="no call 9"):
        one_call(over(store, settings(tmp_path)), name, 9)


def test_text_for_a_terminal_moves_no_cursor_and_tells_what_came_back(store: Store, tmp_path: Path) -> None:
    said = {"choices": [{"message": {"content": "\x1b[2Jgone\u202e"}}]}
    calls = [*blocks(), call(3, {"messages": [{"role": "user", "content": "\x07"}]}, said)]
    told = text_of(trajectory_of(over(store, settings(tmp_path)), ended(store, tmp_path, calls)))
    assert "\x1b" not in told and "\x07" not in told
    assert "$ ls\n  [exit code 0]\n  a.py\n  [exit code 0]" in told
    assert "4 calls: 100 tokens in, 20 out; 2 s in the model" in told


def test_a_file_that_breaks_off_or_is_damaged_shows_what_comes_before(store: Store, tmp_path: Path) -> None:
    name = ended(store, tmp_path, codex())
    path = tmp_path / f"runs/{STAMP}-0/logs/calls.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-5])
    torn = trajectory_of(over(store, settings(tmp_path)), name)
    assert (len(torn.turns or ()), torn.fault) == (3, None)
    path.write_bytes(whole.replace(b'"of":0', b'"of":9', 1))
    damaged = trajectory_of(over(store, settings(tmp_path)), name)
    assert len(damaged.turns or ()) == 1
    assert "line 2 of calls.jsonl refers to what is not there" in text_of(damaged)


def test_an_earlier_try_has_the_calls_that_it_made(store: Store, tmp_path: Path) -> None:
    name = ended(store, tmp_path, chat())
    folder = tmp_path / f"runs/{STAMP}-0"
    (folder / "attempts/0/logs").mkdir(parents=True)
    (folder / "logs/calls.jsonl").rename(folder / "attempts/0/logs/calls.jsonl")
    (folder / "state.json").write_text(json.dumps({"phase": "agent", "try": 2, "pid": 1, "since": 1.0}))
    assert trajectory_of(over(store, settings(tmp_path)), name).turns is None
    assert len(trajectory_of(over(store, settings(tmp_path)), name, attempt=0).turns or ()) == 3


def recorded(home: Path, run: str) -> TrialRecord:
    with open_store(settings(home)) as store:
        (row,) = store.latest(run)
        return record_from(str(store.payload(run, row.item_id, row.repeat, row.attempt)["raw"]).encode())


@pytest.mark.promise("C-20")
def test_the_calls_of_a_real_trial_are_kept_counted_bound_by_its_hashes_and_shown(box_home: Path) -> None:
    model = playing(block("cat sum.py"), block(MEND), "Mended.\n\nDONE")
    with odd_server(LISTED, lambda request: usage(model(request), 100, 10)) as server:
        outcome = start(benchmark(box_home, shell_at(server.url), rollouts=1), settings(box_home, **KEY))
    assert outcome.evaluation is not None
    (result,) = outcome.evaluation.results
    record = recorded(box_home, result.run.id)
    (path,) = box_home.glob("runs/*/logs/calls.jsonl")
    assert record.hashes["calls"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert record.wire is not None and record.tools_s is not None and record.agent_s is not None
    assert (record.wire.calls, record.wire.usage) == (3, Usage(300, 30))
    assert 0 < record.wire.model_s <= record.agent_s
    kept_calls = list(read_calls(path))
    sent = [[dict(each) for each in request["messages"]] for request in server.asked]
    assert [orjson.loads(each.request)["messages"] for each in kept_calls] == sent
    told = valid(shown(box_home, path.parent.parent.name, "atif"))
    assert told["final_metrics"]["total_prompt_tokens"] == 300
    assert len(shown(box_home, path.parent.parent.name, "jsonl").splitlines()) == 3
    text = shown(box_home, path.parent.parent.name, "text").decode()
    assert "$ cat sum.py\n  [exit code 0]\n  print(1 + 1)" in text
    metrics = json.loads((path.parent.parent / "evaluation_results.json").read_bytes())["agent_metrics"]
    assert (metrics["model_seconds"], metrics["tokens_total"]) == (record.wire.model_s, 330)


# An agent of a few lines that calls tools over /v1/responses, as those of others do.
AGENT = """
import json, os, subprocess, urllib.request
asked = [{"role": "user", "content": "Mend it."}]
tool = {"type": "function", "name": "exec_command", "parameters": {"type": "object", "properties": {}}}
while True:
    body = json.dumps({"model": "any", "instructions": "You code.", "input": asked, "tools": [tool]}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/responses", body)
    told = json.load(urllib.request.urlopen(request))["output"]
    calls = [each for each in told if each["type"] == "function_call"]
    asked += told
    for each in calls:
        run = subprocess.run(["sh", "-c", json.loads(each["arguments"])["cmd"]], capture_output=True, text=True)
        output = f"Process exited with code {run.returncode}\\nOutput:\\n{run.stdout}"
        asked.append({"type": "function_call_output", "call_id": each["call_id"], "output": output})
    if not calls:
        break
"""


def tools(request: Mapping[str, Any]) -> Any:
    """A model that looks, mends, and ends."""
    given = sum(message["role"] == "assistant" for message in request["messages"])
    commands = ["cat sum.py; exit 3", MEND]
    message: dict[str, Any] = {"role": "assistant", "content": "It is mended."}
    if given < len(commands):
        called = {"name": "exec_command", "arguments": json.dumps({"cmd": commands[given]})}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{given}", "type": "function", "function": called}],
        }
    return {
        "id": f"chatcmpl-{given}",
        "object": "chat.completion",
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 100 + given,
            "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 7},
        },
    }


@pytest.mark.promise("C-20")
def test_an_agent_of_others_has_its_calls_kept_read_into_steps_and_shown(box_home: Path) -> None:
    with odd_server(LISTED, tools) as server:
        agent = Agent("other", "command", "openai/m", argv=("python3", "-c", AGENT), base_url=server.url)
        outcome = start(benchmark(box_home, agent, rollouts=1), settings(box_home, **KEY))
    assert outcome.evaluation is not None, outcome
    (result,) = outcome.evaluation.results
    record = recorded(box_home, result.run.id)
    assert record.passed, record
    assert [(each.ran, each.exit_code) for each in record.steps] == [
        ("cat sum.py; exit 3", 3),
        (MEND, 0),
        ("", None),
    ]
    assert record.steps[0].output.endswith("print(1 + 1)\n")
    assert record.wire is not None
    assert (record.wire.calls, record.wire.usage, record.wire.cached_tokens) == (3, Usage(303, 30), 21)
    (path,) = box_home.glob("runs/*/logs/calls.jsonl")
    assert b"sk-tests" not in path.read_bytes()
    told = valid(shown(box_home, path.parent.parent.name, "atif"))
    assert [each["source"] for each in told["steps"]] == ["system", "user", "agent", "agent", "agent"]
    assert told["agent"]["tool_definitions"][0]["name"] == "exec_command"
    metrics = told["steps"][2]["metrics"]
    assert (metrics["prompt_tokens"], metrics["completion_tokens"], metrics["cached_tokens"]) == (100, 10, 7)
    assert told["final_metrics"]["total_prompt_tokens"] == 303


def shown(home: Path, trial: str, shape: str) -> bytes:
    """What `proctor rollouts trajectory` writes."""
    to = home / f"told.{shape}"
    words = ("rollouts", "trajectory", trial, "--format", shape, "-o", str(to))
    done = forks.run(words, environment(home), home, timeout_s=HANG_S)
    assert done.returncode == 0, done.stderr
    return to.read_bytes()
