"""The pages of rollouts over HTTP: the list, a benchmark, a trial; what agents write stays text."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from rollouts_site import (
    HOSTILE,
    IMAGE,
    ODD_TASK,
    PATCH,
    SCRIPT,
    STAMP,
    at_work,
    coded,
    every_state,
    hostile,
    large,
    phase_of,
)

from opened import over
from pages import Browser, Page
from proctor.service.rollouts import benchmark
from proctor.service.rollouts.benchmark import RolloutBenchmark
from proctor.store import Store
from proctor.web.addresses import trial_path
from proctor.web.rollouts.benchmark import MatrixQuery, matrix_of
from proctor.web.rollouts.trial import MOST_WIDTH, bars_of
from proctor.web.untrusted import untrusted
from served import serving

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class There:
    """A server on benchmarks with every state, a hostile agent, one at work and many trials."""

    browser: Browser
    home: Path
    states: RolloutBenchmark
    hostile: RolloutBenchmark
    live: RolloutBenchmark
    large: RolloutBenchmark
    coded: RolloutBenchmark

    def get(self, path: str) -> Page:
        page = self.browser.get(path)
        assert page.status == 200, (path, page.status, page.text[:500])
        return page

    def page(self, of: RolloutBenchmark) -> Page:
        return self.get(f"/rollouts/{of.id}")

    def trial(self, of: RolloutBenchmark, place: int = 0, part: str = "", **asked: object) -> Page:
        each = list(of.all_trials)[place]
        return self.get(trial_path(of.id, each.run, each.task, each.rollout, part, **asked))


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[There]:
    home = tmp_path_factory.mktemp("rollouts")
    with closing(Store.open(f"sqlite:///{home}/proctor.db")) as store:
        made = [
            every_state(store, home),
            hostile(store, home).plan_id,
            at_work(store, home, f"{STAMP[:-2]}59").plan_id,
            large(store, home, tasks=60, agents=2, rollouts=2),
            coded(store, home).plan_id,
        ]
        found = [benchmark.one(over(store), each) for each in made]
    with serving(home, "--no-worker", PROCTOR_REQUESTS_PER_MINUTE="100000") as server:
        yield There(Browser(server.url), home, *found)


def test_the_list_says_how_often_each_row_passed_and_what_is_at_work(there: There) -> None:
    page = there.get("/rollouts")
    assert "0 / 2 trials" in page.words and "0 of 0 scored so far passed" in page.words
    assert "7 of 9 passed" in page.words and "1 of 4 passed, 3 not scored" in page.words
    assert "0.778 [" in page.words, page.words[600:1500]


def test_an_empty_list_says_how_to_begin(there: There) -> None:
    words = there.get("/rollouts?project=7").words
    assert "proctor examples" in words and "proctor rollouts run configs/demo.toml" in words


def test_a_benchmark_shows_every_denominator_and_a_cell_for_every_trial(there: There) -> None:
    page = there.page(there.states)
    assert "7 of 9 passed 9 scored of 9 planned" in page.words
    assert "1 of 4 passed 4 scored of 9 planned, 1 at a limit" in page.words
    assert "3 not scored (rate-limited 1, sandbox 1, verifier 1), 2 not run" in page.words
    letters = re.findall(r'<a class="trial [^>]*>(\S)', page.markup)
    assert sorted(letters)[:16] == sorted("PPPFPPPPFFLFPSVM") and len(letters) == 18
    assert page.markup.count('<a class="trial trial-green') == 8
    assert page.markup.count('<a class="trial trial-grey') == 3


def test_every_filter_of_the_matrix_has_an_address(there: There) -> None:
    of = f"/rollouts/{there.states.id}"
    unscored = there.get(f"{of}?state=unscored").markup
    assert '<th scope="row">two</th>' in unscored and '<th scope="row">one</th>' not in unscored
    alone = there.get(f"{of}?agent=agent%2Fnull&task=thr").markup
    assert re.findall(r'<th scope="row">(\w+)</th>', alone) == ["three"]
    assert alone.count('<a class="trial ') == 3
    assert "No trial under this filter" in there.get(f"{of}?task=nowhere").words


def test_many_tasks_come_a_page_at_a_time(there: There) -> None:
    first = there.page(there.large)
    assert "Tasks 1 to 50 of 60" in first.words
    last = there.get(f"/rollouts/{there.large.id}?start=50")
    assert "Tasks 51 to 60 of 60" in last.words and "task-059" in last.words
    assert "task-059" not in first.words


def test_a_matrix_of_few_trials_shows_their_scores_and_one_of_many_only_their_letters(there: There) -> None:
    assert matrix_of(there.states, MatrixQuery()).roomy
    assert not matrix_of(there.large, MatrixQuery()).roomy


def test_a_trial_at_work_tells_its_phase_on_every_page(there: There) -> None:
    assert "verifying" in there.page(there.live).words
    assert "Verifying, for" in there.trial(there.live).words
    phase_of(there.home / "runs" / f"{STAMP[:-2]}59-0", "collect")
    assert "collecting the work" in there.page(there.live).words
    phase_of(there.home / "runs" / f"{STAMP[:-2]}59-0", "verify")


def test_a_trial_tells_its_phases_steps_limits_and_what_it_used(there: There) -> None:
    words = there.trial(there.hostile).words
    assert "It had 4 s, and they are over." in words and "score 0.400" in words
    assert "7 more steps are left out" in words and "9 steps" in words
    assert (
        "Peak memory 93 MB 20 MB" in words
        and "Forks refused 12 -" in words
        and "Waited for a core 0.75 s -" in words
    )
    assert "1 of 2 tests passed" in words and "does not count" in words
    assert "Came back, 10,007 characters" in words
    assert "Tokens 1,540" in words and "Requests to the model 2" in words


def test_earlier_tries_of_a_trial_have_pages_of_their_own(there: There) -> None:
    assert "sandbox" in there.trial(there.hostile).words
    first = there.trial(there.hostile, attempt=0)
    assert "This is try 1 of 2" in first.words and "What to do:" in first.words


def test_the_phases_stand_on_the_time_line_to_scale(there: There) -> None:
    page = there.trial(there.hostile)
    bars = [
        tuple(map(float, each))
        for each in re.findall(r'<rect class="phase-\w" x="([\d.]+)" y="6" width="([\d.]+)"', page.text)
    ]
    assert len(bars) == 5
    whole = 0.5 + 4.0 + 0.1 + 2.0 + 0.001
    assert [round(width) for _, width in bars[:4]] == [
        round(MOST_WIDTH * s / whole) for s in (0.5, 4.0, 0.1, 2.0)
    ]
    assert bars[4][1] >= 1.0 and bars[4][0] + bars[4][1] <= MOST_WIDTH + 0.01


def test_what_an_agent_writes_stays_text_on_every_page(there: There) -> None:
    pages = [
        there.get("/rollouts"),
        there.page(there.hostile),
        there.trial(there.hostile),
        there.trial(there.hostile, attempt=0),
        there.get(f"/rollouts/{there.hostile.id}?task={SCRIPT}"),
        there.trial(there.coded),
        there.trial(there.coded, calls_from=30),
        there.trial(there.coded, part="/calls/6"),
    ]
    for page in pages:
        assert SCRIPT not in page.text and IMAGE not in page.text
        assert "\x1b" not in page.text and "\u202e" not in page.text
        bare = re.sub(r'"[^"]*"', '""', page.text)  # what stands in quotes is no attribute
        assert not re.findall(r"<[^>]*\s(?:style|on[a-z]+)=", bare)
    patch = pages[2].markup
    assert html.escape(SCRIPT, quote=False).replace("=", "=") in patch
    assert '<span class="odd" title="U+202E RIGHT-TO-LEFT OVERRIDE">U+202E</span>' in patch
    assert '<span class="odd" title="U+001B">ESC</span>[31mred' in patch


def test_the_patch_is_shown_file_by_file_and_downloaded_whole(there: There) -> None:
    page = there.trial(there.hostile)
    assert "3 files, +3 \u22122" in page.words
    assert page.markup.count('<tr class="more">') == 3 and page.markup.count('<tr class="less">') == 2
    assert "blob.bin" in page.words and "binary" in page.words
    whole = there.trial(there.hostile, 0, "/patch")
    assert whole.text == PATCH and whole.headers["Content-Disposition"].startswith("attachment")
    assert whole.headers["Content-Type"] == "application/octet-stream"


def test_calls_stand_to_scale_a_page_at_a_time_and_are_downloaded_whole(there: There) -> None:
    page = there.trial(there.coded)
    assert "70 calls of its model" in page.words and "Calls 1 to 30 of 70" in page.words
    assert "56,800 40,324 cached" in page.words
    assert page.markup.count('<li id="call-') == 30
    bars = re.findall(
        r'<rect class="(phase-b|call-bad)" x="([\d.]+)"', page.markup.split('id="trajectory"')[1]
    )
    assert [name for name, _ in bars].count("call-bad") == 4
    assert ("phase-b", f"{1000 * 2.7 * 40 / 190:.2f}") in bars
    lines = there.trial(there.coded, part="/trajectory", format="jsonl").text.splitlines()
    assert len(lines) == 70 and len(json.loads(lines[69])["request"]["input"]) == 3 * 65 + 1
    one = there.trial(there.coded, part="/calls/6/body", which="request")
    assert json.loads(one.text) == json.loads(lines[6])["request"]
    assert one.headers["Content-Type"] == "application/octet-stream"
    assert "make step-6" in there.trial(there.coded, part="/trajectory", format="text").text


def test_logs_are_shown_and_downloaded_and_no_name_leads_out_of_the_folder(there: There) -> None:
    assert "the agent printed" in there.trial(there.hostile).words
    whole = there.trial(there.hostile, 0, "/file", file="agent.log")
    assert whole.text == f"the agent printed {HOSTILE}\n"
    (there.home / "secret").write_text("secret")
    each = next(iter(there.hostile.all_trials))
    for name in ("../../../secret", "state.json", "/etc/passwd", ""):
        path = trial_path(there.hostile.id, each.run, each.task, each.rollout, "/file", file=name)
        assert there.browser.get(path).status in (400, 404)


def test_a_run_of_tasks_leads_from_its_old_pages_to_its_benchmark_and_trials(there: There) -> None:
    run = there.states.rows[0].run
    for path, to in (
        (f"/runs/{run}", f"/rollouts/{there.states.id}"),
        (f"/runs/{run}/results", f"/rollouts/{there.states.id}?agent=agent%2Freference"),
        (f"/runs/{run}/items/one?repeat=1", trial_path(there.states.id, run, "one", 1)),
        (f"/rollouts/{run}", f"/rollouts/{there.states.id}"),
    ):
        page = there.browser.get(path)
        assert (page.status, page.headers["Location"]) == (303, to)
    for path in (
        f"/runs/{run}?tab=log",
        f"/runs/{run}?tab=config",
        f"/runs/{run}?tab=timeline",
        "/",
        "/runs",
    ):
        there.get(path)
    there.get("/leaderboard?suite=large")


def test_a_trial_that_there_is_not_is_not_found(there: There) -> None:
    run = there.states.rows[0].run
    for path in (
        f"/rollouts/{there.states.id}/trials/{run}/9?task=one",
        f"/rollouts/{there.states.id}/trials/{run}/0?task=..",
        f"/rollouts/{there.states.id}/trials/{there.large.rows[0].run}/0?task=one",
        "/rollouts/none",
    ):
        assert there.browser.get(path).status == 404


def test_a_benchmark_of_the_command_line_is_not_cancelled_here(there: There) -> None:
    page = there.browser.post(f"/rollouts/{there.live.id}/cancel")
    assert page.status == 409


def test_hidden_characters_are_marks_and_ordinary_text_is_itself() -> None:
    plain = "naïve 日本 \t tab\nline"
    assert str(untrusted(plain)) == plain
    for character in "\x00\x07\x1b\r\x7f\x9b\u200b\u200f\u2028\u202a\u2066\ufeff\U000e0041\ud800":
        shown = str(untrusted(f"a{character}b"))
        assert character not in shown and f"U+{ord(character):04X}" in shown


def test_no_phases_make_no_bars() -> None:
    from proctor.trial_record import TrialRecord

    assert bars_of(TrialRecord("R", "/r", "done", 1.0, True)) == []


def test_a_task_may_be_called_anything(there: There) -> None:
    assert html.escape(ODD_TASK) not in there.page(there.hostile).headers
    assert "mend/../" in there.trial(there.hostile).words
