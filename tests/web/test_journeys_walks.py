"""Journeys: two models are asked until it is decided, and a page follows their walk to its end."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from browser import axe, chromium_or_skip, overhang, until, watched
from journey import UNHURRIED, follow, main_text, saved

from proctor.service.opening.simulate import known_answers
from proctor.settings import read_settings
from proctor.simulator import spawn
from programs import HANG_S, csv_of_sums, started
from served import PREFIX, Server, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

ITEMS = 200
SHARES = ("--model=large=0.85", "--model=small=0.5")  # of right answers
SLOW = ("--latency", "0.5", "--sigma", "0.1", "--seed", "3")


@dataclass(frozen=True)
class Asked:
    """Runs that a terminal asks until decided, and a server on the same store."""

    server: Server
    asking: subprocess.Popen[str]
    runs: tuple[str, str]

    def result(self, number: int = 0) -> Any:
        return self.server.get(f"{PREFIX}/results/{self.runs[number]}")

    def compared(self) -> Any:
        return self.server.post(f"{PREFIX}/compare", {"model_ids": list(self.runs)})["comparison"]

    def look(self, number: int) -> None:
        """Let the asking go on until so many looks were taken, and hold it there."""
        self.asking.send_signal(signal.SIGCONT)
        for _ in range(int(HANG_S * 10)):
            decision = self.result()["decision"]
            if decision and len(decision["paths"][0]["points"]) >= number:
                self.asking.send_signal(signal.SIGSTOP)
                return
            time.sleep(0.1)
        raise AssertionError(f"no look {number}")

    def end(self) -> None:
        """Wait until it is decided."""
        self.asking.send_signal(signal.SIGCONT)
        said, wrong = self.asking.communicate(timeout=HANG_S)
        assert self.asking.returncode == 0, f"{said}\n{wrong}"

    @property
    def together(self) -> str:
        return f"{self.server.url}/compare?runs={self.runs[0]}&runs={self.runs[1]}"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    chromium_or_skip()
    home = tmp_path_factory.mktemp("walks")
    exam = csv_of_sums(home / "sums.csv", ITEMS)
    known = known_answers(read_settings({"PROCTOR_HOME": str(home)}), [exam])
    with spawn([*SHARES, *SLOW], known) as models, serving(home, "--no-worker", **UNHURRIED) as server:
        words = ["run", str(exam), "--until-decided", "--parallel", "2", "--base-url", f"{models.url}/v1"]
        asking = started(home, [*words, "--model", "openai/large", "--model", "openai/small"])
        try:
            yield Asked(server, asking, _begun(server))
        finally:
            asking.kill()
            asking.wait(HANG_S)


def _begun(server: Server) -> tuple[str, str]:
    """The ids of the two runs, once both are at work."""
    for _ in range(int(HANG_S * 10)):
        listed = server.get(f"{PREFIX}/results")["results"]
        begun = {each["model_name"]: each["job_id"] for each in listed if each["planned"]}
        if len(begun) == 2:
            return begun["large"], begun["small"]
        time.sleep(0.1)
    raise AssertionError("the runs have not begun")


def looks(page: Page) -> list[str]:
    """The items of each look, as the table has them."""
    found: list[str] = page.locator("#walks table tbody th").all_text_contents()
    return [text.strip() for text in found]


def drawn(page: Page) -> Any:
    return page.locator("#walk-1").evaluate("script => JSON.parse(script.textContent)")


def test_a_page_follows_the_walk_of_runs_at_work_to_its_end(asked: Asked, chromium: Browser) -> None:
    asked.look(2)
    with watched(chromium) as tab:
        tab.open(f"{asked.server.url}/runs/{asked.runs[0]}")
        until(tab.page, lambda page: len(looks(page)) >= 2, "the first looks")
        told = main_text(tab.page)
        assert "not decided yet" in told and "How the verdict comes about" in told
        tab.page.locator("#looks-1 summary").click()
        asked.look(len(looks(tab.page)) + 2)
        until(tab.page, lambda page: len(looks(page)) >= 4, "further looks, which nobody asked for")
        tab.settle()
        assert drawn(tab.page)["ended"] == "open"
        assert tab.page.locator("#looks-1").get_attribute("open") is not None  # as the reader left it
        asked.end()
        until(tab.page, lambda page: page.locator("#decided").count() == 1, "the end, by itself")
        tab.settle()
        (path,) = asked.result()["decision"]["paths"]
        assert path["ended"] == "decided" and path["items"] < ITEMS / 2
        ours = [f"{point['items']:,}" for point in reversed(path["points"])]
        assert looks(tab.page) == ours
        assert drawn(tab.page)["points"][-1][0] == path["items"]
        told = main_text(tab.page)
        assert "Stopped as decided." in told and f"other {ITEMS - path['items']} were not needed" in told
        assert axe(tab.page) == []


def test_the_comparison_of_a_decided_pair_tells_the_same_path(asked: Asked, chromium: Browser) -> None:
    asked.end()
    (decided,) = asked.result()["decision"]["paths"]
    (pair,) = asked.compared()["metrics"]["score"]
    assert pair["path"]["points"] == decided["points"] and pair["p_value"] == decided["p_value"]
    assert pair["verdict"] == "first better"
    with watched(chromium) as tab:
        tab.open(f"{asked.server.url}/runs/{asked.runs[0]}")
        follow(tab, "Compare side by side")
        until(tab.page, lambda page: page.locator("#verdict").count() == 1, "the comparison")
        tab.settle()
        assert re.search(r"large is better than .*small", tab.page.locator("#verdict").inner_text())
        assert drawn(tab.page)["points"][-1][0] == decided["items"]
        box = tab.page.locator("[data-chart=walk-1]")
        assert "A table of every look follows." in (box.get_attribute("aria-label") or "")
        tab.page.locator("#share-more summary").click()
        report = saved(tab, "Download report")
    assert 'class="path"' in report and f"After {decided['items']} of {ITEMS} items" in report


def test_the_walk_is_drawn_in_the_dark_on_a_phone(asked: Asked, chromium: Browser) -> None:
    asked.end()
    with watched(chromium, dark=True, phone=True) as tab:
        tab.open(asked.together)
        assert tab.page.locator("[data-chart=walk-1] canvas").count() == 1
        assert overhang(tab.page) == 0
        assert axe(tab.page) == []


def test_without_scripts_the_table_says_what_the_picture_would(asked: Asked, chromium: Browser) -> None:
    asked.end()
    (path,) = asked.result()["decision"]["paths"]
    with chromium.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(asked.together)
        page.locator("#looks-1 summary").click()
        assert page.locator("#looks-1 tbody tr").first.is_visible()
        assert not page.locator("[data-chart=walk-1]").is_visible()
        assert looks(page) == [f"{point['items']:,}" for point in reversed(path["points"])]
