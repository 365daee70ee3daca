"""Journeys: from a run's figures to the items behind them, by filter, page and key; notes beside the scores."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from browser import Watched, until, watched
from journey import World, arrive, follow, main_text, pardon, path_of, press, said, saved, world

from programs import proctor

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

pytestmark = pytest.mark.slow

PAGE_ROWS = 50
SHOWS = (("all", "All"), ("wrong", "Wrong"), ("flagged", "Flagged"))


@pytest.fixture(scope="module")
def there(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("look")) as running:
        yield running


@pytest.fixture(scope="module")
def pair(there: World) -> tuple[str, str]:
    """Two runs of the same items, of 180 each."""
    return there.run("sim"), there.run("sim-small")


@pytest.fixture(scope="module")
def run(pair: tuple[str, str]) -> str:
    return pair[1]


def column(page: Page, name: str) -> list[str]:
    """What stands in a column of the results."""
    cells = page.locator(f"#rows tbody tr td[data-col={name}]")
    return [text.strip() for text in cells.all_inner_texts()]


def items(page: Page) -> list[str]:
    return [text.strip() for text in page.locator("#rows tbody tr td[data-col=item] a").all_inner_texts()]


def tasks(page: Page) -> list[str]:
    return [item.partition("/")[0] for item in items(page)]


def asked(page: Page) -> dict[str, str]:
    """What the address says."""
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def choose(tab: Watched, field: str, value: str) -> None:
    """Set a filter; the address and the rows follow."""
    tab.settle()
    box = tab.page.locator(f"#filters [name={field}]")
    if field in ("item", "q"):
        box.fill(value)
        box.press("Enter")
    elif field == "show":
        title = dict(SHOWS)[value or "all"]
        tab.page.get_by_label("Which rows").get_by_role("link", name=re.compile(f"^{title}")).click()
    else:
        box.select_option(value)
    until(tab.page, lambda page: asked(page).get(field, "") == value, f"{field}={value} in the address")
    tab.settle()


# Results ------------------------------------------------------------------------------------------


def test_results_are_filtered_and_the_address_holds_it(there: World, run: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{run}/results")
        assert len(items(tab.page)) == PAGE_ROWS
        choose(tab, "task", "rte")
        assert set(tasks(tab.page)) == {"rte"} and len(items(tab.page)) == 20
        choose(tab, "outcome", "correct")
        assert set(column(tab.page, "outcome")) == {"correct"}
        right = len(items(tab.page))
        choose(tab, "outcome", "")
        choose(tab, "show", "wrong")
        assert set(column(tab.page, "outcome")) == {"wrong"}
        assert len(items(tab.page)) == 20 - right
        (target,) = set(column(tab.page, "target")[:1])
        choose(tab, "q", target)
        rows = zip(column(tab.page, "answer"), column(tab.page, "target"), strict=True)
        assert all(target in f"{answer} {wanted}" for answer, wanted in rows)
        choose(tab, "q", "no such words")
        said(tab, "No rows under this filter.")
        assert {"task": "rte", "show": "wrong", "q": "no such words"}.items() <= asked(tab.page).items()


def test_the_order_turns_the_list_around(there: World, run: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{run}/results?task=rte")
        first = items(tab.page)
        tab.page.locator("#rows th").get_by_role("link", name="Item").click()
        until(tab.page, lambda page: asked(page).get("order") == "desc", "the order in the address")
        tab.settle()
        assert tab.page.locator("th[aria-sort=descending]").inner_text().strip() == "Item"
        assert items(tab.page) == first[::-1]
        choose(tab, "item", "rte/sample-1")
        assert items(tab.page) == [item for item in first[::-1] if item.startswith("rte/sample-1")] != []


def test_typing_searches_by_itself(there: World, run: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{run}/results?task=rte")
        target = column(tab.page, "target")[0]
        tab.page.keyboard.press("/")
        tab.page.keyboard.type(target)
        until(tab.page, lambda page: asked(page).get("q") == target, "the search in the address")
        tab.settle()
        assert items(tab.page)


def test_back_and_forward_bring_filters_with_their_forms(there: World, run: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{run}/results")
        everything = items(tab.page)
        choose(tab, "task", "rte")
        of_rte = items(tab.page)
        choose(tab, "task", "sst2")
        of_sst2 = items(tab.page)
        for go, value, rows in (
            (tab.page.go_back, "rte", of_rte),
            (tab.page.go_back, "", everything),
            (tab.page.go_forward, "rte", of_rte),
            (tab.page.go_forward, "sst2", of_sst2),
        ):
            tab.collect()
            go()
            until(tab.page, lambda page, rows=rows: items(page) == rows, f"the rows of {value!r}")  # type: ignore[misc]  # bound now
            assert asked(tab.page).get("task", "") == value
            assert tab.page.locator("#filters [name=task]").input_value() == value


def test_a_link_shows_the_same_to_somebody_else(there: World, run: str, chromium: Browser) -> None:
    with watched(chromium) as one, watched(chromium) as other:
        one.open(f"{there.url}/runs/{run}/results")
        choose(one, "task", "qnli")
        choose(one, "show", "wrong")
        other.open(one.page.url)
        assert items(other.page) == items(one.page) != []
        assert other.page.locator("#filters [name=task]").input_value() == "qnli"
        assert other.page.locator(".shows a[aria-current]").inner_text().startswith("Wrong")


def test_every_item_stands_on_one_of_the_pages(there: World, run: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{run}/results")
        seen, pages = items(tab.page), 1
        while tab.page.locator("#next").count():
            last = items(tab.page)
            tab.page.locator("#next").click()
            until(tab.page, lambda page, last=last: items(page) not in ([], last), "the next page")  # type: ignore[misc]  # bound now
            tab.settle()
            assert "after" in asked(tab.page)
            seen += items(tab.page)
            pages += 1
        assert (pages, len(seen), len(set(seen))) == (4, 180, 180)
        follow(tab, "First page")
        until(tab.page, lambda page: "after" not in asked(page), "the first page")
        assert items(tab.page) == seen[:PAGE_ROWS]


def test_a_figure_of_the_run_leads_to_its_items(there: World, run: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{run}")
        link = tab.page.locator("a[href*='task=rte'][href*='outcome=wrong']")
        count = int(link.inner_text())
        tab.collect()
        link.click()
        arrive(tab, lambda at: "/results" in at, "the results")
        assert len(items(tab.page)) == count
        assert set(tasks(tab.page)) == {"rte"} and set(column(tab.page, "outcome")) == {"wrong"}


def test_a_run_s_answers_are_exported(there: World, run: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{run}/results")
        assert len(saved(tab, "CSV").splitlines()) >= 181
        assert len(saved(tab, "JSONL").splitlines()) == 180
        choose(tab, "task", "rte")
        choose(tab, "show", "wrong")
        filtered = [json.loads(line) for line in saved(tab, "JSONL").splitlines()]
        assert [record["item_id"] for record in filtered] == items(tab.page)


# One item -----------------------------------------------------------------------------------------


def heading(page: Page) -> str:
    return page.locator("h1").inner_text().removesuffix("sample data").strip()


def to_its_page(tab: Watched, item: str) -> None:
    """A row opens beside the list; Enter goes on to the item's own page."""
    tab.page.locator("#rows [data-open]").get_by_text(item, exact=True).click()
    until(tab.page, lambda page: page.locator("#pane-title").inner_text() == item, "the pane")
    tab.settle()
    tab.collect()
    tab.page.keyboard.press("Enter")
    until(tab.page, lambda page: heading(page) == item, "the item")


def press_key(tab: Watched, key: str, expected: str) -> None:
    tab.collect()
    tab.page.keyboard.press(key)
    until(tab.page, lambda page: heading(page) == expected, f"{key} leads to {expected}")
    tab.settle()


def test_keys_walk_through_the_filtered_items(there: World, run: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{run}/results?task=rte&show=wrong")
        listed = items(tab.page)
        assert len(listed) >= 3
        to_its_page(tab, listed[0])
        press_key(tab, "j", listed[1])
        press_key(tab, "j", listed[2])
        press_key(tab, "k", listed[1])
        assert asked(tab.page) == {"task": "rte", "show": "wrong"}
        text = main_text(tab.page)
        assert "wrong" in tab.page.locator("#outcome").inner_text()
        assert all(
            words in text
            for words in ("What was asked", "Target", "Read by", "Time on the wire", "Tokens out")
        )
        assert "Answer:" in tab.page.locator("#reply").inner_text()
        tab.page.get_by_text("The request").click()
        assert '"messages"' in tab.page.locator("#request").inner_text()
        tab.collect()
        tab.page.keyboard.press("u")
        arrive(tab, lambda at: "/results" in at, "the list")
        assert items(tab.page) == listed
        assert tab.page.locator("#pane-title").inner_text() == listed[1], "what one came from is open"


def test_the_same_item_in_another_run(there: World, pair: tuple[str, str], chromium: Browser) -> None:
    first, second = pair
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{second}/items/rte/sample-00")
        item = heading(tab.page)
        tab.page.locator("summary").get_by_text("simulator/sim", exact=True).first.click()
        follow(tab, f"In run {first[:8]}", within="main")
        arrive(tab, lambda at: at.startswith(f"/runs/{first}/items/"), "the other run's item")
        assert heading(tab.page) == item
        assert first[:8] in (tab.page.locator(".page-pretitle").text_content() or "")
        tab.collect()
        tab.page.go_back()
        arrive(tab, lambda at: at.startswith(f"/runs/{second}/items/"), "the item it came from")


# Notes --------------------------------------------------------------------------------------------


def test_a_note_and_a_flag_stand_beside_the_score(there: World, run: str, chromium: Browser) -> None:
    words = "The target is in doubt: <b>two</b> readings."
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{run}")
        score = tab.page.locator("#headline").inner_text()
        tab.open(f"{there.url}/runs/{run}/results?task=rte&show=wrong")
        item = items(tab.page)[0]
        to_its_page(tab, item)
        before = tab.page.locator("#outcome").inner_text()
        where = path_of(tab.page)
        tab.page.locator("#f-note").fill(words)
        tab.page.get_by_label("Flag for another look").check()
        press(tab, "Keep the note")
        said(tab, words)
        assert path_of(tab.page) == where, "the filter is still in the address"
        assert tab.page.locator("#outcome").inner_text() == before
        # It is listed, marked, and counted; the score has not moved.
        tab.open(f"{there.url}/runs/{run}/results")
        choose(tab, "show", "flagged")
        assert (
            items(tab.page) == [item] and tab.page.locator("td[data-col=item] .chip").inner_text() == "flag"
        )
        tab.open(f"{there.url}/runs/{run}")
        said(tab, "1 item with notes")
        assert tab.page.locator("#headline").inner_text() == score
        # Scored anew beside the server, it is still there.
        proctor(there.home, "rescore", run, "--extractor", "proctor/2")
        tab.open(f"{there.url}{where}")
        assert words in main_text(tab.page)
        _delete_the_note(tab, f"{there.url}{where}", words)
        tab.open(f"{there.url}/runs/{run}/results?show=flagged")
        assert items(tab.page) == []


def _delete_the_note(tab: Watched, where: str, words: str) -> None:
    asked_for: list[str] = []

    def yes(dialog: Dialog) -> None:
        asked_for.append(dialog.message)
        dialog.accept()

    tab.open(where)
    tab.page.once("dialog", yes)
    tab.collect()
    tab.page.get_by_role("button", name=re.compile("Delete the note of")).click()
    until(tab.page, lambda page: words not in main_text(page), "no note")
    tab.settle()
    assert asked_for == ["Delete this note?"]
    assert unquote(path_of(tab.page)) in unquote(where)


def test_an_empty_note_without_a_flag_is_refused(there: World, run: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{run}/items/rte/sample-00")
        press(tab, "Keep the note")
        until(tab.page, lambda page: "What to do:" in main_text(page), "what is missing")
        pardon(tab, 400)
