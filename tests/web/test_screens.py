"""Every screen of the dashboard in Chromium: no error, no breach of the policy, no serious finding of axe."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser import axe, cut_off, overhang, until, watched
from seeded_site import Site

from screens import NARROW, SCREENS, address

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

NAMES = [name for name, _, _ in SCREENS]
WITH_CHARTS = ("overview", "compare", "run", "run-timeline", "run-decided", "walk")
FIRST_LOAD_BYTES = 450_000


def where(site: Site, name: str) -> str:
    pattern = next(pattern for known, _, pattern in SCREENS if known == name)
    return site.url + address(pattern, site.demo)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_a_screen_opens_cleanly_and_axe_finds_nothing_serious(
    site: Site, chromium: Browser, name: str, dark: bool
) -> None:
    with watched(chromium, dark=dark) as tab:
        assert tab.open(where(site, name)) == 200
        theme = tab.page.evaluate("document.documentElement.dataset.bsTheme")
        assert theme == ("dark" if dark else "light")
        assert axe(tab.page) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_fits_a_phone(site: Site, chromium: Browser, name: str) -> None:
    with watched(chromium, phone=True) as tab:
        assert tab.open(where(site, name)) == 200
        assert overhang(tab.page) == 0, too_wide(tab.page)
        assert cut_off(tab.page) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_screen_fits_a_narrow_window(site: Site, chromium: Browser, name: str) -> None:
    with watched(chromium) as tab:
        tab.page.set_viewport_size(NARROW)
        assert tab.open(where(site, name)) == 200
        assert overhang(tab.page) == 0, too_wide(tab.page)
        assert cut_off(tab.page) == []
        heading = tab.page.locator("h1").bounding_box()
        assert heading and heading["width"] > 250, "the actions beside it leave the heading no room"


def test_words_that_are_cut_off_are_found_and_what_scrolls_or_has_dots_is_not_meant(
    chromium: Browser,
) -> None:
    box = "width: 5rem; white-space: nowrap; overflow: {}"
    boxes = [box.format(how) for how in ("hidden", "auto", "hidden; text-overflow: ellipsis", "visible")]
    with watched(chromium) as tab:
        tab.page.set_content("".join(f'<p style="{each}">many words in a row</p>' for each in boxes))
        assert len(cut_off(tab.page)) == 1


def too_wide(page: Page) -> list[str]:
    """The elements that reach beyond the window and have no scrolling box around them."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("body *")]
            .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".table-responsive"))
            .slice(0, 5).map((e) => `${e.tagName} ${e.id} ${e.className}`)"""
    )
    return found


@pytest.mark.parametrize("name", WITH_CHARTS)
@pytest.mark.promise("G-04", "G-19")
def test_every_chart_is_drawn_and_has_a_table_behind_it(site: Site, chromium: Browser, name: str) -> None:
    with watched(chromium) as tab:
        tab.open(where(site, name))
        boxes = tab.page.locator("[data-chart]")
        assert boxes.count() > 0
        assert (
            boxes.evaluate_all("boxes => boxes.map((box) => box.dataset.drawn)") == ["true"] * boxes.count()
        )
        canvases = tab.page.locator("[data-chart] canvas")
        assert canvases.count() >= boxes.count()
        assert tab.page.locator("table").count() > 0


def test_the_pages_say_that_the_rows_are_samples(site: Site, chromium: Browser) -> None:
    for name in ("overview", "run", "results", "compare", "history", "leaderboard"):
        with watched(chromium) as tab:
            tab.open(where(site, name))
            assert "sample" in tab.page.locator("main").inner_text().lower(), name


def test_partial_failed_and_waiting_runs_do_not_pass_for_complete(site: Site, chromium: Browser) -> None:
    for name, word in (("run-partial", "partial"), ("run-failed", "failed"), ("run-waiting", "pending")):
        with watched(chromium) as tab:
            tab.open(where(site, name))
            said = tab.page.locator("main, header").all_inner_texts()
            assert word in " ".join(said).lower(), name


def test_going_back_restores_the_filters_of_history(site: Site, chromium: Browser) -> None:
    _filter_and_return(chromium, f"{site.url}/runs", "status", "failed")


def test_going_back_restores_the_filters_of_results(site: Site, chromium: Browser) -> None:
    _filter_and_return(chromium, f"{site.url}/runs/{site.demo.best}/results", "task", "astronomy")


def _filter_and_return(chromium: Browser, start: str, field: str, value: str) -> None:
    """Choose a filter, follow the first link of the list, go back: the filter and its rows are there again."""
    with watched(chromium) as tab:
        tab.open(start)
        page, choice = tab.page, tab.page.locator(f"main select[name={field}]")
        everything = rows(page)
        choice.select_option(value)
        until(page, lambda p: f"{field}={value}" in p.url and rows(p) != everything, f"{field}={value}")
        tab.settle()
        filtered = rows(page)
        assert filtered
        tab.collect()
        page.locator("main table tbody a[href]").first.click()
        # A row of results opens beside the list first.
        until(page, lambda p: p.url.partition("?")[0] != start or "at=" in p.url, "the linked page")
        tab.settle()
        if "at=" in page.url:
            page.keyboard.press("Enter")
            until(page, lambda p: p.url.partition("?")[0] != start, "its own page")
            page.go_back()
        page.go_back()
        until(page, lambda p: f"{field}={value}" in p.url and rows(p) == filtered, "the filtered rows again")
        assert choice.input_value() == value
        page.reload()
        assert rows(page) == filtered
        assert choice.input_value() == value


def rows(page: Page) -> list[str]:
    """The texts of the addresses that the table's rows lead to."""
    found: list[str] = page.locator("main table tbody tr a[href]").evaluate_all(
        "links => links.map((link) => link.getAttribute('href'))"
    )
    return found


def test_a_deep_link_shows_the_same_in_another_browser(site: Site, chromium: Browser) -> None:
    link = f"{site.url}/runs/{site.demo.best}/results?task=astronomy"
    seen = []
    for _ in range(2):
        with watched(chromium) as tab:
            tab.open(link)
            assert tab.page.locator("main select[name=task]").input_value() == "astronomy"
            seen.append(rows(tab.page))
    assert seen[0]
    assert seen[0] == seen[1]


def test_an_address_that_is_not_there_says_so(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        assert tab.open(f"{site.url}/runs/00000000-0000-0000-0000-000000000000") == 404
        assert "not found" in tab.page.locator("main").inner_text().lower()
        # The browser reports the status of the page itself as an error.
        tab.errors[:] = [error for error in tab.errors if "status of 404" not in error]


def test_the_first_load_of_overview_is_light(site: Site, chromium: Browser) -> None:
    sizes: list[int] = []
    with watched(chromium) as tab:
        talk = tab.page.context.new_cdp_session(tab.page)
        talk.send("Network.enable")
        talk.on("Network.loadingFinished", lambda told: sizes.append(int(told["encodedDataLength"])))
        tab.open(f"{site.url}/")
        until(tab.page, lambda page: len(sizes) >= len(loaded(page)), "the size of every file")
        assert not [name for name in loaded(tab.page) if not name.startswith((site.url, "data:"))]
    assert 0 < sum(sizes) < FIRST_LOAD_BYTES, sizes


def loaded(page: Page) -> list[str]:
    names: list[str] = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    return names
