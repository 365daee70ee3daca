"""A journey through rollouts: from the list to a benchmark, a trial, its patch and log; what is hostile stays text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from atif import Trajectory as AtifTrajectory
from browser import Watched, axe, overhang, until, watched
from journey import arrive, follow, main_text, path_of, said, saved
from rollouts_site import HOSTILE, PATCH, at_work, coded, every_state, hostile, many, phase_of

from proctor.replies.calls import CallLog
from proctor.store import Store
from served import serving

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow
LIVE = "20261122__15-00-00"


@dataclass(frozen=True)
class RolloutsThere:
    """A server on benchmarks of tasks."""

    url: str
    home: Path


@pytest.fixture(scope="module")
def there(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RolloutsThere]:
    home = tmp_path_factory.mktemp("rollouts")
    with closing(Store.open(f"sqlite:///{home}/proctor.db")) as store:
        every_state(store, home)
        hostile(store, home)
        coded(store, home)
        at_work(store, home, LIVE)
    with serving(home, "--no-worker", PROCTOR_REQUESTS_PER_MINUTE="100000") as server:
        yield RolloutsThere(server.url, home)


def harmless(tab: Watched) -> None:
    assert tab.page.evaluate("window.hit") is None
    assert tab.page.locator("main img").count() == 0


def focused(page: Page) -> str:
    label: str = page.evaluate("document.activeElement.getAttribute('aria-label') ?? ''")
    return label


def test_from_the_list_to_a_benchmark_to_a_trial_to_its_patch_and_log(
    there: RolloutsThere, chromium: Browser
) -> None:
    with watched(chromium) as tab:
        tab.open(there.url)
        follow(tab, "Rollouts", within="#menu")
        arrive(tab, lambda path: path == "/rollouts", "the list")
        assert axe(tab.page) == []
        follow(tab, "states")
        arrive(tab, lambda path: path.startswith("/rollouts/"), "the benchmark")
        assert axe(tab.page) == []
        # From cell to cell by the keyboard.
        tab.page.locator("a.trial").first.focus()
        tab.page.keyboard.press("ArrowRight")
        assert focused(tab.page).startswith("one, agent/reference, rollout 2: passed")
        tab.page.keyboard.press("ArrowDown")
        assert focused(tab.page).startswith("two, agent/reference, rollout 2: failed")
        tab.collect()
        tab.page.keyboard.press("Enter")
        arrive(tab, lambda path: "/trials/" in path and path.endswith("/1?task=two"), "the trial")
        tab.page.keyboard.press("u")
        arrive(tab, lambda path: "/trials/" not in path, "the benchmark again")
        tab.open(f"{there.url}/rollouts")
        follow(tab, "hostile")
        arrive(tab, lambda path: path.startswith("/rollouts/"), "the hostile benchmark")
        harmless(tab)
        tab.collect()
        tab.page.locator("a.trial").first.click()
        arrive(tab, lambda path: "/trials/" in path, "the hostile trial")
        harmless(tab)
        assert axe(tab.page) == []
        assert "return None" in tab.page.locator("#patch").inner_text()
        assert saved(tab, "Download patch") == PATCH
        tab.page.get_by_text("agent.log", exact=True).first.click()
        said(tab, "the agent printed <script>")
        with tab.page.expect_download() as coming:
            tab.page.locator("#logs a", has_text="agent.log").click()
        assert coming.value.path().read_text() == f"the agent printed {HOSTILE}\n"


def test_a_benchmark_at_work_is_followed_without_looking_again(
    there: RolloutsThere, chromium: Browser
) -> None:
    with watched(chromium, dark=True, phone=True) as tab:
        tab.open(f"{there.url}/rollouts")
        follow(tab, "live")
        arrive(tab, lambda path: path.startswith("/rollouts/"), "the benchmark at work")
        said(tab, "verifying")
        assert overhang(tab.page) <= 0 and axe(tab.page) == []
        phase_of(there.home / "runs" / f"{LIVE}-0", "collect")
        until(tab.page, lambda page: "collecting the work" in main_text(page), "the next phase")
        assert path_of(tab.page).startswith("/rollouts/")


@pytest.mark.promise("C-20")
def test_a_trajectory_is_read_call_by_call_down_to_whole_requests(
    there: RolloutsThere, chromium: Browser
) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/rollouts")
        follow(tab, "coded")
        arrive(tab, lambda path: path.startswith("/rollouts/"), "the benchmark")
        tab.collect()
        tab.page.locator("a.trial").first.click()
        arrive(tab, lambda path: "/trials/" in path, "the trial")
        harmless(tab)
        assert axe(tab.page) == []
        assert "make step-4  # <script>" in tab.page.locator("#call-4").inner_text()
        with tab.page.expect_download() as coming:
            tab.page.locator("#trajectory").get_by_role("link", name="ATIF").click()
        assert AtifTrajectory.model_validate_json(coming.value.path().read_bytes(), strict=True).steps
        follow(tab, "Later calls")
        arrive(tab, lambda path: "calls_from=30" in path, "the next calls")
        assert tab.page.locator("#call-31").get_by_text("refused", exact=True).is_visible()
        tab.collect()
        tab.page.get_by_role("link", name="Call 32 whole").click()
        arrive(tab, lambda path: "/calls/31" in path, "the call")
        harmless(tab)
        assert axe(tab.page) == []
        tab.collect()
        tab.page.keyboard.press("j")
        arrive(tab, lambda path: "/calls/32" in path, "the next call")
        with tab.page.expect_download() as coming:
            tab.page.get_by_role("link", name="Download request").click()
        assert '"type": "function_call_output"' in coming.value.path().read_text()
        tab.page.keyboard.press("u")
        arrive(tab, lambda path: "/calls/" not in path, "the trial again")


def test_calls_of_a_trial_at_work_appear_as_they_end_and_what_is_unfolded_stays_so(
    there: RolloutsThere, chromium: Browser
) -> None:
    calls = list(many())[:8]
    logs = there.home / "runs" / f"{LIVE}-0" / "logs"
    logs.mkdir(exist_ok=True)
    with CallLog(logs / "calls.jsonl") as log, watched(chromium, dark=True, phone=True) as tab:
        for each in calls[:7]:
            log.add(each)
        tab.open(f"{there.url}/rollouts")
        follow(tab, "live")
        arrive(tab, lambda path: path.startswith("/rollouts/"), "the benchmark at work")
        tab.collect()
        tab.page.locator("a.trial").first.click()
        arrive(tab, lambda path: "/trials/" in path, "the trial at work")
        assert overhang(tab.page) <= 0 and axe(tab.page) == []
        tab.page.locator("#told-0-1 summary").click()
        log.add(calls[7])
        until(tab.page, lambda page: page.locator("#call-7").count() == 1, "the call that has ended")
        assert tab.page.locator("#told-0-1").evaluate("each => each.open")
