"""One score, one number: the same runs show the same score, name and interval at every door that shows them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from opened import start
from pages import Browser
from proctor.app import program
from proctor.references import ExamRef
from proctor.service.opening.sources import open_source
from proctor.sources.exams.source import SuiteSource
from proctor.types import Cell, Model, Plan
from served import Server, serving
from simulators import settings

pytestmark = pytest.mark.slow

INTERVAL = r"\[-?\d\.\d{3}, -?\d\.\d{3}\]"
NAME = r"(?:score|accuracy|f1)(?:, mean of [\d of]+ tasks)?(?: \(\d+ of \d+ tasks\))?"
SUITE = "superglue"


@dataclass(frozen=True)
class House:
    """A server over runs of one suite: all items, fewer of them, and all with errors among them."""

    home: Path
    server: Server
    runs: dict[str, str]

    def page(self, path: str) -> str:
        found = Browser(self.server.url).get(path)
        assert found.status == 200, found.words
        return _plain(found.text)

    def records(self, path: str) -> Any:
        return json.loads(Browser(self.server.url).get(path).text)

    def drawn(self, path: str) -> list[Any]:
        """The points of the page's chart over time."""
        text = Browser(self.server.url).get(path).text
        found = re.findall(r'<script[^>]*id="trend-data-\d+"[^>]*>(.*?)</script>', text, re.DOTALL)
        assert found, text[:2000]
        drawn = [series for each in found for series in json.loads(each)["series"]]
        return [point for series in drawn for point in series["points"]]

    def rows(self, path: str, run_id: str) -> list[str]:
        """The rows of a page's tables that lead to the run, as a reader sees them."""
        text = Browser(self.server.url).get(path).text
        found = re.findall(r"<tr\b.*?</tr>", text, re.DOTALL)
        return [_plain(row) for row in found if f"/runs/{run_id}" in row]

    def lines(self, path: str, run_id: str) -> list[str]:
        """The line of the run in a page's list of runs."""
        text = Browser(self.server.url).get(path).text
        return [_plain(row) for row in re.findall(rf'<tr data-run="{run_id}">.*?</tr>', text, re.DOTALL)]

    def said(self, *words: str) -> str:
        """What a command prints; in this process, as a process of its own for each would take minutes."""
        done = CliRunner(env={"PROCTOR_HOME": str(self.home)}).invoke(
            program(), words, catch_exceptions=False
        )
        assert done.exit_code == 0, done.output
        return done.stdout

    def document(self, *words: str) -> Any:
        return json.loads(self.said(*words, "--json"))

    def ask(self, path: str, body: object = None) -> Any:
        return self.server.ask("GET" if body is None else "POST", f"/api/v1/benchmarking{path}", body).body


def _plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    home = tmp_path_factory.mktemp("numbers")
    source = open_source(ExamRef("suite", SUITE, preset="full", rows="sample"), settings(home))
    assert isinstance(source, SuiteSource)
    runs = {}
    for name, wrong, lost, limit in (("whole", 5, 0, None), ("few", 3, 0, 3), ("lossy", 4, 9, None)):
        with (home / "replies.jsonl").open("w") as out:
            for n, item in enumerate(source.items()):
                other = source.wrong(item)
                says = other[0] if n % wrong == 0 and other else source.spoken(item)
                lines = (
                    {"error": "no answer came"} if lost and n % lost == 0 else {"output": f"Answer: {says}"}
                )
                out.write(json.dumps({"id": item.id, **lines}) + "\n")
        ref = ExamRef("suite", SUITE, preset="full", rows="sample", limit=limit)
        plan = Plan((Cell(Model("replay", name), ref),), replies=str(home / "replies.jsonl"))
        ended = start(plan, settings(home)).evaluation
        assert ended is not None
        runs[name] = ended.results[0].run.id
    with serving(home, "--no-worker") as server:
        yield House(home, server, runs)


@dataclass(frozen=True)
class Number:
    """A score as it is printed."""

    name: str
    value: str
    interval: str

    def __str__(self) -> str:
        return f"{self.value} {self.interval}"


def number_in(words: str, *, before: str = "", after: str = "") -> Number:
    """The first score among the words that follow `before`; its name stands before it or after it."""
    found = re.search(
        rf"{before}.*?(?P<before>{NAME})? ?(?P<value>-?\d\.\d{{3}})[ |]+(?P<interval>{INTERVAL}) ?(?P<after>{NAME})?",
        words,
    )
    assert found, (before, words[:2000])
    return Number(
        (found["after"] if after else found["before"] or "").strip(), found["value"], found["interval"]
    )


def written(told: Any) -> Number:
    """A score of a JSON document, to the digits that are printed."""
    low, high = told["ci"] if "ci" in told else (told["low"], told["high"])
    value = told["mean"] if "mean" in told else told["value"]
    return Number(told["metric"], f"{value:.3f}", f"[{low:.3f}, {high:.3f}]")


def headlines(house: House, name: str) -> dict[str, Number]:
    """The run's score at each door, by the door."""
    run_id, other = house.runs[name], house.runs["whole" if name == "few" else "few"]
    shown = house.said("show", run_id)
    record = house.document("show", run_id)["runs"][0]
    assert {k: v for k, v in record["scores"][0].items() if k in record["score"]} == record["score"]
    (recent,) = house.lines(f"/?suite={SUITE}", run_id)
    (listed,) = house.lines("/runs", run_id)
    (compared,) = (r for r in house.rows(f"/compare?runs={run_id}&runs={other}", run_id) if "unknown" in r)
    run_page = house.page(f"/runs/{run_id}")
    reports = {
        form: _plain(house.said("report", run_id, "--format", form, "-o", "-")) for form in ("html", "md")
    }
    jobs = {job["job_id"]: job for job in house.ask("/results")["results"]}
    title = record["source_title"]
    metric = re.escape(record["scores"][0]["metric"])
    return {
        "CLI": number_in(shown, before=re.escape(title)),
        "CLI list": number_in(house.said("list", "--model", f"replay/{name}")),
        "JSON": written(record["scores"][0]),
        "Overview": number_in(recent, after="name"),
        "History": number_in(listed, after="name"),
        "run page": _of_card(run_page, metric),
        "comparison page": number_in(compared.partition("]")[2], after="name"),
        "report html": number_in(reports["html"], before="Score of each model"),
        "report md": number_in(reports["md"], before="Score of each model"),
        "REST": written(house.ask(f"/results/{run_id}")["headline"]),
        "REST list": written(jobs[run_id]["score"]),
        "REST compare": next(
            written({**of["score"], "metric": of["metric"]})
            for of in house.ask("/compare", {"model_ids": [run_id, other]})["comparison"]["models"]
            if of["job_id"] == run_id
        ),
    }


def _of_card(page: str, metric: str) -> Number:
    """The headline's card: the name above, the value, the interval below."""
    found = re.search(
        rf"(?P<name>{metric}) (?P<value>-?\d\.\d{{3}}) (?P<interval>{INTERVAL}), 95 % interval", page
    )
    assert found, (metric, page[:3000])
    return Number(found["name"], found["value"], found["interval"])


@pytest.mark.parametrize("name", ["whole", "few", "lossy"])
def test_every_door_shows_the_same_score(house: House, name: str) -> None:
    found = headlines(house, name)
    assert len({str(number) for number in found.values()}) == 1, found
    named = {door: number.name for door, number in found.items() if not door.startswith("report")}
    assert set(named.values()) == {"score"}, named
    report = house.said("report", house.runs[name], "--format", "md", "-o", "-")
    assert "| Model | Score | 95 % interval |" in report


def test_the_leaderboard_shows_it_too(house: House) -> None:
    """Whatever a board ranks by, and on shared items where its runs differ in size."""
    for name in ("whole", "few"):
        run_id, wanted = house.runs[name], headlines(house, name)["CLI"]
        rows = house.rows(f"/leaderboard?suite={SUITE}&metric=score", run_id)
        row = next(
            row for row in rows if str(wanted) in row
        )  # also in the drawing, where all items are shared
        places = house.ask(f"/leaderboard?suite={SUITE}&metric=score")["leaderboard"]
        told = next(place for place in places if place["job_id"] == run_id)
        assert written(told["headline"]) == wanted
        assert str(wanted) in row, "the run's own score stands beside that on shared items"
        assert f"{told['score']:.3f} [{told['ci'][0]:.3f}, {told['ci'][1]:.3f}]" in row
        board = house.said("leaderboard", "--suite", SUITE)
        assert f"{told['score']:.3f} [{told['ci'][0]:.3f}, {told['ci'][1]:.3f}]" in board


def means(house: House, name: str, metric: str) -> dict[str, Number]:
    """The run's mean over tasks of a metric at each door that shows one, by the door; the name of the number apart."""
    run_id = house.runs[name]
    record = house.document("show", run_id)["runs"][0]
    named = [s for s in record["scores"] if re.match(rf"{metric}(, mean of .*)?$", s["metric"])]
    kept = next((score for score in named if not score["task"]), named[0])  # of one task alone the task's own
    at = (kept["task"], kept["metric"])
    (past,) = (r for r in house.document("history")["runs"] if r["run_id"] == run_id)
    shown = house.ask(f"/results/{run_id}")
    overall = {**shown["overall"], **shown["performance_data"][SUITE].get(kept["task"], {})}
    lists = {"History": house.records("/runs/export?form=json")}
    lists["Overview"] = house.records(f"/overview/export?form=json&suite={SUITE}&metric={metric}")["results"]
    found = {
        "CLI history": next(written(s) for s in past["scores"] if (s["task"], s["metric"]) == at),
        "REST": written({**overall[kept["metric"]], "metric": kept["metric"]}),
        "JSON": written(kept),
    }
    for door, records in lists.items():
        (of,) = (each for each in records if each["job_id"] == run_id)
        ends = {"low": of[f"{metric}_low"], "high": of[f"{metric}_high"]}
        found[f"{door} export"] = written({"value": of[metric], **ends, "metric": kept["metric"]})
    for door, path in {
        "Overview row": f"/?suite={SUITE}",
        "History row": "/runs?columns=score,accuracy,f1",
    }.items():
        (row,) = house.lines(path, run_id)
        assert str(found["JSON"]) in row, (door, row)
    return found


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_a_mean_over_tasks_is_one_number_too(house: House, metric: str) -> None:
    """Also where it is drawn, averaged over runs (of one there is no other average) and ranked by."""
    for name in ("whole", "few"):
        found = means(house, name, metric)
        assert len(set(found.values())) == 1, found
    wanted, run_id = found["JSON"], house.runs["few"]
    overview = house.page(f"/?suite={SUITE}&metric={metric}")
    card = number_in(overview, before=f"Average {metric.capitalize() if metric == 'accuracy' else 'F1'}")
    assert str(card) == str(wanted)
    assert f"95 % interval of {wanted.name}; {SUITE}" in overview
    (point,) = (p for p in house.drawn(f"/?suite={SUITE}&metric={metric}") if p["said"] == str(wanted))
    assert written({**point, "metric": wanted.name}) == wanted
    told = house.ask(f"/leaderboard?suite={SUITE}&metric={metric}")["leaderboard"]
    (place,) = (place for place in told if place["job_id"] == run_id)
    assert str(written({**place, "value": place["score"], "metric": metric, "low": 0, "high": 0})) == str(
        wanted
    )


def test_the_board_says_on_which_items_and_which_run_is_not_on_it(house: House) -> None:
    board = house.document("leaderboard", "--suite", SUITE)
    few = house.document("show", house.runs["few"])["runs"][0]["scores"][0]
    assert board["shared_items"] == few["asked"] and board["models"] == 2
    lost = house.document("list", "--model", "replay/lossy")["runs"][0]
    missing = lost["planned"] - lost["settled"]
    assert board["left_out"] == [
        f"1 run not complete (replay/lossy: {missing} of {lost['planned']} not measured)"
    ]
    page = house.page(f"/leaderboard?suite={SUITE}")
    for words in (board["note"], board["left_out"][0]):
        assert words in page and words in house.said("leaderboard", "--suite", SUITE)


def test_errors_are_told_in_every_list(house: House) -> None:
    run_id = house.runs["lossy"]
    record = house.document("show", run_id)["runs"][0]
    words = f"{record['planned'] - record['settled']} of {record['planned']} not measured"
    pages = ("/", "/runs", "/models/replay/lossy", f"/compare?runs={run_id}&runs={house.runs['few']}")
    for path in pages:
        assert any(words in row for row in house.rows(path, run_id)), path
    assert words in house.page(f"/runs/{run_id}")
    for listing in (
        ("list",),
        ("history",),
        ("compare", run_id, house.runs["few"]),
        ("report", run_id, "-o", "-"),
    ):
        assert words in house.said(*listing), listing
    (job,) = (job for job in house.ask("/history")["history"] if job["job_id"] == run_id)
    assert (job["not_measured"], job["planned"]) == (record["planned"] - record["settled"], record["planned"])


def test_the_gap_is_one_number(house: House) -> None:
    """On the page, in the verdict, in the table of differences and in the API."""
    ids = [house.runs["whole"], house.runs["few"]]
    (pair,) = house.document("compare", *ids)["comparisons"]
    gap = f"{abs(pair['difference']['value']):.3f}"
    told = house.ask("/compare", {"model_ids": ids})["comparison"]
    assert f"{told['performance_gap']:.3f}" == f"{told['gap_to_runner_up']:.3f}" == gap
    assert told["gap_metric"] == pair["metric"] == "score"
    assert gap in told["verdict"] and gap in house.said("compare", *ids)
    page = house.page(f"/compare?runs={ids[0]}&runs={ids[1]}")
    assert f"Performance gap {gap} in {pair['metric']}, best to worst; {gap} to the runner-up" in page
    (both,) = (pair["asked"]["both"],)
    apart = (
        f"on the {both} items that both were asked, of {pair['asked']['first']} and {pair['asked']['second']}"
    )
    assert apart in page and apart in house.said("compare", *ids) and pair["note"] == apart
    assert apart in house.said("report", *ids, "-o", "-", "--format", "md")
