"""A key that may only read sends the server nowhere: it makes no forecast on rows of the hub."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages import Browser
from programs import proctor_json
from providers.recording import Script, recording
from served import serving

pytestmark = pytest.mark.slow

CONFIG = {"provider": "simulator", "model": "sim", "tasks": ["cola"]}


def test_a_forecast_on_rows_that_are_not_here_asks_nobody_for_a_reader(tmp_path: Path) -> None:
    keys = {
        scope: proctor_json(tmp_path, "keys", "create", "--user", scope, "--scope", scope)["key"]
        for scope in ("read", "run")
    }
    with recording([Script({}, status=404)]) as hub:
        environ = {"HF_ENDPOINT": hub.url, "PROCTOR_GITHUB_RAW_URL": hub.url, "PROCTOR_AUTH": "keys"}
        with serving(tmp_path, "--no-worker", **environ) as server:

            def planned(scope: str, **config: str) -> tuple[int, str]:
                body = {"project_id": 1, "suite": "glue", "config": {**CONFIG, **config}}
                bearer = {"Authorization": f"Bearer {keys[scope]}"}
                answer = server.ask("POST", "/api/v1/plan", body, bearer)
                return answer.status, str(answer.body.get("detail"))

            for data in ({"data": "hub"}, {}):  # without a word the hub is next after imported rows
                status, told = planned("read", **data)
                assert status == 403 and "scope 'run'" in told and "hub" in told
            browser = Browser(server.url)
            assert browser.post("/login", key=keys["read"]).status == 303
            form = {"provider": "simulator", "model": "sim", "suite": "glue", "tasks": "cola", "data": "hub"}
            assert "scope 'run'" in browser.post("/runs/new/plan", **form).words
            assert planned("read", data="sample")[0] == 200
            assert hub.sent == [], "nobody was asked"
            assert planned("run", data="hub")[0] == 409 and hub.sent, "who may run may fetch"
