"""Pairs that are tested by their paths: what an item weighs, what is read, and what a comparison then says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asked_abreast import answered, fed, kept, side
from compared import row
from examrows import GLUE, SUPERGLUE
from proctor.findings import Comparison, Difference
from proctor.manifest import BatchFacts
from proctor.service.deciding import both_ways
from proctor.stats.compare import compare
from proctor.stats.estimates import Shape, TaskShape
from proctor.stats.metrics import Scored
from proctor.stats.sequential.measure import Measure, measure_of
from proctor.types import Limits, Outcome, Run, Status

PLAIN = Shape("Questions", {"q": TaskShape("Questions")}, worded=False)
Rows = list[Scored]


def scored(scores: Sequence[float | None], task: str = "q", **other: Any) -> Rows:
    return [row(f"{task}/{place}", score, task=task, **other) for place, score in enumerate(scores)]


def ended(name: str, planned: int, asked: int | None = None, **other: Any) -> Run:
    """A plain run that asked all of its items, or stopped after some."""
    whole = asked is None
    plain = side(name, planned)
    return replace(
        plain,
        cell=replace(plain.cell, limits=Limits()),
        settled=planned if asked is None else asked,
        status=Status.COMPLETED if whole else Status.CANCELLED,
        stopped=None if whole else "interrupted",
        finished_at=1.0,
        **other,
    )


def one_pair(mine: Rows, theirs: Rows, runs: tuple[Run, Run], **how: Any) -> Comparison:
    (found,) = compare(list(zip(runs, (mine, theirs), strict=True)), how.pop("shape", PLAIN), **how)
    return found


# What an item weighs -------------------------------------------------------------------------------


def measured(shape: Shape, asked: dict[str, int]) -> Measure:
    found = measure_of(shape, asked)
    assert isinstance(found, Measure), found
    return found


def test_items_of_a_whole_suite_weigh_the_same_and_those_of_a_part_as_their_tasks_do() -> None:
    """The headline over items weighs each task as its full size, however few of it are asked."""
    sizes = {"law": 1534, "anatomy": 135, "logic": 126}
    shape = Shape("MMLU", {key: TaskShape(key, full_size=n) for key, n in sizes.items()})
    whole = measured(shape, sizes)
    assert whole.even and whole.items == 1795 and {of.weight for of in whole.tasks.values()} == {1.0}
    few = measured(shape, dict.fromkeys(sizes, 20))
    weights = {key: of.weight for key, of in few.tasks.items()}
    assert not few.even and weights["law"] / weights["logic"] == pytest.approx(1534 / 126)
    assert sum(20 * weight for weight in weights.values()) == pytest.approx(60)
    assert few.item > 1  # a few items of the largest task may add more than of all alike
    assert measured(shape, {"law": 200, "logic": 16}).tasks.keys() == {"law", "logic"}


def test_tasks_of_a_macro_headline_weigh_the_same() -> None:
    tasks = {key: GLUE[key] for key in ("sst2", "rte", "mnli")}
    found = measured(Shape("GLUE", tasks, "macro"), {"sst2": 872, "rte": 277, "mnli": 19_647})
    assert found.tasks["rte"].weight * 277 == pytest.approx(found.tasks["mnli"].weight * 19_647)


def test_what_is_no_mean_over_items_has_no_walk() -> None:
    why = measure_of(Shape("GLUE", GLUE, "macro"), dict.fromkeys(GLUE, 10))
    assert isinstance(why, str) and "CoLA: mcc" in why and "MRPC: accuracy + f1" in why
    assert why.endswith("sst2, mnli, qnli, rte, wnli")
    assert isinstance(measure_of(Shape("S", {"multirc": SUPERGLUE["multirc"]}, "macro"), {"multirc": 9}), str)
    assert isinstance(
        measure_of(Shape("S", {"record": SUPERGLUE["record"]}, "macro"), {"record": 9}), Measure
    )
    # A diagnostic task is no part of the headline; alone it is.
    two = Shape("S", {key: SUPERGLUE[key] for key in ("rte", "axb")}, "macro")
    assert measured(two, {"rte": 9, "axb": 9}).tasks.keys() == {"rte"}
    assert isinstance(measure_of(two, {"axb": 9}), str)


# Which pairs, and what they say ----------------------------------------------------------------------


@pytest.mark.promise("X-06")
def test_only_what_was_looked_at_or_stopped_early_is_tested_by_its_path() -> None:
    mine, theirs = (scored(each) for each in answered((0.8, 0.6), 200))
    whole = ended("a", 200), ended("b", 200)
    assert one_pair(mine, theirs, whole).whole.test == "exact McNemar"
    for found in (
        one_pair(mine, theirs, whole, watched={"b"}),
        one_pair(mine[:90], theirs, (ended("a", 200, 90), whole[1])),
        one_pair(mine[:90], theirs[:90], (ended("a", 200, 90), ended("b", 200, 90))),
    ):
        assert found.whole.test.startswith("sign walk") and found.whole.path is not None
        assert found.whole.path.of == 200 and found.verdict == "first better"
    # Errors alone are no end that somebody chose.
    lost = scored([None if place == 7 else s for place, s in enumerate(answered((0.8, 0.6), 200)[0])])
    assert one_pair(lost, theirs, (replace(whole[0], settled=199), whole[1])).whole.path is None


def test_a_pair_that_stopped_early_is_scored_on_what_was_read_at_its_last_look() -> None:
    mine, theirs = answered((0.7, 0.65), 1200)
    found = one_pair(scored(mine[:250]), scored(theirs[:300]), (ended("a", 1200, 250), ended("b", 1200, 300)))
    whole = found.whole
    assert whole.path is not None and whole.path.items == whole.shared == 240 and whole.path.ended == "open"
    assert whole.first == pytest.approx(sum(mine[:240]) / 240)
    assert whole.estimate.value == pytest.approx((sum(mine[:240]) - sum(theirs[:240])) / 240)
    assert whole.path.points[-1].walk == sum(mine[:240]) - sum(theirs[:240])
    assert found.verdict == "no difference shown"


def test_before_the_first_look_nothing_is_shown() -> None:
    mine, theirs = scored([1.0] * 11), scored([0.0] * 11)
    found = one_pair(mine, theirs, (ended("a", 1200, 11), ended("b", 1200, 11))).whole
    assert found.path is not None and found.path.points == () and found.p_value == 1.0
    assert (found.estimate.low, found.estimate.high) == (-1.0, 1.0)


@settings(max_examples=12, deadline=None)
@given(
    abilities=st.tuples(st.sampled_from([0.4, 0.6, 0.8]), st.sampled_from([0.4, 0.6, 0.8])),
    seed=st.integers(0, 2**20),
    upto=st.integers(1, 120),
    hung=st.sampled_from([1, 3]),
)
def test_the_interval_leaves_out_0_where_better_is_said_and_turning_a_pair_turns_signs(
    abilities: tuple[float, float], seed: int, upto: int, hung: int
) -> None:
    sides = [
        [
            replace(each, cluster=f"c{place // hung}" if hung > 1 else None)
            for place, each in enumerate(scored(mine[:upto]))
        ]
        for mine in answered(abilities, 120, seed)
    ]
    asked = None if upto == 120 else upto
    runs = ended("a", 120, asked), ended("b", 120, asked)
    found = one_pair(sides[0], sides[1], runs, watched={"a"}).whole
    other = one_pair(sides[1], sides[0], runs[::-1], watched={"a"}).whole
    e, f = found.estimate, other.estimate
    assert (e.value, e.low, e.high) == pytest.approx((-f.value, -f.high, -f.low))
    assert found.p_value == other.p_value
    assert e.low is not None and e.high is not None and found.path is not None
    if found.path.ended == "decided" and upto < 120:
        assert found.verdict == ("first better" if e.low > 0 else "second better")
    if found.verdict in ("first better", "second better"):
        assert e.low > 0 or e.high < 0


@pytest.mark.promise("X-06")
def test_a_complete_pair_that_was_looked_at_must_be_told_apart_by_all_of_its_items_too() -> None:
    """A lead in the first tenth that the rest takes back: whoever looked then saw a better model, and it is none."""
    first = [1.0] * 40 + [0.0, 1.0] * 180
    second = [0.0] * 12 + [1.0] * 28 + [1.0, 0.0] * 174 + [1.0] * 12
    found = one_pair(scored(first), scored(second), (ended("a", 400), ended("b", 400)), watched={"a", "b"})
    path = found.whole.path
    assert path is not None and path.p_value <= 0.05  # it had crossed
    assert found.whole.p_value is not None and found.whole.p_value > 0.05
    assert found.verdict == "no difference shown"


def test_what_was_decided_side_by_side_is_read_no_further_by_a_comparison() -> None:
    runs, scores = [side("a", 1200), side("b", 1200)], answered((0.8, 0.6), 1200)
    rows = [
        (run.id, kept(place, s))
        for run, mine in zip(runs, scores, strict=True)
        for place, s in enumerate(mine[:400])
    ]
    decision = fed(runs, rows).look(figures=True)
    (path,) = decision.paths.values()
    assert path.ended == "decided" and path.items < 300
    stopped = tuple(replace(run, stopped="decided", settled=400) for run in runs)
    mine, theirs = (
        [row(f"q/{place}", s, content=f"content of {place}") for place, s in enumerate(each[:400])]
        for each in scores
    )
    for turned in (1, -1):
        found = one_pair(*(mine, theirs)[::turned], stopped[::turned], paths=both_ways(decision)).whole
        assert found.shared == path.items and found.p_value == pytest.approx(path.p_value)
        assert found.path is not None and found.path.points[-1].walk == turned * path.points[-1].walk
        assert found.verdict == ("first better" if turned == 1 else "second better")


def test_a_score_without_a_walk_is_not_called_better_where_somebody_looked() -> None:
    labels = TaskShape("Labels", official=("mcc",), labels=("no", "yes"), kind="labels")
    shape = Shape("Labels", {"q": labels}, worded=False)
    chance = Random(1)
    targets = [chance.choice(["no", "yes"]) for _ in range(200)]
    wrong = {"no": "yes", "yes": "no"}
    sides = [
        [
            row(f"q/{place}", float(right), target=target, answer=target if right else wrong[target])
            for place, (target, right) in enumerate(zip(targets, rights, strict=True))
        ]
        for rights in answered((0.9, 0.6), 200)
    ]
    runs = ended("a", 200), ended("b", 200)
    assert one_pair(*sides, runs, shape=shape).verdict == "first better"
    found = one_pair(*sides, runs, shape=shape, watched={"a"})
    assert found.verdict == "no difference shown" and found.whole.path is None
    assert found.whole.withheld.startswith(
        "the runs were looked at while they were at work, and a score that is no"
    )


def test_tasks_of_a_pair_that_was_looked_at_are_better_by_their_own_paths_alone() -> None:
    shape = Shape("Two", {key: TaskShape(key, full_size=150) for key in "xy"}, worded=False)
    sides = [
        [
            *scored(answered((0.9, 0.5), 150, seed)[place], "x"),
            *scored(answered((0.6, 0.6), 150, seed + 1)[place], "y"),
        ]
        for seed, place in ((1, 0), (1, 1))
    ]
    plain = side("a", {"x": 150, "y": 150})
    runs = tuple(
        replace(plain, id=name, settled=300, finished_at=1.0, cell=ended(name, 300).cell) for name in "ab"
    )
    tasks = {each.task: each for each in one_pair(*sides, runs, shape=shape, watched={"a"}).tasks}
    assert tasks["x"].verdict == "first better" and tasks["x"].path is not None and tasks["x"].path.of == 150
    assert tasks["y"].verdict != "first better"


# Errors, and orders that are none ------------------------------------------------------------------


@pytest.mark.promise("X-06")
def test_better_is_withheld_where_errors_of_the_better_side_counted_as_wrong_undo_it() -> None:
    chance = Random(3)
    mine, theirs = answered((0.7, 0.7), 1200, 1)
    failing = [None if not s and chance.random() < 0.6 else s for s in mine]
    lost = failing.count(None)
    runs = replace(ended("a", 1200), settled=1200 - lost), ended("b", 1200)
    found = one_pair(scored(failing), scored(theirs), runs, watched={"a"})
    assert found.verdict == "no difference shown" and found.whole.p_value is not None
    assert found.whole.p_value < 0.05  # which leaving them out would call better
    assert (
        found.whole.withheld
        == f"{lost} replies have no score for sim/a (errors); counted as wrong they would undo it"
    )
    # Errors of the other side take nothing from the better one.
    other = one_pair(
        scored(answered((0.9, 0.6), 1200)[0]), scored(failing), (ended("a", 1200), runs[0]), watched={"a"}
    )
    assert other.verdict == "first better" and other.whole.withheld == ""


def test_a_beginning_in_the_order_of_a_file_is_no_sample_of_it() -> None:
    mine, theirs = (scored(each[:150]) for each in answered((0.9, 0.6), 400))
    runs = [ended(name, 400, 150) for name in "ab"]
    facts = BatchFacts(file="r.jsonl", tasks=runs[0].manifest.facts.tasks, order="file")
    unfair = tuple(replace(run, manifest=replace(run.manifest, facts=facts)) for run in runs)
    found = one_pair(mine, theirs, unfair)
    assert found.verdict == "no difference shown"
    assert found.whole.withheld.endswith("its beginning is no fair sample of it")
    mixed = tuple(
        replace(run, manifest=replace(run.manifest, facts=replace(facts, order="random"))) for run in runs
    )
    assert one_pair(mine, theirs, mixed).verdict == "first better"


def test_a_smaller_exam_stops_within_a_larger_one() -> None:
    """The smaller run's items are the first of the larger's order; the walk is over what both were to be asked."""
    mine, theirs = answered((0.8, 0.5), 500)
    found = one_pair(scored(mine[:120]), scored(theirs), (ended("a", 200, 120), ended("b", 500))).whole
    assert found.path is not None and (found.path.of, found.path.items) == (200, 120)
    late = one_pair(scored(mine[:200]), scored(theirs[:90]), (ended("a", 200), ended("b", 500, 90))).whole
    assert late.path is not None and (late.path.of, late.path.items) == (200, 90)


def test_repeats_that_are_missing_end_what_is_read() -> None:
    twice = [replace(each, repeat=again) for each in scored([1.0] * 60) for again in (0, 1)]
    none = [
        replace(each, repeat=again, score=0.0, outcome=Outcome.WRONG)
        for each in scored([0.0] * 60)
        for again in (0, 1)
    ]
    runs = tuple(
        replace(run, cell=replace(run.cell, repeats=2), planned=200)
        for run in (ended("a", 100, 80), ended("b", 100, 80))
    )
    half = [each for each in twice if each.repeat == 0 or int(each.item.partition("/")[2]) < 20]
    found: Difference = one_pair(half, none, runs).whole
    assert found.path is not None and found.path.items == 20


def test_tasks_that_no_item_was_asked_of_yet_count_in_what_is_planned() -> None:
    sizes = {"x": 150, "y": 50}
    shape = Shape("Two", {key: TaskShape(key, full_size=n) for key, n in sizes.items()}, worded=False)
    runs = tuple(
        replace(side(name, sizes), settled=60, stopped="interrupted", finished_at=1.0) for name in "ab"
    )
    mine, theirs = (scored(each, "x") for each in answered((0.9, 0.5), 60))
    found = one_pair(mine, theirs, runs, shape=shape).whole
    assert found.path is not None and (found.path.of, found.path.items) == (200, 60)


def test_a_row_whose_wordings_may_still_come_is_not_read() -> None:
    shape = Shape("Worded", {"q": TaskShape("q")}, worded=True)
    rows = [
        [
            row(f"q/{place}@{wording}", right, cluster=f"q/{place}")
            for place in range(20)
            for wording in (1, 2, 3)
        ]
        for right in (1.0, 0.0)
    ]
    runs = tuple(
        replace(side(name, 100, wording="all"), settled=50, stopped="interrupted", finished_at=1.0)
        for name in "ab"
    )
    found = one_pair(rows[0][:50], rows[1], runs, shape=shape).whole  # the 17th row lacks a wording
    assert found.path is not None and found.path.items == 16
    assert found.path.points[-1].walk == pytest.approx(16)
