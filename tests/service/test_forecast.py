"""Forecasts: what past runs, prices and prompts tell about a plan, and what is said where they tell nothing."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opened import forecast
from proctor.errors import ConfigError
from proctor.manifest import Manifest
from proctor.references import ExamRef
from proctor.service.context import open_store
from proctor.service.forecast.forecast import Forecast, duration_words, forecast_document
from proctor.service.results.comparable import comparability
from proctor.service.results.documents import to_json
from proctor.service.runs.lifecycle import open_sources, resolved
from proctor.settings import Settings
from proctor.stats.power import Assumed, detectable, items_for
from proctor.store import AttemptWriter
from proctor.types import Attempt, Cell, Grade, Limits, Model, Outcome, Plan, Reply, Sampling, Status
from simulators import settings

API = Model("openai", "paid")


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    return settings(tmp_path)


@pytest.fixture
def rows(tmp_path: Path) -> ExamRef:
    return _file(tmp_path / "sums.csv", 40)


def _file(path: Path, n: int) -> ExamRef:
    lines = [f"What is {i} plus {i}?,{2 * i},{2 * i + 1},A" for i in range(n)]
    path.write_text("\n".join(["question,A,B,answer", *lines]) + "\n")
    return ExamRef("file", str(path))


def _forecast(known: Settings, *cells: Cell, **options: Any) -> Forecast:
    plan = resolved(Plan(cells), known)
    return forecast(plan, open_sources(plan, known), known, **options)


def test_what_is_said_of_differences_does_not_hold_for_mcc(home: Settings) -> None:
    def notes(task: str) -> str:
        return " ".join(
            _forecast(home, Cell(API, ExamRef("suite", "glue", rows="sample", tasks=(task,)))).notes
        )

    assert "one as small in mcc takes about four times the items" in notes("cola")
    assert "mcc" not in notes("sst2")


def _kept(known: Settings, cell: Cell, elapsed_s: float, **reply: Any) -> str:
    """A completed run of the cell as the store has it after asking: 3 of 4 answers right; the run's id."""
    plan = resolved(Plan((cell,)), known)
    cell, source = plan.cells[0], open_sources(plan, known)[0]
    manifest = Manifest(source.facts, repeats=cell.repeats)
    planned = len(source) * cell.repeats
    with open_store(known) as store:
        run = store.add_run(
            store.add_plan(plan, now=0.0),
            cell,
            source_title=source.title,
            planned=planned,
            manifest=manifest,
            comparability=comparability(manifest),
            sample=manifest.facts.sample,
            now=0.0,
        )
        store.claim(run.id, owner="test", now=0.0, lease_s=60.0)
        writer = AttemptWriter(store, run.id, owner="test", lease_s=60.0, timed=False)
        for repeat in range(cell.repeats):
            for position, item in enumerate(source.items()):
                right = (position + repeat) % 4 != 0
                outcome = Outcome.CORRECT if right else Outcome.WRONG
                said = Grade(outcome, float(right), item.target if right else "B", 1)
                writer.keep(Attempt(item, position, repeat, 0, 1.0, said, Reply("so", **reply)))
        writer.close()
        store.finish(run.id, Status.COMPLETED, owner="test", now=2.0, elapsed_s=elapsed_s)
    return run.id


def _prices(known: Settings, text: str) -> None:
    (known.home / "prices.toml").write_text(text)


def test_an_unknown_model_has_calls_a_guess_of_tokens_in_and_reasons(home, rows):
    found = _forecast(home, Cell(API, rows, repeats=2))
    cell = found.cells[0]
    assert cell.calls == found.total.calls == 80
    assert cell.seconds.value is None and cell.seconds.basis == "no earlier run of openai/paid"
    assert cell.cost_usd.value is None and "no price in" in cell.cost_usd.basis
    assert "prices.toml" in cell.cost_usd.basis
    assert cell.output_tokens.value is None
    assert cell.output_tokens.high == 80 * 512
    assert "rough guess" in cell.input_tokens.basis
    source = open_sources(Plan((Cell(API, rows),)), home)[0]
    characters = [len(item.ask.messages[0].content) for item in source.items()]
    assert cell.input_tokens.value == pytest.approx(2 * sum(characters) / 4)
    assert any("openai/paid: a first `proctor run` with --limit 20 tells" in note for note in found.notes)
    assert (
        "At 1 request a second, 80 calls take 1 min 20 s; within 30 minutes at 0.045 a second." in found.notes
    )


def test_the_last_runs_of_the_source_tell_tokens_and_time(home, rows):
    for elapsed_s, out in ((4.0, 10), (8.0, 20), (40.0, 60)):
        _kept(home, Cell(API, rows), elapsed_s, input_tokens=100, output_tokens=out)
    cell = _forecast(home, Cell(API, rows)).cells[0]
    assert (cell.input_tokens.value, cell.output_tokens.value) == (4000, 800)  # medians of 40 items each
    assert cell.seconds.value == pytest.approx(8.0)
    assert (cell.seconds.low, cell.seconds.high) == pytest.approx((4.0, 40.0))
    assert cell.seconds.basis == cell.output_tokens.basis == "its last 3 runs of this source"


def test_only_the_last_five_runs_count(home, rows):
    for elapsed_s in (4000.0, 4.0, 4.0, 4.0, 4.0, 4.0):
        _kept(home, Cell(API, rows), elapsed_s)
    seconds = _forecast(home, Cell(API, rows)).cells[0].seconds
    assert seconds.basis == "its last 5 runs of this source"
    assert (seconds.low, seconds.value, seconds.high) == pytest.approx(
        (3.2, 4.0, 4.8)
    )  # never surer than 20 %


def test_the_pace_is_that_of_an_item_so_a_longer_run_takes_longer(home, rows, tmp_path):
    _kept(home, Cell(API, replace(rows, limit=10)), 5.0)
    seconds = _forecast(home, Cell(API, rows, repeats=3)).cells[0].seconds
    assert seconds.value == pytest.approx(0.5 * 40 * 3)
    assert seconds.basis == "its last run of this source, with other repeats"


def test_other_questions_tell_output_and_time_but_not_how_long_these_prompts_are(home, rows, tmp_path):
    other = _file(tmp_path / "others.csv", 10)
    _kept(home, Cell(API, other), 5.0, input_tokens=9000, output_tokens=30)
    cell = _forecast(home, Cell(API, rows)).cells[0]
    assert cell.output_tokens.value == 30 * 40
    assert cell.output_tokens.basis == "its last run of other questions (others.csv)"
    assert cell.seconds.value == pytest.approx(0.5 * 40)
    assert "rough guess" in cell.input_tokens.basis and cell.input_tokens.value < 9000


def test_runs_that_thought_tell_about_thinking_before_those_of_the_source_that_did_not(home, rows, tmp_path):
    deep, plain = Sampling(think=True, max_tokens=8192), Sampling()
    _kept(home, Cell(API, rows, plain), 4.0, output_tokens=5)
    assert "with other max-tokens, think" in _forecast(home, Cell(API, rows, deep)).cells[0].seconds.basis
    _kept(home, Cell(API, _file(tmp_path / "others.csv", 4), deep), 4.0, output_tokens=700)
    assert _forecast(home, Cell(API, rows, deep)).cells[0].output_tokens.value == 700 * 40
    assert _forecast(home, Cell(API, rows, plain)).cells[0].output_tokens.value == 5 * 40


def test_a_thinking_model_nobody_has_asked_has_no_most_of_tokens(home, rows):
    assert _forecast(home, Cell(API, rows, Sampling(think=True))).cells[0].output_tokens.high is None


def test_another_model_of_the_same_name_tells_nothing(home, rows):
    _kept(home, Cell(Model("ollama", "paid"), rows), 4.0, output_tokens=5)
    _kept(home, Cell(Model("ollama", "openai/paid"), rows), 4.0, output_tokens=5)
    assert _forecast(home, Cell(API, rows)).cells[0].seconds.value is None


def test_prices_times_tokens_where_runs_do_not_know_their_cost(home, rows):
    _kept(home, Cell(API, rows), 4.0, input_tokens=100, output_tokens=50)
    assert _forecast(home, Cell(API, rows)).cells[0].cost_usd.value is None
    _prices(home, '["openai/paid"]\ninput = 2.0\noutput = 10.0\n')
    cost = _forecast(home, Cell(API, rows)).cells[0].cost_usd
    assert cost.value == pytest.approx(40 * (100 * 2 + 50 * 10) / 1e6)
    assert cost.basis == "prices.toml and the tokens expected"


def test_a_price_without_runs_tells_the_most_it_can_cost(home, rows):
    _prices(home, '["openai/paid"]\ninput = 0.0\noutput = 10.0\n')
    found = _forecast(home, Cell(API, rows, limits=Limits(max_cost_usd=0.1)))
    cost = found.cells[0].cost_usd
    assert cost.value is None and cost.high == pytest.approx(40 * 512 * 10 / 1e6)
    assert any(note.startswith("--max-cost $0.10 may end this early") for note in found.notes)


def test_what_runs_of_the_source_cost_wins_over_the_price_list(home, rows, tmp_path):
    _kept(home, Cell(API, rows), 4.0, input_tokens=100, output_tokens=50, cost_usd=0.25)
    _prices(home, '["openai/paid"]\ninput = 2.0\noutput = 10.0\n')
    assert _forecast(home, Cell(API, rows)).cells[0].cost_usd.value == pytest.approx(10.0)
    other = _file(tmp_path / "others.csv", 8)
    assert _forecast(home, Cell(API, other)).cells[0].cost_usd.basis == "prices.toml and the tokens expected"


def test_a_local_model_is_not_priced_and_never_free(home, rows):
    local = Cell(Model("ollama", "qwen3"), rows)
    _kept(home, local, 4.0, input_tokens=100, output_tokens=50)
    found = _forecast(home, local)
    assert found.cells[0].cost_usd.value is None and found.total.cost_usd.value is None


def test_baselines_and_replays_cost_neither_tokens_time_nor_money(home, rows):
    free = [Cell(Model("baseline", "majority"), rows), Cell(Model("replay", "x"), rows)]
    _kept(home, free[0], 4.0, cost_usd=0.0)
    for found in (_forecast(home, *free), _forecast(home, *free, Cell(API, rows))):
        for cell in found.cells[:2]:
            amounts = (cell.input_tokens, cell.output_tokens, cell.seconds, cell.cost_usd)
            assert {(each.value, each.basis) for each in amounts} == {(None, "asks no server")}
    assert _forecast(home, *free).total.seconds.basis == "asks no server"
    assert _forecast(home, *free).notes == ()


def test_totals_are_sums_and_unknown_where_one_model_is(home, rows):
    local = Cell(Model("ollama", "qwen3"), rows)
    _kept(home, Cell(API, rows), 4.0, input_tokens=100, output_tokens=50, cost_usd=0.25)
    _kept(home, local, 8.0, input_tokens=100, output_tokens=50)
    total = _forecast(home, Cell(API, rows), local, Cell(Model("baseline", "random"), rows)).total
    assert total.calls == 120
    assert (total.input_tokens.value, total.output_tokens.value) == (8000, 4000)
    assert (total.seconds.low, total.seconds.value, total.seconds.high) == pytest.approx((9.6, 12.0, 14.4))
    assert total.cost_usd.value is None and total.cost_usd.basis == "not known for ollama/qwen3"


def test_limits_that_will_bite_are_named(home, rows):
    _kept(home, Cell(API, rows), 4000.0)
    short = Limits(for_s=600.0, timeout_s=1800.0, max_cost_usd=1.0)
    notes = _forecast(home, Cell(API, rows, limits=short)).notes
    said = [note.partition(" may ")[0] for note in notes if " may " in note]
    assert said == ["--for 10 min", "openai/paid"]
    assert any("--max-cost can be kept for openai/paid only if the server" in note for note in notes)
    assert not any(" may " in note for note in _forecast(home, Cell(API, rows)).notes)


def test_power_without_runs_is_that_of_the_table(home, tmp_path):
    power = _forecast(home, Cell(API, _file(tmp_path / "q.csv", 200))).power
    points = [round(100 * each, 1) for each in (power.half_width, power.detectable, power.detectable_close)]
    assert points == [5.5, 8.2, 6.3]
    assert power.share_basis.startswith("an assumption")
    assert (power.items, power.available, power.needed) == (200, 200, None)


def test_power_takes_the_share_of_right_answers_from_runs_of_the_source(home, rows, tmp_path):
    _kept(home, Cell(API, rows), 4.0)
    power = _forecast(home, Cell(API, rows)).power
    assert power.assumed.share == 0.75
    assert power.detectable == pytest.approx(detectable(40, Assumed(share=0.75)))
    other = _file(tmp_path / "others.csv", 40)
    assert _forecast(home, Cell(API, other)).power.assumed.share == 0.8


def test_the_items_that_a_difference_takes_and_whether_there_are_as_many(home, tmp_path):
    ref = _file(tmp_path / "q.csv", 600)
    enough = _forecast(home, Cell(API, replace(ref, limit=540)), difference=0.05).power
    assert (enough.needed, enough.items, enough.available) == (531, 540, 600)
    more = _forecast(home, Cell(API, replace(ref, limit=100)), difference=0.05).power
    assert (more.needed, more.items) == (531, 100)
    never = _forecast(home, Cell(API, ref), difference=0.02).power
    assert never.needed == 3230 and never.at_best == pytest.approx(detectable(600))


@pytest.mark.parametrize("difference", [0.0, -0.1, 1.0, float("nan")])
def test_a_difference_that_cannot_be_is_refused(home, rows, difference):
    with pytest.raises(ConfigError, match="--difference"):
        _forecast(home, Cell(API, rows), difference=difference)


def test_repeats_count_only_as_far_as_earlier_repeats_varied(home, rows):
    assert _forecast(home, Cell(API, rows, repeats=4)).power.assumed == Assumed(repeats=4)
    _kept(home, Cell(API, rows, repeats=4), 4.0)  # each item is right 3 times of 4: variance 0.25
    power = _forecast(home, Cell(API, rows, repeats=4)).power
    assert power.assumed.within == pytest.approx(0.25)
    assert power.detectable == pytest.approx(detectable(40, Assumed(share=0.75), counted=False) / 2)


@pytest.mark.parametrize(
    ("aggregate", "effective", "at_best"),
    [
        ("macro", 36.0, 39.02),  # 1 / ((1/2)^2 / 90 + (1/2)^2 / 10), and with 400 for 90
        ("micro", 94.03, 410.0),  # 1 / ((400/410)^2 / 90 + (10/410)^2 / 10); all of both is a plain sample
    ],
)
def test_tasks_count_by_their_weight_in_the_score(home, tmp_path, aggregate, effective, at_best):
    _file(tmp_path / "large.csv", 400)
    _file(tmp_path / "small.csv", 10)
    tasks = "".join(f'[[tasks]]\nkey = "{key}"\nfile = "{key}.csv"\n' for key in ("large", "small"))
    (tmp_path / "own.toml").write_text(f'[suite]\nname = "own"\naggregate = "{aggregate}"\n{tasks}')
    ref = ExamRef("file", str(tmp_path / "own.toml"), limit=90)
    power = _forecast(home, Cell(API, ref), difference=0.05).power
    assert (power.items, power.available) == (100, 410)
    assert power.effective == pytest.approx(effective, abs=0.01)
    assert power.detectable == pytest.approx(detectable(effective, counted=False), rel=1e-3)
    assert power.at_best == pytest.approx(detectable(at_best, counted=at_best == 410), rel=1e-3)
    assert [(task.task, task.items) for task in power.tasks] == [("large", 90), ("small", 10)]
    assert power.tasks[1].detectable == pytest.approx(detectable(10, family=2))  # one of two tasks
    # 505 plain items would show it; in this mix that takes more than there are.
    assert power.needed == pytest.approx(505 * 410 / at_best, rel=2e-3) and power.needed > 410
    few = _forecast(home, Cell(API, ref), difference=0.23).power
    assert few.needed == math.ceil(items_for(0.23, counted=False) * 100 / effective)


def test_a_plan_of_many_models_allows_for_their_comparisons(home, tmp_path):
    ref = _file(tmp_path / "q.csv", 200)
    two = _forecast(home, Cell(API, ref), Cell(Model("openai", "second"), ref)).power
    three = _forecast(
        home, Cell(API, ref), Cell(Model("openai", "second"), ref), Cell(Model("openai", "third"), ref)
    ).power
    assert (two.comparisons, three.comparisons) == (1, 3)
    assert two.detectable == detectable(200) and three.detectable == detectable(200, family=3)


def test_one_item_of_a_task_shows_nothing(home):
    ref = ExamRef("suite", "mmlu", preset="quick", rows="sample", limit=1)
    power = _forecast(home, Cell(API, ref)).power
    assert len(power.tasks) == power.items == 57
    assert {task.detectable for task in power.tasks} == {None}


def test_wordings_are_calls_but_no_further_items(home):
    ref = ExamRef("suite", "mmlu", preset="full", rows="sample", wording="all")
    found = _forecast(home, Cell(API, ref))
    assert found.sample and found.power.items == 171 and found.cells[0].calls == 3 * 171


@pytest.mark.parametrize(
    ("low_s", "high_s", "words"),
    [
        (0.1, 59.9, "under 1 minute"),
        (900, 1800, "15-30 minutes"),
        (600, 1799, "10-30 minutes"),
        (3599, 7300, "59-122 minutes"),
        (3600, 7200, "1-2 hours"),
    ],
)
def test_durations_are_rounded_outwards(low_s: float, high_s: float, words: str) -> None:
    assert duration_words(low_s, high_s) == words


def test_the_document_says_the_whole_time_in_words(home, rows):
    assert forecast_document(_forecast(home, Cell(API, rows)))["estimated_duration"] is None
    _kept(home, Cell(API, rows), 1200.0)
    document = json.loads(to_json(forecast_document(_forecast(home, Cell(API, rows)))))
    assert document["estimated_duration"] == "16-24 minutes"
    assert document["cells"][0]["seconds"]["value"] == pytest.approx(1200.0)
    assert document["power"]["assumed"] == {
        "share": 0.75,
        "correlation": 0.5,
        "repeats": 1,
        "within": 0.0,
    }
