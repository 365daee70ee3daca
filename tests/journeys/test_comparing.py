"""Comparing, ranking and looking back, as a user does it: runs of simulated models on the sample rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import csv_of_sums, proctor, proctor_json

pytestmark = pytest.mark.slow

MODELS = ("simulator/sim", "simulator/sim-small", "baseline/majority")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two plans of three models, and one run that was asked other items."""
    folder = tmp_path_factory.mktemp("home")
    words = [word for model in MODELS for word in ("--model", model)]
    for _ in range(2):
        proctor(folder, "run", "superglue", "--data", "sample", *words)
    proctor(folder, "run", "superglue", "--data", "sample", "--limit", "5", "--model", "simulator/sim")
    return folder


def test_models_are_compared_by_name(home: Path) -> None:
    document = proctor_json(home, "compare", "simulator/sim", "sim-small", "--items", "7")
    (pair,) = document["comparisons"]
    assert (pair["first_model"], pair["second_model"]) == ("simulator/sim", "simulator/sim-small")
    assert pair["shared"] == 160 and pair["verdict"] == "first better" and pair["metric"] == "score"
    assert pair["first_value"] - pair["second_value"] == pytest.approx(pair["difference"]["value"])
    assert len(pair["tasks"]) == 8 and {d["metric"] for d in pair["tasks"]} >= {"accuracy", "f1a + em"}
    assert len(pair["differing"]) == 7
    for item in pair["differing"]:
        assert len(set(item["scores"].values())) == 2
    # The newest runs that were asked alike, not the newest of all.
    newest = proctor_json(home, "list", "--model", "simulator/sim", "--limit", "1")["runs"][0]
    assert newest["planned"] == 40 and pair["first"] != newest["run_id"]


def test_the_items_that_differ_are_those_that_the_headline_counts(home: Path) -> None:
    for metric, extras in (("score", {"axb", "axg"}), ("f1", {"axb", "axg", "boolq", "rte"})):
        words = ("compare", "simulator/sim", "baseline/majority", "--metric", metric, "--items", "1000")
        (pair,) = proctor_json(home, *words)["comparisons"]
        assert not {item["task"] for item in pair["differing"]} & extras
        assert len(pair["differing"]) == pair["only_first"] + pair["only_second"]


def test_the_table_shows_cost_and_latency_beside_quality(home: Path) -> None:
    said = proctor(home, "compare", "simulator/sim", "simulator/sim-small").stdout
    assert "per item" in said and "tokens in + out" in said and "cost" in said
    assert "simulator/sim - simulator/sim-small, on 160 shared items" in said
    assert "items like these show a difference of about" in said
    assert "simulator/sim is better than simulator/sim-small on rows like these 160" in said


def test_a_smaller_run_is_compared_on_its_items(home: Path) -> None:
    runs = proctor_json(home, "list", "--model", "simulator/sim")["runs"]
    short = next(r["run_id"] for r in runs if r["planned"] == 40)
    other = proctor_json(home, "list", "--model", "simulator/sim-small")["runs"][0]["run_id"]
    (pair,) = proctor_json(home, "compare", short, other)["comparisons"]
    assert pair["asked"] == {"first": 40, "second": 160, "both": 40} and pair["shared"] == 40
    said = proctor(home, "compare", short, other).stdout
    assert "on 40 shared items (on the 40 items that both were asked, of 40 and 160)" in said


def test_runs_that_were_asked_otherwise_are_refused_with_what_differs(home: Path) -> None:
    runs = proctor_json(home, "list", "--model", "simulator/sim")["runs"]
    whole = next(r["run_id"] for r in runs if r["planned"] == 160)
    assert "name two runs" in proctor(home, "compare", whole[:8], code=2).stderr
    unknown = proctor(home, "compare", "simulator/sim", "nobody", code=2)
    assert "nobody is no run, and no model with a complete run" in unknown.stderr


def test_times_compare_where_as_many_requests_were_sent_at_once(tmp_path: Path) -> None:
    file = csv_of_sums(tmp_path / "sums.csv", 20)
    both = ("simulator/sim", "simulator/sim-small")
    proctor(tmp_path, "run", str(file), "--model", both[0], "--model", both[1], "--parallel", "1")
    assert "--parallel" not in proctor(tmp_path, "compare", *both).stdout
    board = proctor(tmp_path, "leaderboard").stdout
    assert "each of the" not in board
    proctor(tmp_path, "run", str(file), "--model", both[1], "--parallel", "8")
    assert "run both with the same --parallel" in proctor(tmp_path, "compare", *both).stdout


def test_many_tasks_of_several_models_do_not_bury_the_verdict(tmp_path: Path) -> None:
    words = ("run", "mmlu", "--data", "sample", "--model", "baseline/majority", "--model", "baseline/random")
    said = proctor(tmp_path, *words).stdout
    assert len(said.splitlines()) < 24 and "Anatomy" not in said and said.count("STEM accuracy") == 2
    run = proctor_json(tmp_path, "list")["runs"][0]["run_id"][:8]
    assert f"57 tasks: proctor show {run}" in said and "Anatomy" in proctor(tmp_path, "show", run).stdout
    facts = proctor(tmp_path, "show", run).stdout.partition("\nRun ")[2]
    assert "data_sha256: 57 (--json has them all)" in facts and len(facts.splitlines()) < 40


def test_wordings_stand_apart_in_the_list_and_a_refusal_says_how_to_ask_all(tmp_path: Path) -> None:
    words = ("run", "mmlu", "--data", "sample", "--tasks", "anatomy", "--model", "simulator/sim")
    for wording in ("1", "2"):
        proctor(tmp_path, *words, "--wording", wording)
    listed = proctor(tmp_path, "list").stdout.splitlines()[1:]
    assert ["wording 2" in line for line in listed] == [True, False]
    refused = proctor(tmp_path, "compare", listed[0][:8], listed[1][:8], code=2).stderr
    assert "they differ in their prompts (mmlu: mmlu/w2/1 and mmlu: mmlu/1)" in refused
    assert "with --wording all every item is asked in all three wordings" in refused
    # Three askings are one item, also before anything is asked.
    assert "anatomy: 3 items, 1 model, 9 calls" in proctor(tmp_path, *words, "--wording", "all").stderr


@pytest.mark.parametrize(
    ("first", "second", "most", "code"),
    [
        ("simulator/sim", "simulator/sim-small", "0.05", 1),
        ("simulator/sim", "simulator/sim-small", "0.3", 0),  # the interval reaches below
        ("simulator/sim-small", "simulator/sim", "0.0", 0),  # a gain is no loss
        ("simulator/sim", "nobody", "0.05", 2),
    ],
)
def test_the_gate(home: Path, first: str, second: str, most: str, code: int) -> None:
    done = proctor(home, "compare", first, second, "--gate", most, code=code)
    if code < 2:
        assert ("Gate FAILED" if code else "Gate passed") in done.stdout


def test_the_leaderboard(home: Path) -> None:
    board = proctor_json(home, "leaderboard", "--suite", "superglue")
    assert [(p["model"], p["rank"], p["lowest_rank"]) for p in board["places"]] == [
        (model, rank, rank) for rank, model in enumerate(MODELS, 1)
    ]
    assert (
        board["sample"]
        and board["models"] == 3
        and sum(p["p_best"] for p in board["places"]) == pytest.approx(1)
    )
    assert [p["runs"] for p in board["places"]] == [3, 2, 2]
    assert board["places"][0]["trend"]["difference"]["value"] == 0
    assert board["left_out"] == [] and board["shared_items"] is None
    assert (
        board["note"].startswith("Ranked is the latest run alone of ")
        and "simulator/sim (of 2)" in board["note"]
    )
    said = proctor(home, "leaderboard", "--limit", "1").stdout
    assert "simulator/sim is shown to be better than each of the 2 others." in said
    assert "no real scores" in said and "baseline" not in said.partition("Ranked is")[0]


def test_a_board_by_another_metric(home: Path) -> None:
    board = proctor_json(home, "leaderboard", "--metric", "accuracy")
    assert board["metric"] == "accuracy, mean of 6 tasks" and board["places"][0]["score"]["scored"] == 120
    unknown = proctor(home, "leaderboard", "--metric", "bleu", code=2)
    assert "reports no 'bleu'; metrics: score, " in unknown.stderr
    other = proctor(home, "leaderboard", "--suite", "mine", code=2)
    assert "No complete runs of mine: nothing to rank. There are complete runs of superglue" in other.stderr


@pytest.mark.promise("A-30")
def test_history(home: Path) -> None:
    found = proctor_json(home, "history", "--model", "sim", "--days", "2")
    assert found["total"] == found["completed"] == 3 and found["success_rate"] == 1
    assert [run["planned"] for run in found["runs"]] == [40, 160, 160]
    assert [run["change"] is None for run in found["runs"]] == [True, False, True]
    said = proctor(home, "history").stdout
    assert "7 runs in the last 30 days: 7 completed, 0 failed; success rate 100 %." in said


def test_an_empty_home_says_what_to_do(tmp_path: Path) -> None:
    assert "nothing to rank" in proctor(tmp_path, "leaderboard", code=2).stderr
    assert "No runs in the last 30 days." in proctor(tmp_path, "history").stdout
