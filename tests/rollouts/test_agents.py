"""Agents by a TOML entry: commands with their logs, scripts, and what is refused before anything is spent."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from talking import Desk, described, ran

from proctor.engine.agents.readers import LogReading, reader_of
from proctor.errors import AgentModelError, ConfigError
from proctor.plan.agents import AGENT_SAMPLING
from proctor.references import Agent, TrialLimits
from proctor.sandbox.bubblewrap import Bubblewrap
from proctor.types import Sampling, Usage

TALLY = """\
import json, os, sys
print("a warning that is no JSON", file=sys.stderr)
print(json.dumps({"message": {"text": "I look"}, "did": "cat sum.py", "code": 0}))
open("sum.py", "w").write("print(2 + 2)\\n")
for _ in range(2):
    print(json.dumps({"reply": "r1", "tokens": {"in": 100, "out": 20}, "cost": 0.5}))
print(json.dumps({"reply": "r2", "tokens": {"in": 200, "out": 30}, "cost": 0.25}))
print(json.dumps({"last": "mended", "argv": sys.argv[1:], "home": sorted(os.listdir(os.environ["HOME"]))}))
"""
FIELDS = {"said": "message.text", "ran": "did", "exit_code": "code", "input_tokens": "tokens.in"}
FIELDS |= {"output_tokens": "tokens.out", "cost_usd": "cost", "id": "reply", "final": "last"}


@pytest.fixture
def desk(bubblewrap: Bubblewrap, box_home: Path) -> Desk:
    return Desk(bubblewrap, box_home)


def program(folder: Path, text: str) -> Path:
    path = folder / "agent.py"
    path.write_text(text)
    return path


def command(told: Mapping[str, Any], name: str = "mine", model: str | None = None) -> Agent:
    return described(name, {name: {"kind": "command", **told}}, model)[0]


@pytest.mark.promise("C-20")
def test_any_command_is_an_agent_by_a_toml_entry_and_its_log_is_read(desk: Desk, tmp_path: Path) -> None:
    path = program(tmp_path, TALLY)
    argv = ["python3", "/opt/agent", "{instruction} {x}", "{workdir}", "{seconds}"]
    agent = command({"argv": argv, "binary": str(path), "log": "jsonl", "log_fields": FIELDS})
    work = desk.work(agent)
    assert (work.ended, work.exit_code, work.final, work.calls) == ("done", 0, "mended", None)
    assert (work.steps[0].said, ran(work), work.steps[0].exit_code) == ("I look", ["cat sum.py"], 0)
    assert work.usage == Usage(300, 50, 0.75)  # r1 is told twice and counted once
    assert desk.left["sum.py"] == "print(2 + 2)\n"
    told = json.loads(desk.log().splitlines()[-1])
    assert told["argv"] == ["Mend it. {x}", "/app/repo", "30"]
    assert "a warning" in desk.log()


def test_what_made_a_result_is_told_by_the_hash_of_its_program(desk: Desk, tmp_path: Path) -> None:
    path = program(tmp_path, "print()")

    async def hashed(agent: Agent) -> str:
        async with desk.opened(agent) as ready:
            await ready.check()
            return ready.sha256

    one = asyncio.run(hashed(command({"argv": ["python3"], "binary": str(path)})))
    folder = asyncio.run(hashed(command({"argv": ["python3"], "binary": str(tmp_path)})))
    assert one == hashlib.sha256(b"print()").hexdigest()
    assert folder != one


def test_the_instruction_can_be_a_file_and_standard_input_is_closed(desk: Desk) -> None:
    agent = command({"argv": ["sh", "-c", "cat {instruction_file} > sum.py; cat; env", "sh"]})
    assert desk.work(agent).ended == "done"
    assert desk.left["sum.py"] == "Mend it."
    assert {"TASK_ID=mend/1", "TASK_ROLLOUT=0", "TASK_SECONDS=30", "LANG=C"} <= set(desk.log().splitlines())


def test_no_key_enters_a_sandbox(desk: Desk) -> None:
    environment = {"MY_TOKEN": "hush", "WORD": "seen"}
    agent = command({"argv": ["env"], "environment_variables": environment, "secret_env": ["MY_TOKEN"]})
    desk.work(agent)
    assert "WORD=seen" in desk.log()
    assert "hush" not in desk.log()
    held = command({"argv": ["env"], "environment_variables": {"KEY": "sk-tests-0123456789"}})
    with pytest.raises(ConfigError, match="'KEY' holds a key of this machine"):
        desk.work(held)


def test_how_a_command_ends_is_told_apart(desk: Desk) -> None:
    assert desk.work(command({"argv": ["sh", "-c", "exit 3"]})).ended == "failed"
    desk.seconds = 0.3
    late = desk.work(command({"argv": ["sleep", "60"]}))
    assert (late.ended, late.limits_met) == ("limit", ("stopped after 0.3 s",))


@pytest.mark.promise("C-31")
def test_a_command_that_tells_its_tokens_is_stopped_at_its_limit(desk: Desk, tmp_path: Path) -> None:
    text = 'import time\nprint(\'{"n": 900}\', flush=True)\nopen("sum.py", "w").write("x")\ntime.sleep(60)\n'
    path = program(tmp_path, text)
    fields = {"input_tokens": "n"}
    table = {"argv": ["python3", "/opt/agent"], "binary": str(path), "log": "jsonl", "log_fields": fields}
    desk.seconds = 10.0
    work = desk.work(command(table), TrialLimits(max_tokens=500))
    assert work.ended == "limit"
    assert work.limits_met == ("900 of 500 tokens were used",)
    assert (work.usage, desk.left["sum.py"]) == (Usage(900), "x")


@pytest.mark.promise("C-21")
@pytest.mark.parametrize(
    ("binary", "told"),
    [
        ("codex", "no program codex: install it, or correct `binary`"),
        ("/nowhere/codex", "no file /nowhere/codex: install it, or correct `binary`"),
    ],
)
def test_a_missing_program_is_told_before_anything_is_spent(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, binary: str, told: str
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
    with pytest.raises(ConfigError) as refused:
        command({"argv": ["/opt/agent/codex"], "binary": binary}, "codex")
    assert str(refused.value) == f"tests: [agents.codex]: binary: {told}"
    # A plan that is kept, and a machine from which the program has gone.
    with pytest.raises(ConfigError) as gone:
        desk.work(Agent("codex", "command", argv=("/opt/agent/codex",), binary=binary))
    assert str(gone.value) == f"agent codex: {told}"


def test_a_program_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "own-agent"
    path.write_text("#!/bin/sh\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert command({"argv": ["/opt/agent"], "binary": "own-agent"}).binary == str(path)


def test_a_program_that_the_sandbox_lacks_is_no_fault_of_the_agents(desk: Desk) -> None:
    with pytest.raises(ConfigError, match="the sandbox has no program no-such-program"):
        desk.work(command({"argv": ["no-such-program"]}))


def test_a_script_is_an_agent_that_knows_what_it_works_on(desk: Desk, tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text('echo "$TASK_ID $TASK_ROLLOUT $TASK_SECONDS $WORD" > sum.py\n')
    table = {"kind": "scripted", "script": str(script), "environment_variables": {"WORD": "own"}}
    work = desk.work(described("mine", {"mine": table})[0])
    assert (work.ended, desk.left["sum.py"]) == ("done", "mend/1 0 30 own\n")
    script.unlink()
    with pytest.raises(ConfigError, match="it is the script of a scripted agent"):
        desk.work(Agent("mine", "scripted", script=str(script)))


CODEX = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "turn.started"},
    {"type": "item.started", "item": {"id": "item_1", "type": "command_execution", "command": "bash -lc ls"}},
    {
        "type": "item.completed",
        "item": {
            "id": "item_1",
            "type": "command_execution",
            "command": "bash -lc ls",
            "exit_code": 0,
            "aggregated_output": "sum.py\n",
            "status": "completed",
        },
    },
    {
        "type": "item.completed",
        "item": {"type": "file_change", "changes": [{"path": "/app/repo/sum.py", "kind": "update"}]},
    },
    {"type": "item.completed", "item": {"type": "reasoning", "text": "I think"}},
    {"type": "item.completed", "item": {"type": "error", "message": "Model metadata not found"}},
    {"type": "error", "message": "Reconnecting... 1/1"},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "Mended."}},
    {
        "type": "turn.completed",
        "usage": {
            "input_tokens": 200,
            "cached_input_tokens": 20,
            "cache_write_input_tokens": 0,
            "output_tokens": 40,
            "reasoning_output_tokens": 10,
        },
    },
]


def lines(events: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_the_stream_of_codex_is_read_as_it_is_documented() -> None:
    reading = LogReading(reader_of("codex", {}, "codex"))
    text = b"Reading additional input from stdin...\n" + lines(CODEX)
    for place in range(0, len(text), 50):  # in pieces, as it comes
        reading.take(text[place : place + 50], float(place))
    reading.take(b"", 0.0, last=True)
    heard = reading.heard
    assert heard.usage == Usage(200, 40)  # cached tokens are some of the 200, reasoning some of the 40
    assert [(step.said, step.ran) for step in heard.log.steps] == [
        ("", "bash -lc ls"),
        ("", "update /app/repo/sum.py"),
        ("I think", ""),
        ("warning: Model metadata not found", ""),
        ("Mended.", ""),
    ]
    assert (heard.log.steps[0].output, heard.log.steps[0].exit_code) == ("sum.py\n", 0)
    assert (heard.final, heard.fault, heard.model_fault) == ("Mended.", None, None)


def codex_that_says(desk: Desk, tmp_path: Path, events: list[dict[str, Any]]) -> Agent:
    (tmp_path / "events").write_bytes(lines(events))
    table = {
        "argv": ["sh", "-c", "cat /opt/agent; exit 1"],
        "binary": str(tmp_path / "events"),
        "log": "codex",
    }
    return command(table, "codex")


def test_a_turn_that_its_models_server_fails_measures_nothing(desk: Desk, tmp_path: Path) -> None:
    failed = {"type": "turn.failed", "error": {"message": "exceeded retry limit, last status: 429"}}
    with pytest.raises(AgentModelError, match="last status: 429"):
        desk.work(codex_that_says(desk, tmp_path, [*CODEX[:4], failed]))


def test_a_turn_that_a_full_context_ends_is_a_limit(desk: Desk, tmp_path: Path) -> None:
    said = "Codex ran out of room in the model's context window."
    failed = {"type": "turn.failed", "error": {"message": said}}
    work = desk.work(codex_that_says(desk, tmp_path, [*CODEX[:4], failed]))
    assert (work.ended, work.limits_met) == ("limit", (f"its model's context was full: {said}",))


def test_a_log_that_no_line_of_is_understood_is_told(desk: Desk) -> None:
    work = desk.work(command({"argv": ["echo", "hello"], "log": "codex"}))
    assert work.notes == ("What the agent printed held no line that the log reader codex understands.",)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"kind": "robot"}, "kind: 'robot': there are null, reference, scripted, shell, command"),
        ({"argv": ["a"], "colour": 1}, "unknown key 'colour' There are like, kind, base_url"),
        ({"argv": ["a"], "command_s": 3}, "unknown key 'command_s'"),
        ({"kind": "command"}, "argv: what is run?"),
        ({"kind": "scripted"}, "script: which script?"),
        ({"kind": "scripted", "script": "/nowhere"}, "script: there is no file /nowhere"),
        ({"argv": "codex exec"}, "argv: 'codex exec' is a text where a list belongs"),
        ({"kind": "shell", "command_s": 0}, "command_s: 0 is out of range"),
        ({"kind": "shell", "temperature": 5}, "temperature: --temperature 5"),
        ({"kind": "shell", "max_reply_tokens": -1}, "a reply of an agent's model needs a limit"),
    ],
)
def test_a_table_that_cannot_be_meant_is_an_error_that_names_it(table: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        described("mine", {"mine": table}, "openai/m")
    assert "[agents.mine]" in str(refused.value)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"argv": ["a"], "log": "xml"}, "no log reader 'xml'; there are none, jsonl, codex, mini-swe-agent"),
        ({"argv": ["a"], "log": "jsonl"}, 'log = "jsonl" goes with log_fields'),
        ({"argv": ["a"], "log": "jsonl", "log_fields": {"spoke": "a"}}, "log_fields knows no 'spoke'"),
    ],
)
def test_a_log_that_nobody_can_read_is_an_error(desk: Desk, table: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        desk.work(command(table))
    assert told in str(refused.value)


def test_agents_of_proctors_own_need_no_table_and_others_do() -> None:
    assert described("null", {})[0].model is None
    assert described("shell", {}, "ollama/m")[0].kind == "shell"
    for name, model, told in (
        (
            "aider",
            "gpt-4",
            "there are null, reference, shell, codex, mini-swe-agent; others need a table [agents.a",
        ),
        ("shell", None, "agent 'shell' asks a model"),
        ("shell", "qwen3", "'qwen3': which provider?"),
        ("null", "gpt-4", "agent 'null' asks no model"),
    ):
        with pytest.raises(ConfigError) as refused:
            described(name, {}, model)
        assert told in str(refused.value)


def test_how_an_agents_model_is_drawn_from_stands_in_its_table() -> None:
    table = {"kind": "shell", "temperature": 1, "max_reply_tokens": 100, "think": "low", "seed": -1}
    _, drawn = described("mine", {"mine": table}, "openai/m")
    assert drawn == Sampling(temperature=1.0, max_tokens=100, context_tokens=32_768, seed=None, think="low")
    assert described("shell", {}, "openai/m")[1] == AGENT_SAMPLING


def test_a_model_that_only_answers_questions_is_no_agents_model(desk: Desk) -> None:
    with pytest.raises(ConfigError, match="replay/any answers questions, and cannot work on a task"):
        desk.work(described("shell", {}, "replay/any")[0])
