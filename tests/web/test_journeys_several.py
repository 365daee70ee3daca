"""Journeys: models compared on a file of one's own in few actions; files that are dropped; what Start waits for."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import Watched, axe, overhang, until, watched
from journey import UNHURRIED, arrive, chosen_models, main_text, path_of, pick_model, said

from hands import Hands
from request_files import line
from served import PREFIX, Server, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.slow

SUMS = "question,answer\n" + "".join(f"What is {n} + {n}?,{2 * n}\n" for n in range(1, 25))
# What a browser hands over when a file is dropped somewhere on the page, not on the field.
DROP = """([name, text]) => {
  const dropped = new DataTransfer();
  dropped.items.add(new File([Uint8Array.from(atob(text), (c) => c.charCodeAt(0))], name));
  const options = { dataTransfer: dropped, bubbles: true, cancelable: true };
  document.querySelector("#models-title").dispatchEvent(new DragEvent("drop", options));
}"""
KINDS = ("suite", "questions", "batch", "tasks")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    plain = {**UNHURRIED, "PROCTOR_DATA": ""}
    with serving(tmp_path_factory.mktemp("several"), **plain) as running:
        yield running


def models_here(tab: Watched) -> None:
    until(tab.page, lambda page: page.locator("#models input").count() > 5, "the models on offer")
    tab.settle()


def start_says(page: Page) -> str:
    return page.locator("#start-state").inner_text()


def drop(tab: Watched, name: str, body: bytes) -> None:
    tab.page.evaluate(DROP, [name, b64encode(body).decode()])


def test_two_models_are_compared_on_a_file_of_ones_own_in_at_most_five_actions(
    server: Server, chromium: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "sums.csv"
    file.write_text(SUMS)
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{server.url}/runs/new")
        models_here(tab)
        hands = Hands(tab)
        hands.give(page.locator("#f-file"), file)
        said(tab, "24 questions")
        for words in ("24 rows", "line 2", "What is 1 + 1?"):
            assert words in main_text(page)
        models_here(tab)
        hands.press(page.locator("label", has=page.locator("[data-model='simulator/sim']")))
        hands.press(page.locator("label", has=page.locator("[data-model='simulator/sim-small']")))
        until(page, lambda at: "48" in at.locator("#plan").inner_text(), "the plan of both")
        hands.press("Start Benchmarking")
        arrive(tab, lambda at: at.startswith("/compare?runs="), "the comparison")
        assert hands.actions <= 5, hands.actions
        ids = re.findall(r"runs=([0-9a-f-]{36})", path_of(page))
        assert len(ids) == 2
        for each in ids:
            assert server.ended(each)["status"] == "completed"
        until(page, lambda at: "completed" in main_text(at), "both have ended")
        tab.open(server.url + path_of(page))
        assert "could" in main_text(page) or "better" in main_text(page), "one verdict over both"


def test_a_dropped_file_of_requests_switches_to_a_batch_and_says_so(
    server: Server, chromium: Browser
) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{server.url}/runs/new?models=simulator/sim")
        models_here(tab)
        drop(tab, "dropped.jsonl", line("one", "Say one") + line("two", "Say two"))
        said(tab, "This file holds requests, without right answers.")
        tab.settle()
        assert page.locator("#run-form").get_attribute("action") == "/batches/new"
        assert page.locator("[data-what=batch]").get_attribute("aria-current") == "page"
        assert "Say two" in page.locator("#file-piece").inner_text()
        assert chosen_models(page) == ["simulator/sim"], "what was chosen stays"
        until(page, lambda at: at.locator("#start").is_enabled(), "nothing is missing")
        assert axe(page) == []
        # Back to questions, by a file that has right answers.
        drop(tab, "again.csv", SUMS.encode())
        until(page, lambda at: at.locator("#run-form").get_attribute("action") == "/runs/new", "questions")
        tab.settle()
        assert "again" in page.locator("#file-piece").inner_text()


def test_faults_of_a_file_stand_beside_it_with_their_lines_and_are_mended_in_place(
    server: Server, chromium: Browser
) -> None:
    rows = SUMS.replace("question,answer", "Frage,Antwort") + "And this?,\n"
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{server.url}/runs/new?models=simulator/sim")
        models_here(tab)
        drop(tab, "rechnen.csv", rows.encode())
        said(tab, "no column with questions")
        tab.settle()
        assert page.locator("#start").is_disabled() and "Frage" in start_says(page)
        page.get_by_label("Frage").select_option("question")
        tab.settle()
        page.get_by_label("Antwort").select_option("answer")
        until(
            page, lambda at: "line 26" in at.locator("#file-piece").inner_text(), "the fault of the last row"
        )
        tab.settle()
        page.get_by_role("button", name="Leave bad rows out").click()
        until(page, lambda at: "1 left out" in at.locator("#file-piece").inner_text(), "it is left out")
        until(page, lambda at: at.locator("#start").is_enabled(), "nothing is missing")
        assert "24" in page.locator("#plan").inner_text()
        drop(tab, "broken.jsonl", line("a") + b'{"custom_id": "b"}\n')
        until(
            page,
            lambda at: "1 of 2 lines cannot be sent" in at.locator("#upload-said").inner_text(),
            "why not",
        )
        assert page.locator("#upload-said tbody .num").inner_text() == "2"


def test_start_waits_for_what_is_missing_and_one_press_cures_it(server: Server, chromium: Browser) -> None:
    before = server.get(f"{PREFIX}/results")["total"]
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{server.url}/runs/new")
        models_here(tab)
        assert page.locator("#start").is_disabled() and "Choose a model" in start_says(page)
        pick_model(tab, "simulator/sim")
        until(page, lambda at: "The rows of glue are not on this server" in start_says(at), "what is missing")
        assert page.locator("#start").is_disabled() and axe(page) == []
        page.get_by_role("link", name="Use sample rows").click()
        until(page, lambda at: at.locator("#start").is_enabled(), "nothing is missing")
        tab.settle()
        assert page.locator("#f-data").input_value() == "sample" and chosen_models(page) == ["simulator/sim"]
        assert "Calls" in page.locator("#plan").inner_text()
        assert page.locator("#advanced").get_attribute("open") is None
        page.get_by_label("Leave out simulator/sim", exact=True).click()
        until(page, lambda at: "Choose a model" in start_says(at), "it is missing again")
    assert server.get(f"{PREFIX}/results")["total"] == before


def test_the_plan_shows_that_it_is_working(server: Server, chromium: Browser) -> None:
    held: list[Route] = []
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{server.url}/runs/new?models=simulator/sim&data=sample")
        models_here(tab)
        page.route("**/runs/new/plan", lambda route: held.append(route))
        page.locator("#f-limit").fill("3")
        until(page, lambda at: at.locator("#plan").get_attribute("aria-busy") == "true", "it is busy")
        assert "htmx-request" in (page.locator("#plan-card").get_attribute("class") or "")
        assert page.locator("#plan-card .working").is_visible()
        until(page, lambda _: len(held) == 1, "the request")
        page.unroute("**/runs/new/plan")
        held[0].continue_()
        until(page, lambda at: at.locator("#plan").get_attribute("aria-busy") is None, "it is done")
        tab.settle()
        assert re.search(r"Calls\s+30\b", page.locator("#plan").inner_text())
        assert not page.locator("#plan-card .working").is_visible()


def test_the_list_is_searched_and_what_is_typed_may_be_chosen(server: Server, chromium: Browser) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{server.url}/runs/new?data=sample")
        models_here(tab)
        search = page.locator("#f-model-search")
        search.fill("sim-perf")
        visible = page.locator(".offer-one:visible")
        assert visible.count() == 1
        search.press("Enter")
        assert chosen_models(page) == ["simulator/sim-perfect"] and search.input_value() == ""
        search.fill("ollama/not-listed:7b")
        search.press("Enter")
        tab.settle()
        assert chosen_models(page) == ["simulator/sim-perfect", "ollama/not-listed:7b"]
        search.fill("what is this")
        search.press("Enter")
        assert "Write PROVIDER/NAME" in page.locator("#said").inner_text()
        assert len(chosen_models(page)) == 2
        for name in (
            "sim",
            "sim-small",
            "sim-wrong",
            "sim-silent",
            "sim-truncating",
            "sim-flaky",
            "sim-slow",
        ):
            search.fill(f"simulator/{name}")
            search.press("Enter")
        assert len(chosen_models(page)) == 8, "no more may be started at once"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_kind_of_work_is_free_of_what_axe_finds_and_fits_a_phone(
    server: Server, chromium: Browser, dark: bool
) -> None:
    with watched(chromium, dark=dark) as tab:
        page = tab.page
        for what in KINDS:
            page.set_viewport_size({"width": 1440, "height": 900})
            tab.open(f"{server.url}/runs/new?what={what}&models=simulator/sim&data=sample")
            models_here(tab)
            page.locator("#advanced > summary").click()
            assert axe(page) == [], what
            page.set_viewport_size({"width": 390, "height": 844})
            assert overhang(page) == 0, what
            box = page.locator("#start").bounding_box()
            assert box is not None and box["y"] + box["height"] <= 844, f"{what}: Start is on the screen"
            assert axe(page) == [], what


def test_the_kind_is_switched_in_place_and_models_stay(server: Server, chromium: Browser) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{server.url}/runs/new?data=sample")
        models_here(tab)
        pick_model(tab, "simulator/sim-small")
        for what in ("batch", "tasks", "questions", "suite"):
            page.locator(f"[data-what={what}]").click()
            until(
                page, lambda at, this=what: at.locator(f"[data-what={this}][aria-current]").count() == 1, what
            )  # type: ignore[misc]  # bound now
            tab.settle()
            assert chosen_models(page) == ["simulator/sim-small"]
        page.go_back()
        until(
            page, lambda at: at.locator("[data-what=questions][aria-current]").count() == 1, "the one before"
        )


def test_without_scripts_two_models_are_started_from_plain_fields(server: Server, chromium: Browser) -> None:
    with chromium.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(f"{server.url}/runs/new?data=sample&limit=1")
        assert page.locator("#start").is_enabled() and not page.locator("#f-model-search").is_visible()
        page.locator("#start").click()
        assert "Choose a model" in page.locator("#start-state").inner_text()
        page.locator("#f-typed-models").fill("simulator/sim\nsimulator/sim-small")
        page.get_by_role("button", name="Show the plan").click()
        assert "2 models" in page.locator("#plan").inner_text()
        page.locator("#start").click()
        assert json.dumps(page.url).count("runs=") == 2 and "/compare" in page.url
