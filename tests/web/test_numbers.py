"""Every door says the same of a run: command line, REST API, dashboard and report, to the digit shown."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pages import Browser
from proctor.store.read.lists import RunLine
from proctor.types import Status
from proctor.web.files import line_record
from programs import proctor, proctor_json
from served import Server, serving

pytestmark = pytest.mark.slow

REPLIES = {
    "right": lambda n: ("yes", "no")[n % 2],
    "inverted": lambda n: ("no", "yes")[n % 2],
    "constant": lambda n: "yes",
    "日本-modèle": lambda n: ("yes", "no")[n % 3 % 2],
}


@dataclass(frozen=True)
class House:
    home: Path
    server: Server
    runs: Mapping[str, Any]

    def page(self, path: str) -> str:
        found = Browser(self.server.url).get(path)
        assert found.status == 200, found.words
        # Cells are words apart, as they are on the screen.
        return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found.text)).split())

    def ask(self, path: str, body: object = None) -> Any:
        return self.server.ask("GET" if body is None else "POST", f"/api/v1{path}", body).body


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    home = tmp_path_factory.mktemp("numbers")
    rows = [{"id": f"r{n}", "question": f"{n}?", "answer": ("yes", "no")[n % 2]} for n in range(40)]
    (home / "eo.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (home / "one.jsonl").write_text(json.dumps({"question": "2+2?", "answer": "4"}))
    runs: dict[str, Any] = {}
    for name, says in REPLIES.items():
        lines = [{"id": f"r{n}", "output": f"Answer: {says(n)}"} for n in range(40)]
        (home / "replies.jsonl").write_text("\n".join(map(json.dumps, lines)))
        model = f"replay/{name}"
        done = proctor_json(home, "run", "eo.jsonl", "--model", model, "--replies", "replies.jsonl")
        runs[name] = done["runs"][0]
    runs["one"] = proctor_json(home, "run", "one.jsonl", "--model", "simulator/sim")["runs"][0]
    for name in ("sim", "sim-small"):
        done = proctor_json(home, "run", "medical", "--data", "sample", "--model", f"simulator/{name}")
        runs[f"medical {name}"] = done["runs"][0]
    with serving(home, "--no-worker") as server:
        yield House(home, server, runs)


def headline(shown: str) -> str:
    """The first `0.552 [0.508, 0.595]` of what the command line shows of a run."""
    found = re.search(r"-?\d\.\d{3} \[-?\d\.\d{3}, -?\d\.\d{3}\]", shown)
    assert found, shown
    return found.group()


@pytest.mark.parametrize("name", [*REPLIES, "one", "medical sim"])
def test_all_doors_show_the_same_headline(house: House, name: str) -> None:
    run_id = house.runs[name]["run_id"]
    wanted = headline(proctor(house.home, "show", run_id).stdout)
    assert wanted in house.page(f"/runs/{run_id}")
    assert wanted in proctor(house.home, "report", run_id, "--format", "md", "-o", "-").stdout.replace(
        "| ", ""
    )
    told = house.ask(f"/benchmarking/results/{run_id}")
    (tasks,) = told["performance_data"].values()
    first = next(iter((told["overall"] or next(iter(tasks.values()))).values()))
    ends = (first["mean"], *first["ci"])
    assert [f"{float(text):.3f}" for text in re.findall(r"-?\d\.\d+", wanted)] == [
        f"{end:.3f}" for end in ends
    ]


@pytest.mark.parametrize("name", [*REPLIES, "one"])
def test_the_overview_and_the_board_have_the_interval_of_the_run(house: House, name: str) -> None:
    """A perfect run has a standard error of 0, and an interval that is not."""
    wanted = headline(proctor(house.home, "show", house.runs[name]["run_id"]).stdout)
    suite = "one.jsonl" if name == "one" else "eo.jsonl"
    assert wanted in house.page(f"/?suite={suite}")
    assert wanted in house.page(f"/leaderboard?suite={suite}")
    assert wanted in proctor(house.home, "leaderboard", "--suite", suite).stdout


def test_a_board_is_ranked_by_what_its_runs_report(house: House) -> None:
    page = Browser(house.server.url).get("/leaderboard?suite=eo.jsonl").text
    chosen = re.search(r'name="metric".*?</select>', page, re.DOTALL)
    assert chosen and re.findall(r"<option[^>]*>\s*(.*?)\s*</option>", chosen.group()) == [
        "score",
        "accuracy",
    ]
    nothing = Browser(house.server.url).get("/leaderboard?suite=glue").text
    assert all(
        f">{metric}</option>" in re.sub(r"\s*<", "<", nothing) for metric in ("macro_f1", "spearman", "em")
    )


def test_a_mean_over_tasks_is_not_called_by_the_name_of_the_accuracy_over_items(house: House) -> None:
    shown = [
        proctor(house.home, "leaderboard", "--suite", "medical", *more).stdout
        for more in ((), ("--metric", "accuracy"), ("--metric", "macro accuracy"))
    ]
    assert headline(shown[0]) == headline(shown[1]) != headline(shown[2])
    assert ", accuracy, 78 items" in shown[0]
    assert ", macro accuracy, 78 items" in shown[2]
    page = house.page("/leaderboard?suite=medical&metric=macro%20accuracy")
    assert headline(shown[2]).split()[0] in page and ", macro accuracy" in page
    ids = [house.runs[f"medical {name}"]["run_id"] for name in ("sim", "sim-small")]
    compared = proctor(house.home, "compare", *ids, "--metric", "macro accuracy").stdout
    assert "in macro accuracy (" in compared


def test_a_share_of_draws_is_written_alike(house: House) -> None:
    """That a model came first in all of 2,000 draws does not make it certain."""
    board = proctor(house.home, "leaderboard", "--suite", "eo.jsonl").stdout
    assert ">99 %" in board and "<1 %" in board and "100 %" not in board
    assert ">99 %" in house.page("/leaderboard?suite=eo.jsonl")


def test_a_latency_of_one_item_is_one_bar(house: House) -> None:
    found = Browser(house.server.url).get(f"/runs/{house.runs['one']['run_id']}").text
    (drawn,) = re.findall(r'id="latency-data">(.*?)</script>', found)
    assert json.loads(drawn)["counts"] == [1] and " to " not in json.loads(drawn)["labels"][0]


def test_what_is_left_out_of_a_list_of_items_is_said(house: House) -> None:
    page = house.page("/compare?runs=replay/right&runs=replay/inverted")
    assert "right and inverted : 40 differ, 25 shown" in page


def test_errors_of_the_api_name_what_is_wrong(house: House) -> None:
    def said(path: str, body: object = None) -> str:
        return str(house.ask(path, body)["detail"])

    job = {"project_id": 1, "suite": "glue", "config": {"provider": "olama", "model": "m"}}
    assert said("/benchmarking/run", job).startswith("Unknown provider 'olama'; choose from ollama, ")
    run_id = house.runs["one"]["run_id"]
    assert said(f"/benchmarking/results/{run_id[:8]}").endswith("not found; give the whole id, 36 characters")
    assert f"proctor resume {run_id[:8]}" in said(f"/jobs/restart/{run_id}", {})


def test_a_list_as_a_file_has_moments_to_the_second_and_tells_what_was_stopped() -> None:
    facts = dict.fromkeys(RunLine._fields) | {"provider": "p", "model": "m", "settled": 9, "planned": 9}
    line = RunLine(**facts | {"created_at": 1765140917.4, "status": Status.COMPLETED})
    record = line_record(line, {})
    assert (record["created_at"], record["completed_at"]) == ("2025-12-07T20:55:17Z", None)
    assert record["status"] == "completed"
    assert line_record(line._replace(stopped="time"), {})["status"] == "partial"
