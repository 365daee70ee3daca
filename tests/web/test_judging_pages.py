"""Pages of judging and labelling over HTTP, as a browser without scripts has them, on a store with two judged runs."""

from __future__ import annotations

import csv
import io
import re
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest

from demo_judged import DemoJudged, judged_runs
from opened import over
from pages import Browser
from proctor.store import Store
from served import serving
from simulators import settings
from uploads import form

pytestmark = pytest.mark.slow
ITEMS = 20
MULTIPART = "multipart/form-data; boundary=between-the-parts"


@dataclass(frozen=True)
class JudgedSite:
    browser: Browser
    runs: DemoJudged
    home: Path

    def get(self, path: str, **asked: object) -> str:
        page = self.browser.get(f"{path}?{urlencode(asked, doseq=True)}")
        assert page.status == 200, page.text
        return page.text


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgedSite]:
    home = tmp_path_factory.mktemp("judged")
    known = settings(home)
    store = Store.open(known.database_url)
    runs = judged_runs(over(store, known), home, count=ITEMS, labels=0)
    store.close()
    with serving(home, "--no-worker", PROCTOR_REQUESTS_PER_MINUTE="100000") as server:
        yield JudgedSite(Browser(server.url), runs, home)


def key_of(text: str) -> str:
    found = re.search(r'name="key" value="([^"]+)"', text)
    assert found, text
    return found[1]


def title_of(text: str) -> str:
    found = re.search(r'id="label-title">([^<]+)<', text)
    assert found, text
    return found[1]


def test_a_label_page_tells_neither_model_nor_run_nor_grade(there: JudgedSite) -> None:
    text = there.get("/label", runs=[there.runs.first, there.runs.second])
    shown = text[text.index('id="labelling"') :]
    assert title_of(text) == f"Answer 1 of {2 * ITEMS}"
    # Addresses name both runs, as whoever labels did; nothing says which of them this reply is of.
    for word in ("simulator", "sim-small", "judge-95", "correct: pass", "correct: fail"):
        assert word not in shown
    one, other = (key_of(there.get("/label", runs=each)) for each in (there.runs.first, there.runs.second))
    assert one != other
    assert there.runs.first[:8] not in one


def test_grades_notes_and_undo_work_by_plain_forms(there: JudgedSite) -> None:
    runs = f"/label?runs={there.runs.first}"
    first = key_of(there.get("/label", runs=there.runs.first))
    went = there.browser.post(
        runs, key=first, criterion="correct", grade="correct:pass", note="fine", tags="a, b"
    )
    assert went.status == 303
    text = there.browser.get(went.headers["location"]).text
    assert title_of(text) == f"Answer 2 of {ITEMS}"
    assert "1 of 20 of the random part" in text
    kept = there.get("/label", runs=there.runs.first, key=first)
    assert 'value="correct:pass" data-key="1" aria-pressed="true"' in " ".join(kept.split())
    assert "fine</textarea>" in kept
    assert 'value="a, b"' in kept
    second = key_of(text)
    refused = there.browser.post(runs, key=second, criterion="correct", grade="", note="no grade yet")
    assert "say the grade" in refused.words
    there.browser.post(runs, key=second, criterion="correct", grade="correct:fail")
    back = there.browser.post(f"/label/undo?runs={there.runs.first}")
    assert key_of(there.browser.get(back.headers["location"]).text) == second


def test_what_is_said_after_looking_is_kept_and_counts_in_no_estimate(there: JudgedSite) -> None:
    runs = f"runs={there.runs.second}"
    key = key_of(there.get("/label", runs=there.runs.second))
    shown = there.browser.post(f"/label/reveal?{runs}", key=key)
    assert "simulator/sim-small" in shown.text
    assert "judge/1:model=simulator/judge-95" in shown.text
    assert "counts in no estimate" in shown.words
    there.browser.post(f"/label?{runs}", key=key, criterion="correct", grade="correct:pass")
    (line,) = [
        each for each in there.get("/label/labels.csv", runs=there.runs.second).splitlines() if "pass" in each
    ]
    assert "chosen" in line
    assert "revealed" in line


@pytest.mark.promise("X-09")
def test_labels_come_in_from_a_file_that_was_filled_in_and_correct_the_judge(there: JudgedSite) -> None:
    label_all(there, ITEMS)
    both = [there.runs.first, there.runs.second]
    text = " ".join(there.browser.get(f"/verdict?{urlencode({'runs': both}, doseq=True)}").words.split())
    for words in ("Corrected", "People alone", "Judge alone", "quote this", "kappa", "people say pass"):
        assert words in text
    assert "against simulator/sim-small, judged by simulator/judge-95" in text
    assert "`proctor" not in text  # cures of a terminal help nobody here


def label_all(there: JudgedSite, items: int) -> None:
    """Through the page's own form, as a labeller of another name."""
    made = there.get(
        "/label/labels.csv", runs=[there.runs.first, there.runs.second], form="open", random=items
    )
    rows = list(csv.DictReader(io.StringIO(made)))
    for row in rows:
        row["grade"] = (
            "pass" if " ".join(row["good_answer"].split()) in " ".join(row["reply"].split()) else "fail"
        )
    told = io.StringIO()
    writer = csv.DictWriter(told, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    asked_for = {"runs": [there.runs.first, there.runs.second], "random": items}
    path = f"/label/labels.csv?{urlencode(asked_for, doseq=True)}"
    body = form([("labels.csv", told.getvalue().encode())])
    asked = urllib.request.Request(there.browser.url + path, body, {"Content-Type": MULTIPART}, method="POST")
    with urllib.request.urlopen(asked, timeout=60) as answer:
        assert answer.status == 200


def test_two_replies_stand_side_by_side_where_a_preference_is_asked(there: JudgedSite) -> None:
    text = there.get("/label", runs=[there.runs.first, there.runs.second], pairs=1)
    words = " ".join(re.sub(r"<[^>]+>", " ", text).split())
    assert "The first reply" in words
    assert "The second reply" in words
    assert "Neither 0" in words
    assert title_of(text) == f"Pair 1 of {ITEMS}"


def test_a_judging_is_planned_before_it_starts_and_faults_of_a_rubric_are_told(there: JudgedSite) -> None:
    filled = {"runs": [there.runs.first, there.runs.second], "provider": "simulator", "model": "judge"}
    planned = there.browser.post("/judge/plan", **filled, votes=3)
    assert f"{2 * ITEMS * 3} calls in 2 jobs" in planned.words
    own = {"rubric": "own", "name": ["kind", "kind"], "asks": ["Is it kind?", ""]}
    faults = there.browser.post("/judge/plan", **filled, **own, scale=["1-5", "yes/no"], weight=["2", "1"])
    assert "two are called 'kind'" in faults.words
    refused = there.browser.post("/judge", **{**filled, "runs": [there.runs.first], "how": "pairs"})
    assert refused.status == 400
    assert "tick two" in refused.words
    went = there.browser.post(
        "/judge", **filled, rubric="own", name="kind", asks="Is it kind?", scale="1-5", weight=""
    )
    assert went.status == 303
    watching = there.browser.get(went.headers["location"])
    assert "simulator/judge judges simulator/sim-small" in watching.words
    # A rubric that was once used can be chosen again, for labels too.
    assert "Is it kind?" in there.get("/judge", runs=there.runs.first)


def test_a_judged_run_no_longer_asks_for_a_judge_and_its_judging_leads_back(there: JudgedSite) -> None:
    judged = there.get(f"/runs/{there.runs.first}")
    assert 'id="unscored"' not in judged
    assert f'hx-get="/verdict?runs={there.runs.first}"' in judged
    part = there.get("/verdict", runs=there.runs.first)
    (judging,) = set(re.findall(r'href="/runs/([0-9a-f-]{36})">The judging', part))
    page = there.get(f"/runs/{judging}")
    assert f"/verdict?runs={there.runs.first}" in page
    assert "judges" in page
