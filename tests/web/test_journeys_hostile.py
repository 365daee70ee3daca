"""Journeys through pages full of what a hostile model says: it stays text, and nothing of it runs or is fetched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from browser import Watched, until, watched
from journey import ITEMS, World, press, said, saved, world

from proctor.simulator import KnownAnswer

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

SCRIPT = "<script>window.hit=1</script>"
IMAGE = '<img src=x onerror="window.hit=2">'
REPLY = f"""{SCRIPT} {IMAGE} <svg onload="window.hit=3"></svg></pre></script></textarea>

# A heading

[press me](javascript:window.hit=4) [outside](https://elsewhere.invalid/) ![picture](https://elsewhere.invalid/x.png)
<a href="javascript:window.hit=5">press</a>
<style>body{{display:none}}</style> {{{{ 7 * 7 }}}} <b hx-get="/demo">bold</b>
"""
MODEL = f"{IMAGE}{SCRIPT}"


# Elements that no page of ours has: with handlers, with addresses that are scripts, or taken from the reply.
MADE_OF_IT = """() => [...document.querySelectorAll("body *")].filter((e) =>
    [...e.attributes].some((a) => a.name.startsWith("on") || /^\\s*javascript:/i.test(a.value))
    || e.matches("main img, main style, main svg[onload], main [hx-get='/demo']")
    || e.matches("script:not([src]):not([type='application/json'])")
).map((e) => e.outerHTML.slice(0, 200))"""


def hostile(answer: KnownAnswer) -> KnownAnswer:
    """The right answers with all of it before them, the wrong ones made of it."""
    return KnownAnswer(f"{REPLY}\n\nAnswer: {answer.right}", (REPLY, *answer.wrong))


@pytest.fixture(scope="module")
def there(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    home = tmp_path_factory.mktemp("hostile")
    with world(home, "--latency", "0.1", "--model", f"{MODEL}=0.5", say=hostile) as running:
        yield running


@pytest.fixture(scope="module")
def pair(there: World) -> tuple[str, str]:
    """Runs of two hostile models, the first with a hostile name."""
    return there.run(MODEL, "ollama", parallel=32), there.run("sim:latest", "ollama", parallel=32)


def harmless(tab: Watched) -> None:
    """Nothing ran, nothing was fetched from elsewhere, nothing of it became a part of the page."""
    page = tab.page
    assert page.evaluate("typeof window.hit") == "undefined"
    assert page.locator("body").is_visible()
    made = page.evaluate(MADE_OF_IT)
    assert made == []
    fetched: list[str] = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert not [name for name in fetched if "elsewhere.invalid" in name or name.endswith("/x")]


def test_an_item_shows_it_as_text(there: World, pair: tuple[str, str], chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{pair[0]}/items/rte/sample-00")
        page = tab.page
        for name in ("As Markdown", "The server's own words", "The request"):
            summary = page.get_by_text(name, exact=True)
            if summary.count():
                summary.click()
        until(tab.page, lambda p: p.locator("#reply-markdown").is_visible(), "the Markdown")
        assert SCRIPT in page.locator("#reply").inner_text()
        assert SCRIPT in page.locator("#reply-markdown").inner_text()
        # The request is JSON: it shows the name as JSON writes it, and no other escapes.
        assert json.dumps(f"ollama/{MODEL}") in page.locator("#request").inner_text()
        links = page.locator("#reply-markdown a").evaluate_all("links => links.map((a) => a.href)")
        assert not [link for link in links if link.startswith("javascript:")]
        assert page.locator("#reply-markdown img").count() == 0
        harmless(tab)


def test_every_item_of_a_task_is_harmless(there: World, pair: tuple[str, str], chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{pair[0]}/results?task=rte")
        harmless(tab)
        for _ in range(3):
            tab.page.keyboard.press("j")
            until(
                tab.page, lambda page: page.locator("#pane #reply").count() == 1, "it is open beside the list"
            )
            tab.settle()
            tab.page.locator("#pane").get_by_text("As Markdown", exact=True).click()
            harmless(tab)
        tab.page.locator("#rows [data-row][aria-current] [data-open]").focus()
        tab.collect()
        tab.page.keyboard.press("Enter")
        until(tab.page, lambda page: "/items/" in page.url, "its own page")
        for _ in range(5):
            tab.settle()
            tab.page.get_by_text("As Markdown", exact=True).click()
            harmless(tab)
            tab.collect()
            where = tab.page.url
            tab.page.keyboard.press("j")
            until(tab.page, lambda page, where=where: page.url != where, "the next item")  # type: ignore[misc]  # bound now


@pytest.mark.parametrize(
    "path",
    [
        "/runs/{0}", "/runs/{0}?tab=config", "/runs/{0}?tab=log", "/runs/{0}/results", "/runs/{0}/results?show=wrong",
        "/compare?runs={0}&runs={1}", "/runs", "/leaderboard?suite=glue", "/", "/audit", "/runs/new?like={0}",
    ],
)  # fmt: skip
def test_every_page_that_names_it_is_harmless(
    there: World, pair: tuple[str, str], chromium: Browser, path: str
) -> None:
    with watched(chromium) as tab:
        assert tab.open(there.url + path.format(*pair)) == 200
        if "/new" in path:
            chosen = tab.page.locator("#chosen .model-chip")
            assert chosen.get_attribute("data-model") == f"ollama/{MODEL}", "the name that the run has"
            assert MODEL in chosen.inner_text()
            until(tab.page, lambda page: "Calls" in page.locator("#plan").inner_text(), "the plan")
        elif "results" not in path:
            text = tab.page.locator("body").inner_text()
            # A configuration shows it as JSON has it.
            assert MODEL in text or MODEL.replace('"', '\\"') in text
        for details in tab.page.locator("main details:not([open]) > summary").all():
            if details.is_visible():
                details.click()
        harmless(tab)


def test_a_search_for_it_is_harmless(there: World, pair: tuple[str, str], chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs")
        tab.page.locator("#f-model").fill(MODEL)
        until(tab.page, lambda page: page.locator("#total").inner_text() == "1", "the one run")
        tab.page.locator("#f-model").fill(f'"><script>window.hit=6</script>{SCRIPT}')
        said(tab, "No runs under this filter")
        harmless(tab)
        tab.page.reload()
        tab.settle()
        assert SCRIPT in tab.page.locator("#f-model").input_value()
        harmless(tab)


def test_a_note_of_it_is_harmless(there: World, pair: tuple[str, str], chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/{pair[0]}/items/rte/sample-01")
        tab.page.locator("#f-note").fill(REPLY)
        press(tab, "Keep the note")
        until(
            tab.page, lambda page: page.get_by_role("button", name="Delete the note").count() == 1, "the note"
        )
        harmless(tab)


def test_a_job_at_work_is_harmless(there: World, chromium: Browser) -> None:
    job_id = there.server.submit("ollama", MODEL, preset="quick", parallel=2)
    with watched(chromium) as tab:
        for path in (f"/runs/{job_id}", "/", "/system"):
            tab.open(there.url + path)
            until(tab.page, lambda page: MODEL in page.locator(".page-wrapper").inner_text(), "its name")
            harmless(tab)
        tab.open(f"{there.url}/runs/{job_id}")
        press(tab, "Stop Job", within="#live")
        until(tab.page, lambda page: page.locator("#live").count() == 0, "the end")
        tab.settle()
        harmless(tab)


def test_the_reports_of_it_are_harmless(there: World, pair: tuple[str, str], chromium: Browser) -> None:
    with watched(chromium) as tab:
        for path in (f"/runs/{pair[0]}", f"/compare?runs={pair[0]}&runs={pair[1]}"):
            tab.open(there.url + path)
            tab.page.locator("#share-more > summary").click()
            report = saved(tab, "Download report")
            assert str(ITEMS) in report
            assert SCRIPT not in report and IMAGE not in report
            assert "elsewhere.invalid" not in report or "https://elsewhere.invalid" not in report
