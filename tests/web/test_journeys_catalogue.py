"""Journeys: a run made to come again, a model found and its provider tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser import axe, overhang, until, watched
from journey import arrive, main_text, path_of, press, said

if TYPE_CHECKING:
    from browser import Watched
    from playwright.sync_api import Browser
    from seeded_site import Site

pytestmark = pytest.mark.slow

BOTH = [False, True]


def clean(tab: Watched) -> None:
    """No finding of axe, and nothing wider than the window."""
    assert axe(tab.page) == [] and overhang(tab.page) <= 0


@pytest.mark.parametrize("dark", BOTH)
def test_a_run_comes_again_and_its_times_follow_the_choice(chromium: Browser, site: Site, dark: bool) -> None:
    with watched(chromium, dark=dark) as tab:
        page = tab.page
        tab.open(f"{site.url}/runs/{site.demo.best}")
        assert page.locator(f"a[href='/schedules/new?like={site.demo.best}']").count() == 1
        tab.open(f"{site.url}/schedules/new?like={site.demo.best}")
        said(tab, "Every day at 02:00")
        clean(tab)
        page.get_by_label("Weekly", exact=True).check(force=True)
        said(tab, "Every Monday at 02:00")
        page.get_by_label("Thursday").check()
        page.get_by_label("At (UTC)").fill("06:30")
        said(tab, "Every Monday and Thursday at 06:30")
        assert page.locator("#next li").count() == 3 and page.locator("#f-cron").is_hidden()
        clean(tab)
        page.get_by_label("Cron expression", exact=True).check(force=True)
        page.get_by_label("Cron expression (UTC)").fill("61 * * * *")
        until(page, lambda at: at.locator("#next [role=alert]").count() == 1, "what is wrong")
        page.get_by_label("Cron expression (UTC)").fill("30 6 * * 1,4")
        said(tab, "Every Monday and Thursday at 06:30")
        press(tab, "Create schedule")
        arrive(tab, lambda at: at == "/schedules", "the list")
        row = page.locator("tr", has_text="mmlu on demo-large").first
        assert "Every Monday and Thursday at 06:30" in row.inner_text()
        clean(tab)
        switch = row.get_by_role("switch")
        assert switch.get_attribute("aria-checked") == "true"
        tab.collect()
        switch.click()
        said(tab, "switched off")
        page.on("dialog", lambda dialog: dialog.accept())
        tab.collect()
        page.get_by_role("button", name="Delete mmlu on demo-large").click()
        until(page, lambda at: "mmlu on demo-large" not in main_text(at), "it is gone")


@pytest.mark.parametrize("dark", BOTH)
def test_a_model_is_found_and_its_provider_lists_what_may_be_used(
    chromium: Browser, site: Site, dark: bool
) -> None:
    with watched(chromium, dark=dark) as tab:
        page = tab.page
        tab.open(f"{site.url}/models")
        clean(tab)
        page.get_by_label("Search models").fill("large")
        until(page, lambda at: at.locator("#models-list tbody tr").count() == 1, "the one that fits")
        assert "q=large" in path_of(page), "the address is the state"
        page.get_by_role("button", name="Test connection to simulator").click()
        said(tab, "models of simulator")
        tab.settle()
        clean(tab)
        page.get_by_role("button", name="Test connection to openai").click()
        said(tab, "set OPENAI_API_KEY")
        page.locator("#models-list").get_by_role("link", name="demo-large", exact=True).click()
        arrive(tab, lambda at: at == "/models/ollama/demo-large", "its page")
        for words in ("Exams", "Batches", "support-requests.jsonl", "sample data", "for 1,000 items"):
            said(tab, words)
        clean(tab)
        assert page.get_by_role("link", name="Run this model").get_attribute("href") == (
            "/runs/new?models=ollama%2Fdemo-large"
        )
        page.get_by_label("Compare ollama/demo-large with").select_option("ollama/demo-small")
        press(tab, "Compare")
        arrive(tab, lambda at: at.startswith("/compare?"), "the comparison")


@pytest.mark.parametrize(
    "path", ["/models", "/models/ollama/demo-large", "/suites?open=glue", "/schedules", "/datasets"]
)
def test_on_a_phone_nothing_is_wider_than_the_window(chromium: Browser, site: Site, path: str) -> None:
    with watched(chromium, phone=True) as tab:
        tab.open(site.url + path)
        clean(tab)
