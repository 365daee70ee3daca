"""What a judge is worth once people have labelled some of the same replies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import sqrt
from statistics import mean, variance

import pytest
from labels_made import run_of
from worth_made import CORRECT, TWO, judge_says, passes, people_say, said_by_people

from opened import over
from proctor.errors import ConfigError, NotFound
from proctor.service.checked.estimating import score_of
from proctor.service.checked.found import WHOLE
from proctor.service.checked.reading import checked_run
from proctor.service.checked.words import agreements, labels_words
from proctor.service.checked.worth import judged_comparison, judged_comparisons, judged_result
from proctor.service.judging.kept_judges import judge_told
from proctor.store import Store
from proctor.store.write import graded_labels

T_59 = 2.001  # 0.975 quantile of Student's t with 59 degrees of freedom, of a printed table
N, LABELLED = 200, 60
# A judge that errs in every tenth reply, and people's grades of the first 60: right in two of three.
TRUTH = [float(i % 3 != 0) for i in range(N)]
HEARD = [1.0 - each if i % 10 == 0 else each for i, each in enumerate(TRUTH)]
OTHER = [float(i % 4 != 1) for i in range(N)]
OTHER_HEARD = [1.0 - each if i % 10 == 5 else each for i, each in enumerate(OTHER)]


@pytest.fixture
def lite(sqlite_url: str) -> Iterator[Store]:
    """One database is enough for what reckons; what it reads is tested on both."""
    store = Store.open(sqlite_url)
    yield store
    store.close()


def replies(store: Store, model: str = "one", n: int = N):  # type: ignore[no-untyped-def]  # a Run of the store
    return run_of(store, model, ["said"] * n)


def by_hand(people: list[float], judge: list[float], rest: list[float]) -> tuple[float, float]:
    """The corrected mean and its standard error, as the paper has them, with one disagreement added each way."""
    n, others = len(people), len(rest)
    told, said = mean(people), mean(judge)
    both = sum((y - told) * (f - said) for y, f in zip(people, judge, strict=True)) / (n - 1)
    weight = min(1.0, max(0.0, both / ((1 + n / others) * variance([*judge, *rest]))))
    left = [y - weight * f for y, f in zip(people, judge, strict=True)]
    spread = (sum((each - mean(left)) ** 2 for each in left) + 2) / (n + 1)
    return told + weight * (mean(rest) - said), sqrt(spread / n + weight**2 * variance(rest) / others)


def test_the_score_stands_three_times_and_one_is_to_be_quoted(lite: Store) -> None:
    run = replies(lite)
    judge_says(lite, run, passes(HEARD))
    people_say(lite, run, said_by_people(TRUTH[:LABELLED]))
    found = judged_result(over(lite), run.id)
    whole = found.whole
    value, error = by_hand(TRUTH[:LABELLED], HEARD[:LABELLED], HEARD[LABELLED:])
    assert whole.judge.value == pytest.approx(mean(HEARD)) and whole.judge.asked == N
    assert whole.people is not None and whole.people.value == pytest.approx(mean(TRUTH[:LABELLED]))
    assert whole.corrected is not None and whole.corrected.value == pytest.approx(value)
    assert whole.corrected.high == pytest.approx(value + T_59 * error, abs=1e-4)
    assert whole.quote == "corrected" and whole.labels == LABELLED and whole.quoted == whole.corrected
    assert f"corrected by people's labels of {LABELLED} replies" in found.sentence
    (agreed,) = agreements(found)
    right = sum(y == f for y, f in zip(TRUTH[:LABELLED], HEARD[:LABELLED], strict=True))
    assert agreed.found.share.value == pytest.approx(right / LABELLED)
    passed = [y for y, f in zip(TRUTH[:LABELLED], HEARD[:LABELLED], strict=True) if f]
    assert agreed.found.grades[0] == "pass" and agreed.found.judge_right[0].value == pytest.approx(
        mean(passed)
    )
    assert sum(map(sum, agreed.found.table)) == LABELLED


def test_without_labels_it_says_that_nobody_has_checked_the_judge(lite: Store) -> None:
    one, other = replies(lite), replies(lite, "other")
    for run, said in ((one, [1.0] * N), (other, HEARD)):
        judge_says(lite, run, passes(said))
    found = judged_result(over(lite), one.id)
    assert found.whole.people is None and found.whole.corrected is None and found.whole.quote == "judge"
    assert "nobody has checked this judge" in found.sentence
    assert f"`proctor label {one.id[:8]}`" in found.sentence
    pair = judged_comparison(over(lite), one.id, other.id)
    assert (pair.verdict, pair.whole.judge_verdict) == ("no difference shown", "first better")
    assert "That decides nothing" in pair.sentence and "`proctor label" in pair.sentence


def test_labels_that_do_not_stand_for_all_are_in_no_estimate(lite: Store) -> None:
    run = replies(lite)
    judge_says(lite, run, passes(HEARD))
    people_say(lite, run, said_by_people(TRUTH[:LABELLED]))
    plain = judged_result(over(lite), run.id)
    people_say(lite, run, said_by_people([0.0] * 10, LABELLED), drawn="chosen")
    people_say(lite, run, said_by_people([0.0] * 7, 80), attempt=1)  # of replies that were asked again since
    people_say(lite, run, said_by_people([0.0] * 5, 90), rubric=TWO)
    people_say(lite, run, said_by_people([0.0] * 4), drawn="chosen")  # said again after looking
    found = judged_result(over(lite), run.id)
    assert (found.whole.people, found.whole.corrected) == (plain.whole.people, plain.whole.corrected)
    used = found.labels
    assert (used.random, used.chosen, used.stale, used.other_rubric) == (LABELLED, 10, 7, 5)
    (agreed,) = agreements(found)
    assert (agreed.random, agreed.chosen) == (LABELLED, 10)
    assert agreed.found == agreements(plain)[0].found
    assert agreed.of_chosen is not None and agreed.of_chosen.value == pytest.approx(1 - mean(HEARD[60:70]))
    assert len(list(labels_words(used))) == 3


def test_what_two_people_say_of_one_reply_is_one_label_of_their_mean(lite: Store) -> None:
    run = replies(lite)
    judge_says(lite, run, passes(HEARD))
    people_say(lite, run, said_by_people([1.0] * LABELLED))
    people_say(lite, run, said_by_people([0.0] * 30), user="bob")
    found = judged_result(over(lite), run.id)
    assert found.whole.labels == LABELLED and found.labels.labellers == ("ann", "bob")
    assert found.whole.people is not None and found.whole.people.value == pytest.approx(0.75)
    assert agreements(found)[0].random == LABELLED + 30


def test_criteria_have_figures_of_their_own_and_weigh_in_the_whole(lite: Store) -> None:
    run = replies(lite, n=80)
    said = [f"correct: {'pass' if i % 2 else 'fail'}; tone: {1 + i % 5}" for i in range(80)]
    scores = [((i % 2) + 3 * (i % 5) / 4) / 4 for i in range(80)]
    judge_says(lite, run, said, rubric=TWO, scores=scores)
    people_say(lite, run, dict.fromkeys(range(60), "pass"), rubric=TWO)
    people_say(lite, run, dict.fromkeys(range(50), "5"), rubric=TWO, criterion="tone")
    forgotten = judged_result(over(lite), run.id)  # no run of a judge is here that knows the weights
    assert (forgotten.whole.labels, forgotten.criteria[0].labels) == (0, 60)
    keep_rubric(lite, run.id)
    found = judged_result(over(lite), run.id)
    correct, tone = found.criteria
    assert (correct.criterion, correct.labels, tone.criterion, tone.labels) == ("correct", 60, "tone", 50)
    assert correct.judge.value == pytest.approx(0.5) and tone.judge.value == pytest.approx(0.5)
    assert found.whole.labels == 50  # who did not grade all criteria is not in the whole
    assert found.whole.people is not None and found.whole.people.value == pytest.approx(1.0)
    assert found.whole.judge.value == pytest.approx(mean(scores))


def keep_rubric(store: Store, run_id: str) -> None:
    """A judging of that rubric, from which it is read."""
    from worth_made import JUDGE

    from proctor.manifest import UNOPENED
    from proctor.references import JudgingRef
    from proctor.types import Cell, Plan

    cell = Cell(JUDGE, JudgingRef("open.csv", run_id, rubric=TWO))
    plan_id = store.add_plan(Plan((cell,)), now=1.0)
    facts = {"manifest": UNOPENED, "comparability": None, "sample": False, "now": 1.0}
    store.add_run(plan_id, cell, source_title="judging", planned=1, **facts)  # type: ignore[arg-type]  # by name


@pytest.mark.promise("X-09")
def test_the_difference_is_corrected_and_the_sentence_says_what_the_labels_bought(store: Store) -> None:
    one, other = replies(store), replies(store, "other")
    for run, heard, truth in ((one, [1.0] * 40 + HEARD[40:], TRUTH), (other, OTHER_HEARD, OTHER)):
        judge_says(store, run, passes(heard))
        people_say(store, run, said_by_people(truth[:LABELLED]))
    people_say(
        store, one, said_by_people([1.0] * 20, LABELLED)
    )  # of one run alone: no difference of these is known
    found = judged_comparison(over(store), one.id, other.id)
    told = [a - b for a, b in zip(TRUTH, OTHER, strict=True)]
    said = [a - b for a, b in zip([1.0] * 40 + HEARD[40:], OTHER_HEARD, strict=True)]
    value, error = by_hand(told[:LABELLED], said[:LABELLED], said[LABELLED:])
    whole = found.whole
    assert whole.labels == LABELLED == found.labels.random
    assert whole.corrected is not None and whole.corrected.value == pytest.approx(value)
    assert whole.corrected.low == pytest.approx(value - T_59 * error, abs=1e-4)
    assert whole.people is not None and whole.people.value == pytest.approx(mean(told[:LABELLED]))
    assert whole.judge.value == pytest.approx(mean(said))
    assert whole.quote == "corrected" and found.sentence.startswith(
        f"Corrected by people's labels of {LABELLED} items:"
    )
    assert "without the judge the same labels would give an interval" in found.sentence
    back = judged_comparison(over(store), other.id, one.id)
    assert back.whole.corrected is not None and back.whole.corrected.value == pytest.approx(-value)


@pytest.mark.slow
def test_of_several_runs_all_pairs_are_adjusted_together(lite: Store) -> None:
    runs = [replies(lite, name) for name in ("one", "two", "three")]
    for run, truth in zip(runs, (TRUTH, OTHER, [0.0] * N), strict=True):
        judge_says(lite, run, passes(truth))
        people_say(lite, run, said_by_people(truth[:LABELLED]))
    found = judged_comparisons(over(lite), [run.id for run in runs])
    p = [pair.whole.p_value for pair in found]
    assert len(found) == 3 and all(pair.whole.comparisons == 3 for pair in found)
    assert max(each.whole.adjusted_p or 0 for each in found) >= max(each or 0 for each in p)
    assert min(each.whole.adjusted_p or 0 for each in found) == pytest.approx(
        3 * min(each or 0 for each in p)
    )
    assert [pair.verdict for pair in found][1:] == ["first better", "first better"]


def test_preferences_are_shares_of_wins_that_labels_of_either_run_correct(lite: Store) -> None:
    one, other = replies(lite), replies(lite, "other")
    words = [("1", "tie", "2")[i % 3 if i % 2 else 0] for i in range(N)]
    judge_says(lite, one, [f"correct: {each}" for each in words], against=other)
    unchecked = judged_comparison(over(lite), one.id, other.id)
    assert f"`proctor label {one.id[:8]} {other.id[:8]} --pairwise`" in unchecked.sentence
    people_say(lite, one, dict(enumerate(words[:30])), against=other.id)
    turned = {"1": "2", "2": "1", "tie": "tie"}
    people_say(
        lite, other, {i: turned[words[i]] for i in range(30, LABELLED)}, against=one.id
    )  # as that run's reply has it
    found = judged_comparison(over(lite), one.id, other.id)
    share = mean({"1": 1.0, "tie": 0.5, "2": 0.0}[each] for each in words)
    assert found.pairwise and found.whole.equal == 0.5 and found.whole.labels == LABELLED
    assert found.whole.judge.value == pytest.approx(share)
    assert found.whole.people is not None
    assert found.whole.people.value == pytest.approx(
        mean({"1": 1.0, "tie": 0.5, "2": 0.0}[each] for each in words[:LABELLED])
    )
    assert found.verdict == "first better" and "of the pairs" in found.sentence


def test_replies_that_hang_together_count_as_clusters(lite: Store) -> None:
    run = replies(lite, n=120)
    name = judge_told(judge_says(lite, run, passes([float(i % 8 < 4) for i in range(120)])))
    assert name is not None
    people_say(lite, run, said_by_people([float(i % 8 < 4) for i in range(60)]))
    apart = checked_run(lite, run, name)
    joined = tuple(replace(each, cluster=f"text {int(each.item_id[2:]) // 4}") for each in apart.replies)
    alone, together = (score_of(each, WHOLE) for each in (apart, replace(apart, replies=joined)))
    assert alone.corrected is not None and together.corrected is not None
    assert together.corrected.value == alone.corrected.value and "over clusters" in together.corrected.method
    assert together.judge.high is not None and alone.judge.high is not None
    assert together.judge.high > alone.judge.high  # four replies to a text say no more than one


def test_a_judge_that_is_not_there_or_not_the_only_one_is_named(lite: Store) -> None:
    run = replies(lite, n=5)
    with pytest.raises(NotFound, match="--grader judge --judge MODEL"):
        judged_result(over(lite), run.id)
    judge_says(lite, run, passes([1.0] * 5))
    judge_says(lite, run, ["tone: 5"] * 5, rubric=TWO, scores=[1.0] * 5)
    with pytest.raises(ConfigError, match=r"several judges: judge/1:.*two#"):
        judged_result(over(lite), run.id)
    assert (
        judged_result(over(lite), run.id, f"judge/1:model=openai/judge,rubric={CORRECT.words}").whole.labels
        == 0
    )
    assert not graded_labels.current(lite, run.id)
