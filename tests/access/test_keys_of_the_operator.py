"""Whom the operator's provider key is shown to: never a server that a user of a server with keys named."""

from __future__ import annotations

from pathlib import Path

import pytest

from opened import over
from proctor.manifest import UNOPENED
from proctor.references import ExamRef
from proctor.service.admin.addresses import settings_for, settings_to_ask_again
from proctor.service.context import open_store
from proctor.service.runs import queue
from proctor.types import Cell, Model, Plan
from programs import proctor, proctor_json
from served import PREFIX, serving
from simulators import questions, settings, simulator

KEY = "sk-of-the-operator"
OURS = "http://127.0.0.1:9000/v1"


@pytest.mark.parametrize(
    ("user", "auth", "url", "told"),
    [
        ("ann", "keys", None, True),
        ("ann", "keys", OURS, True),
        ("ann", "keys", OURS + "/", True),
        ("ann", "keys", "https://api.openai.com.evil.example/v1", False),
        ("ann", "keys", "http://127.0.0.1:9001/v1", False),
        ("ann", "off", "http://127.0.0.1:9001/v1", False),  # a worker that was not told PROCTOR_AUTH
        ("local", "keys", "http://127.0.0.1:9001/v1", False),  # a user may be called so
        ("local", "off", "http://127.0.0.1:9001/v1", True),
    ],
)
def test_who_is_told_the_operators_key(
    user: str, auth: str, url: str | None, told: bool, tmp_path: Path
) -> None:
    cell = Cell(Model("openai", "m", url), ExamRef("suite", "mmlu"))
    ours = settings(tmp_path, PROCTOR_AUTH=auth, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=OURS)
    assert (settings_for(cell, user, ours).openai_api_key == KEY) is told


def test_a_job_that_the_operator_reruns_shows_the_key_no_more_than_before(tmp_path: Path) -> None:
    """Nor does the rerun of a rerun, whose address is still the word of the job's user."""
    cell = Cell(Model("openai", "m", "http://127.0.0.1:9001/v1"), ExamRef("suite", "mmlu"))
    ours = settings(tmp_path, OPENAI_API_KEY=KEY, OPENAI_BASE_URL=OURS)
    with open_store(ours) as store:
        job = queue.submit(over(store, ours), Plan((cell,)), queue.Ticket("ann"))
        facts = {
            "source_title": "MMLU",
            "planned": 1,
            "manifest": UNOPENED,
            "comparability": None,
            "sample": True,
        }
        plan = store.add_plan(Plan((cell,)), now=1.0)
        own = store.add_run(plan, cell, **facts, now=1.0)
        again = store.add_run(plan, cell, **facts, now=1.0, parent_id=job.id)
        twice = store.add_run(plan, cell, **facts, now=1.0, parent_id=again.id)
        orphan = store.add_run(plan, cell, **facts, now=1.0, parent_id="deleted")
        told = [
            settings_to_ask_again(over(store, ours), [run]).openai_api_key
            for run in (own, job, twice, orphan)
        ]
    assert told == [KEY, None, None, None]


@pytest.mark.slow
def test_a_server_that_a_user_named_gets_no_key_of_the_operators(tmp_path: Path) -> None:
    """The simulator refuses whoever does not show the key: at its user's word it is not shown."""
    ann = proctor_json(tmp_path, "keys", "create", "--user", "ann", "--scope", "run")["key"]
    with simulator(questions(1), "--key", KEY) as model_server:
        ours = {"OPENAI_API_KEY": KEY, "PROCTOR_AUTH": "keys", "PROCTOR_ALLOWED_ADDRESSES": "127.0.0.1"}
        with serving(tmp_path, OPENAI_BASE_URL="http://127.0.0.1:9/v1", **ours) as server:
            config = {"provider": "openai", "model": "sim", "data": "sample", "limit": 1}
            there = {**config, "base_url": f"{model_server.url}/v1"}
            body = {"project_id": 1, "suite": "superglue", "config": there}
            bearer = {"Authorization": f"Bearer {ann}"}
            job = server.ask("POST", f"{PREFIX}/run", body, bearer).body["job_id"]
            server.ask("GET", f"/api/v1/jobs/status/{job}/poll?timeout=30", headers=bearer)
            ended = server.ask("GET", f"{PREFIX}/results/{job}", headers=bearer).body
        assert ended["status"] == "failed" and "401" in ended["error"], ended
        assert "401" in proctor(tmp_path, "rerun", job, code=5, **ours).stderr
