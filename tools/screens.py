"""The dashboard's screens on the seeded store, for screenshots and tests, and how Chromium is started."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from demo_store import Demo

if TYPE_CHECKING:
    from playwright.sync_api import Page, ViewportSize

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE: ViewportSize = {"width": 1440, "height": 900}
NARROW: ViewportSize = {"width": 1024, "height": 768}
PHONE: ViewportSize = {"width": 390, "height": 844}

# name, title, address; {best} and the like are the demo's runs, {item} one with a note.
SCREENS = (
    ("overview", "Overview", "/?suite=glue"),
    ("new-run", "Run Benchmarks", "/runs/new?like={best}"),
    ("compare", "Model Comparison", "/compare?runs={best}&runs={second}"),
    ("history", "History", "/runs"),
    ("leaderboard", "Leaderboard", "/leaderboard?suite=mmlu"),
    ("run", "Run: summary", "/runs/{best}"),
    ("run-timeline", "Run: timeline", "/runs/{best}?tab=timeline"),
    ("run-log", "Run: log", "/runs/{best}?tab=log"),
    ("run-config", "Run: configuration", "/runs/{best}?tab=config"),
    ("run-live", "Run at work", "/runs/{running}"),
    ("run-partial", "Run: partial", "/runs/{partial}"),
    ("run-failed", "Run: failed", "/runs/{failed}"),
    ("run-waiting", "Run: waiting", "/runs/{waiting}"),
    ("run-decided", "Run: stopped as decided", "/runs/{decided}"),
    ("walk", "How a verdict came about", "/compare?runs={decided}&runs={other_decided}"),
    ("results", "Results", "/runs/{best}/results"),
    ("item", "Item", "/runs/{best}/items/{item}"),
    ("batches", "Batches", "/batches"),
    ("batch-new", "Run a batch", "/batches/new?like={batch}"),
    ("batch-results", "Results of a batch", "/runs/{batch}/requests"),
    ("batch-request", "A request", "/runs/{batch}/requests/team-0%2Frequest-000"),
    ("batch-compare", "Side by side", "/batches/compare?runs={batch}&runs={other_batch}"),
    ("judge", "Judge the answers", "/judge?runs={judged}&runs={other_judged}"),
    ("label", "Label answers", "/label?runs={judged}&random=80"),
    ("verdict", "What judges and people say", "/verdict?runs={judged}&runs={other_judged}"),
    ("models", "Models & providers", "/models"),
    ("suites", "Suites", "/suites"),
    ("datasets", "Data sets", "/datasets"),
    ("dataset", "Data set", "/datasets/{dataset}"),
    ("system", "Queue & workers", "/system"),
    ("schedules", "Schedules", "/schedules"),
    ("projects", "Projects", "/projects"),
    ("shares", "Shared links", "/settings/shares"),
    ("find", "Search", "/find?q=demo"),
    ("settings", "Settings", "/settings"),
    ("audit", "Audit", "/audit"),
)
ON_PHONES = (
    "overview",
    "new-run",
    "compare",
    "run",
    "results",
    "leaderboard",
    "batches",
    "batch-results",
    "label",
    "verdict",
    "walk",
)

_SETTLED = """() => document.readyState === "complete"
  && document.querySelectorAll(".htmx-request, .htmx-swapping, .htmx-settling").length === 0
  && !(document.querySelector("select#f-model option") && document.querySelector("#plan > p.text-secondary:only-child"))
  && [...document.querySelectorAll("[data-chart]")].every((box) => box.dataset.drawn === "true"
      || box.offsetParent === null)
"""


def address(pattern: str, demo: Demo) -> str:
    """The screen's address on this store."""
    names = {
        name: getattr(demo, name)
        for name in (
            *("best", "second", "failed", "partial", "running", "waiting", "dataset"),
            *("batch", "other_batch", "judged", "other_judged", "decided", "other_decided"),
        )
    }
    return pattern.format(**names, item=quote(demo.noted[0]))


def is_settled(page: Page) -> bool:
    """True once the charts that can be seen are drawn, a chosen model is planned, and htmx has nothing under way."""
    settled: bool = page.evaluate(_SETTLED)
    return settled
