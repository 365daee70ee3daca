"""What the list of models is made of: totals, costs that are unknown, the latest complete run of each kind of exam."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from sqlalchemy import update
from store_examples import claimed

from opened import over
from proctor.service.watch import models as listed
from proctor.service.watch.models import catalogue, model_page, sorted_by
from proctor.store import Store
from proctor.store.core.tables import RUN, SCORE
from proctor.store.core.walls import Reach
from proctor.store.read import models
from proctor.types import Status

NOW = time.time()


def ended(
    store: Store,
    model: str,
    value: float | None = 0.5,
    *,
    cost: float | None = None,
    group: str | None = "a",
    **columns: Any,
) -> str:
    """A run that has ended with this score, written as a run's end writes it; its id."""
    run = claimed(store)
    tally = {"outcomes": {"correct": 8, "wrong": 2}, "answer_rate": 1.0, "speed": None, "cost_usd": cost}
    tally |= {"input_tokens_per_item": 3.0, "output_tokens_per_item": 2.0, "errors": {}}
    told = {
        "provider": "p",
        "model": model,
        "source": "glue",
        "status": Status.COMPLETED.value,
        "comparability": group,
        "exam": "e",
        "settled": 10,
        "owner": None,
        "lease_until": None,
        "finished_at": NOW,
        "sample": False,
        "summary": json.dumps({"tally": tally, "profile": {}}),
        **columns,
    }
    figures = {"task": "", "metric": "accuracy", "title": "GLUE", "place": 0, "value": value, "stderr": 0.1}
    figures |= {"low": 0.3, "high": 0.7, "scored": 10, "asked": 10, "method": "wilson"}
    with store.writing() as connection:
        connection.execute(update(RUN).where(RUN.c.id == run.id).values(**told))
        connection.execute(SCORE.insert(), {"run_num": store.number(run.id), **figures})
    return run.id


def test_a_cost_is_of_the_runs_that_tell_one_and_unknown_where_none_does(store: Store) -> None:
    ended(store, "paid", cost=0.2)
    ended(store, "paid", cost=0.4)
    ended(store, "paid", cost=None)
    ended(store, "free", cost=0.0)
    ended(store, "untold")
    found = {each.model: each for each in models.totals(store) if each.provider == "p"}
    paid = found["paid"]
    assert (paid.runs, paid.priced, paid.priced_items) == (3, 2, 20)
    assert paid.cost_usd == pytest.approx(0.6)
    assert (found["free"].cost_usd, found["untold"].cost_usd, found["untold"].priced) == (0.0, None, 0)
    lines = {each.short: each for each in catalogue(over(store)).models}
    assert lines["paid"].cost_per_1000 == pytest.approx(30.0)
    assert lines["untold"].cost_per_1000 is None and lines["free"].cost_per_1000 == 0.0
    page = model_page(over(store), "p", "paid")
    assert (
        page.cost_usd == pytest.approx(0.6) and page.cost_per_1000 == pytest.approx(30.0) and page.priced == 2
    )


def test_the_latest_complete_run_speaks_and_a_partial_one_never_does(store: Store) -> None:
    ended(store, "m", 0.9)
    latest = ended(store, "m", 0.6)
    ended(store, "m", 0.99, settled=7)
    ended(store, "m", 0.99, stopped="by a limit")
    ended(store, "m", 0.99, status=Status.FAILED.value)
    (score,) = [each for each in models.best(store) if each.model == "m"]
    assert (score.run_id, score.value) == (latest, 0.6)


def test_sample_rows_are_never_the_highest_nor_before_official_ones(store: Store) -> None:
    ended(store, "small", 0.4, sample=False)
    ended(store, "large", 0.7, sample=False)
    ended(store, "large", 1.0, sample=True, group="s")
    ended(store, "demo", 1.0, sample=True, group="s")
    ended(store, "other", 0.8, group="b")  # asked otherwise than most
    found = catalogue(over(store))
    lines = {each.short: each for each in found.models}
    assert lines["large"].scores["glue"].value == 0.7, "the official score, whatever the sample says"
    assert lines["demo"].scores["glue"].sample and found.highest == {"glue": "p/large"}
    assert lines["other"].scores["glue"].comparability == "b", (
        "of another group, and so not the highest of it"
    )
    order = [each.short for each in sorted_by("score:glue", list(lines.values())) if "glue" in each.scores]
    assert order == ["large", "small", "other", "demo"]
    assert [each for each in order if lines[each].scores["glue"].usual] == ["large", "small"]


def test_one_model_alone_is_the_highest_of_nothing(store: Store) -> None:
    ended(store, "m", 0.9)
    assert catalogue(over(store)).highest == {}


def test_nothing_of_other_projects_is_in_a_list(store: Store) -> None:
    ended(store, "mine", 0.4)
    ended(store, "theirs", 0.9, project_id=2, cost=1.0)
    ended(store, "mine", 0.8, project_id=2, cost=1.0)
    (line,) = catalogue(over(store.within(Reach(frozenset({1}))))).models
    assert (line.short, line.runs, line.cost_usd) == ("mine", 1, None)
    assert line.scores["glue"].value == 0.4
    page = model_page(over(store.within(Reach(frozenset({1})))), "p", "mine")
    assert len(page.runs) == 1 and page.cost_usd is None


def test_a_line_of_scores_joins_the_very_same_exam_alone(store: Store) -> None:
    for value, exam in ((0.1, "e"), (0.2, "f"), (0.3, "e"), (0.4, "e")):
        ended(store, "m", value, exam=exam)
    ended(store, "m", 0.9, sample=True, group="s")
    official, sample = listed.model_page(over(store), "p", "m").exams
    assert [each.row.value for each in official.points] == [0.1, 0.3, 0.4] and official.runs == 4
    assert sample.latest.row.sample and not sample.usual
