"""Pages of runs over HTTP: what failed is on top with what to press, the tab says how it ended, numbers add up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages import Browser, Page
from proctor.references import ExamRef
from proctor.service.context import Context, open_context
from proctor.service.runs import lifecycle
from proctor.types import Cell, Limits, Model, Plan, Run, Sampling
from programs import csv_of_sums
from served import serving
from simulators import settings

pytestmark = pytest.mark.slow


class Seen:
    """A server on runs of a terminal: one complete, one cut off, one whose server crashed, one that stopped early."""

    def __init__(self, home: Path, browser: Browser, runs: dict[str, Run]) -> None:
        self.home, self.browser, self.runs = home, browser, runs

    def page(self, name: str) -> Page:
        found = self.browser.get(f"/runs/{self.runs[name].id}")
        assert found.status == 200, found.text[:800]
        return found


def asked(context: Context, model: str, **limits: int) -> Run:
    cell = Cell(
        Model("simulator", model), ExamRef("suite", "glue", preset="quick", rows="sample"),
        sampling=Sampling(max_tokens=64), limits=Limits(parallel=4, **limits),  # type: ignore[arg-type]  # by name
    )  # fmt: skip
    done = lifecycle.start(context, Plan((cell,)))
    assert done.evaluation is not None
    return done.evaluation.results[0].run


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    home = tmp_path_factory.mktemp("run-pages")
    with open_context(settings(home)) as context:
        runs = {
            "done": asked(context, "sim"),
            "cut": asked(context, "sim-truncating"),
            "crashed": asked(context, "sim-crashing"),
            "part": asked(context, "sim-small", max_total_tokens=2000),
        }
    with serving(home, "--no-worker", PROCTOR_DATA="sample") as server:
        yield Seen(home, Browser(server.url), runs)


def title(page: Page) -> str:
    found = re.search(r"<title>(.*?)</title>", page.text, re.DOTALL)
    assert found is not None
    return " ".join(found[1].split())


def test_the_tab_says_how_a_run_ended(seen: Seen) -> None:
    assert re.match(r"done 0\.\d\d · simulator/sim on GLUE · proctor", title(seen.page("done")))
    assert title(seen.page("crashed")).startswith("failed · simulator/sim-crashing on GLUE")
    assert title(seen.page("part")).startswith("partial 0.")


def test_what_failed_is_on_top_with_what_to_press(seen: Seen) -> None:
    page, run = seen.page("crashed"), seen.runs["crashed"]
    top = page.text.index('id="problem"')
    assert top < page.text.index('class="heads"')
    assert f'action="/runs/{run.id}/resume"' in page.text and 'href="/models"' in page.text
    assert f'href="/runs/{run.id}/results?outcome=error"' in page.text
    before_fold = page.text[top:].partition("<details")[0]
    assert "proctor resume" not in before_fold, "a terminal's words are folded"
    assert page.text.count("btn-primary") == 1


def test_replies_that_were_cut_off_have_a_clone_with_more_room(seen: Seen) -> None:
    page, run = seen.page("cut"), seen.runs["cut"]
    assert "Replies were cut off at 64 tokens." in page.words
    assert (
        f'href="/runs/new?like={run.id}&amp;max_tokens=128"' in page.text
        and "Clone with 128 tokens" in page.words
    )
    assert seen.browser.get(f"/runs/new?like={run.id}&max_tokens=128").status == 200


def test_the_bar_of_an_ended_run_adds_up(seen: Seen) -> None:
    for name in ("done", "cut", "crashed", "part"):
        parts = re.findall(r'data-part="(\w+)">([\d,]+)<', seen.page(name).text)
        assert sum(int(n.replace(",", "")) for _, n in parts) == seen.runs[name].planned
        assert ("to_come" in dict(parts)) == (name in ("crashed", "part"))


def test_what_stopped_a_run_is_said_in_words_of_the_form(seen: Seen) -> None:
    words = seen.page("part").words
    assert "max total tokens" in words and "--max-total-tokens" not in words


def test_a_run_that_lacks_nothing_is_not_resumed(seen: Seen) -> None:
    page = seen.browser.post(f"/runs/{seen.runs['done'].id}/resume")
    assert page.status == 409 and "nothing was done" in page.words


def test_a_resume_says_what_the_server_lacks(tmp_path: Path) -> None:
    file = csv_of_sums(tmp_path / "sums.csv", 20)
    with open_context(settings(tmp_path)) as context:
        cell = Cell(
            Model("simulator", "sim"), ExamRef("file", str(file)), limits=Limits(max_total_tokens=300)
        )
        done = lifecycle.start(context, Plan((cell,)))
        assert done.evaluation is not None
        run = done.evaluation.results[0].run
    assert run.partial
    with serving(tmp_path, "--no-worker") as server:
        browser = Browser(server.url)
        assert f'action="/runs/{run.id}/resume"' in browser.get(f"/runs/{run.id}").text
        csv_of_sums(file, 21)
        page = browser.post(f"/runs/{run.id}/resume")
        assert page.status >= 400 and "no longer those it began with" in page.words
        file.unlink()
        assert (
            "The server cannot go on with it: the server lacks the file"
            in browser.get(f"/runs/{run.id}").words
        )
        page = browser.post(f"/runs/{run.id}/resume")
        assert page.status >= 400 and "the server lacks the file" in page.words
        csv_of_sums(file, 20)
        assert browser.post(f"/runs/{run.id}/resume").status == 303
        again = browser.get(f"/runs/{run.id}").words
        assert "waiting" in again and "Stop Job" in again, "it is a job now"
        assert browser.post(f"/runs/{run.id}/resume").status == 409
