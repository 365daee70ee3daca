"""Journeys: from an empty dashboard to a run, by hand and with the demo; what a wrong form says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import Watched, until, watched
from journey import (
    ITEMS,
    SLOW,
    World,
    arrive,
    chosen_models,
    main_text,
    pardon,
    path_of,
    pick_model,
    press,
    said,
    world,
)

from served import PREFIX, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def there(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("start"), *SLOW) as running:
        yield running


def runs(there: World) -> int:
    total: int = there.server.get(f"{PREFIX}/results")["total"]
    return total


def field(page: Page, name: str) -> Locator:
    return page.locator(f"#run-form [name={name}]")


def choose(tab: Watched, provider: str, model: str) -> None:
    """This model alone."""
    for each in chosen_models(tab.page):
        tab.page.get_by_label(f"Leave out {each}", exact=True).click()
    pick_model(tab, f"{provider}/{model}")


def calls(page: Page) -> int:
    """How many the plan says; -1 while it says nothing."""
    found = re.search(r"Calls\s+([\d,]+)", page.locator("#plan").inner_text())
    return int(found[1].replace(",", "")) if found else -1


def said_command(page: Page) -> str:
    """The same run on the command line, as the plan tells it; empty while there is no plan."""
    told: str = page.evaluate("document.querySelector('#as-command')?.textContent ?? ''")
    return told


def open_empty(tab: Watched, there: World) -> None:
    tab.open(f"{there.url}/runs/new")
    # Every provider is asked as the page opens.
    until(tab.page, lambda page: page.locator("#models input").count() > 5, "the models on offer")


# From nothing -------------------------------------------------------------------------------------


def test_the_demo_fills_an_empty_dashboard(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path) as server, watched(chromium) as tab:
        tab.open(f"{server.url}/")
        said(tab, "No runs yet")
        press(tab, "Run the built-in demo")
        until(tab.page, lambda page: page.locator("#total").count() == 1, "the cards")
        for job in server.get(f"{PREFIX}/results")["results"]:
            assert server.ended(job["job_id"])["status"] == "completed"
        # Nobody reloads: the list of what is at work empties by itself.
        until(tab.page, lambda page: "Active runs" not in main_text(page), "no active runs")
        tab.open(f"{server.url}/")
        assert tab.page.locator("#total").inner_text() == "2"
        assert "simulator/sim-small" in main_text(tab.page)
        for path, words in (
            ("/runs", "simulator/sim-small"),
            ("/leaderboard", "sim-small"),
            ("/compare", "simulator/sim-small"),
        ):
            tab.open(server.url + path)
            assert words in main_text(tab.page)


EMPTY = {
    "/runs": "No runs yet",
    "/compare": "Nothing to compare yet",
    "/leaderboard": "Nothing to rank yet",
}


def test_every_empty_list_offers_the_demo(
    chromium: Browser, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with serving(tmp_path_factory.mktemp("empty"), "--no-worker") as server, watched(chromium) as tab:
        doors = set()
        for path, words in EMPTY.items():
            tab.open(server.url + path)
            said(tab, words)
            button = tab.page.get_by_role("button", name="Run the built-in demo")
            doors.add(button.evaluate("button => [button.form.method, button.form.action].join(' ')"))
        assert len(doors) == 1  # one form behind every button: pressing one shows what each does
        press(tab, "Run the built-in demo")
        arrive(tab, lambda at: at == "/", "the overview")
        said(tab, "simulator/sim-small")
        assert tab.page.locator("#said").inner_text().startswith("Two built-in models")


# Plan and start -----------------------------------------------------------------------------------


@pytest.mark.promise("G-06", "G-09", "G-10", "G-14")
def test_a_run_is_planned_started_and_watched_to_its_end(there: World, chromium: Browser) -> None:
    with watched(chromium) as tab:
        open_empty(tab, there)
        page = tab.page
        choose(tab, "simulator", "sim-perfect")
        field(page, "data").select_option("sample")
        until(page, lambda p: calls(p) == ITEMS, "the calls of the quick preset")
        plan = page.locator("#plan").inner_text()
        assert "sample data" in plan and "none needed" in plan
        assert re.search(r"Smallest difference it can show\s+0\.\d{3}", plan)
        field(page, "limit").fill("3")
        field(page, "limit").blur()
        until(page, lambda p: 0 < calls(p) < ITEMS, "fewer calls")
        assert calls(page) % 3 == 0
        # The same items, this time from a server that takes its time.
        choose(tab, "ollama", "sim:latest")
        page.locator("#advanced > summary").click()
        field(page, "limit").fill("16")
        field(page, "parallel").fill("8")
        field(page, "parallel").blur()
        until(page, lambda p: calls(p) > 100 and "--parallel 8" in said_command(p), "16 a task")
        planned = calls(page)
        press(tab, "Start Benchmarking")
        arrive(tab, lambda at: re.fullmatch(r"/runs/[0-9a-f-]{36}", at) is not None, "the run's page")
        assert page.locator("#said").inner_text().startswith("Benchmarking started for suite: glue")
        _watch(there, tab, planned)
        job_id = path_of(page).rpartition("/")[2]
        assert there.server.get(f"{PREFIX}/results/{job_id}")["status"] == "completed"


def _watch(there: World, tab: Watched, planned: int) -> None:
    """The live piece moves; then the page is the summary, with nobody's doing."""
    counts = [done(tab.page)]
    while len(counts) < 3:
        until(tab.page, lambda page, last=counts[-1]: done(page) != last, "another count")  # type: ignore[misc]  # bound now
        counts.append(done(tab.page))
    assert counts == sorted(counts), "it goes on"
    assert 0 < counts[-1] < planned, "it was watched on the way"
    there.server.ended(path_of(tab.page).rpartition("/")[2])
    until(tab.page, lambda page: page.locator("#headline").count() == 1, "the summary")
    tab.settle()
    assert re.fullmatch(r"0\.\d{3}", tab.page.locator("#headline").inner_text())
    text = main_text(tab.page)
    assert re.search(r"\[0\.\d{3}, [01]\.\d{3}\], 95 % interval", text)
    assert f"{planned} of {planned} items" in text and "completed" in text
    assert tab.page.locator("#live").count() == 0


def done(page: Page) -> int:
    """What the live piece counts; -1 once there is none."""
    told: str | None = page.evaluate("document.querySelector('#live-count')?.textContent.trim() ?? null")
    return -1 if told is None else int(told.partition(" /")[0].replace(",", "") or 0)


def test_a_model_named_in_the_address_is_chosen(there: World, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs/new?provider=simulator&model=sim-small&suite=mmlu")
        until(tab.page, lambda page: page.locator("#models input:checked").count() == 1, "the model, ticked")
        assert chosen_models(tab.page) == ["simulator/sim-small"]
        assert field(tab.page, "suite").input_value() == "mmlu"


def test_tasks_are_those_of_the_chosen_suite(there: World, chromium: Browser) -> None:
    with watched(chromium) as tab:
        open_empty(tab, there)
        page = tab.page
        choose(tab, "simulator", "sim")
        field(page, "data").select_option("sample")
        page.locator("[data-suite=glue] input[value=rte]").check()
        until(page, lambda p: 0 < calls(p) < ITEMS, "the calls of one task")
        assert "--tasks rte" in said_command(page)
        field(page, "suite").select_option("superglue")
        until(page, lambda p: "SuperGLUE" in p.locator("#plan").inner_text(), "the plan of the other suite")
        assert not page.locator("[data-suite=glue]").is_visible()
        assert "--tasks" not in said_command(page)


# What is wrong ------------------------------------------------------------------------------------


@pytest.mark.promise("G-07")
def test_parameters_out_of_range_are_told_beside_their_fields(there: World, chromium: Browser) -> None:
    before = runs(there)
    with watched(chromium) as tab:
        open_empty(tab, there)
        page = tab.page
        choose(tab, "ollama", "sim:latest")
        page.locator("#advanced > summary").click()
        field(page, "ollama_temperature").fill("3")
        field(page, "ollama_top_p").fill("2")
        field(page, "ollama_top_p").blur()
        told = "Temperature: must be less than or equal to 2"
        until(page, lambda p: told in p.locator("#start-state").inner_text(), "the warning at Start")
        assert "Invalid Configuration" in page.locator("#start-state").inner_text()
        tab.settle()
        assert page.locator("#e-ollama_temperature").is_visible()
        assert "less than or equal to 2" in page.locator("#e-ollama_temperature").inner_text()
        assert "less than or equal to 1" in page.locator("#e-ollama_top_p").inner_text()
        assert page.locator("#f-ollama_temperature").get_attribute("aria-invalid") == "true"
        # Start is off; whoever submits all the same is told the same by the server.
        assert page.locator("#start").is_disabled()
        tab.collect()
        page.locator("#run-form").evaluate("(form) => form.submit()")
        until(page, lambda p: p.locator(".page-title").count() == 1 and path_of(p) == "/runs/new", "the form")
        tab.settle()
        assert told in page.locator("#start-state").inner_text()
        assert field(page, "ollama_temperature").input_value() == "3"
        assert field(page, "ollama_top_p").input_value() == "2"
        assert chosen_models(page) == ["ollama/sim:latest"]
        field(page, "ollama_temperature").fill("1")
        field(page, "ollama_top_p").fill("1")
        field(page, "ollama_top_p").blur()
        until(page, lambda p: "Invalid" not in p.locator("#start-state").inner_text(), "all is well again")
        assert page.locator("#e-ollama_top_p").count() == 0
        pardon(tab, 400)
    assert runs(there) == before


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ('{"temperature": 0.2', "This is not JSON"),
        ("[1, 2]", "Give a JSON object"),
        ('{"colour": "red"}', "unknown setting"),
        ('{"provider": "openai"}', "chosen above"),
    ],
)
@pytest.mark.promise("G-08")
def test_a_bad_custom_configuration_is_told_and_kept(
    there: World, chromium: Browser, typed: str, says: str
) -> None:
    before = runs(there)
    with watched(chromium) as tab:
        open_empty(tab, there)
        choose(tab, "simulator", "sim-small")
        tab.page.locator("#advanced > summary").click()
        field(tab.page, "custom").fill(typed)
        until(tab.page, lambda page: page.locator("#e-custom").count() == 1, "the reason")
        tab.settle()
        assert says in tab.page.locator("#e-custom").inner_text()
        assert tab.page.locator("#e-custom").is_visible()
        assert tab.page.locator("#start").is_disabled()
        tab.collect()
        tab.page.locator("#run-form").evaluate("(form) => form.submit()")
        until(tab.page, lambda page: page.locator("#e-custom").count() == 1, "the reason from the server")
        tab.settle()
        assert says in tab.page.locator("#e-custom").inner_text()
        assert field(tab.page, "custom").input_value() == typed
        assert chosen_models(tab.page) == ["simulator/sim-small"]
        pardon(tab, 400)
    assert runs(there) == before


@pytest.mark.promise("G-15")
def test_a_model_server_that_is_away_says_what_to_do(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, "--no-worker") as server, watched(chromium) as tab:
        tab.open(f"{server.url}/runs/new")
        until(tab.page, lambda page: "Connection Error" in page.locator("#models").inner_text(), "the reason")
        tab.page.locator("[data-provider=ollama] summary").click()
        told = tab.page.locator("#models").inner_text()
        assert "What to do:" in told and "127.0.0.1:9" in told
        # Another provider still works.
        choose(tab, "simulator", "sim")
        assert chosen_models(tab.page) == ["simulator/sim"]


@pytest.mark.promise("G-08")
def test_the_status_of_a_key_is_shown_and_never_its_value(chromium: Browser, tmp_path: Path) -> None:
    with serving(tmp_path, "--no-worker") as server, watched(chromium) as tab:
        tab.open(f"{server.url}/runs/new")
        said(tab, "API key: not set for OpenAI, Gemini, Grok, Anthropic")
        assert tab.page.locator("#models input[data-model^=simulator]").count() > 2
        search = tab.page.locator("#f-model-search")
        search.fill("gemini/gemini-2.5-pro")
        search.press("Enter")
        key = "The API key of Gemini is not set"
        until(tab.page, lambda page: key in page.locator("#start-state").inner_text(), "what is missing")
        tab.page.get_by_role("link", name="Leave out gemini/gemini-2.5-pro").click()
        until(tab.page, lambda page: chosen_models(page) == [], "the model is left out")
        tab.settle()
        assert key not in tab.page.locator("#start-state").inner_text()
        assert not tab.page.locator("#f-ollama_temperature").is_visible(), "parameters are folded away"
