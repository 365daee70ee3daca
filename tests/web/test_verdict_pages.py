"""Comparison and leaderboard over HTTP: heat maps, intervals, trade-offs and the one line, set against the attempts."""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from pages import Browser
from proctor.sources.exams.tables.exams import SUBJECTS
from programs import proctor, proctor_json
from served import Server, serving

pytestmark = pytest.mark.slow

MODELS = ("simulator/sim", "simulator/sim-small", "baseline/majority")


@dataclass(frozen=True)
class Cell:
    value: str
    n: int
    href: str | None
    classes: str
    said: str


@dataclass(frozen=True)
class Row:
    name: str
    cells: list[Cell]
    gap: str
    gap_href: str | None
    below: bool


@dataclass(frozen=True)
class House:
    """Runs by suite and model, their attempts as they are exported, and a server on them."""

    home: Path
    server: Server
    runs: Mapping[tuple[str, str], str]
    attempts: Mapping[str, list[dict[str, Any]]]

    def get(self, path: str) -> str:
        page = Browser(self.server.url).get(path)
        assert page.status == 200, page.words
        return page.text

    def ids(self, suite: str) -> list[str]:
        return [self.runs[suite, model] for model in MODELS if (suite, model) in self.runs]

    def shares(self, run_id: str) -> dict[str, tuple[int, int]]:
        """Task -> how many of its items were right, and how many were asked; counted from the export."""
        found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for each in self.attempts[run_id]:
            found[each["task"]][0] += each["outcome"] == "correct"
            found[each["task"]][1] += 1
        return {task: (right, of) for task, (right, of) in found.items()}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    home = tmp_path_factory.mktemp("verdicts")
    runs, attempts = {}, {}
    for suite, models in (("mmlu", MODELS), ("glue", MODELS[:2])):
        for model in models:
            done = proctor_json(home, "run", suite, "--data", "sample", "--model", model)
            runs[suite, model] = run = done["runs"][0]["run_id"]
            lines = proctor(home, "export", run, "--format", "jsonl").stdout.splitlines()
            attempts[run] = [json.loads(line) for line in lines]
    rows = [{"id": f"r{n}", "question": f"{n}?", "answer": ("yes", "no")[n % 2]} for n in range(12)]
    (home / "eo.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for name in ("a", "b"):
        lines = [
            {"id": f"r{n}", "output": f"Answer: {('yes', 'no')[n % (2 if name == 'a' else 3) % 2]}"}
            for n in range(12)
        ]
        (home / "replies.jsonl").write_text("\n".join(map(json.dumps, lines)))
        done = proctor_json(
            home, "run", "eo.jsonl", "--model", f"replay/{name}", "--replies", "replies.jsonl"
        )
        runs["eo", name] = done["runs"][0]["run_id"]
    with serving(home, "--no-worker") as server:
        yield House(home, server, runs, attempts)


def table_of(text: str) -> tuple[list[str], list[Row]]:
    """The heat map of a page as a reader gets it: its columns and its rows, those of groups too."""
    found = re.search(r'<table[^>]*id="tasks".*?</table>', text, re.DOTALL)
    assert found, "no heat map"
    heads = [
        _words(each)
        for each in re.findall(r'<th scope="col" class="heat-head">(.*?)</th>', found[0], re.DOTALL)
    ]
    rows = []
    for body in re.findall(r"<tbody.*?</tbody>", found[0], re.DOTALL):
        for each in re.findall(r"<tr.*?</tr>", body, re.DOTALL):
            rows.append(_row(each, 'class="heat-below"' in body))
    return heads, rows


def _row(text: str, below: bool) -> Row:
    head = re.search(r'<th scope="row">(.*?)<span class="heat-of">', text, re.DOTALL)
    assert head, text
    cells = [_cell(*each) for each in re.findall(r'<td class="(heat-cell[^"]*)">(.*?)</td>', text, re.DOTALL)]
    gap = re.search(r'<td class="num heat-gap">(.*?)</td>', text, re.DOTALL)
    return Row(_words(head[1]), cells, _words(gap[1]) if gap else "", _href(gap[1]) if gap else None, below)


def _cell(classes: str, text: str) -> Cell:
    value = re.search(r'class="heat-number">(-?\d\.\d{3})', text)
    n = re.search(r'class="heat-n">(?:n=)?([\d,]+)', text)
    said = re.search(r'title="([^"]*)"', text)
    count = int(n[1].replace(",", "")) if n else 0
    return Cell(
        value[1] if value else "", count, _href(text), classes, html.unescape(said[1]) if said else ""
    )


def _href(text: str) -> str | None:
    found = re.search(r'href="([^"]*)"', text)
    return html.unescape(found[1]) if found else None


def _words(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def compare(*ids: str, **more: str) -> str:
    return "/compare?" + "&".join([*(f"runs={each}" for each in ids), *(f"{k}={v}" for k, v in more.items())])


def task_in(href: str | None) -> str:
    assert href
    return parse_qs(urlsplit(href).query)["task"][0]


# The heat map ------------------------------------------------------------------------------------


def test_each_cell_is_the_share_of_its_own_attempts(house: House) -> None:
    ids = house.ids("mmlu")
    _, rows = table_of(house.get(compare(*ids)))
    below = [row for row in rows if row.below]
    assert len(below) == 57
    for row in below:
        for run_id, cell in zip(ids, row.cells, strict=True):
            right, of = house.shares(run_id)[task_in(cell.href)]
            assert (cell.value, cell.n) == (f"{right / of:.3f}", of), row
            assert cell.href == f"/runs/{run_id}/results?task={task_in(cell.href)}"


def test_a_group_weighs_its_subjects_by_their_full_size_and_says_so(house: House) -> None:
    ids = house.ids("mmlu")
    text = house.get(compare(*ids))
    groups = {row.name: row for row in table_of(text)[1] if not row.below}
    assert set(groups) == {"STEM", "humanities", "social sciences", "other"}
    for name, row in groups.items():
        for run_id, cell in zip(ids, row.cells, strict=True):
            shares = {task: of for task, of in house.shares(run_id).items() if task in SUBJECTS[name]}
            right, asked = (sum(numbers) for numbers in zip(*shares.values(), strict=True))
            # Of sample rows each subject's whole split is its 3 rows.
            assert float(cell.value) == pytest.approx(right / asked, abs=6e-4), (name, cell)
            assert cell.n == sum(of for _, of in shares.values())
    assert "weighing as much as its full split; it is no mean of the rows below it" in " ".join(text.split())


def test_groups_are_folded_and_the_address_unfolds_them(house: House) -> None:
    ids = house.ids("mmlu")
    hidden = r'<tbody class="heat-below" id="heat-g\d" hidden>'
    assert len(re.findall(hidden, house.get(compare(*ids)))) == 4
    opened = house.get(compare(*ids, open="STEM"))
    assert len(re.findall(hidden, opened)) == 3
    fold = re.search(r'href="([^"]*)" data-fold="[^"]*" data-group="STEM" aria-expanded="true"', opened)
    assert fold and len(re.findall(hidden, house.get(html.unescape(fold[1]).partition("#")[0]))) == 4


def test_rows_come_by_gap_or_by_name(house: House) -> None:
    ids = house.ids("glue")
    rows = table_of(house.get(compare(*ids)))[1]
    gaps = [float(row.gap) for row in rows]
    assert gaps == sorted(gaps, reverse=True) and gaps[0] > 0
    for row in rows:
        values = [float(cell.value) for cell in row.cells]
        assert float(row.gap) == pytest.approx(max(values) - min(values), abs=1.1e-3)
    names = [row.name for row in table_of(house.get(compare(*ids, order="name")))[1]]
    assert names == sorted(names, key=str.casefold) and len(names) == len(rows)


def test_colour_says_gap_or_value_as_the_address_asks(house: House) -> None:
    ids = house.ids("glue")
    for row in table_of(house.get(compare(*ids)))[1]:
        best = max(float(cell.value) for cell in row.cells)
        for cell in row.cells:
            assert ("heat-g0" in cell.classes) == (float(cell.value) == best), row
            assert ("heat-best" in cell.classes) == (float(cell.value) == best), row
    for row in table_of(house.get(compare(*ids, shade="value")))[1]:
        assert all(re.search(r"heat-v\d", cell.classes) for cell in row.cells)


def test_few_items_are_marked_and_every_cell_tells_its_interval(house: House) -> None:
    text = house.get(compare(*house.ids("mmlu")))
    rows = table_of(text)[1]
    assert {cell.n for row in rows if row.below for cell in row.cells} == {3}
    assert all("heat-few" in cell.classes for row in rows if row.below for cell in row.cells)
    assert not any("heat-few" in cell.classes for row in rows if not row.below for cell in row.cells)
    assert "fewer than 10 items: shows little" in text
    assert all(
        re.search(r"\[-?\d\.\d{3}, -?\d\.\d{3}\], n = \d+ items", cell.said)
        for row in rows
        for cell in row.cells
    )
    shown = house.get(compare(*house.ids("mmlu"), ends="1"))
    assert shown.count('class="heat-ends"') == sum(len(row.cells) for row in rows)


def test_a_cell_leads_to_its_items_and_a_gap_to_those_that_differ(house: House) -> None:
    first, second = ids = house.ids("glue")
    row = next(row for row in table_of(house.get(compare(*ids)))[1] if row.gap_href and "rte" in row.gap_href)
    listed = house.get(str(row.cells[0].href))
    assert listed.count("data-row") == row.cells[0].n == 20
    assert row.gap_href
    address = urlsplit(row.gap_href)
    assert sorted(parse_qs(address.query)["runs"]) == sorted(ids) and address.fragment == "items"
    items = re.search(r'id="items".*', house.get(row.gap_href.partition("#")[0]), re.DOTALL)
    assert items
    told = {
        parse_qs(urlsplit(html.unescape(each)).query)["at"][0]
        for each in re.findall(r'href="(/runs/[^"]*at=[^"]*)"', items[0])
    }
    of = {
        run: {
            each["item"] if "item" in each else each["item_id"]: each["score"]
            for each in house.attempts[run]
            if each["task"] == "rte"
        }
        for run in ids
    }
    assert told == {item for item in of[first] if of[first][item] != of[second][item]} != set()


# The one line, intervals, trade-offs -------------------------------------------------------------


def test_the_one_line_says_what_the_api_says(house: House) -> None:
    for suite in ("mmlu", "glue"):
        ids = house.ids(suite)[:2]
        told = house.server.ask("POST", "/api/v1/benchmarking/compare", {"model_ids": ids}).body["comparison"]
        (pair,) = told["metrics"]["score"]
        line = re.search(r'<p class="verdict-line">(.*?)</p>', house.get(compare(*ids)), re.DOTALL)
        assert line
        said, of = _words(line[1]), pair["difference"]
        sign = 1 if of["value"] > 0 else -1
        low, high = sorted(sign * end * 100 for end in (of["low"], of["high"]))
        assert f"(95 % {low:.1f} to {high:.1f})" in said and f"{abs(of['value']) * 100:.1f} points" in said, (
            said
        )
        assert f"on {pair['shared']:,} shared items" in said
        better = "better" in pair["verdict"]
        assert (" is better than " in said) == better and ("cannot be told apart" in said) != better


def test_every_statistic_of_before_is_still_there(house: House) -> None:
    text = house.get(compare(*house.ids("mmlu")))
    for words in (
        "Performance gap",
        "Statistical significance",
        "Shared items",
        "Differences, pair by pair",
        "adjusted (Holm",
        "Smallest shown",
        "p-values adjusted for",
    ):
        assert words in text, words
    folded = re.search(r'<details class="card-footer statistics" id="statistics">', text)
    assert folded, "the statistics are folded"


def charts(text: str) -> dict[str, Any]:
    found = re.findall(r'<script type="application/json" id="(scatter-\w+)">(.*?)</script>', text, re.DOTALL)
    return {name: json.loads(data) for name, data in found}


def test_what_has_no_known_cost_is_named_and_not_drawn_at_zero(house: House) -> None:
    text = house.get(compare(house.runs["eo", "a"], house.runs["eo", "b"]))
    assert "scatter-cost" not in charts(text)
    missing = [_words(each) for each in re.findall(r"<\w+[^>]* data-missing>(.*?)</", text, re.DOTALL)]
    assert any("a (its cost is not known); b (its cost is not known)" in each for each in missing), missing


def test_metrics_below_zero_are_drawn_from_minus_one_to_one(house: House) -> None:
    text = house.get("/leaderboard?suite=glue&metric=mcc")
    ticks = re.findall(r'text-anchor="middle">([^<]*)</text>', text)
    assert ticks == ["-1", "-0.5", "0", "0.5", "1"]
    for data in charts(text).values():
        assert data["least"] == -1
    accuracy = re.findall(r'text-anchor="middle">([^<]*)</text>', house.get("/leaderboard?suite=mmlu"))
    assert "-1" not in accuracy and accuracy


def test_the_frontier_is_what_no_other_is_beyond(house: House) -> None:
    for data in charts(house.get("/leaderboard?suite=mmlu")).values():
        for one in data["points"]:
            beaten = any(
                other["y"] >= one["y"]
                and other["x"] <= one["x"]
                and (other["y"], -other["x"]) != (one["y"], -one["x"])
                for other in data["points"]
            )
            assert one["front"] == (not beaten and len(data["points"]) > 1), one


# The board ---------------------------------------------------------------------------------------


def test_all_suites_hold_each_model_s_latest_headline(house: House) -> None:
    heads, rows = table_of(house.get("/leaderboard?suite=all"))
    results = house.server.ask("GET", "/api/v1/benchmarking/results").body["results"]
    latest = {
        (each["benchmark_suite"], f"{each['provider']}/{each['model_name']}"): each
        for each in reversed(results)
    }
    found = 0
    for row in rows:
        for model, cell in zip(heads, row.cells, strict=True):
            told = latest.get((row.name, model))
            if not cell.value:
                assert told is None, (row, model)
                continue
            assert told and cell.href == f"/runs/{told['job_id']}"
            assert cell.value == f"{told['score']['mean']:.3f}", (row, told)
            found += 1
    assert found == 7


def test_a_board_s_report_is_one_file_with_its_ranks(house: House) -> None:
    page = Browser(house.server.url).get("/leaderboard/report?suite=mmlu")
    assert page.status == 200 and "attachment" in page.headers["content-disposition"]
    board = house.server.ask("GET", "/api/v1/benchmarking/leaderboard?suite=mmlu").body["leaderboard"]
    for place in board:
        assert f"{place['score']:.3f} [{place['ci'][0]:.3f}, {place['ci'][1]:.3f}]" in page.text
        assert place["job_id"] in page.text
    assert not re.findall(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?!data:|#)', page.text)


def test_the_baseline_is_chosen_by_a_link(house: House) -> None:
    first, second = house.ids("glue")
    text = house.get(compare(first, second))
    link = re.search(r'href="([^"]*)" aria-label="Make [^"]* the baseline"', text)
    assert link
    assert parse_qs(urlsplit(html.unescape(link[1])).query)["runs"] == [second, first]
    assert table_of(house.get(html.unescape(link[1])))[0] == list(reversed(table_of(text)[0]))
