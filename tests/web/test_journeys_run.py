"""Journeys: a job at work is stopped and goes on; a run that has ended is repeated, copied, taken away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from browser import Watched, until, watched
from journey import (
    ITEMS,
    PARALLEL,
    SLOW,
    World,
    arrive,
    follow,
    main_text,
    pardon,
    path_of,
    press,
    said,
    saved,
    world,
)

from served import PREFIX

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def there(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("run"), *SLOW) as running:
        yield running


@pytest.fixture(scope="module")
def done(there: World) -> str:
    """A complete run."""
    return there.run("sim")


def settled(page: Page) -> int:
    """How many items the live piece says are done."""
    found = re.match(r"([\d,]+) /", page.locator("#live-count").inner_text())
    return int(found[1].replace(",", "")) if found else 0


def at_work(tab: Watched, least: int = 1) -> None:
    until(tab.page, lambda page: settled(page) >= least, f"{least} items done")


def status(there: World, job_id: str) -> str:
    found: str = there.server.get(f"{PREFIX}/results/{job_id}")["status"]
    return found


def ends_as(tab: Watched, word: str) -> None:
    """The page turns into the summary by itself."""
    until(tab.page, lambda page: page.locator("#live").count() == 0 and word in main_text(page), word)
    tab.settle()


def chosen(tab: Watched, name: str) -> None:
    """Press one of the actions that stand below "More"."""
    tab.settle()
    tab.collect()
    tab.page.locator("#more-actions > summary").click()
    tab.page.locator("#more-actions .item").get_by_text(name, exact=True).click()


# At work ------------------------------------------------------------------------------------------


@pytest.mark.promise("G-12", "G-29")
def test_a_job_is_stopped_and_goes_on_where_it_stopped(there: World, chromium: Browser) -> None:
    before = there.asked()
    job_id = there.slow()
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{job_id}")
        at_work(tab, 3 * PARALLEL)
        press(tab, "Stop Job", within="#live")
        ends_as(tab, "cancelled")
        kept = there.server.get(f"{PREFIX}/results/{job_id}")
        assert kept["status"] == "cancelled"
        assert f"of {ITEMS} items" in main_text(tab.page) and f"{ITEMS} of {ITEMS}" not in main_text(tab.page)
        press(tab, "Restart")
        until(
            tab.page,
            lambda page: "goes on where it stopped" in page.locator("#said").inner_text(),
            "the word",
        )
        there.server.ended(job_id)
        ends_as(tab, "completed")
        assert f"{ITEMS} of {ITEMS} items" in main_text(tab.page)
    asked = {key: times - before.get(key, 0) for key, times in there.asked().items()}
    assert len([times for times in asked.values() if times]) == ITEMS
    # Only what was under way at the stop, and so without an answer, was asked once more.
    assert sum(asked.values()) <= ITEMS + PARALLEL and max(asked.values()) <= 2


@pytest.mark.promise("G-11")
def test_a_page_that_looks_every_second(there: World, chromium: Browser) -> None:
    job_id = there.slow(parallel=2)
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{job_id}")
        looks: list[str] = []
        tab.page.on("request", lambda request: looks.append(request.url.rpartition("/")[2]))
        tab.page.locator("#refresh").select_option("1")
        until(tab.page, lambda page: looks.count("live") >= 3, "three looks")
        assert "events" not in looks, "it listens no more"
        first = settled(tab.page)
        at_work(tab, first + 1)
        # Back to the stream, which tells the end.
        tab.page.locator("#refresh").select_option("live")
        until(tab.page, lambda page: "events" in looks, "the stream again")
        press(tab, "Stop Job", within="#live")
        ends_as(tab, "cancelled")


def test_two_browsers_see_one_job_and_its_end(there: World, chromium: Browser) -> None:
    job_id = there.slow(parallel=2)
    with watched(chromium) as one, watched(chromium) as other:
        for tab in (one, other):
            tab.open(f"{there.url}/runs/{job_id}")
        at_work(one, 2)
        at_work(other, 2)
        press(one, "Stop Job", within="#live")
        ends_as(other, "cancelled")
        ends_as(one, "cancelled")
        assert other.page.get_by_role("button", name="Restart", exact=True).is_visible()
    assert status(there, job_id) == "cancelled"


def test_overview_shows_what_is_at_work_and_stops_it(there: World, done: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/")
        assert "Active runs" not in main_text(tab.page)
        job_id = there.slow(parallel=2)
        # Nobody reloads.
        until(tab.page, lambda page: "Active runs" in main_text(page), "the active run")
        bar = tab.page.locator("#active progress")
        until(tab.page, lambda page: float(bar.get_attribute("value") or 0) > 0, "its progress")
        press(tab, f"Stop job {job_id[:8]}", within="#active")
        arrive(tab, lambda at: at == f"/runs/{job_id}", "the stopped run")
        ends_as(tab, "cancelled")
        tab.open(f"{there.url}/")
        assert "Active runs" not in main_text(tab.page)


def test_a_job_is_stopped_and_restarted_from_history(there: World, chromium: Browser) -> None:
    job_id = there.slow(parallel=2)
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs")
        press(tab, f"Stop run {job_id[:8]}")
        arrive(tab, lambda at: at == f"/runs/{job_id}", "the run")
        ends_as(tab, "cancelled")
        tab.open(f"{there.url}/runs?status=cancelled")
        press(tab, f"Restart run {job_id[:8]}")
        arrive(tab, lambda at: at == f"/runs/{job_id}", "the run")
        at_work(tab)
        press(tab, "Stop Job", within="#live")
        ends_as(tab, "cancelled")


@pytest.mark.promise("G-28")
def test_the_queue_page_shows_jobs_come_and_go(there: World, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/system")
        tab.page.locator("#refresh").select_option("1")
        job_id = there.slow(parallel=2)
        until(tab.page, lambda page: job_id[:8] in page.locator("#queue").inner_text(), "the job")
        there.server.ask("POST", f"/runs/{job_id}/stop")
        until(tab.page, lambda page: job_id[:8] not in page.locator("#queue").inner_text(), "no job")


# Ended --------------------------------------------------------------------------------------------


def test_a_run_is_run_again(there: World, done: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{done}")
        score = tab.page.locator("#headline").inner_text()
        chosen(tab, "Run again")
        arrive(tab, lambda at: at.startswith("/runs/") and at != f"/runs/{done}", "another run")
        ends_as(tab, "completed")
        assert tab.page.locator("#headline").inner_text() == score, "the simulator answers the same"


def test_a_run_is_cloned_into_the_form(there: World, chromium: Browser) -> None:
    params = {"temperature": 0.5, "top_p": 0.9, "seed": 7}
    job_id = there.run(
        "sim-small:latest", "ollama", tasks=["sst2", "rte"], limit=1, parallel=3, ollama_params=params
    )
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{job_id}")
        chosen(tab, "Clone")
        arrive(tab, lambda at: at == f"/runs/new?like={job_id}", "the form")
        page = tab.page
        until(page, lambda p: p.locator("#models input:checked").count() == 1, "the model, ticked")
        assert page.locator("#chosen input").input_value() == "ollama/sim-small:latest"
        shown = {
            name: page.locator(f"#run-form [name={name}]").input_value()
            for name in ("suite", "data", "limit", "parallel")
        }
        assert shown == {"suite": "glue", "data": "sample", "limit": "1", "parallel": "3"}
        for name, value in params.items():
            assert float(page.locator(f"#f-ollama_{name}").input_value()) == value
        ticked = page.locator("[data-suite=glue] input:checked")
        assert {box.get_attribute("value") for box in ticked.all()} == {"rte", "sst2"}
        until(page, lambda p: "Calls" in p.locator("#plan").inner_text(), "the plan")
        press(tab, "Start Benchmarking")
        arrive(tab, lambda at: re.fullmatch(r"/runs/[0-9a-f-]{36}", at) is not None, "the new run")
        made = path_of(page).rpartition("/")[2]
        cells = []
        for one in (job_id, made):
            there.server.ended(one)
            tab.open(f"{there.url}/runs/{one}?tab=config")
            cells.append(page.locator("#cell").inner_text())
    assert cells[0] == cells[1]


def test_a_run_is_deleted_only_when_meant(there: World, chromium: Browser) -> None:
    job_id = there.run("sim", limit=1)
    with watched(chromium) as tab:
        asked: list[str] = []

        def no(dialog: Dialog) -> None:
            asked.append(dialog.message)
            dialog.dismiss()

        def yes(dialog: Dialog) -> None:
            asked.append(dialog.message)
            dialog.accept()

        tab.open(f"{there.url}/runs/{job_id}")
        tab.page.once("dialog", no)
        chosen(tab, "Delete")
        until(tab.page, lambda page: len(asked) == 1, "the question")
        tab.settle()
        assert path_of(tab.page) == f"/runs/{job_id}" and status(there, job_id) == "completed"
        tab.page.once("dialog", yes)
        tab.page.locator("#more-actions .item.danger").click()
        arrive(tab, lambda at: at == "/runs", "the history")
        assert "cannot be undone" in asked[1]
        until(tab.page, lambda page: "was deleted" in page.locator("#said").inner_text(), "the word")
        assert job_id[:8] not in main_text(tab.page)
        assert tab.open(f"{there.url}/runs/{job_id}") == 404
        pardon(tab, 404)


@pytest.mark.promise("G-35")
def test_a_report_is_one_file_that_needs_no_server(there: World, done: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{done}")
        score = tab.page.locator("#headline").inner_text()
        tab.page.locator("#share-more > summary").click()
        report = saved(tab, "Download report")
    assert report.lower().startswith("<!doctype html>") and score in report
    assert not re.findall(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?!data:|#)', report)
    assert "sample" in report.lower()


def test_the_parts_of_a_run_have_addresses(there: World, done: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{done}")
        for name, words in (
            ("Timeline", "timeline"),
            ("Log", "log"),
            ("Config", "Manifest"),
            ("Summary", "Scores"),
        ):
            follow(tab, name, within="nav[aria-label='Parts of the run']")
            arrive(tab, lambda at, name=name: at == f"/runs/{done}?tab={name.lower()}", name)  # type: ignore[misc]  # bound now
            said(tab, words)
        tab.collect()
        tab.page.go_back()
        arrive(tab, lambda at: at.endswith("tab=config"), "the configuration again")
        assert '"provider"' in main_text(tab.page)
