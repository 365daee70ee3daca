"""A journey: questions of one's own are dropped into the browser, told apart, run, and found on the board."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import axe, until, watched
from journey import UNHURRIED, arrive, main_text, path_of, pick_model, press, said

from served import serving
from uploads import workbook

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

ROWS = [
    ["Nr", "Frage", "Antwort"],
    *([n, f"Was ist {n} + {n}?", 2 * n] for n in range(1, 25)),
    [25, "Was?", None],
]
# What a browser hands over when a file is dropped beside the field, on its frame.
DROP = """([name, text]) => {
  const dropped = new DataTransfer();
  dropped.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
  const options = { dataTransfer: dropped, bubbles: true, cancelable: true };
  document.querySelector(".drop strong").dispatchEvent(new DragEvent("drop", options));
}"""


def on_a_data_set(at: str) -> bool:
    return at.startswith("/datasets/")


def test_a_dropped_workbook_is_told_apart_run_and_ranked(chromium: Browser, tmp_path: Path) -> None:
    from base64 import b64encode

    with serving(tmp_path, **{**UNHURRIED, "PROCTOR_DATA": ""}) as server, watched(chromium) as tab:
        page = tab.page
        tab.open(f"{server.url}/datasets")
        said(tab, "No data sets yet")
        page.evaluate(DROP, ["rechnen.xlsx", b64encode(workbook(ROWS)).decode()])
        press(tab, "Upload")
        arrive(tab, on_a_data_set, "the data set")
        said(tab, "no column with questions. Its columns: Nr, Frage, Antwort")
        page.get_by_label("Frage").select_option("question")
        page.get_by_label("Antwort").select_option("answer")
        press(tab, "Read it so")
        until(page, lambda at: "the answer is missing" in main_text(at), "the fault of the last row")
        page.get_by_label("Leave bad rows out").check()
        press(tab, "Read it so")
        until(page, lambda at: "What a model is shown" in main_text(at), "what was understood")
        said(tab, "1 left out")
        assert axe(page) == []
        page.get_by_role("link", name="Run it").click()
        arrive(tab, lambda at: at.startswith("/runs/new"), "the form")
        assert page.locator("#f-suite").input_value() == "rechnen"
        pick_model(tab, "simulator/sim")
        until(
            page, lambda at: "rechnen (1 of 25 rows left out)" in at.locator("#plan").inner_text(), "the plan"
        )
        page.get_by_role("button", name="Start Benchmarking").click()
        arrive(tab, lambda at: at.startswith("/runs/") and "new" not in at, "the run")
        job = path_of(page).removeprefix("/runs/")
        tab.open(f"{server.url}/datasets")  # the run's page loads itself anew when the run ends
        assert server.ended(job)["status"] == "completed"
        tab.open(f"{server.url}/leaderboard?suite=rechnen")
        said(tab, "sim")
