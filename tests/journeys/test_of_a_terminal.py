"""A run begun in a terminal and killed there: every door says so, and how to go on."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pages import Browser
from proctor.service.opening.simulate import known_answers
from proctor.simulator import spawn
from programs import HANG_S, csv_of_sums, proctor, proctor_json, started
from served import serving
from simulators import settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home, and the id of a run whose process was killed after some of its items."""
    home = tmp_path_factory.mktemp("home")
    file = csv_of_sums(home / "sums.csv", 400)
    with spawn(["--latency", "0.1"], known_answers(settings(home), [file])) as server:
        words = ["run", "sums.csv", "--model", "openai/sim", "--base-url", f"{server.url}/v1"]
        process = started(home, [*words, "--parallel", "2"])
        for _ in range(600):
            runs = proctor_json(home, "list")["runs"]
            if runs and runs[0]["settled"]:
                break
            time.sleep(0.05)  # until the other process has committed something
        process.kill()
        process.communicate(timeout=HANG_S)
    return home, runs[0]["run_id"]


def test_the_terminal_says_that_it_was_killed(killed: tuple[Path, str]) -> None:
    home, run = killed
    assert f"{run[:8]} " in (said := proctor(home, "list").stdout) and "killed" in said
    shown = proctor(home, "show", run[:8]).stdout
    assert "its process was killed" in shown and f"To go on: proctor resume {run[:8]}" in shown
    refused = proctor(home, "compare", "openai/sim", "baseline/majority", code=2).stderr
    assert f"`proctor resume {run[:8]}` goes on with its latest" in refused


def test_the_dashboard_offers_no_button_that_leads_nowhere(killed: tuple[Path, str]) -> None:
    home, run = killed
    with serving(home, "--no-worker") as server:
        browser = Browser(server.url)
        history = browser.get("/runs")
        assert f'formaction="/runs/{run}/resume"' in history.text and "killed" in history.words
        assert "/stop" not in history.text and "/restart" not in history.text
        short = browser.get(f"/runs/{run[:8]}")
        assert (short.status, short.headers["Location"]) == (303, f"/runs/{run}")
        page = browser.get(f"/runs/{run}")
        assert "its process was killed" in page.words and "items/s" not in page.words
        assert browser.get("/runs/00000000").status == 404
        assert "Active runs" not in browser.get("/active").words
