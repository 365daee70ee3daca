"""What is decided between runs asked side by side: the same from live attempts and kept rows, in whatever order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asked_abreast import answered, fed, kept, side
from proctor.errors import ConfigError
from proctor.findings.looks import Decision, Path
from proctor.manifest import TaskSpec
from proctor.service.deciding import GIVEN_UP, Decider
from proctor.store import AttemptRow
from proctor.types import Attempt, Chat, Failure, Gold, Grade, Item, Outcome, Reply, Run

Rows = list[tuple[str, AttemptRow]]


def rows_of(runs: Sequence[Run], scores: Sequence[Sequence[float | None]], **other: object) -> Rows:
    return [
        (run.id, kept(place, score, **other))
        for run, mine in zip(runs, scores, strict=True)
        for place, score in enumerate(mine)
    ]


def until_over(runs: Sequence[Run], scores: Sequence[Sequence[float | None]]) -> tuple[Decision, int]:
    """Asked in step as a plan would be; the decision and how many items it took."""
    decider = Decider(runs)
    for place, each in enumerate(zip(*scores, strict=True), 1):
        for run, score in zip(runs, each, strict=True):
            decider.row(run.id, kept(place - 1, score))
        if decider.changed and decider.look().over:
            return decider.look(figures=True), place
    return decider.look(figures=True), len(scores[0])


def only(decision: Decision) -> Path:
    (path,) = decision.paths.values()
    return path


# One pair ----------------------------------------------------------------------------------------


@pytest.mark.promise("X-06")
def test_models_far_apart_are_decided_early_and_stay_so_when_more_comes_in() -> None:
    runs, scores = [side("a", 1200), side("b", 1200)], answered((0.8, 0.5), 1200)
    decision, asked = until_over(runs, scores)
    path = only(decision)
    assert asked == path.items < 0.15 * 1200 and path.ended == "decided" and path.p_value <= 0.05
    assert decision.finished == {"a", "b"} and decision.over
    assert decision.said == f"sim/a is better than sim/b, after {path.items} of 1,200 items"
    # What was under way when it stopped, and the rest if somebody asks it, change nothing of it.
    more = fed(runs, rows_of(runs, [mine[: asked + 40] for mine in scores])).look(figures=True)
    assert more == decision and fed(runs, rows_of(runs, scores)).look(figures=True) == decision


def test_equal_models_end_as_not_to_be_told_apart() -> None:
    runs, scores = [side("a", 1200), side("b", 1200)], answered((0.7, 0.7), 1200)
    decision, asked = until_over(runs, scores)
    assert only(decision).ended == "futile" and asked < 0.75 * 1200
    assert decision.said.startswith("No difference is to be expected any more between sim/a and sim/b")
    # Futile stays futile, although the rest was asked for another model's sake.
    assert only(fed(runs, rows_of(runs, [mine[:1100] for mine in scores])).look()).ended == "futile"


def test_the_last_look_decides_or_says_that_all_was_asked() -> None:
    runs = [side("a", 6), side("b", 6)]
    assert only(until_over(runs, [[1.0] * 6, [0.0] * 6])[0]).ended == "decided"
    decision, asked = until_over(runs, [[*[1.0] * 5, 0.0], [*[0.0] * 5, 1.0]])
    assert (only(decision).ended, asked) == ("whole", 6)
    assert decision.said == "No difference is shown between sim/a and sim/b, after all 6 items"


def test_nothing_is_said_before_the_first_look() -> None:
    runs = [side("a", 1200), side("b", 1200)]
    decision = fed(runs, rows_of(runs, [[1.0] * 11, [0.0] * 11])).look()
    assert only(decision).points == () and not decision.over and not decision.finished
    assert decision.said == "It is not decided between sim/a and sim/b, before the first look at 1,200 items"


# Order, and what is kept ---------------------------------------------------------------------------


@st.composite
def asked(draw: st.DrawFn) -> tuple[list[Run], Rows]:
    """Two or three models of some abilities, as far as they were asked, in some order; errors, some of them final."""
    models, items = draw(st.integers(2, 3)), draw(st.sampled_from([20, 60]))
    chance = Random(draw(st.integers(0, 2**32)))
    runs = [side(name, items) for name in "abc"[:models]]
    scores = answered([draw(st.sampled_from([0.3, 0.6, 0.9])) for _ in runs], items, chance.randrange(2**32))
    clusters = draw(st.sampled_from([items, items // 3]))
    rows: Rows = []
    for run, mine in zip(runs, scores, strict=True):
        upto = chance.randint(0, items)
        for place, score in enumerate(mine[:upto]):
            failed = chance.random() < draw(st.just(0.02))
            attempt = chance.choice([0, GIVEN_UP - 1]) if failed else 0
            cluster = f"c{place % clusters}" if clusters < items else None
            rows.append((run.id, kept(place, None if failed else score, attempt=attempt, cluster=cluster)))
    chance.shuffle(rows)
    return runs, rows


@pytest.mark.promise("X-06")
@settings(max_examples=15, deadline=None)
@given(of=asked(), looks=st.lists(st.floats(0, 1), max_size=5))
def test_what_is_decided_depends_on_the_rows_alone(of: tuple[list[Run], Rows], looks: list[float]) -> None:
    """Not on their order, nor on when was looked: live, after a kill, and on a page it is the same."""
    runs, rows = of
    live, cuts = Decider(runs), sorted({0, *(int(share * len(rows)) for share in looks), len(rows)})
    for start, end in pairwise(cuts):
        for run_id, row in rows[start:end]:
            live.row(run_id, row)
        again = sorted(rows[:end], key=lambda each: (each[0], each[1].position))
        assert live.look(figures=True) == fed(runs, again).look(figures=True)


@settings(max_examples=15, deadline=None)
@given(of=asked(), share=st.floats(0, 1))
def test_who_is_decided_stays_so_and_never_ends_later(of: tuple[list[Run], Rows], share: float) -> None:
    runs, rows = of
    before = fed(runs, rows[: int(share * len(rows))]).look()
    after = fed(runs, rows).look()
    for pair, path in before.paths.items():
        if path.ended == "decided":
            assert after.paths[pair].ended == "decided" and after.paths[pair].items <= path.items
        if path.ended == "futile":
            assert after.paths[pair].ended in ("futile", "decided")
    assert before.finished <= after.finished


def test_a_live_attempt_counts_as_its_kept_row_does() -> None:
    runs, scores = [side("a", 40), side("b", 40)], answered((0.9, 0.4), 40)
    live = Decider(runs)
    for run, mine in zip(runs, scores, strict=True):
        for place, score in enumerate(mine):
            grade = Grade(Outcome.CORRECT if score else Outcome.WRONG, score, "A" if score else "B")
            item = Item(f"q/{place}", "q", Chat(), Gold("A"), hash=f"content of {place}")
            live.settled(run.id, Attempt(item, place, 0, 0, 0.0, grade, Reply("A")))
    assert live.look(figures=True) == fed(runs, rows_of(runs, scores)).look(figures=True)


# Errors --------------------------------------------------------------------------------------------


def test_an_error_waits_until_it_was_asked_again_and_is_given_up_in_the_end() -> None:
    runs = [side("a", 100), side("b", 100)]
    scores: list[list[float | None]] = [[1.0] * 30, [0.0] * 30]
    scores[1][4] = None
    decider = fed(runs, rows_of(runs, scores))
    decision = decider.look()
    assert (
        only(decision).items == 4 and decision.waits == "sim/b failed at item 5 of 100, which is asked again"
    )
    failed = Attempt(
        Item("q/4", "q", Chat(), hash="content of 4"),
        4,
        0,
        GIVEN_UP - 1,
        0.0,
        Grade(Outcome.ERROR, None),
        failure=Failure("network", "gone"),
    )
    decider.settled("b", failed)
    decision = decider.look()
    assert only(decision).ended == "decided" and decision.waits == ""
    answer = fed(runs, [*rows_of(runs, scores), ("b", kept(4, 0.0, attempt=1))]).look()
    assert only(answer).ended == "decided"


@pytest.mark.promise("X-06")
def test_a_model_that_fails_where_it_would_be_wrong_is_not_decided_to_be_better() -> None:
    """Errors in place of 60 % of one model's wrong answers told equal models apart in 96 % of all cases."""
    runs, chance, decided = [side("a", 600), side("b", 600)], Random(5), 0
    for seed in range(8):
        mine, theirs = answered((0.7, 0.7), 600, seed)
        given_up = [None if not s and chance.random() < 0.6 else s for s in mine]
        rows = [*rows_of(runs[:1], [given_up], attempt=GIVEN_UP - 1), *rows_of(runs[1:], [theirs])]
        decided += only(fed(runs, rows).look()).ended == "decided"
    assert decided <= 1


def test_the_other_side_does_not_pay_for_errors() -> None:
    runs = [side("a", 300), side("b", 300)]
    mine, theirs = answered((0.9, 0.5), 300)
    lost = [None if place % 9 == 0 else s for place, s in enumerate(theirs)]
    rows = [*rows_of(runs[:1], [mine]), *rows_of(runs[1:], [lost], attempt=GIVEN_UP - 1)]
    assert only(fed(runs, rows).look()).ended == "decided"


# Several models ------------------------------------------------------------------------------------


def test_pairs_of_three_models_are_decided_one_by_one_and_the_last_at_the_full_level() -> None:
    runs, scores = [side(name, 1200) for name in "abc"], answered((0.85, 0.7, 0.7), 1200, seed=1)
    decision, asked = until_over(runs, scores)
    levels = {pair: path.alpha for pair, path in decision.paths.items()}
    assert decision.paths["a", "b"].ended == decision.paths["a", "c"].ended == "decided"
    assert decision.paths["b", "c"].ended == "futile"
    assert sorted(levels.values())[0] == pytest.approx(0.05 / 3) and levels["b", "c"] == pytest.approx(0.05)
    assert decision.said.startswith("sim/a is better than sim/b and sim/c; no difference is to be expected")
    assert asked == decision.paths["b", "c"].items  # the last pair ends the plan


def test_a_model_without_an_open_pair_is_asked_no_more() -> None:
    runs, scores = [side(name, 1200) for name in "abc"], answered((0.2, 0.72, 0.7), 1200)
    rows = rows_of(runs, [mine[:120] for mine in scores])
    decision = fed(runs, rows).look()
    assert decision.finished == {"a"} and not decision.over
    # The others go on without it, and what was decided of it stays.
    more = fed(runs, rows_of(runs, [scores[0][:120], scores[1][:600], scores[2][:600]])).look()
    assert more.paths["a", "b"] == decision.paths["a", "b"] and more.paths["b", "c"].items > 120


def test_a_run_that_has_failed_holds_up_its_own_pairs_alone() -> None:
    runs, scores = [side(name, 1200) for name in "abc"], answered((0.9, 0.5, 0.5), 1200)
    rows = rows_of(runs, [scores[0][:300], scores[1][:300], scores[2][:20]])
    decision = fed(runs, rows).look()
    assert decision.paths["a", "b"].ended == "decided"
    assert {decision.paths[pair].ended for pair in (("a", "c"), ("b", "c"))} == {"open"}
    assert decision.waits == "sim/c has yet to answer item 21 of 1,200"


def test_two_cells_of_one_model_are_called_by_their_runs() -> None:
    runs = [side("a", 6), side("a", 6)]
    runs[1] = replace(runs[1], id="other")
    said = fed(runs, rows_of(runs, [[1.0] * 6, [0.0] * 6])).look().said
    assert said == "sim/a (run a) is better than sim/a (run other), after all 6 items"


# What an item is -----------------------------------------------------------------------------------


def test_an_item_is_asked_when_all_its_repeats_are_and_scores_their_mean() -> None:
    runs = [side(name, 100, repeats=2) for name in "ab"]
    rows: Rows = []
    for place in range(60):
        rows += [("a", kept(place, 1.0, repeat=0)), ("a", kept(place, 0.0, repeat=1))]
        rows += [("b", kept(place, 0.0, repeat=each)) for each in (0, 1)]
    path = only(fed(runs, rows).look())
    assert path.ended == "decided" and path.points[-1].walk == pytest.approx(path.items / 2)
    assert only(fed(runs, [each for each in rows if each[1].repeat == 0]).look()).items == 0


def test_three_wordings_of_a_row_are_one_item_and_it_waits_for_all_three() -> None:
    runs = [side(name, 6, wording="all") for name in "ab"]
    rows = [
        (run.id, kept(place, right, item_id=f"q/{place // 3}@{place % 3 + 1}", cluster=f"q/{place // 3}"))
        for run, right in zip(runs, (1.0, 0.0), strict=True)
        for place in range(18)
    ]
    some = only(fed(runs, [each for each in rows if each[1].position < 14]).look())
    assert (some.of, some.items, some.points[-1].walk) == (6, 4, 4)
    assert only(fed(runs, rows).look()).items == 6


def test_the_first_few_of_each_task_are_read_evenly_over_the_tasks() -> None:
    """Asked are the larger task's first: a lead that only it shows must not pass for one of the whole."""
    runs = [side(name, {"large": 50, "small": 50}, limit=50) for name in "ab"]
    order = ["large"] * 50 + ["small"] * 50
    rows = [
        (run.id, kept(place, float((task == "large") == (run.id == "a")), task=task))
        for run in runs
        for place, task in enumerate(order)
    ]
    assert only(fed(runs, [each for each in rows if each[1].position < 50]).look()).items == 1
    path = only(fed(runs, rows).look())
    assert path.ended != "decided" and max(abs(point.walk) for point in path.points) <= 1


def test_a_score_that_is_no_mean_over_items_is_refused_with_the_tasks_that_are() -> None:
    plain = side("a", {"cola": 10, "sst2": 10})
    tasks = {
        "cola": TaskSpec("CoLA", "labels", official=("mcc",), asked=10),
        "sst2": TaskSpec("SST-2", "labels", official=("accuracy",), asked=10),
    }
    facts = replace(plain.manifest.facts, tasks=tasks, aggregate="macro")
    glue = replace(plain, manifest=replace(plain.manifest, facts=facts))
    with pytest.raises(ConfigError, match=r"CoLA: mcc\). Tasks whose scores are: sst2"):
        Decider([glue, replace(glue, id="b")])
