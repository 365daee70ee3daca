"""Labels by criteria in both databases: the queue is the same for everybody, what is said is kept and counts once."""

from __future__ import annotations

import pytest
from labels_made import RUBRIC, asked, attempt, keep, queue_of, run_of, say

from proctor.errors import ConfigError, DataError, NotFound
from proctor.references import Criterion, GradingRubric
from proctor.service.labelling.progress import progress
from proctor.service.labelling.queue import renewed, shown
from proctor.service.labelling.saying import put, reveal, undo
from proctor.service.labelling.scores import label_scores, labelled
from proctor.service.labelling.taken_in import take_in
from proctor.service.labelling.written import labels_csv, open_csv
from proctor.store import Store
from proctor.store.core.walls import Reach
from proctor.store.write import graded_labels, grades, labels
from proctor.store.write.grades import KeptGrade
from proctor.store.write.labels import ReplyLabel
from proctor.types import Grade, Outcome

N = 30


@pytest.fixture
def first_of(store: Store):
    return run_of(store, "qwen3:8b", [f"first says {n}" for n in range(N)])


def test_a_label_counts_until_its_labeller_says_another_or_takes_it_back(store: Store, first_of) -> None:
    context, made = queue_of(store, first_of)
    one = made.entries[0]
    put(context, made, one.key, "correct", "pass", note="short", tags=["tone", "tone"])
    put(context, made, one.key, "correct", "fail")
    [counts] = graded_labels.current(store, first_of.id)
    assert (counts.grade, counts.drawn, counts.user, counts.attempt) == ("fail", "random", "ann", 0)
    assert undo(context, made) == one.key
    [counts] = graded_labels.current(store, first_of.id)
    assert (counts.grade, counts.note, counts.tags) == ("pass", "short", ("tone",))
    assert undo(context, made) == one.key
    assert (graded_labels.current(store, first_of.id), undo(context, made)) == ([], None)
    assert len(graded_labels.history(store, first_of.id)) == 4  # nothing was deleted


def test_labels_of_a_whole_reply_and_of_other_projects_are_none_of_a_criterion(
    store: Store, first_of
) -> None:
    whole = ReplyLabel(0, "q/1", 0, "good", None, None, (), "ann", 2.0)
    labels.add(store, first_of.id, whole)
    context, made = queue_of(store, first_of)
    say(context, made, ["fail"])
    assert len(labels.of_row(store, first_of.id, "q/1", 0)) == 1
    assert labels.counts(store, first_of.id) == ({"good": 1}, {})
    assert [each.grade for each in graded_labels.current(store, first_of.id)] == ["fail"]
    with pytest.raises(NotFound):
        graded_labels.current(store.within(Reach(frozenset({99}))), first_of.id)


def test_two_runs_of_the_same_items_have_the_same_random_part_and_a_larger_one_goes_on(store: Store) -> None:
    first = run_of(store, "qwen3:8b", [f"a {n}" for n in range(N)])
    second = run_of(store, "gpt-4o", [f"b {n}" for n in range(N)])
    small, large = (queue_of(store, first, random=n)[1] for n in (5, 20))
    assert asked(small) == asked(large)[:5] == asked(queue_of(store, second, user="bob", random=5)[1])
    assert asked(large) != [f"q/{n}" for n in range(20)]
    both = queue_of(store, second, first, random=N)[1]
    assert asked(both)[::2] == asked(both)[1::2] and asked(both)[:40:2] == asked(large)
    shown_first = [entry.place.run.id == first.id for entry in both.entries[::2]]
    assert len(set(shown_first)) == 2  # which run's reply comes first differs from item to item
    other = queue_of(store, first, second, random=N)[1]
    assert [entry.key for entry in other.entries] == [entry.key for entry in both.entries]
    assert not any(run.id[:8] in entry.key for entry in both.entries for run in (first, second))


def test_a_preference_is_meant_as_its_replies_were_shown_and_turned_for_the_other_run(store: Store) -> None:
    first = run_of(store, "qwen3:8b", [f"mine {n}" for n in range(N)])
    second = run_of(store, "gpt-4o", [f"theirs {n}" for n in range(N)])
    context, made = queue_of(store, first, second, pairwise=True)
    for entry in made.entries[:12]:
        replies = shown(context, entry).replies
        put(context, made, entry.key, "correct", "1" if replies[0].startswith("mine") else "2")
    put(context, made, made.entries[12].key, "correct", "tie")
    mine = label_scores(store, first.id, RUBRIC, against=second.id)
    theirs = label_scores(store, second.id, RUBRIC, against=first.id)
    assert sorted(each.score for each in mine.values()) == [0.5, *[1.0] * 12]
    assert sorted(each.score for each in theirs.values()) == [*[0.0] * 12, 0.5]
    assert label_scores(store, first.id, RUBRIC) == {}  # a preference is no grade of one reply
    again = queue_of(store, first, second, pairwise=True)[1]
    assert [entry.said["correct"].grade for entry in again.entries[:12]] == [
        "1" if shown(context, entry).replies[0].startswith("mine") else "2" for entry in again.entries[:12]
    ]


def test_what_is_said_after_looking_enters_no_estimate_and_what_was_said_before_stays(
    store: Store, first_of
) -> None:
    context, made = queue_of(store, first_of)
    say(context, made, ["pass"])
    kept = Grade(
        Outcome.WRONG, 0.0, "fail", grader="judge/1:model=a/b,rubric=correct#1", note="correct: fail"
    )
    row = made.entries[0].place.row
    grades.add(store, first_of.id, [KeptGrade(row.item_id, 0, 0, 3.0, kept)])
    seen = reveal(context, made, made.entries[0].key)
    assert seen.models == ("replay/qwen3:8b",)
    assert (kept.grader, "0 (correct: fail)") in seen.grades
    reveal(context, made, made.entries[1].key)
    say(context, made, ["fail", "fail"])
    said = graded_labels.current(store, first_of.id)
    assert [(each.grade, each.drawn, each.tags) for each in said] == [("fail", "chosen", ("revealed",))] * 2
    assert {place: each.score for place, each in label_scores(store, first_of.id, RUBRIC).items()} == {
        (row.item_id, 0): 1.0
    }
    found = progress(context, renewed(context, made))
    assert (found.random_done, found.revealed) == (2, 2)
    assert "2 were graded after looking: no estimate uses them" in found.told


def test_behind_the_random_part_come_replies_that_graders_disagree_about_the_widest_first(
    store: Store,
) -> None:
    run = run_of(store, "qwen3:8b", [f"says {n}" for n in range(N)])
    rest = asked(queue_of(store, run, random=N)[1])[5:]
    wide, narrow, same = rest[7], rest[2], rest[4]
    for item_id, score in ((wide, 0.0), (narrow, 0.5), (same, 1.0)):
        grade = Grade(Outcome.WRONG, score, grader="judge/1:model=a/b,rubric=correct#1")
        grades.add(store, run.id, [KeptGrade(item_id, 0, 0, 3.0, grade)])
    context, made = queue_of(store, run, random=5)
    assert (asked(made)[5:], made.random) == ([wide, narrow], 5)
    assert [entry.drawn for entry in made.entries] == [*["random"] * 5, "chosen", "chosen"]
    say(context, made, ["fail"], begin=5)
    assert label_scores(store, run.id, RUBRIC) == {}
    larger = queue_of(store, run, random=N)[1]
    place = next(entry for entry in larger.entries if entry.place.row.item_id == wide)
    assert not place.done  # chosen because of the disagreement, so it is asked again when it is drawn


def test_where_two_people_differ_the_estimate_has_their_mean_and_their_agreement_is_told(
    store: Store, first_of
) -> None:
    for user, said in (("ann", ["pass"] * 6 + ["fail"] * 4), ("bob", ["pass"] * 5 + ["fail"] * 5)):
        context, made = queue_of(store, first_of, user=user)
        say(context, made, said)
    scores = label_scores(store, first_of.id, RUBRIC)
    assert [scores[item, 0].score for item in asked(made)[:10]] == [*[1.0] * 5, 0.5, *[0.0] * 4]
    assert scores[asked(made)[5], 0].users == ("ann", "bob")
    [agreement] = progress(context, renewed(context, made)).agreement
    assert (agreement.user, agreement.other, agreement.both) == ("bob", "ann", 10)
    assert (agreement.share.value, round(agreement.kappa.value or 0, 2)) == (0.9, 0.8)
    [by] = labelled(store, first_of.id)
    assert (by.labels, by.random, by.users, by.rubric) == (20, 20, ("ann", "bob"), RUBRIC.words)


def test_all_criteria_make_a_score_and_labels_of_a_reply_that_was_replaced_none(store: Store) -> None:
    rubric = GradingRubric(
        "helpful", (Criterion("solved", "Solved?", "1-5", 3.0), Criterion("polite", "Polite?", "yes/no"))
    )
    run = run_of(store, "qwen3:8b", ["one", "two"])
    context, made = queue_of(store, run, rubric=rubric)
    entry = made.entries[0]
    put(context, made, entry.key, "solved", "4")
    assert label_scores(store, run.id, rubric) == {}
    put(context, made, entry.key, "polite", "no")
    item = entry.place.row.item_id
    assert label_scores(store, run.id, rubric)[item, 0].score == pytest.approx(0.75 * 3 / 4)
    assert label_scores(store, run.id, rubric, criterion="solved")[item, 0].score == 0.75
    with pytest.raises(ConfigError, match="one of 5, 4, 3, 2, 1, not 'pass'"):
        put(context, made, entry.key, "solved", "pass")
    assert renewed(context, made).open_at() == 1
    keep(store, run, [attempt(int(item.removeprefix("q/")), "another reply", 1.0, number=1)])
    assert queue_of(store, run, rubric=rubric)[1].open_at() == 0
    store.claim(run.id, owner="me", now=1.0, lease_s=600)
    with pytest.raises(ConfigError, match="has not ended yet"):
        queue_of(store, run, rubric=rubric)


def test_labels_go_out_and_in_once_and_a_bad_line_keeps_all_out(store: Store, first_of) -> None:
    context, made = queue_of(store, first_of)
    say(context, made, ["pass", "fail", "pass"])
    written = "".join(labels_csv(context, made))
    again = take_in(context, made, "labels.csv", written.encode())
    assert (again.added, again.known) == (0, 3)
    other = run_of(store, "gpt-4o", [f"first says {n}" for n in range(N)])
    context, theirs = queue_of(store, other)
    moved = written.replace(first_of.id, other.id)
    assert take_in(context, theirs, "labels.csv", moved.encode()).random == 3
    assert take_in(context, theirs, "labels.csv", moved.encode()).added == 0
    bad = "item_id;grade;labeller\nq/1;pass;cleo\nq/99;pass;cleo\nq/2;good;cleo\n"
    with pytest.raises(DataError) as refused:
        take_in(context, made, "bad.csv", bad.encode())
    assert "bad.csv, line 3, column 'item_id': run" in str(refused.value)
    assert "bad.csv, line 4, column 'grade': is 'good'; by correct it is one of pass, fail" in str(
        refused.value
    )
    good = take_in(context, made, "good.csv", bad.replace("q/99", "q/9").replace("good", "fail").encode())
    assert (good.added, good.random) == (3, 0)  # random only where the file says so


@pytest.mark.slow
def test_a_form_of_pairs_is_blind_and_read_as_it_was_shown(store: Store) -> None:
    first = run_of(store, "qwen3:8b", ["=HYPERLINK(1)", *(f"mine {n}" for n in range(1, N))])
    second = run_of(store, "gpt-4o", [f"theirs {n}" for n in range(N)])
    context, made = queue_of(store, first, second, pairwise=True, random=N)
    form = "".join(open_csv(context, made))
    assert first.id not in form and "qwen" not in form and "'=HYPERLINK(1)" in form
    head, *lines = form.split("\r\n")
    filled = [
        line.replace(",correct,,,", f",correct,{1 if ',mine' in line.split(',theirs')[0] else 2},,", 1)
        for line in lines
        if "mine" in line
    ]
    taken = take_in(context, made, "form.csv", "\r\n".join([head, *filled]).encode(), own=True)
    assert (taken.added, taken.random) == (N - 1, N - 1)
    scores = label_scores(store, first.id, RUBRIC, against=second.id)
    assert {each.score for each in scores.values()} == {1.0}
