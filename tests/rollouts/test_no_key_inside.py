"""No key of this machine is readable from inside of a box, by a search that finds one wherever it is put there."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import Desk, entry
from mirrors import Mirror, mirror
from searching import KEY, finds_nothing, finds_what_is_planted_and_nothing_before, script
from searching import told as told_of

from proctor.sandbox.contract import Sandbox

FILED = "sk-ant-api03-hT4vNq8LzKw2RmXc9BfJd7GpYs5AuEe3Wt6oIi1Q"


def test_a_program_in_a_box_finds_no_key_of_this_machine_but_wherever_it_is_put_there(
    bubblewrap: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    finds_what_is_planted_and_nothing_before(bubblewrap, tmp_path)


def test_an_agent_finds_no_key_though_its_model_s_server_tells_it_all_that_it_was_sent(
    tmp_path: Path,
) -> None:
    desk = Desk.made(tmp_path)
    (desk.data / "keys.env").write_text(f"ANTHROPIC_API_KEY={FILED}\n")
    (desk.data / "keys.env").chmod(0o600)
    (tmp_path / "search.sh").write_text(script(KEY, FILED))
    told = f'[agents.asker]\nkind = "command"\nbinary = "{tmp_path / "search.sh"}"\nargv = ["sh", "/opt/agent"]\n'
    asking = entry(desk.task("t"), "asker", more='model = "openai/m"\n')
    with mirror() as address:
        desk.rollouts(
            "run", desk.config("mirror", told, asking), code=5, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=address
        )
    said = next(desk.data.glob("runs/*/logs/agent.log")).read_text()
    finds_nothing(said)
    assert int(told_of(said).gathered["gateway"]) > 1_000
    assert any(KEY in each for each in Mirror.heard)  # it was sent, and so it could have been told
    calls = next(desk.data.glob("runs/*/logs/calls.jsonl")).read_text()
    assert KEY not in calls
