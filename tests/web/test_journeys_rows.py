"""A journey: official rows of a suite are brought in by upload, told task by task, and lead back to the form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import axe, overhang, watched
from journey import UNHURRIED, arrive, said

from hands import Hands
from served import serving

if TYPE_CHECKING:
    from browser import Watched
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

ROWS = 'What is it?,a,"b, c",d,e,B\r\nWho?,"say ""hi""",x,y,z,D\r\n'
BOTH = [False, True]


def clean(tab: Watched) -> None:
    """No finding of axe, and nothing wider than the window."""
    assert axe(tab.page) == [] and overhang(tab.page) <= 0


@pytest.mark.parametrize("dark", BOTH)
def test_official_rows_are_brought_in_and_lead_back_to_the_form(
    chromium: Browser, tmp_path: Path, dark: bool
) -> None:
    file = tmp_path / "anatomy_test.csv"
    file.write_text(ROWS)
    home = tmp_path / "home"
    home.mkdir()
    with serving(home, "--no-worker", **UNHURRIED) as server, watched(chromium, dark=dark) as tab:
        page = tab.page
        tab.open(f"{server.url}/suites")
        hands = Hands(tab)
        assert page.evaluate("document.documentElement.scrollHeight") < 2000, "a suite is a line"
        clean(tab)
        hands.press(page.locator("#mmlu > summary"))
        clean(tab)
        hands.press(page.locator("#mmlu").get_by_role("link", name="Import rows"))
        hands.give(page.locator("input[type=file]"), file)
        hands.press(page.get_by_role("button", name="Import rows"))
        said(tab, "1 task of MMLU (57 subjects) imported")
        assert hands.actions == 4
        said(tab, "has 2 rows, the official set 135")
        clean(tab)
        tab.open(f"{server.url}/suites?q=anatomy")
        assert "imported" in page.locator("tr", has_text="anatomy").first.inner_text()
        tab.open(f"{server.url}/suites/mmlu/import?back=/runs/new%3Fsuite%3Dmmlu")
        file.write_text("What?,a,b\n")
        hands.give(page.locator("input[type=file]"), file)
        hands.press(page.get_by_role("button", name="Import rows"))
        said(tab, "3 columns")
        hands.press(page.get_by_role("link", name="Back to the form"))
        arrive(tab, lambda at: at == "/runs/new?suite=mmlu", "the form")
