"""A person's hands at a page: every press, key, choice, field and file counts as one action."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from browser import Watched

if TYPE_CHECKING:
    from playwright.sync_api import Locator


@dataclass
class Hands:
    """`actions` is how many it took so far; opening the first page is none."""

    tab: Watched
    actions: int = 0

    def press(self, what: str | Locator) -> None:
        """A button or link, by its name or as found."""
        page = self.tab.page
        found = (
            page.get_by_role("link", name=what).or_(page.get_by_role("button", name=what))
            if isinstance(what, str)
            else what
        )
        self._done(lambda: found.first.click())

    def key(self, name: str) -> None:
        self._done(lambda: self.tab.page.keyboard.press(name))

    def fill(self, label: str, text: str) -> None:
        self._done(lambda: self.tab.page.get_by_label(label).fill(text))

    def tick(self, label: str) -> None:
        self._done(lambda: self.tab.page.get_by_label(label).check())

    def choose(self, label: str, text: str) -> None:
        self._done(lambda: self.tab.page.get_by_label(label).select_option(label=text))

    def give(self, field: Locator, path: Path) -> None:
        """A file, dropped or picked."""
        self._done(lambda: field.set_input_files(path))

    def _done(self, act: object) -> None:
        assert callable(act)
        self.tab.collect()
        act()
        self.actions += 1
        self.tab.settle()
