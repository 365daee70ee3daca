"""Journeys along a run at work: its score narrows, its outcomes add up, its end is told; killed ones go on."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from browser import Watched, axe, overhang, until, watched
from journey import ITEMS, PARALLEL, World, main_text, press, said, world

from jobs_world import children_of
from proctor.settings import read_settings
from proctor.store import Store
from proctor.types import Run
from programs import HANG_S, started

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

RECORDS = """
  const Own = window.Notification;
  window.Notification = class extends Own {
    constructor(title, options) { super(title, options); window.shown(title); }
    static requestPermission() { window.asked(); return Own.requestPermission(); }
  };
"""


@pytest.fixture(scope="module")
def there(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("live"), "--latency", "0.3") as running:
        yield running


def stack(page: Page) -> dict[str, int]:
    """The parts of the bar by name, as their words say."""
    parts = page.evaluate(
        "[...document.querySelectorAll('[data-part]')].map((each) => [each.dataset.part, each.textContent])"
    )
    return {name: int(text.replace(",", "")) for name, text in parts}


def settled(page: Page) -> int:
    return sum(n for name, n in stack(page).items() if name != "to_come")


def band(page: Page) -> list[tuple[int, float]]:
    """Items and the width of the band there, the last first, from the table behind the picture."""
    rows = page.evaluate(
        "[...document.querySelectorAll('#narrowing-table tbody tr')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    found = []
    for items, _, interval in rows:
        low, high = re.findall(r"\d\.\d+", interval)
        found.append((int(items.replace(",", "")), float(high) - float(low)))
    return found


def ended(tab: Watched, word: str) -> None:
    until(tab.page, lambda page: page.locator("#live").count() == 0 and word in main_text(page), word)
    tab.settle()


def test_a_run_is_followed_to_its_end(there: World, chromium: Browser) -> None:
    job_id = there.slow()
    with watched(chromium) as tab:
        told: list[str] = []
        asked: list[bool] = []
        tab.page.expose_function("shown", lambda title: told.append(title))
        tab.page.expose_function("asked", lambda: asked.append(True))
        tab.page.context.grant_permissions(["notifications"], origin=there.url)
        tab.page.context.add_init_script(RECORDS)
        tab.open(f"{there.url}/runs/{job_id}")
        until(tab.page, lambda page: len(band(page)) >= 2 and settled(page) >= 12, "a band")
        assert sum(stack(tab.page).values()) == ITEMS
        assert re.match(r"\d+ % · ollama/sim:latest on GLUE", tab.page.title()), tab.page.title()
        first = band(tab.page)[0]
        assert "no band of the score itself" in main_text(tab.page), "its score is a mean of metrics"
        until(tab.page, lambda page: page.locator("#latest > li").count() == 8, "the latest replies")
        to = tab.page.locator("#latest > li a").first.get_attribute("href")
        assert to is not None and to.startswith(f"/runs/{job_id}/items/")
        assert not asked, "permission is asked for by a press alone"
        press(tab, "Tell me when it ends")
        until(tab.page, lambda page: "You will be told" in main_text(page), "that it is remembered")
        assert axe(tab.page) == [] and overhang(tab.page) == 0
        until(tab.page, lambda page: settled(page) >= 100 or page.locator("#live").count() == 0, "most of it")
        if tab.page.locator("#live").count():
            assert sum(stack(tab.page).values()) == ITEMS
            last = band(tab.page)[0]
            assert last[0] > first[0] and last[1] < first[1], "it has narrowed"
        ended(tab, "completed")
        score = tab.page.locator("#headline").inner_text()
        assert tab.page.title().startswith(f"done {float(score):.2f} · ollama/sim:latest on GLUE")
        assert sum(stack(tab.page).values()) == ITEMS and "to_come" not in stack(tab.page)
        until(tab.page, lambda page: len(told) == 1, "the notification")
        assert told[0].startswith(f"done {float(score):.2f}: ollama/sim:latest") and asked == [True]
        assert axe(tab.page) == []


def test_every_part_of_overview_follows_an_end(there: World, chromium: Browser) -> None:
    there.run("sim", limit=1)
    with watched(chromium) as tab:
        tab.open(f"{there.url}/")
        tab.page.evaluate("window.stays = true")
        runs = tab.page.locator("#parts").inner_text()
        assert "running" not in tab.page.title()
        job_id = there.slow(limit=2)
        until(tab.page, lambda page: page.title().startswith("1 running · Overview"), "the title counts")
        until(tab.page, lambda page: "running" not in page.title(), "its end")
        until(tab.page, lambda page: page.locator("#parts").inner_text() != runs, "the cards")
        until(tab.page, lambda page: job_id in page.locator("#parts").inner_html(), "the recent runs")
        assert tab.page.evaluate("window.stays") is True, "nobody reloads"


def run_of(there: World, model: str) -> Run | None:
    """The run of a model, as it is kept."""
    store = Store.open(read_settings({"PROCTOR_HOME": str(there.home)}).database_url)
    try:
        return next(iter(store.runs(model=model)), None)
    finally:
        store.close()


def test_a_killed_worker_is_told_and_another_goes_on(there: World, chromium: Browser) -> None:
    before = there.asked()
    job_id = there.slow()
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{job_id}")
        until(tab.page, lambda page: settled(page) >= 2 * PARALLEL, "some items")
        kept = settled(tab.page)
        run = run_of(there, "ollama/sim:latest")
        assert run is not None and run.id == job_id
        (worker,) = children_of(run)
        os.kill(worker, signal.SIGKILL)
        until(tab.page, lambda page: "to be tried again" in main_text(page), "the truth")
        ended(tab, "completed")
        assert sum(stack(tab.page).values()) == ITEMS and kept >= 2 * PARALLEL
    asked = {key: times - before.get(key, 0) for key, times in there.asked().items()}
    assert len([times for times in asked.values() if times]) == ITEMS
    assert sum(asked.values()) <= ITEMS + 2 * PARALLEL and max(asked.values()) <= 3


def test_a_run_of_a_terminal_goes_on_by_a_press(there: World, chromium: Browser) -> None:
    before = there.asked()
    words = ["run", "glue", "--model", "ollama/sim-small:latest", "--data", "sample", "--preset", "quick"]
    process = started(there.home, [*words, "--parallel", str(PARALLEL)], OLLAMA_HOST=there.models)
    try:
        for _ in range(1200):
            run = run_of(there, "ollama/sim-small:latest")
            if run is not None and run.settled >= 2 * PARALLEL:
                break
            time.sleep(0.05)  # until the other process has committed something
    finally:
        process.kill()
        process.communicate(timeout=HANG_S)
    assert run is not None
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{run.id}")
        said(tab, "Nobody works on this run.")
        planned = sum(stack(tab.page).values())
        assert 2 * PARALLEL <= settled(tab.page) < planned
        press(tab, "Resume", within="#killed")
        until(
            tab.page,
            lambda page: page.locator("#live").count() == 0 and "completed" in main_text(page),
            "the end",
        )
        tab.settle()
        assert sum(stack(tab.page).values()) == planned and "to_come" not in stack(tab.page)
    asked = {key: times - before.get(key, 0) for key, times in there.asked().items()}
    assert len([times for times in asked.values() if times]) == planned
    assert sum(asked.values()) <= planned + 2 * PARALLEL and max(asked.values()) <= 3
