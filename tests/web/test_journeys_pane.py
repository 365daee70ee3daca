"""Journeys through lists with a pane: answers, requests and trials are read one after the other without a page load."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from browser import Watched, axe, overhang, until, watched
from journey import path_of
from rollouts_site import every_state
from seeded_site import Site

from hands import Hands
from proctor.store import Store
from served import serving

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Trials:
    """A server on a benchmark of tasks, by its id."""

    url: str
    ident: str


@pytest.fixture(scope="module")
def trials(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trials]:
    home: Path = tmp_path_factory.mktemp("trials")
    with closing(Store.open(f"sqlite:///{home}/proctor.db")) as store:
        ident = every_state(store, home)
    with serving(home, "--no-worker", PROCTOR_REQUESTS_PER_MINUTE="100000") as server:
        yield Trials(server.url, ident)


def rows(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("#rows [data-open]").all_inner_texts()]


def at(page: Page) -> str:
    """Which row the address has open."""
    return parse_qs(urlsplit(page.url).query).get("at", [""])[0]


def opened(tab: Watched, name: str) -> None:
    """Wait until this row is open: in the pane, in the list, and in the address."""

    def is_open(page: Page) -> bool:
        return (
            page.locator("#pane").is_visible()
            and page.locator("#pane-title").inner_text() == name
            and page.locator("#rows [aria-current=true] [data-open]").text_content() == name
            and name in at(page)
        )

    until(tab.page, is_open, f"{name} is open")
    tab.settle()


def stay(tab: Watched) -> None:
    """Mark the page, so that a page load is noticed."""
    tab.page.evaluate("window.stayed = true")


def stayed(tab: Watched) -> bool:
    return bool(tab.page.evaluate("window.stayed === true"))


def test_why_an_item_was_lost_takes_at_most_three_actions_from_its_run(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/runs/{site.demo.best}")
        hands = Hands(tab)
        hands.press(tab.page.locator(".nav-tabs").get_by_role("link", name="Results"))
        until(tab.page, lambda page: "/results" in page.url, "the results")
        hands.press(tab.page.get_by_label("Which rows").get_by_role("link", name=re.compile("^Wrong")))
        until(tab.page, lambda page: "show=wrong" in page.url, "the wrong ones")
        hands.press(tab.page.locator("#rows [data-open]").first)
        why = tab.page.locator("#pane .why")
        assert re.search(r"Wrong\. It answered “.”; right is “.”\.", why.inner_text())
        assert hands.actions <= 3


def test_keys_go_through_the_list_without_a_page_load(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{site.url}/runs/{site.demo.best}/results?show=wrong")
        listed = rows(page)
        stay(tab)
        page.keyboard.press("j")
        opened(tab, listed[0])
        page.keyboard.press("j")
        opened(tab, listed[1])
        assert page.locator("#pane").get_attribute("aria-labelledby") == "pane-title"
        focus = page.evaluate("document.activeElement.closest('[data-row]')?.getAttribute('aria-current')")
        assert focus == "true", "the focus goes with the row"
        page.keyboard.press("k")
        opened(tab, listed[0])
        page.keyboard.press("k")  # nothing lies before the first
        opened(tab, listed[0])
        page.keyboard.press("x")
        assert page.locator("[data-tick]:checked").count() == 1
        assert page.locator("[data-tick-count]").inner_text() == "1 ticked"
        page.keyboard.press("Escape")
        until(page, lambda page: not page.locator("#pane").is_visible(), "the pane closes")
        assert at(page) == "" and stayed(tab)
        assert page.evaluate("document.activeElement.textContent.trim()") == listed[0], "back where one was"
        page.keyboard.press("j")
        opened(tab, listed[0])
        tab.collect()
        page.keyboard.press("Enter")
        until(page, lambda page: f"/items/{listed[0]}" in page.url, "the whole page")


def test_what_is_open_stays_open_over_a_reload_a_copied_link_and_going_back(
    site: Site, chromium: Browser
) -> None:
    with watched(chromium) as tab, watched(chromium) as other:
        page = tab.page
        tab.open(f"{site.url}/runs/{site.demo.best}/results?sort=latency&order=desc")
        listed = rows(page)
        page.locator("#rows [data-open]").nth(3).click()
        opened(tab, listed[3])
        link = page.url
        tab.collect()
        page.reload()
        opened(tab, listed[3])
        other.open(link)
        opened(other, listed[3])
        assert rows(other.page) == listed
        page.keyboard.press("j")
        opened(tab, listed[4])
        page.go_back()
        until(page, lambda page: at(page) == "" and not page.locator("#pane").is_visible(), "the list alone")
        page.go_forward()
        opened(tab, listed[4])


def test_at_the_end_of_a_page_the_next_one_comes(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{site.url}/runs/{site.demo.best}/results")
        first = rows(page)
        stay(tab)
        page.locator("#rows [data-open]").last.click()
        opened(tab, first[-1])
        page.keyboard.press("j")
        until(page, lambda page: rows(page)[0] not in first, "the next page")
        second = rows(page)
        opened(tab, second[0])
        assert "after=" in page.url
        page.keyboard.press("k")
        until(page, lambda page: rows(page) == first, "the page before")
        opened(tab, first[-1])
        assert stayed(tab)


def test_a_filter_that_leaves_the_open_row_out_closes_it(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{site.url}/runs/{site.demo.best}/results")
        page.locator("#rows tr", has_text="correct").first.locator("[data-open]").click()
        until(page, lambda page: at(page) != "", "a row is open")
        tab.settle()
        page.get_by_label("Which rows").get_by_role("link", name=re.compile("^Wrong")).click()
        until(page, lambda page: "show=wrong" in page.url, "the filter")
        until(page, lambda page: not page.locator("#pane").is_visible(), "nothing is open")
        assert at(page) == ""


def test_ticked_rows_go_together_over_pages(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{site.url}/runs/{site.demo.best}/results")
        page.locator("[data-tick]").first.check()
        first = rows(page)[0]
        page.keyboard.press("j")  # the box has the focus, and the key works all the same
        opened(tab, rows(page)[0])
        page.locator("#next").click()
        until(page, lambda page: "after=" in page.url and rows(page)[0] != first, "the next page")
        tab.settle()
        second = rows(page)[2]
        page.locator("[data-tick]").nth(2).check()
        assert page.locator("[data-tick-count]").inner_text() == "2 ticked"
        with page.expect_download() as coming:
            page.get_by_role("button", name="Export JSONL").click()
        told = [json.loads(line) for line in coming.value.path().read_text().splitlines()]
        assert {each["item_id"] for each in told} == {first, second}
        tab.collect()
        page.get_by_role("button", name="Flag").click()
        until(page, lambda page: "2 rows are flagged" in page.locator("#said").inner_text(), "it is said")
        tab.open(f"{site.url}/runs/{site.demo.best}/results?show=flagged")
        assert {first, second} <= set(rows(page))


def test_columns_and_orders_are_kept_in_the_address(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        page = tab.page
        page.set_viewport_size({"width": 1280, "height": 800})
        tab.open(f"{site.url}/runs/{site.demo.best}/results")
        wide = "(x => x.scrollWidth - x.clientWidth)(document.querySelector('#rows .table-responsive'))"
        assert page.evaluate(wide) == 0, "the usual columns fit"
        page.locator("#columns summary").click()
        for name in ("Reply", "Answer", "Target", "Others differ"):
            page.locator("#columns").get_by_label(name, exact=True).uncheck()
        page.locator("#columns").get_by_label("Cost", exact=True).check()
        page.get_by_role("button", name="Show these").click()
        until(page, lambda page: page.locator("th[data-col=cost]").count() == 1, "the columns")
        assert page.locator("th[data-col=reply]").count() == 0
        assert "columns=" in page.url or "column=" in page.url
        page.locator("th[data-col=latency] a").click()
        until(page, lambda page: page.locator("th[aria-sort=descending]").count() == 1, "the order")
        tab.settle()
        assert page.locator("th[data-col=cost]").count() == 1 and "sort=latency" in page.url
        tab.collect()
        page.reload()
        assert page.locator("th[data-col=cost]").count() == 1
        assert page.locator("th[aria-sort=descending]").get_attribute("data-col") == "latency"


def test_the_difference_of_two_replies_is_shown_in_the_pane(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{site.url}/runs/{site.demo.best}/results?show=wrong")
        page.locator("#rows [data-open]").first.click()
        opened(tab, rows(page)[0])
        page.locator(".others summary").first.click()
        page.locator(".others").get_by_role("link", name="Difference").first.click()
        until(page, lambda page: page.locator("#difference").count() == 1, "the difference")
        tab.settle()
        assert "beside=" in page.url
        assert page.locator("#difference ins").count() and page.locator("#difference del").count()
        assert axe(page) == []
        tab.collect()
        page.reload()
        assert page.locator("#difference").is_visible()


@pytest.mark.parametrize("dark", [False, True])
def test_the_pane_can_be_used_by_everybody(site: Site, chromium: Browser, dark: bool) -> None:
    for phone in (False, True):
        with watched(chromium, dark=dark, phone=phone) as tab:
            page = tab.page
            tab.open(f"{site.url}/runs/{site.demo.best}/results?show=wrong")
            assert axe(page) == [] and overhang(page) == 0
            listed = rows(page)
            page.locator("#rows [data-open]").first.click()
            until(page, lambda page: page.locator("#pane-title").is_visible(), "the pane")
            tab.settle()
            assert axe(page) == [] and overhang(page) == 0
            if phone:
                assert not page.locator("#rows").is_visible(), "the pane covers the list"
                assert page.evaluate("document.activeElement.id") == "pane"
                page.get_by_role("link", name="List").click()
                until(page, lambda page: page.locator("#rows").is_visible(), "the way back")
                assert rows(page) == listed


def test_without_scripts_a_row_leads_to_its_own_page(site: Site, chromium: Browser) -> None:
    context = chromium.new_context(java_script_enabled=False)
    with context:
        page = context.new_page()
        page.goto(f"{site.url}/runs/{site.demo.best}/results?show=wrong")
        name = rows(page)[0]
        page.locator("#rows [data-open]").first.click()
        assert f"/items/{name}" in page.url
        page.goto(f"{site.url}/runs/{site.demo.best}/results?show=wrong&at={name}")
        assert page.locator("#pane-title").inner_text() == name
        page.locator(".pane-x").click()
        assert "at=" not in page.url


def test_requests_of_a_batch_are_read_and_labelled_in_the_pane(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{site.url}/runs/{site.demo.batch}/requests")
        listed = rows(page)
        stay(tab)
        for name in listed[:2]:
            page.keyboard.press("j")
            opened(tab, name)
        assert axe(page) == []
        page.keyboard.press("g")
        until(page, lambda page: page.locator("#label-now").inner_text() == "good", "the label")
        tab.settle()
        page.keyboard.press("j")
        opened(tab, listed[2])
        assert stayed(tab)
        page.locator(".others summary").first.click()
        page.locator(".others").get_by_role("link", name="Difference").first.click()
        until(page, lambda page: page.locator("#difference").count() == 1, "the difference")
        page.locator("[data-tick]").first.check()
        with page.expect_download() as coming:
            page.get_by_role("button", name="Export JSONL").click()
        (line,) = coming.value.path().read_text().splitlines()
        assert json.loads(line)["item_id"] == listed[0]


def test_trials_are_read_in_the_pane(trials: Trials, chromium: Browser) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{trials.url}/rollouts/{trials.ident}")
        tab.collect()
        page.get_by_role("link", name="Trials, one by one").click()
        until(page, lambda page: path_of(page).endswith("/trials"), "the list")
        assert page.locator("#rows [data-row]").count() == 18
        page.get_by_label("Which rows").get_by_role("link", name=re.compile("^Failed")).click()
        until(page, lambda page: "state=failed" in page.url, "the failed ones")
        tab.settle()
        stay(tab)
        page.keyboard.press("j")
        until(page, lambda page: page.locator("#pane .why").is_visible(), "the pane")
        tab.settle()
        assert page.locator("#pane .why").inner_text().startswith("Failed.")
        assert axe(page) == [] and stayed(tab)
        page.keyboard.press("x")
        with page.expect_download() as coming:
            page.get_by_role("button", name="Export JSONL").click()
        assert len(coming.value.path().read_text().splitlines()) == 1
        page.locator("#rows [aria-current] [data-open]").focus()
        tab.collect()
        page.keyboard.press("Enter")
        until(page, lambda page: "/trials/" in page.url, "the trial's own page")
