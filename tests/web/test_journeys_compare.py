"""Journeys: comparing runs, searching the history, reading the leaderboard, and what each of them exports."""

from __future__ import annotations

import csv
import json
import re
from io import StringIO
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
from browser import Watched, axe, until, watched
from journey import arrive, follow, main_text, path_of, press, said, saved
from seeded_site import Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.slow

TO = "\u2013"  # between the ends of a range
SIGNED = r"[+\u2212-]0\.\d{3}"


def asked(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def card(page: Page, title: str) -> Locator:
    return page.locator(".card", has=page.locator("h2", has_text=re.compile(f"^{re.escape(title)}$")))


# Comparison ---------------------------------------------------------------------------------------


def tick(tab: Watched, *ids: str) -> None:
    for run_id in ids:
        tab.page.get_by_label(f"Select run {run_id[:8]}").check()


@pytest.mark.promise("G-17", "G-18")
def test_two_runs_ticked_in_history_are_compared(site: Site, chromium: Browser) -> None:
    first, second = site.demo.best, site.demo.second
    with watched(chromium) as tab:
        tab.open(f"{site.url}/runs?suite=mmlu")
        button = tab.page.locator("#compare-picked")
        tick(tab, first)
        assert button.get_attribute("aria-disabled") == "true"
        tick(tab, second)
        assert button.inner_text() == "Compare 2 selected"
        tab.collect()
        button.click()
        arrive(tab, lambda at: at.startswith("/compare"), "the comparison")
        assert asked(tab.page)["runs"] == [first, second]
        _reads_well(tab.page)


def _reads_well(page: Page) -> None:
    verdict = page.locator("#verdict").inner_text()
    assert verdict.strip() and ("demo-large" in verdict or "told apart" in verdict), verdict
    page.get_by_text("Statistics: tests, adjustments").click()
    pairs = card(page, "Differences, pair by pair").locator("tbody tr")
    assert pairs.count() == 1
    told = pairs.first.inner_text()
    assert re.search(SIGNED, told) and "demo-large \u2212 demo-medium" in told, told
    assert page.locator("#tasks tbody tr").count() > 10
    assert "Shared items" in main_text(page) or "SHARED ITEMS" in main_text(page)


def compared(site: Site) -> str:
    return f"{site.url}/compare?runs={site.demo.best}&runs={site.demo.second}"


def changes(page: Page) -> list[str]:
    found = page.locator("#items tbody tr td:last-child").all_inner_texts()
    return [text for text in found if not text.startswith("None of this kind")]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_from_the_verdict_to_the_items(site: Site, chromium: Browser, dark: bool) -> None:
    """The line is read, its statistics unfolded, a group too; a cell leads to its items, a gap to those that differ."""
    with watched(chromium, dark=dark) as tab:
        tab.open(compared(site))
        page = tab.page
        line = page.locator("#verdict .verdict-line")
        assert re.match(r"demo-large (is better than|and) demo-medium", line.inner_text())
        assert line.evaluate("e => e.getBoundingClientRect().bottom") < 900, "it is seen without scrolling"
        assert not page.get_by_text("Performance gap").is_visible()
        page.get_by_text("Statistics: tests, adjustments").click()
        assert page.get_by_text("Performance gap").is_visible()
        group = page.locator("a[data-group=STEM]")
        row = page.locator("#heat tbody", has=page.locator("a", has_text="n=3")).first
        assert not row.is_visible()
        group.click()
        assert row.is_visible() and group.get_attribute("aria-expanded") == "true"
        assert asked(page)["open"] == ["STEM"]
        assert axe(page) == []
        # Another order keeps what is unfolded, and brings the map alone.
        page.evaluate("document.body.dataset.same = 'page'")
        page.locator("#heat .heat-choice a", has_text=re.compile("^name$")).click()
        until(page, lambda page: asked(page).get("order") == ["name"], "the other order")
        tab.settle()
        assert (
            asked(page)["open"] == ["STEM"] and page.locator("#heat .heat-below:not([hidden])").is_visible()
        )
        assert page.evaluate("document.body.dataset.same") == "page"
        first = page.locator("#heat .heat-below:not([hidden]) .heat-cell a").first
        task = parse_qs(urlsplit(str(first.get_attribute("href"))).query)["task"]
        tab.collect()
        first.click()
        arrive(tab, lambda at: at.startswith(f"/runs/{site.demo.best}/results"), "the items of the cell")
        assert asked(page)["task"] == task and page.locator("[data-row]").count() == 3


def test_the_link_of_a_comparison_is_copied(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        tab.open(f"{compared(site)}&shade=value")
        press(tab, "Copy link")
        until(tab.page, lambda page: page.locator("#said").is_visible(), "that it was copied")
        assert tab.page.evaluate("navigator.clipboard.readText()") == f"{compared(site)}&shade=value"


def test_models_are_searched_and_the_baseline_is_changed(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/compare?suite=mmlu&runs=ollama/demo-large&runs=ollama/demo-medium")
        page = tab.page
        tab.collect()
        page.get_by_label("Make ollama/demo-medium the baseline").click()
        arrive(tab, lambda at: at.startswith("/compare"), "the other baseline")
        assert asked(page)["runs"] == ["ollama/demo-medium", "ollama/demo-large"]
        assert page.locator("#heat .heat-head").first.inner_text() == "demo-medium"
        assert re.match(r"\W*ollama/demo-medium", page.locator("#picked .picked").first.inner_text())


def test_the_items_on_which_they_differ(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(compared(site))
        everything = changes(tab.page)
        signs = {}
        for mode in ("Regressed", "Improved"):
            follow(tab, mode, within="#items")
            arrive(tab, lambda at, mode=mode: f"mode={mode.lower()}" in at, mode)  # type: ignore[misc]  # bound now
            assert asked(tab.page)["runs"] == [site.demo.best, site.demo.second]
            signs[mode] = {change[0] for change in changes(tab.page)}
        assert signs["Improved"] <= {"+"} and signs["Regressed"] and "+" not in signs["Regressed"]
        follow(tab, "Different", within="#items")
        arrive(tab, lambda at: "mode=" not in at, "all")
        assert changes(tab.page) == everything != []
        row = tab.page.locator("#items tbody tr").first
        item = row.locator("td").first.inner_text()
        tab.collect()
        row.locator("a").first.click()
        arrive(tab, lambda at: f"/runs/{site.demo.best}/results" in at, "the item in its list")
        assert asked(tab.page)["at"] == [item] and asked(tab.page)["beside"] == [site.demo.second]
        assert tab.page.locator("#pane-title").inner_text() == item
        tab.collect()
        tab.page.go_back()
        arrive(tab, lambda at: at.startswith("/compare"), "the comparison again")


@pytest.mark.promise("G-16")
def test_models_are_ticked_on_the_page_itself(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/compare")
        tab.page.locator("#f-suite").select_option("glue")
        for name in ("ollama/demo-large", "ollama/demo-medium", "ollama/demo-small"):
            tab.page.locator(f"input[name=runs][value='{name}']").check()
        press(tab, "Compare")
        until(tab.page, lambda page: page.locator("#verdict").count() == 1, "the verdict")
        tab.settle()
        assert card(tab.page, "Differences, pair by pair").locator("tbody tr").count() == 3
        assert tab.page.locator("input[name=runs]:checked").count() == 3
        tab.page.get_by_text("Change what is compared").click()
        tab.page.locator("#f-metric").select_option("accuracy")
        tab.page.locator("#f-margin").fill("0.05")
        press(tab, "Compare")
        arrive(tab, lambda at: "metric=accuracy" in at and "margin=0.05" in at, "the other metric")
        named = re.compile(r"accuracy, mean of \d tasks, shared items")
        assert card(tab.page, "Models").locator("th", has_text=named).count() == 1
        link = tab.page.url
    with watched(chromium) as other:
        other.open(link)
        assert other.page.locator("#verdict").count() == 1
        assert other.page.locator("#f-margin").input_value() == "0.05"


def test_a_comparison_s_report_is_one_file(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(compared(site))
        tab.page.locator("#share-more summary").click()
        report = saved(tab, "Download report")
    assert "demo-large" in report and "demo-medium" in report and "sample" in report.lower()
    assert not re.findall(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?!data:|#)', report)


def test_runs_that_cannot_be_compared_say_why(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/compare?runs={site.demo.best}&runs={site.demo.failed}")
        told = tab.page.get_by_role("alert").inner_text()
        assert "Invalid Configuration" in told and "What to do:" in told
        assert "they differ in their suite" in told
        assert tab.page.locator("#verdict").count() == 0


def test_a_run_that_is_not_complete_is_marked_in_a_comparison(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/compare?runs={site.demo.best}&runs={site.demo.partial}")
        said(tab, "Not complete.")
        row = card(tab.page, "Models").locator("tr", has_text=site.demo.partial[:8])
        assert "partial" in row.inner_text()
        assert (
            "partial" not in card(tab.page, "Models").locator("tr", has_text=site.demo.best[:8]).inner_text()
        )


# History ------------------------------------------------------------------------------------------


def listed(page: Page) -> list[str]:
    """The ids of the runs on the page."""
    ids: list[str] = page.locator("#runs input[data-pick]").evaluate_all("boxes => boxes.map((b) => b.value)")
    return ids


def figures(page: Page) -> dict[str, str]:
    names = page.locator("#runs dt").all_text_contents()
    return dict(zip(names, page.locator("#runs dd").all_inner_texts(), strict=True))


def search(tab: Watched, field: str, value: str) -> None:
    before = listed(tab.page)
    box = tab.page.locator(f"#f-{field}")
    if field == "model":
        box.fill(value)
    else:
        box.select_option(value)
    until(
        tab.page,
        lambda page: asked(page).get(field) == [value] and listed(page) != before,
        f"{field}={value}",
    )
    tab.settle()


@pytest.mark.promise("G-20", "G-22")
def test_history_is_searched_and_its_totals_are_of_its_rows(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/runs")
        rows = tab.page.locator("#runs tbody tr")
        total = figures(tab.page)
        assert min(int(total["Total Runs"]), 50) == len(listed(tab.page)) > 20  # a page of the list
        search(tab, "model", "demo-large")
        found = figures(tab.page)
        models = tab.page.locator("#runs tbody a[data-row]").all_inner_texts()
        assert set(models) == {"ollama/demo-large"}
        assert int(found["Total Runs"]) == len(models) < int(total["Total Runs"])
        # One of them stopped when its verdict was sure: it did what it was asked to.
        assert "decided" in main_text(tab.page)
        assert found["Completed Runs"] == f"{len(models)}" and found["Success Rate"] == "100 %"
        search(tab, "suite", "mmlu")
        assert 0 < len(listed(tab.page)) < len(models)
        tab.open(f"{site.url}/runs")
        search(tab, "status", "failed")
        assert rows.count() >= 1 and figures(tab.page)["Success Rate"].startswith("0")
        assert listed(tab.page) == [site.demo.failed]
        search(tab, "status", "cancelled")
        assert site.demo.cancelled in listed(tab.page)
        assert tab.page.get_by_label(f"Restart run {site.demo.cancelled[:8]}").is_visible()


@pytest.mark.promise("G-21", "G-27")
def test_history_exports_exactly_what_it_shows(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/runs?model=demo-medium&suite=mmlu")
        ids = listed(tab.page)
        assert len(ids) >= 2
        assert [row["job_id"] for row in csv.DictReader(StringIO(saved(tab, "CSV")))] == ids
        assert [row["job_id"] for row in json.loads(saved(tab, "JSON"))] == ids


def test_history_exports_what_was_filtered_since_the_page_came(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/runs")
        search(tab, "status", "failed")
        ids = listed(tab.page)
        assert [row["job_id"] for row in csv.DictReader(StringIO(saved(tab, "CSV")))] == ids
        assert [row["job_id"] for row in json.loads(saved(tab, "JSON"))] == ids


def test_ticks_do_not_outlive_the_rows_they_are_on(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/runs")
        tick(tab, site.demo.best, site.demo.second)
        search(tab, "status", "failed")
        button = tab.page.locator("#compare-picked")
        assert button.inner_text() == "Compare 0 selected"
        assert button.get_attribute("aria-disabled") == "true"


# Leaderboard --------------------------------------------------------------------------------------


@pytest.mark.promise("G-23")
def test_the_leaderboard_ranks_with_ranges(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/leaderboard")
        tab.page.locator("#f-suite").select_option("glue")
        tab.page.locator("#f-metric").select_option("accuracy")
        tab.page.locator("#f-limit").fill("3")
        press(tab, "Show")
        arrive(tab, lambda at: "limit=3" in at, "three places")
        assert path_of(tab.page).startswith("/leaderboard?suite=glue&metric=accuracy&limit=3")
        rows = tab.page.get_by_role("region", name="Ranks").locator("tbody tr")
        assert rows.count() == 3
        said(tab, "3 of 4 models")
        ranks = [int(text.partition(TO)[0]) for text in rows.locator("td:nth-child(2)").all_inner_texts()]
        assert ranks == sorted(ranks) and ranks[0] == 1
        ranges = rows.locator("td:nth-child(2)").all_inner_texts()
        assert any(TO in text for text in ranges), f"a range of ranks: {ranges}"
        assert re.search(r"\[0\.\d{3}, [01]\.\d{3}\]", rows.first.inner_text())
        board = list(csv.DictReader(StringIO(saved(tab, "CSV"))))
        assert [f"ollama/{name}" for name in rows.locator("th").all_inner_texts()[:2]] == [
            row["model"] for row in board
        ][:2]
        assert len(board) == 3 and [int(row["rank"]) for row in board] == ranks
        follow(tab, "Compare these")
        arrive(tab, lambda at: at.startswith("/compare"), "the comparison")
        assert card(tab.page, "Differences, pair by pair").locator("tbody tr").count() == 3


@pytest.mark.promise("G-24")
def test_the_leaderboard_shows_trends_and_says_when_it_cannot_rank(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/leaderboard?suite=glue")
        row = tab.page.get_by_role("region", name="Ranks").locator("tbody tr", has_text="demo-medium")
        assert re.search(r"[▲▼→]", row.inner_text())
        tab.open(f"{site.url}/leaderboard?suite=medical")
        said(tab, "Nothing to rank yet")
        tab.open(f"{site.url}/leaderboard?suite=mmlu&metric=pearson")
        said(tab, "What to do:")
        tab.open(f"{site.url}/leaderboard?suite=mmlu")
        tab.collect()
        tab.page.locator("main table tbody th a").first.click()
        arrive(tab, lambda at: at.startswith("/runs/"), "the run behind a place")
        assert tab.page.locator("#headline").count() == 1
