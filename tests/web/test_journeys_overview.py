"""Journeys: the overview's filters and exports, keys of the keyboard, dark mode, the menu of a phone."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from browser import Watched, overhang, until, watched
from journey import arrive, follow, main_text, path_of, press, said, saved
from seeded_site import Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

MENU = (
    ("Overview", "/"),
    ("Run Benchmarks", "/runs/new"),
    ("Model Comparison", "/compare"),
    ("History", "/runs"),
    ("Leaderboard", "/leaderboard"),
    ("Models & providers", "/models"),
    ("Suites", "/suites"),
    ("Queue & workers", "/system"),
    ("Schedules", "/schedules"),
    ("Projects", "/projects"),
    ("Settings", "/settings"),
    ("Audit", "/audit"),
)
KEYS = {
    "o": "/",
    "n": "/runs/new",
    "c": "/compare",
    "r": "/runs",
    "l": "/leaderboard",
    "m": "/models",
    "q": "/system",
}


def cards(page: Page) -> dict[str, str]:
    """The cards' titles and figures, with what stands below each."""
    found = page.locator("main .row-cards").first.locator(".card")
    texts = [text.strip().split("\n", 1) for text in found.all_inner_texts()]
    return {title.lower(): rest for title, rest in texts}


def asked(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def show(tab: Watched, **fields: str) -> None:
    """Set filters and press Show."""
    for name, value in fields.items():
        field = tab.page.locator(f"#f-{name}")
        if name == "days":
            field.fill(value)
        else:
            field.select_option(value)
    press(tab, "Show")
    arrive(tab, lambda at: all(f"{name}={value}" in at for name, value in fields.items()), str(fields))


# Overview -----------------------------------------------------------------------------------------


@pytest.mark.promise("G-02", "G-03")
def test_the_filters_of_overview_change_address_and_cards(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/")
        assert {"average accuracy", "total benchmark runs", "models evaluated", "latest run"} == set(
            cards(tab.page)
        )
        show(tab, suite="glue", days="30")
        month = cards(tab.page)
        assert re.match(r"0\.\d{3}\s+\[0\.\d{3}, 0\.\d{3}\], 95 % interval of ", month["average accuracy"])
        show(tab, days="7")
        week = cards(tab.page)
        assert int(week["total benchmark runs"].split()[0]) < int(month["total benchmark runs"].split()[0])
        assert "last 7 days" in week["models evaluated"]
        assert asked(tab.page) == {"suite": "glue", "metric": "accuracy", "days": "7"}
        show(tab, metric="f1")
        assert "average f1" in cards(tab.page)
        show(tab, suite="all")
        assert int(cards(tab.page)["total benchmark runs"].split()[0]) >= int(
            week["total benchmark runs"].split()[0]
        )
        tab.collect()
        tab.page.go_back()
        arrive(tab, lambda at: "suite=glue" in at, "the suite before")
        assert tab.page.locator("#f-suite").input_value() == "glue"
        assert tab.page.locator("#f-metric").input_value() == "f1"


def test_days_beyond_ninety_are_not_taken(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/")
        tab.page.locator("#f-days").fill("91")
        press(tab, "Show")
        assert tab.page.locator("#f-days:invalid").count() == 1
        assert path_of(tab.page) == "/", "the browser holds the form back"
        for days in ("0", "91", "x"):
            status = tab.open(f"{site.url}/?days={days}")
            assert status in (400, 422) and "days" in main_text(tab.page)
        tab.errors[:] = [error for error in tab.errors if "status of 4" not in error]


@pytest.mark.promise("G-05", "G-27")
def test_overview_exports_its_recent_results(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/?suite=mmlu&metric=accuracy&days=30")
        shown = tab.page.locator("main .card").last.locator("tbody a.id").all_inner_texts()
        rows = list(csv.DictReader(StringIO(saved(tab, "CSV"))))
        found = json.loads(saved(tab, "JSON"))
    assert shown and [row["job_id"][:8] for row in rows][: len(shown)] == shown
    assert [row["job_id"] for row in rows] == [each["job_id"] for each in found["results"]]
    assert {row["suite"] for row in rows} == {"mmlu"}
    measured = [row for row in rows if row["value"]]
    assert measured and all(
        float(row["low"]) <= float(row["value"]) <= float(row["high"]) for row in measured
    )


def test_overview_leads_on(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/?suite=mmlu")
        until(tab.page, lambda page: "demo-large" in page.locator("main").inner_text(), "the best models")
        assert "Active runs" in main_text(tab.page)
        tab.page.get_by_text("As a table").first.click()
        assert tab.page.locator("main details table tbody tr").count() > 3
        follow(tab, "All", within="main")
        arrive(tab, lambda at: at.startswith("/leaderboard?suite=mmlu"), "the leaderboard")
        tab.collect()
        tab.page.go_back()
        arrive(tab, lambda at: at == "/?suite=mmlu", "the overview")
        run_id = tab.page.locator("main .card").last.locator("tbody a.id").first
        name = run_id.inner_text()
        tab.collect()
        run_id.click()
        arrive(tab, lambda at: at.startswith(f"/runs/{name}"), "a recent run")


# Ways around --------------------------------------------------------------------------------------


@pytest.mark.promise("G-01")
def test_the_menu_leads_to_every_screen(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/")
        for name, path in MENU:
            follow(tab, name, within="#menu")
            arrive(tab, lambda at, path=path: at == path, name)  # type: ignore[misc]  # bound now
            current = tab.page.locator("#menu [aria-current=page]")
            assert current.inner_text().strip() == name


def test_keys_lead_to_screens_and_help(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/suites")
        for key, path in KEYS.items():
            tab.collect()
            tab.page.keyboard.press("g")
            tab.page.keyboard.press(key)
            arrive(tab, lambda at, path=path: at == path, f"g {key}")  # type: ignore[misc]  # bound now
        tab.open(f"{site.url}/runs")
        tab.page.keyboard.press("/")
        assert tab.page.evaluate("document.activeElement.id") == "f-model"
        # In a field they are letters.
        tab.page.keyboard.type("gl?")
        assert tab.page.locator("#f-model").input_value() == "gl?"
        said(tab, "No runs under this filter")
        tab.settle()
        assert path_of(tab.page).startswith("/runs?")
        tab.page.locator("h1").click()
        tab.page.keyboard.press("?")
        dialog = tab.page.locator("#help")
        assert dialog.is_visible() and "Leaderboard" in dialog.inner_text()
        tab.page.keyboard.press("Escape")
        assert not dialog.is_visible()
        tab.page.get_by_role("button", name="Keyboard shortcuts").click()
        tab.page.locator("#help").get_by_role("button", name="Close").click()
        assert not dialog.is_visible()


def theme(page: Page) -> str:
    chosen: str = page.evaluate("document.documentElement.dataset.bsTheme")
    return chosen


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_other_theme_survives_a_reload(site: Site, chromium: Browser, dark: bool) -> None:
    first, other = ("dark", "light") if dark else ("light", "dark")
    with watched(chromium, dark=dark) as tab:
        tab.open(f"{site.url}/")
        assert theme(tab.page) == first
        tab.page.get_by_role("button", name="Switch between light and dark").first.click()
        assert theme(tab.page) == other
        tab.settle()
        tab.collect()
        tab.page.reload()
        tab.settle()
        assert theme(tab.page) == other
        tab.open(f"{site.url}/leaderboard")
        assert theme(tab.page) == other


def test_the_menu_of_a_phone_opens(site: Site, chromium: Browser) -> None:
    with watched(chromium, phone=True) as tab:
        tab.open(f"{site.url}/")
        menu, button = tab.page.locator("#menu"), tab.page.get_by_role("button", name="Menu")
        assert not menu.is_visible() and button.get_attribute("aria-expanded") == "false"
        button.click()
        assert menu.is_visible() and button.get_attribute("aria-expanded") == "true"
        assert overhang(tab.page) == 0
        follow(tab, "History", within="#menu")
        arrive(tab, lambda at: at == "/runs", "the history")
        assert not menu.is_visible()
