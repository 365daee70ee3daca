"""A journey: a file of requests is dropped into the browser, told to be bad, mended, looked at and deleted."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import axe, until, watched
from journey import UNHURRIED, arrive, main_text, path_of, press, said
from test_journeys_datasets import DROP, on_a_data_set

from request_files import line, lines
from served import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

BAD = line("<b>first</b>") + b"{torn\n" + line("<b>first</b>")
# What the page says while a file comes, in the order in which it says it.
WATCH = """() => {
  window.heard = [];
  const words = document.querySelector("#upload-words");
  new MutationObserver(() => window.heard.push(words.textContent)).observe(words, { childList: true });
  window.addEventListener("pagehide", () => localStorage.setItem("heard", JSON.stringify(window.heard)));
}"""


@pytest.mark.promise("B-01")
def test_requests_are_dropped_with_progress_and_each_bad_line_is_named(
    chromium: Browser, tmp_path: Path
) -> None:
    with serving(tmp_path, "--no-worker", **UNHURRIED) as server, watched(chromium) as tab:
        page = tab.page
        tab.open(f"{server.url}/datasets")
        page.evaluate(DROP, ["bad<i>.jsonl", b64encode(BAD).decode()])
        press(tab, "Upload")
        until(page, lambda at: "2 of 3 lines cannot be sent" in main_text(at), "what is wrong with it")
        shown = page.locator("#upload-said tbody tr").all_inner_texts()
        assert [row.split()[:2] for row in shown] == [
            ["2", "invalid_json_line"],
            ["3", "duplicate_custom_id"],
        ]
        assert "No data sets yet" in main_text(page) and axe(page) == []
        page.get_by_label("Leave out requests that cannot be sent").check()
        press(tab, "Upload")
        arrive(tab, on_a_data_set, "the data set")
        said(tab, "<b>first</b>")
        said(tab, "2 left out" if "2 left out" in main_text(page) else "of 3 lines")

        tab.open(f"{server.url}/datasets")
        page.evaluate(WATCH)
        page.evaluate(DROP, ["batch_5k.jsonl", b64encode(lines(5000)).decode()])
        press(tab, "Upload")
        arrive(tab, on_a_data_set, "the data set")
        heard = " | ".join(page.evaluate("() => JSON.parse(localStorage.getItem('heard'))"))
        assert "MB have come. Its lines are being checked" in heard, heard
        said(tab, "5,000")
        assert axe(page) == []
        page.get_by_role("link", name="Next").click()
        until(page, lambda at: "request-25" in main_text(at), "the next requests")

        tab.open(f"{server.url}/datasets")
        text = main_text(page)
        assert "batch_5k.jsonl" in text and "bad<i>.jsonl" in text and "requests" in text
        page.once("dialog", lambda dialog: dialog.accept())
        page.get_by_role("button", name="Delete batch_5k.jsonl").click()
        until(
            page, lambda at: "batch_5k.jsonl" not in at.locator("main table").inner_text(), "that it is gone"
        )
        assert path_of(page) == "/datasets"
        assert [each["name"] for each in server.get("/admin/datasets")["datasets"]] == ["bad<i>.jsonl"]
