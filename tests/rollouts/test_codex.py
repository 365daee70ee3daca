"""The real codex and mini-swe-agent in bubblewrap, without network, against a model that keeps to a script."""

from __future__ import annotations

import json
import shutil
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from atif import Trajectory as AtifTrajectory
from benchmarks import Desk, entry
from boxed import nothing_left
from installed import agents_in
from talking import described

from proctor.errors import ConfigError
from proctor.plan.shipped_agents import AGENTS
from proctor.replies.calls import read_calls
from proctor.simulator import spawn
from proctor.trial_record import AgentCall, TrialRecord, record_from
from programs import proctor

ROOT = Path(__file__).parents[2]
TASK = "examples/tasks/mend-the-mean"
OTHERS = ("examples/tasks/mend-shortly", "examples/tasks/mend-hastily")
SCRIPT = ROOT / "examples/scripts/mend-the-mean.jsonl"
RULE = "Say nothing of the weather."
KEY = "sk-tests-real-agents-0123456789"


@dataclass(frozen=True)
class Tried:
    """A trial as it lies on the disk, and what its model's server counted."""

    place: Path
    record: TrialRecord

    @property
    def calls(self) -> list[AgentCall]:
        path = self.place / "logs/calls.jsonl"
        return list(read_calls(path)) if path.exists() else []

    @property
    def log(self) -> str:
        return (self.place / "logs/agent.log").read_text()

    @property
    def said(self) -> str:
        """All that its model was told in its last call."""
        return self.calls[-1].request.decode()


@dataclass(frozen=True)
class Server:
    """What counts are taken from: it counts for itself."""

    url: str

    def seen(self) -> Mapping[str, Any]:
        with urllib.request.urlopen(f"{self.url}/__stats", timeout=10) as told:
            counts: Mapping[str, Any] = json.load(told)
            return counts


def of(agent: str, task: str = TASK, more: str = "") -> str:
    return entry(task, agent, more=f'model = "openai/sim"\n{more}')


def tasks_in(desk: Desk) -> None:
    """The example's task by three names; its repository tells agents something as codex has it: by AGENTS.md."""
    for name in (TASK, *OTHERS):
        shutil.copytree(ROOT / TASK, desk.place / name)
        (desk.place / name / "overlay_repo_files/AGENTS.md").write_text(f"{RULE}\n")
        meta = json.loads((desk.place / name / "tb_meta.json").read_text())
        (desk.place / name / "tb_meta.json").write_text(json.dumps({**meta, "task_id": Path(name).name}))


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    desk = Desk.made(tmp_path_factory.mktemp("desk"))
    agents_in(desk.data)
    tasks_in(desk)
    return desk


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    options = ["--script", str(SCRIPT), "--context", "200000", "--latency", "0.2", "--key", KEY]
    with spawn(options, {}) as running:
        yield Server(running.url)


@pytest.fixture(scope="module")
def tried(desk: Desk, server: Server) -> dict[str, Tried]:
    """codex that works to its end, that may use few tokens, that has little time; and mini-swe-agent."""
    short, hasty = OTHERS
    entries = [
        of("codex"),
        of("codex", short, "token_limit = 7000\n"),
        of("codex", hasty, "timeout_s = 0.6\n"),
    ]
    config = desk.config("real", *entries, of("mini-swe-agent"), parallel=3)
    with nothing_left(desk.data):
        desk.rollouts("run", config, OPENAI_BASE_URL=f"{server.url}/v1", OPENAI_API_KEY=KEY)
    places = sorted((desk.data / "runs").iterdir(), key=lambda place: int(place.name.rpartition("-")[2]))
    return {
        name: Tried(place, record_from((place / "record.json").read_text()))
        for name, place in zip(("codex", "short", "hasty", "mini-swe-agent"), places, strict=True)
    }


@pytest.mark.promise("C-20")
def test_codex_solves_a_task_in_a_box_without_network_and_is_scored(tried: dict[str, Tried]) -> None:
    trial = tried["codex"]
    assert (trial.record.ended, trial.record.passed, trial.record.score) == ("done", True, 1.0)
    assert "no network" in trial.record.sandbox
    assert [step.exit_code for step in trial.record.steps] == [0, 0, 0, 0, None]
    assert "3 numbers, mean 3.00" in trial.record.steps[2].output
    assert trial.record.final.startswith("The mean of no numbers is None now")
    assert '"type":"turn.completed"' in trial.log


@pytest.mark.promise("C-20")
def test_what_codex_used_is_what_its_models_server_counted(tried: dict[str, Tried], server: Server) -> None:
    sent = [call for trial in tried.values() for call in trial.calls if call.ended != "refused"]
    assert len(sent) == server.seen()["served"]
    answered = [call for call in tried["codex"].calls if call.ended == "answered"]
    assert len(answered) == tried["codex"].record.calls == 5
    assert {call.path for call in answered} == {"/v1/responses"}
    usage = json.loads(tried["codex"].log.splitlines()[-1])["usage"]  # as codex adds up what it was told
    assert usage["input_tokens"] == sum(call.usage.input_tokens or 0 for call in answered)
    assert usage["output_tokens"] == sum(call.usage.output_tokens or 0 for call in answered)


def test_codex_is_told_the_same_whatever_its_model_and_what_the_repository_says(
    tried: dict[str, Tried],
) -> None:
    request = json.loads(tried["codex"].calls[0].request)
    assert request["model"] == "model"
    names = {tool["name"] for tool in request["tools"]}
    assert {"exec_command", "write_stdin"} <= names
    assert not names & {"spawn_agent", "multi_agent_v1", "create_goal"}
    assert RULE in tried["codex"].said
    assert "Make the mean of no numbers None" in tried["codex"].said
    assert "/home/agent/.codex" not in json.dumps(tried["codex"].record.steps[0].output)


def test_mini_swe_agent_solves_it_the_same_way_with_no_more_than_a_reader_of_its_own(
    tried: dict[str, Tried],
) -> None:
    trial = tried["mini-swe-agent"]
    assert (trial.record.ended, trial.record.score, trial.record.calls) == ("done", 1.0, 4)
    assert [step.exit_code for step in trial.record.steps][:3] == [0, 0, 0]
    assert trial.record.final == "It works."
    assert {call.path for call in trial.calls} == {"/v1/chat/completions"}
    assert trial.record.notes == ()


def test_a_codex_whose_tokens_are_used_up_stops_and_its_work_is_scored(tried: dict[str, Tried]) -> None:
    record = tried["short"].record
    assert record.ended == "limit"
    assert "of 7,000 tokens were used" in record.limits_met[0]
    assert (record.score, record.calls) == (0.0, 1)
    first, *others = tried["short"].calls
    assert first.ended == "answered"
    assert {call.ended for call in others} == {"refused"}


def test_a_codex_that_is_killed_is_a_limit_and_its_call_is_counted(tried: dict[str, Tried]) -> None:
    record = tried["hasty"].record
    assert record.ended == "limit"
    assert record.limits_met == ("stopped after 0.6 s",)
    assert all(call.counted and call.usage.output_tokens for call in tried["hasty"].calls)


@pytest.mark.promise("C-20")
def test_the_trajectory_of_codex_is_a_document_of_atif(desk: Desk, tried: dict[str, Tried]) -> None:
    told = desk.rollouts("trajectory", tried["codex"].place.name, "--format", "atif").stdout
    found = AtifTrajectory.model_validate_json(told, strict=True)
    assert found.final_metrics is not None
    assert found.final_metrics.total_prompt_tokens == sum(
        call.usage.input_tokens or 0 for call in tried["codex"].calls
    )
    assert found.agent.name == "codex"


def test_what_made_a_result_stands_in_it(desk: Desk, tried: dict[str, Tried]) -> None:
    hashes = {name: trial.record.hashes["agent"] for name, trial in tried.items()}
    assert hashes["codex"] == hashes["short"] == hashes["hasty"] != hashes["mini-swe-agent"]
    again = proctor(desk.data, "agents", "install", "codex", code=0).stdout
    assert again.startswith("codex 0.169.0 was there, sha256 ")


@pytest.mark.promise("C-21")
def test_an_agent_that_is_not_installed_is_told_before_anything_is_spent(
    tmp_path: Path, server: Server
) -> None:
    bare = Desk.made(tmp_path)
    tasks_in(bare)
    before = server.seen()["seen"]
    told = bare.rollouts("run", bare.config("bare", of("codex")), code=2, OPENAI_BASE_URL=f"{server.url}/v1")
    assert "agent codex is not installed on this machine: `proctor agents install codex`" in told.stderr
    assert not (bare.data / "runs").exists()
    assert server.seen()["seen"] == before


@pytest.mark.promise("C-21")
def test_without_npm_it_is_said_what_to_install(tmp_path: Path) -> None:
    if Path(sys.executable).with_name("npm").exists():
        pytest.skip("this environment has an npm of its own")
    told = proctor(tmp_path, "agents", "install", "codex", code=2, PATH="/nowhere").stderr
    assert "agent codex comes by npm, which is not on this machine: install Node.js with npm" in told
    assert not (tmp_path / AGENTS / "codex").exists()
    listed = proctor(tmp_path, "agents", "list").stdout
    assert "codex           not installed; proctor agents install codex installs 0.169.0" in listed


def test_a_table_like_a_shipped_one_changes_some_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # whose data/agents has none
    with pytest.raises(ConfigError) as refused:
        described("mine", {"mine": {"like": "codex", "model_name": "gpt-5.5"}}, "openai/m")
    assert "agent codex is not installed on this machine" in str(refused.value)
    table = {"like": "codex", "binary": "/bin/true", "model_name": "gpt-5.5", "home_files": {}}
    agent, _ = described("mine", {"mine": table}, "openai/m")
    assert (agent.model_name, agent.log, agent.home_files) == ("gpt-5.5", "codex", ())
    with pytest.raises(ConfigError, match="like: 'aider': there are codex, mini-swe-agent"):
        described("mine", {"mine": {"like": "aider"}}, "openai/m")


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"/etc/passwd": "a"}, "'/etc/passwd' is no path of a file below the agent's home"),
        ({"a/../../b": "a"}, "is no path of a file below the agent's home"),
        ({"a": "/nowhere/a.toml"}, "there is no file /nowhere/a.toml"),
        ({"a": 1}, "a: the path of a file belongs here"),
    ],
)
def test_files_of_a_home_that_cannot_be_meant_are_told(files: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        described("mine", {"mine": {"argv": ["a"], "home_files": files}})
    assert told in str(refused.value)
