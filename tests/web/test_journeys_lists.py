"""Journeys: yesterday's failures from Overview, History by keys, by its menus and on one line a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from browser import axe, overhang, until, watched
from journey import World, arrive, path_of, world
from seeded_site import Site
from troubles import NIGHTLY, Troubles, troubled

from hands import Hands
from served import Server

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
ONE_LINE_PX = 40


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Troubles]]:
    with troubled(tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture(scope="module")
def at_work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture(scope="module", autouse=True)
def stores(site: Site, bad: tuple[Server, Troubles], at_work: World) -> None:
    """All of them before Chromium, in whose loop no run can be made."""


# Overview -----------------------------------------------------------------------------------------


def test_yesterdays_failures_are_found_with_one_action(
    bad: tuple[Server, Troubles], chromium: Browser
) -> None:
    server, there = bad
    with watched(chromium) as tab:
        tab.open(f"{server.url}/")
        hands = Hands(tab)
        card = tab.page.locator("#attention")
        for run, state in there.runs.items():
            line = card.locator("li", has=tab.page.locator(f'a[href="/runs/{run}"]'))
            assert line.is_visible() and state in line.inner_text(), state
        assert card.locator("li", has_text=NIGHTLY).is_visible()
        box = card.bounding_box()
        assert box is not None and box["y"] + box["height"] < 900, "all of it is seen without scrolling"
        hands.press(card.locator(f'a[href="/runs/{there.failed}"]'))
        arrive(tab, lambda at: at == f"/runs/{there.failed}", "the run that failed")
        assert hands.actions == 1
        tab.open(f"{server.url}/")
        hands = Hands(tab)
        hands.press(card.get_by_role("link", name="All in History"))
        arrive(tab, lambda at: at == "/runs?status=attention&days=2", "all of them")
        assert hands.actions == 1
        listed = set(
            tab.page.locator("tr[data-run]").evaluate_all("rows => rows.map((row) => row.dataset.run)")
        )
        assert {there.failed, there.partial, there.batch, there.rollouts} <= listed


def test_overview_follows_when_a_run_ends(at_work: World, chromium: Browser) -> None:
    at_work.run("sim")
    with watched(chromium) as tab:
        tab.open(f"{at_work.url}/")
        total, recent = tab.page.locator("#total"), tab.page.locator("#parts tr[data-run]")
        assert (total.inner_text(), recent.count()) == ("1", 1)
        tab.page.evaluate("window.still = true")
        at_work.run("sim-small")
        until(
            tab.page, lambda page: total.inner_text() == "2", "the run counts without a look from the reader"
        )
        short = at_work.server.submit("simulator", "sim-small", max_total_tokens=500)
        at_work.server.ended(short)
        trouble = tab.page.locator(f'#attention a[href="/runs/{short}"]')
        until(tab.page, lambda page: trouble.count() == 1, "what lost items stands on top")
        assert tab.page.evaluate("window.still"), "the page was not loaded anew"


def test_a_point_of_the_trend_opens_its_run(bad: tuple[Server, Troubles], chromium: Browser) -> None:
    server, there = bad
    with watched(chromium) as tab:
        tab.open(f"{server.url}/?suite=sums.csv")
        tab.page.locator('[data-kind="trend"]').scroll_into_view_if_needed()
        place = tab.page.evaluate(
            """() => {
                const box = document.querySelector('[data-kind="trend"]'), chart = echarts.getInstanceByDom(box);
                const point = JSON.parse(document.getElementById(box.dataset.chart).textContent).series[0].points[0];
                const [x, y] = chart.convertToPixel("grid", [point.at, point.value]), at = box.getBoundingClientRect();
                return [x + at.x, y + at.y];
            }"""
        )
        tab.collect()
        tab.page.mouse.click(*place)
        arrive(tab, lambda at: at.startswith(f"/runs/{there.good}"), "the run of the point")


# History ------------------------------------------------------------------------------------------


def test_no_run_takes_more_than_a_line_and_the_buttons_are_seen_at_1280(
    site: Site, chromium: Browser
) -> None:
    with watched(chromium) as tab:
        tab.page.set_viewport_size({"width": 1280, "height": 900})
        tab.open(f"{site.url}/runs")
        rows = tab.page.locator("tr[data-run]")
        heights: list[float] = rows.evaluate_all(
            "rows => rows.map((row) => row.getBoundingClientRect().height)"
        )
        assert len(heights) > 20 and max(heights) < ONE_LINE_PX
        assert overhang(tab.page) == 0
        ends: list[float] = tab.page.locator("td.acts button:last-of-type").evaluate_all(
            "all => all.map((each) => each.getBoundingClientRect().right)"
        )
        assert max(ends) < 1280
        hidden = tab.page.locator(".pinned").evaluate("box => box.scrollWidth - box.clientWidth")
        assert hidden == 0, "nothing lies beyond the edge"


def test_what_is_cut_is_told_whole_on_hover_and_on_focus(
    bad: tuple[Server, Troubles], chromium: Browser
) -> None:
    server, _ = bad
    with watched(chromium) as tab:
        tab.open(f"{server.url}/runs?status=failed")
        whole = tab.page.locator(".full-value")
        assert not whole.is_visible()
        tab.page.locator("tr[data-run] .beside .cut-wide").first.hover()
        assert "The first 20 items all failed, so the run stopped." in whole.inner_text()
        tab.page.mouse.move(2, 2)
        assert not whole.is_visible()
        tab.page.keyboard.press("j")
        assert "the connection broke" in whole.inner_text()


def test_history_is_worked_by_keys(bad: tuple[Server, Troubles], chromium: Browser) -> None:
    server, _ = bad
    with watched(chromium) as tab:
        tab.open(f"{server.url}/runs")
        page = tab.page
        runs = page.locator("tr[data-run]").evaluate_all("rows => rows.map((row) => row.dataset.run)")

        def at() -> str:
            return str(page.evaluate("document.activeElement.closest('tr')?.dataset.run"))

        for key, place in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
            page.keyboard.press(key)
            assert at() == runs[place]
        assert not page.locator("#bulk").is_visible()
        page.keyboard.press("x")
        assert page.locator("input[data-pick]:checked").evaluate_all("all => all.map((b) => b.value)") == [
            runs[1]
        ]
        until(page, lambda p: p.locator("#bulk").is_visible(), "what can be done with them")
        tab.collect()
        page.keyboard.press("Enter")
        arrive(tab, lambda path: path.startswith((f"/runs/{runs[1]}", "/rollouts/")), "the run")


def test_a_rows_menu_opens_by_key_and_deleting_asks(bad: tuple[Server, Troubles], chromium: Browser) -> None:
    server, there = bad
    with watched(chromium) as tab:
        tab.open(f"{server.url}/runs?status=failed")
        more = tab.page.get_by_label(f"More for run {there.failed[:8]}")
        more.focus()
        tab.page.keyboard.press("Enter")
        menu = tab.page.locator(".row-menu:popover-open")
        assert menu.get_by_role("link", name="Clone").is_visible()
        button, box = more.bounding_box(), menu.bounding_box()
        assert button is not None and box is not None
        assert abs(box["x"] + box["width"] - button["x"] - button["width"]) < 2, "it opens at its button"
        tab.collect()
        menu.get_by_role("button", name="Delete").click()
        arrive(tab, lambda at: at.startswith("/runs/bulk"), "the question")
        assert tab.page.get_by_role("heading", name="Delete 1 run?").is_visible()
        tab.collect()
        tab.page.get_by_role("link", name="Keep them").click()
        arrive(tab, lambda at: at == "/runs", "the list")
        assert tab.page.locator(f'tr[data-run="{there.failed}"]').is_visible()


def test_filters_days_order_and_columns_stand_in_a_short_address(
    bad: tuple[Server, Troubles], chromium: Browser
) -> None:
    server, _ = bad
    with watched(chromium) as tab:
        tab.open(f"{server.url}/runs")
        page = tab.page

        def goes_to(address: str) -> None:
            until(page, lambda _: path_of(page) == address, address)
            tab.settle()

        page.get_by_text("7 days", exact=True).click()
        goes_to("/runs?days=7")
        page.get_by_role("link", name="Score", exact=True).click()
        goes_to("/runs?days=7&sort=score")
        page.locator("#f-kind").select_option("exam")
        goes_to("/runs?kind=exam&days=7&sort=score")
        page.locator("#columns summary").click()
        page.locator("#columns").get_by_text("Cost", exact=True).click()
        until(page, lambda _: "columns=" in path_of(page) and "cost" in path_of(page), "a column more")
        tab.settle()
        assert page.get_by_role("columnheader", name="Cost").is_visible()
        tab.collect()
        page.get_by_role("link", name="last 7 days: remove this filter").click()
        until(page, lambda _: "days" not in path_of(page), "the filter is gone")
        tab.settle()
        assert "kind=exam" in path_of(page) and "sort=score" in path_of(page)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/runs", "/runs?status=failed&sort=score&columns=cost,who,items"])
def test_lists_are_for_everybody(
    bad: tuple[Server, Troubles], chromium: Browser, path: str, dark: bool
) -> None:
    server, _ = bad
    for phone in (False, True):
        with watched(chromium, dark=dark, phone=phone) as tab:
            tab.open(server.url + path)
            assert axe(tab.page) == []
            assert overhang(tab.page) == 0


def test_on_a_phone_each_run_is_a_card(bad: tuple[Server, Troubles], chromium: Browser) -> None:
    server, there = bad
    with watched(chromium, phone=True) as tab:
        tab.open(f"{server.url}/runs")
        row = tab.page.locator(f'tr[data-run="{there.partial}"]')
        wide = tab.page.viewport_size
        box = row.bounding_box()
        assert wide and box and box["width"] <= wide["width"] and box["height"] > 2 * ONE_LINE_PX
        assert (
            "Items 56 / 60" in " ".join(row.evaluate(_AS_READ).split())
            and row.get_by_label("Resume run").is_visible()
        )


_AS_READ = """row => [...row.querySelectorAll("td")].map((cell) =>
  [getComputedStyle(cell, "::before").content.replaceAll('"', ""), cell.innerText].join(" ")).join(" ")"""
