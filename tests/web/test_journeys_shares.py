"""Journeys: a result is shared by one press, read by anyone, and the search that opens over any page."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from browser import Watched, axe, overhang, until, watched
from seeded_site import Site

from hands import Hands

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow


def pasted(page: Page) -> str:
    """What is on the clipboard."""
    return str(page.evaluate("navigator.clipboard.readText()"))


@pytest.mark.parametrize(
    "where",
    ["/runs/{best}", "/compare?runs={best}&runs={second}", "/leaderboard?suite=mmlu"],
    ids=["run", "comparison", "board"],
)
def test_a_result_is_shared_by_one_press(site: Site, chromium: Browser, where: str) -> None:
    with watched(chromium) as tab:
        tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        tab.open(site.url + where.format(best=site.demo.best, second=site.demo.second))
        hands = Hands(tab)
        hands.press(tab.page.get_by_role("button", name="Share", exact=True))
        until(tab.page, lambda page: "/shared/" in pasted(page), "the link on the clipboard")
        assert hands.actions == 1
        link = pasted(tab.page)
        assert re.fullmatch(re.escape(site.url) + r"/shared/[A-Za-z0-9_-]{43}", link)
        assert axe(tab.page) == []
        with watched(chromium, phone=True) as other:
            assert other.open(link) == 200
            assert "Shared by" in other.page.locator("main").inner_text()
            assert overhang(other.page) == 0 and axe(other.page) == []
        tab.page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
        until(tab.page, lambda page: page.url.endswith("/settings/shares"), "the list of links")
        with watched(chromium) as late:
            assert late.open(link) == 404
            assert "This link does not open" in late.page.locator("main").inner_text()
            _pardon(late)


def test_a_link_to_the_page_itself_is_one_press_too(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        tab.open(f"{site.url}/leaderboard?suite=mmlu")
        hands = Hands(tab)
        hands.press(tab.page.get_by_role("button", name="Copy link"))
        until(tab.page, lambda page: pasted(page) == page.url, "the page's address")
        assert hands.actions == 1


def test_a_share_can_stand_inside_another_page(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/runs/{site.demo.best}")
        tab.page.get_by_role("button", name="Share", exact=True).click()
        link = tab.page.locator("#shared-link")
        link.wait_for()
        address = link.input_value()
    html = f'<!doctype html><title>Ours</title><iframe src="{address}"></iframe>'
    with elsewhere(html) as page, watched(chromium) as outside:
        outside.page.goto(page)
        frame = outside.page.frame_locator("iframe").locator("main")
        frame.wait_for()
        assert "Shared by" in frame.inner_text()


@contextmanager
def elsewhere(html: str) -> Iterator[str]:
    """Another site with one page: its address."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/page" else 204)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(html.encode() if self.path == "/page" else b"")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/page"
    finally:
        server.shutdown()
        server.server_close()


def test_a_report_opens_in_the_browser(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        assert tab.open(f"{site.url}/runs/{site.demo.best}/report?view=1") == 200
        assert tab.page.locator("h1").count() == 1 and axe(tab.page) == []


def test_the_search_opens_over_any_page_and_leads_to_a_model(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{site.url}/suites")
        hands = Hands(tab)
        hands.key("Control+k")
        tab.page.keyboard.type("demo-large")
        tab.page.locator("#found a.found", has_text="demo-large").first.wait_for()
        assert axe(tab.page) == []
        hands.key("Enter")
        until(tab.page, lambda page: "/models/ollama/demo-large" in page.url, "the model's page")
        assert hands.actions == 2


def test_an_address_that_is_not_there_offers_ways_on(site: Site, chromium: Browser) -> None:
    with watched(chromium) as tab:
        assert tab.open(f"{site.url}/runs/00000000-0000-0000-0000-000000000000") == 404
        assert axe(tab.page) == []
        _pardon(tab)
        assert "proctor " not in tab.page.locator("main").inner_text(), "no words of a terminal"
        tab.page.get_by_label("Look for it").fill(site.demo.best[:8])
        tab.page.get_by_role("button", name="Search").click()
        until(tab.page, lambda page: page.url.endswith(f"/runs/{site.demo.best}"), "the run")


def test_a_word_is_explained_on_a_phone_and_is_not_cut_off(site: Site, chromium: Browser) -> None:
    with watched(chromium, phone=True) as tab:
        tab.open(f"{site.url}/compare?runs={site.demo.best}&runs={site.demo.second}")
        term = tab.page.locator("main .term:visible").first
        term.scroll_into_view_if_needed()
        term.focus()
        box = tab.page.locator("#term-box")
        box.wait_for()
        edges = box.bounding_box()
        assert edges is not None and edges["x"] >= 0 and edges["x"] + edges["width"] <= 391
        assert box.inner_text() in term.locator(".term-says").text_content(), "what screen readers say too"  # type: ignore[operator]  # it is there
        tab.page.keyboard.press("Escape")
        assert not box.is_visible()


def _pardon(tab: Watched) -> None:
    """The browser reports the status of the page itself as an error."""
    tab.collect()
    tab.errors[:] = [error for error in tab.errors if "status of 404" not in error]
