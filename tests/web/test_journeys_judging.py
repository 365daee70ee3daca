"""The journey of open answers, from an empty home to a corrected verdict, by mouse and keyboard in Chromium."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from browser import Watched, axe, overhang, until, watched
from journey import UNHURRIED, arrive, follow, main_text, pick_model, press, said

from demo_judged import questions
from served import serving

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow
QUESTIONS, LABELS = 60, 15  # items; of both runs that is 30 labels


@pytest.mark.promise("X-09")
def test_open_answers_are_judged_labelled_by_keyboard_and_get_a_corrected_verdict(
    chromium: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "support.jsonl"
    file.write_text(questions(QUESTIONS))
    with serving(tmp_path, **UNHURRIED) as server, watched(chromium) as tab:
        tab.open(f"{server.url}/datasets")
        tab.page.locator("input[type=file]").first.set_input_files(file)
        press(tab, "Upload", within="main")
        arrive(tab, lambda path: path.startswith("/datasets/"), "what was found in the file")
        dataset = tab.page.url
        for model in ("sim", "sim-small"):
            tab.open(dataset)
            _ask(tab, model)
        follow(tab, "Judge the answers", within="#unscored")
        arrive(tab, lambda path: path.startswith("/judge"), "the form")
        _judge(tab)
        _label(tab)
        follow(tab, "Verdict")
        arrive(tab, lambda path: path.startswith("/verdict"), "the verdict")
        said(tab, "labels of 15 items")
        text = main_text(tab.page)
        for words in ("Corrected", "People alone", "Judge alone", "quote this", "kappa"):
            assert words in text
        assert axe(tab.page) == []
        tab.page.set_viewport_size({"width": 390, "height": 844})
        assert overhang(tab.page) == 0


def _ask(tab: Watched, model: str) -> None:
    """A run of the data set, from its page to the run's own when it has ended."""
    follow(tab, "Run it")
    arrive(tab, lambda path: path.startswith("/runs/new"), "the form of a run")
    pick_model(tab, f"simulator/{model}")
    press(tab, "Start Benchmarking")
    arrive(tab, lambda path: path.startswith("/runs/") and "new" not in path, "the run")
    tab.page.locator("#unscored").wait_for()


def _judge(tab: Watched) -> None:
    page = tab.page
    page.get_by_label("simulator/sim run").check()
    page.locator("#f-model").select_option("judge-95")
    until(page, lambda page: f"{2 * QUESTIONS} calls" in page.locator("#plan").inner_text(), "the calls")
    press(tab, "Judge the answers", within="#run-form")
    arrive(tab, lambda path: path.startswith("/verdict"), "the judgings at work")
    said(tab, "nobody has checked this judge")


def _label(tab: Watched) -> None:
    """Both replies to each of the first items: blind, by keys alone, with one taken back and a note on the way."""
    page = tab.page
    follow(tab, "Label answers", within="main")
    arrive(tab, lambda path: path.startswith("/label"), "the first answer")
    assert "simulator/sim" not in main_text(page)
    assert axe(page) == []
    for number in range(2 * LABELS):
        _grade(tab, number)
    page.keyboard.press("u")
    until(page, lambda page: "Taken back." in page.locator("#label-said").inner_text(), "one taken back")
    page.keyboard.press("n")
    page.keyboard.type("1 2 u j k r")
    page.keyboard.press("Escape")
    assert page.locator("#label-title").inner_text() == f"Answer {2 * LABELS} of {2 * 50}"
    _grade_while_the_server_is_away(tab, 2 * LABELS - 1)


def _grade_while_the_server_is_away(tab: Watched, number: int) -> None:
    """The page says that nothing was saved, keeps the grade, and sends it when the server is back."""
    page = tab.page
    page.route("**/label?**", lambda route: route.abort("connectionrefused"))
    page.keyboard.press("1")
    page.locator("#label-unsaved").wait_for()
    assert page.locator("#label-title").inner_text() == f"Answer {number + 1} of {2 * 50}"
    page.unroute("**/label?**")
    page.get_by_role("button", name="Try now").click()
    until(
        page, lambda page: f"Answer {number + 2} " in page.locator("#label-title").inner_text(), "it is sent"
    )
    assert page.locator("#label-unsaved").is_hidden()
    tab.errors[:] = [each for each in tab.errors if "htmx:" not in each and "CONNECTION_REFUSED" not in each]


def _grade(tab: Watched, number: int) -> None:
    page = tab.page
    title = page.locator("#label-title")
    assert title.inner_text() == f"Answer {number + 1} of {2 * 50}"
    good, reply = (" ".join(page.locator(each).inner_text().split()) for each in ("#good", ".reply"))
    page.keyboard.press("1" if good in reply else "2")
    until(page, lambda page: f"Answer {number + 2} " in title.inner_text(), f"answer {number + 2}")
