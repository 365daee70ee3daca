"""A real Chromium for tests: pages that fail on any console error, script error or breach of the policy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from screens import ARGUMENTS, CHROMIUM, PHONE, WIDE, is_settled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

PATIENCE_MS = 60_000  # ends a hang; it is no judge of speed
LOOK_EVERY_MS = 25

SERIOUS = ("serious", "critical")


@dataclass
class Watched:
    """A page and what went wrong on it. `breaches` are those of pages that were left already."""

    page: Page
    errors: list[str] = field(default_factory=list)
    breaches: list[str] = field(default_factory=list)

    def open(self, address: str) -> int:
        """Go there and wait until htmx and the charts are done; the answer's status."""
        self.collect()
        answer = self.page.goto(address)
        self.settle()
        return answer.status if answer else 0

    def settle(self) -> None:
        """Wait until every chart is drawn and no request of htmx is under way."""
        until(self.page, is_settled, "charts drawn, nothing under way")

    def collect(self) -> None:
        """Keep the breaches of this page before it is left: they are listed in its own window."""
        self.breaches += self.page.evaluate("window.breaches ?? []")

    def check(self) -> None:
        """Fail on whatever went wrong so far."""
        self.collect()
        assert self.errors == [], f"{self.page.url}: {self.errors}"
        assert self.breaches == [], f"{self.page.url}: {self.breaches}"


def until(page: Page, holds: Callable[[Page], bool], what: str) -> None:
    """Look again until it holds. `page.wait_for_function` with text needs eval, which the policy forbids."""
    from playwright.sync_api import Error

    for _ in range(PATIENCE_MS // LOOK_EVERY_MS):
        try:
            if holds(page):
                return
        except (
            Error
        ) as error:  # a page that loads itself anew, as one of an ended run does, while it is looked at
            if "context was destroyed" not in error.message:
                raise
        page.wait_for_timeout(LOOK_EVERY_MS)
    raise AssertionError(f"{page.url}: not in {PATIENCE_MS / 1000:g} s: {what}")


def chromium_or_skip() -> None:
    """Skip the test where there is no Chromium; in CI that is a failure."""
    if not Path(CHROMIUM).exists():
        refuse = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        refuse(f"no Chromium at {CHROMIUM}; `make test` installs it with root and apt-get")


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium until the block ends."""
    chromium_or_skip()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        try:
            yield launched
        finally:
            launched.close()


@contextmanager
def watched(
    launched: Browser, *, dark: bool = False, phone: bool = False, patience_ms: int = PATIENCE_MS
) -> Iterator[Watched]:
    """A page in a profile of its own; the block fails at its end if anything went wrong on it."""
    context = launched.new_context(
        viewport=PHONE if phone else WIDE,
        color_scheme="dark" if dark else "light",
        timezone_id="UTC",
        locale="en-GB",
    )
    context.set_default_timeout(patience_ms)
    with context:
        page = Watched(context.new_page())
        page.page.on("console", lambda message: _note(page, message))
        page.page.on("pageerror", lambda error: page.errors.append(f"script: {error}"))
        yield page
        page.check()


def _note(page: Watched, message: ConsoleMessage) -> None:
    if message.type == "error":
        page.errors.append(f"console: {message.text} ({message.location.get('url', '')})")


def axe(page: Page) -> list[str]:
    """What axe finds serious or critical, with the first elements concerned."""
    from axe_playwright_python.base import AXE_SCRIPT

    # The policy has no say in what the test itself evaluates, so it stays in force.
    page.evaluate(AXE_SCRIPT)
    found: dict[str, Any] = page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{v['id']} ({v['impact']}): {[n['html'][:160] for n in v['nodes'][:3]]}"
        for v in found["violations"]
        if v["impact"] in SERIOUS
    ]


def overhang(page: Page) -> int:
    """By how many pixels the page is wider than its window: more than 0 is a horizontal scroll."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return wide


def cut_off(page: Page) -> list[str]:
    """What of the page's words its box cuts off in the midst, without dots to say so; the box, and how the text begins.

    What scrolls is not meant: there the edge tells.
    """
    script = (Path(__file__).parent / "cut_off.js").read_text(encoding="utf-8")
    found: list[str] = page.evaluate(script)
    return found
