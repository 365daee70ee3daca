"""History and Overview over HTTP: filters, order, days, what needs attention, several runs at once, views."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from io import StringIO

import pytest
from troubles import ITEMS, LACKS, NIGHTLY, Troubles, troubled

from pages import Browser, Page
from served import Server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Troubles]]:
    with troubled(tmp_path_factory.mktemp("home")) as found:
        yield found


@pytest.fixture
def browser(world: tuple[Server, Troubles]) -> Browser:
    return Browser(world[0].url)


@pytest.fixture
def there(world: tuple[Server, Troubles]) -> Troubles:
    return world[1]


def rows(page: Page) -> list[str]:
    """The runs that a list shows, in its order."""
    return re.findall(r'<tr data-run="([^"]+)"', page.text)


def troubles(page: Page) -> list[str]:
    """The lines of what needs attention."""
    return [
        " ".join(re.sub(r"<[^>]+>", " ", each).split())
        for each in re.findall(r"<li data-trouble=.*?</li>", page.text, re.S)
    ]


# Needs attention ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/overview/attention"])
def test_everything_that_went_wrong_is_a_line_with_its_cause(
    browser: Browser, there: Troubles, path: str
) -> None:
    page = browser.get(path)
    lines = troubles(page)
    wrong = re.findall(r'data-trouble="(\w+)">(?:(?!</li>).)*?href="/runs/([0-9a-f-]{36})"', page.text, re.S)
    assert {run: state for state, run in wrong} == there.runs
    assert len(lines) == len(there.runs) + 1
    said = "\n".join(lines)
    assert NIGHTLY in said and "100 may wait at once" in said
    assert LACKS in said and "its process was killed" in said
    assert re.search(r"of 60 items lost: ", said) and re.search(r"of 60 requests lost: ", said)
    assert "of 4 trials lost: network: mend the code has met network" in said
    assert "sim-perfect" not in said


def test_each_has_the_cure_that_one_press_begins(browser: Browser, there: Troubles) -> None:
    text = browser.get("/overview/attention").text
    for run in (there.killed, there.partial, there.batch):
        assert f'formaction="/runs/{run}/resume"' in text
    assert 'href="/schedules"' in text and 'href="/models"' in text


def test_the_list_of_them_is_one_press_away(browser: Browser, there: Troubles) -> None:
    text = browser.get("/").text
    assert 'href="/runs?status=attention&amp;days=2"' in text
    shown = set(rows(browser.get("/runs?status=attention&days=2")))
    assert shown == {there.failed, there.partial, there.batch, there.rollouts}


# Filters, order, days -----------------------------------------------------------------------------


def test_filters_leave_what_they_say(browser: Browser, there: Troubles) -> None:
    def shown(query: str) -> set[str]:
        return set(rows(browser.get(f"/runs?{query}")))

    every = shown("")
    assert set(there.runs) | {there.good} < every
    assert shown("kind=batch") == {there.batch} and there.rollouts in shown("kind=rollouts")
    assert shown("kind=exam") == every - shown("kind=batch") - shown("kind=rollouts")
    assert shown("kind=judging") == set()
    assert shown("status=partial") == {there.partial, there.batch, there.rollouts}
    assert shown("status=failed") == {there.failed} and there.good in shown("status=completed")
    assert not shown("status=completed") & shown("status=partial")
    assert shown("errors=1") == {there.failed, there.partial, there.batch, there.rollouts, there.waiting}
    assert shown("who=ann") == {there.waiting}
    assert shown("model=SIM-PERFECT") == {there.good}
    assert shown("days=1") == every and shown("from=2020-01-01&to=2020-02-01") == set()
    assert shown("from=2020-01-01") == every


@pytest.mark.parametrize(
    ("query", "word"),
    [("status=odd", "status"), ("kind=odd", "kind"), ("days=x", "days"), ("from=1.2.26", "2026-11-23"),
     ("from=2026-02-02&to=2026-01-01", "before the first"), ("sort=odd", "sort"), ("order=up", "order")],
)  # fmt: skip
def test_what_there_is_none_of_is_told(browser: Browser, query: str, word: str) -> None:
    page = browser.get(f"/runs?{query}")
    assert page.status in (400, 422) and word in page.words


def test_what_is_filtered_stands_above_the_list_and_can_be_taken_away(browser: Browser) -> None:
    page = browser.get("/runs?status=failed&kind=exam&sort=score")
    chips = dict(re.findall(r'<a class="chip" href="([^"]+)" aria-label="([^"]+): remove', page.text))
    assert chips == {
        "/runs?kind=exam&amp;sort=score": "failed",
        "/runs?status=failed&amp;sort=score": "Exams",
    }


def test_the_list_is_sorted_by_what_is_asked_and_says_so(browser: Browser, there: Troubles) -> None:
    page = browser.get("/runs?sort=score")
    assert 'aria-sort="descending"' in page.text and page.text.count("aria-sort") == 1
    scored = list(csv.DictReader(StringIO(browser.get("/runs/export?sort=score").text)))
    values = [float(row["score"]) for row in scored if row["score"]]
    assert values == sorted(values, reverse=True) and len(values) > 1
    assert [bool(row["score"]) for row in scored] == [True] * len(values) + [False] * (
        len(scored) - len(values)
    )
    assert rows(page)[0] == scored[0]["job_id"]
    upwards = browser.get("/runs?sort=model&order=asc")
    models = [row["model"] for row in csv.DictReader(StringIO(browser.get("/runs/export?sort=model").text))]
    assert models == sorted(models) and 'aria-sort="ascending"' in upwards.text
    for name in ("suite", "status", "duration", "cost", "time"):
        assert set(rows(browser.get(f"/runs?sort={name}"))) == set(rows(page)), name


def test_pages_follow_one_another_in_either_order(browser: Browser) -> None:
    every = rows(browser.get("/runs"))
    assert rows(browser.get("/runs?order=asc")) == every[::-1]


def test_columns_are_chosen_in_the_address(browser: Browser) -> None:
    usual, chosen = browser.get("/runs"), browser.get("/runs?columns=cost,duration,who")
    assert 'data-label="Items"' in usual.text and 'data-label="Cost"' not in usual.text
    assert 'data-label="Items"' not in chosen.text
    for name in ("Cost", "Duration", "Who"):
        assert f'data-label="{name}"' in chosen.text


def test_a_run_is_one_line_with_its_cause_in_it(browser: Browser, there: Troubles) -> None:
    page = browser.get("/runs")
    table = page.text.partition('<div id="runs">')[2].partition("</table>")[0]
    assert len(rows(page)) == len(re.findall(r"<tr\b", table)) - 1, "the head is the only other line"
    assert "the connection broke" in page.words and "4 of 4 not measured" in page.words
    assert "its process was killed" in page.words


# Several at once ----------------------------------------------------------------------------------


def test_deleting_asks_first_and_names_the_number(browser: Browser, there: Troubles) -> None:
    both = [there.failed, there.batch]
    asked = browser.post("/runs/bulk", do="delete", runs=both)
    assert asked.status == 200 and "Delete 2 runs?" in asked.words
    assert set(both) <= set(rows(browser.get("/runs")))
    assert "Delete 1 run?" in browser.post("/runs/bulk?do=delete", only=there.failed).words


def test_what_cannot_be_done_is_told_and_the_others_are_done(browser: Browser, there: Troubles) -> None:
    done = browser.post("/runs/bulk", do="stop", runs=[there.waiting, there.good])
    assert (done.status, done.headers["Location"]) == (303, "/runs")
    said = json.dumps(browser.cookies)
    assert "1%20run%20was%20stopped" in said and "1%20could%20not%20be" in said
    assert browser.post("/runs/bulk", do="restart", runs=[there.waiting]).status == 303
    assert there.waiting in rows(browser.get("/runs?status=pending"))


@pytest.mark.parametrize(
    ("form", "status"),
    [({"do": "stop"}, 400), ({"do": "odd", "runs": "x"}, 400), ({"do": "stop", "runs": "0" * 36}, 404)],
)
def test_nothing_is_done_where_it_cannot_be_meant(
    browser: Browser, form: dict[str, str], status: int
) -> None:
    assert browser.post("/runs/bulk", **form).status == status


def test_those_that_are_ticked_are_exported(browser: Browser, there: Troubles) -> None:
    text = browser.get(f"/runs/export?runs={there.good}&runs={there.failed}").text
    assert {row["job_id"] for row in csv.DictReader(StringIO(text))} == {there.good, there.failed}


# Views --------------------------------------------------------------------------------------------


def test_a_view_is_kept_by_its_name_shown_as_a_tab_and_removed(browser: Browser) -> None:
    kept = browser.post("/runs/views", name=" Bad  nights ", query="status=failed&sort=score")
    assert (kept.status, kept.headers["Location"]) == (303, "/runs?status=failed&sort=score")
    page = browser.get("/runs?status=failed&sort=score")
    tab = re.search(
        r'<a href="/runs\?status=failed&amp;sort=score" aria-current="page">.*?</a>', page.text, re.S
    )
    assert tab and "Bad nights" in tab[0]
    (number,) = re.findall(r"/runs/views/(\d+)/delete", page.text)
    assert browser.post(f"/runs/views/{number}/delete").status == 303
    assert "Bad nights" not in browser.get("/runs").words
    assert browser.post(f"/runs/views/{number}/delete").status == 404
    assert browser.post("/runs/views", name="", query="status=failed").status == 400


# Overview -----------------------------------------------------------------------------------------


def test_overview_follows_when_a_run_ends(browser: Browser) -> None:
    page = browser.get("/")
    for piece in ("/overview/parts", "/overview/attention"):
        (wanted,) = re.findall(rf'hx-get="({piece}[^"]*)"', page.text)
        again = browser.get(wanted.replace("&amp;", "&"))
        assert again.status == 200 and f'hx-get="{wanted}"' in again.text
    assert page.text.count('hx-trigger="ended from:body"') == 2


def test_the_trend_leads_to_the_run_and_stands_in_a_table(browser: Browser, there: Troubles) -> None:
    page = browser.get("/?suite=sums.csv")
    (data,) = re.findall(r'<script type="application/json" id="trend-data-1">(.*?)</script>', page.text, re.S)
    series = json.loads(data)["series"]
    assert [point["href"] for line in series for point in line["points"]] == [f"/runs/{there.good}"]
    assert series[0]["points"][0]["n"] == ITEMS
    assert f'<a href="/runs/{there.good}">' in page.text.partition('id="trend-table"')[2]
