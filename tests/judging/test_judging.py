"""A model judges the replies of a run: votes, failures, panels, and nothing is asked twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from judge_worlds import JUDGE, World, world

from proctor.errors import ConfigError, NotFound
from proctor.references import Criterion, GradingRubric
from proctor.service.checked.summary import (
    JudgingSummary,
    judges_agree,
    judging_summary,
    summary_lines,
)
from proctor.service.evidence.leaderboard import leaderboard
from proctor.service.grades.named import kept_name
from proctor.service.grades.view import GradedView, graded_result
from proctor.service.judges.forecast import judging_lines
from proctor.service.judges.todo import judging_todo
from proctor.service.judges.wanted import JudgingWanted
from proctor.service.judging.panel import panels
from proctor.service.results.comparable import check_comparable
from proctor.service.runs.lifecycle import list_runs, open_sources, resume
from proctor.store.admin import pruning
from proctor.types import Outcome, Run

REPLIES = [
    "right [strict=pass]",
    "mostly [strict=pass,fail,pass]",
    "wrong [strict=fail]",
    "odd [strict=garbled]",
    "long [strict=cut]",
    "bad [strict=refused]",
    "",
    "unlucky [strict=broken,pass,pass]",
    "torn [strict=pass,fail,garbled]",
    None,
]


@dataclass(frozen=True)
class Case:
    """Ten replies judged with three votes, of which one reply failed and was healed by a resume."""

    made: World
    run: Run
    judging: Run
    before: dict[str, object]
    first: JudgingSummary
    summary: JudgingSummary
    calls: int


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    with world(tmp_path_factory.mktemp("judged")) as made:
        run = made.run(REPLIES)
        (judging,) = made.judged(run, votes=3).runs
        before = dict(made.grades(run))
        with made.context() as context:
            first = judging_summary(context.store, judging)
            made.broken[0] = False
            resume(context, [judging.id])
            summary = judging_summary(context.store, context.store.run(judging.id))
        yield Case(made, run, judging, before, first, summary, len(made.asked))


def test_the_majority_of_votes_counts_and_a_judge_that_fails_leaves_a_reply_ungraded(case: Case) -> None:
    given = case.made.grades(case.run)
    assert {name: each.score for name, each in given.items()} == {
        "q0": 1.0,
        "q1": 1.0,
        "q2": 0.0,
        "q6": 0.0,
        "q7": 1.0,
    }
    assert given["q1"].note == "correct: pass, fail, pass"
    assert (
        given["q6"].outcome is Outcome.NO_ANSWER
        and given["q6"].note == "empty reply: there is nothing to judge"
    )
    assert "q7" not in case.before, "a vote failed, and the reply has a grade"


def test_what_a_judge_did_not_say_is_told_apart(case: Case) -> None:
    assert case.first.lost == {"unreadable": 4, "cut by the length limit": 3, "refused": 3, "failed": 1}
    assert case.summary.lost == {"unreadable": 4, "cut by the length limit": 3, "refused": 3}
    assert (case.summary.graded, case.summary.unasked) == (5, 1)
    assert (case.summary.unread, case.summary.undecided) == (3, 1)
    assert case.summary.votes is not None and case.summary.votes.scored == 8
    with case.made.context() as context:
        lines = "\n".join(summary_lines(context.store, context.store.run(case.judging.id)))
    assert "accuracy 0.600" in lines and "5 replies are graded (1 of them were empty" in lines
    assert "3 lack a verdict that could be read, of 1 the votes are split" in lines


def test_a_resume_asks_only_what_failed_and_the_same_command_again_asks_nothing(case: Case) -> None:
    assert case.calls == 3 * 8 + 1
    again = case.made.judged(case.run, votes=3)
    assert [run.id for run in again.runs] == [case.judging.id] and not again.outcomes
    assert len(case.made.asked) == case.calls


def test_the_judged_run_keeps_its_own_grades_and_the_judge_is_on_no_board(case: Case) -> None:
    with case.made.context() as context:
        scores = {row.item_id: row.score for row in context.store.latest(case.run.id)}
        assert {name for name, score in scores.items() if score is not None} == {"open/q6"}, (
            "empty, and wrong as ever"
        )
        judging = context.store.run(case.judging.id)
        assert judging.comparability is None and judging.source_title == "judging of open.jsonl"
        with pytest.raises(ConfigError, match=r"is a judge's: its verdicts are grades of run"):
            check_comparable([case.run, judging])
        with pytest.raises(NotFound, match="No complete runs yet"):  # that of the replies lacks some
            leaderboard(context)
        (score,) = [each.scores[0] for each in list_runs(context) if each.run.id == judging.id]
        assert score.metric == "mean" and score.estimate.scored == 5


def test_judge_means_the_only_judge_of_single_replies(case: Case) -> None:
    with case.made.context() as context:
        name = kept_name(context.store, case.run, "judge")
        assert name == "judge/1:model=openai/strict,rubric=correct#a5172172,votes=3"
        assert kept_name(context.store, case.run, JUDGE) == name
        shown = graded_result(context, case.run.id, "judge")
        assert shown.scores[0].metric == "accuracy" and shown.run.manifest.facts.graders == {"open": name}
        with pytest.raises(NotFound, match=r"--grader judge --judge PROVIDER/NAME"):
            kept_name(context.store, case.run, "panel")


@pytest.mark.slow
def test_runs_by_different_judges_are_refused_with_the_command_that_mends_it(case: Case) -> None:
    other = case.made.run(["fine [strict=pass]"], "other")
    case.made.judged(other, rubric=GradingRubric("kind", (Criterion("kind", "Is it kind?"),)))
    with case.made.context() as context:
        views = [GradedView(context.store, "judge").shown(run).run for run in (case.run, other)]
        assert views[0].comparability != views[1].comparability
        with pytest.raises(ConfigError) as refused:
            check_comparable(views)
    mends = f"`proctor grade {other.id[:8]} --grader judge --judge openai/strict --votes 3`"
    assert mends in str(refused.value)


@pytest.mark.slow
def test_a_panel_takes_the_majority_of_several_judges_and_says_how_far_they_agree(case: Case) -> None:
    replies = [
        "a [strict=pass][mild=pass][third=fail]",
        "b [strict=fail][mild=pass][third=fail]",
        "c [third=garbled]",
        "",  # wrong by all, and asked of none
    ]
    run = case.made.run(replies, "paneled")
    done = case.made.judged(run, judges=("openai/strict", "openai/mild"))
    both = case.made.grades(run, "panel=openai/mild+openai/strict,")
    assert {name: each.score for name, each in both.items()} == {"q0": 1.0, "q2": 1.0, "q3": 0.0}, (
        "a tie of two is no grade"
    )
    with case.made.context() as context:
        (pair,) = judges_agree(context.store, panels(done.runs)[0])
        assert pair.share.value == pytest.approx(2 / 3) and pair.share.scored == 3
    asked = len(case.made.asked)
    case.made.judged(run, judges=("openai/strict", "openai/mild", "openai/third"))
    assert len(case.made.asked) == asked + 3, "judges that have judged are not asked again"
    three = case.made.grades(run, "panel=openai/mild+openai/strict+openai/third,")
    assert {name: each.score for name, each in three.items()} == {
        "q0": 1.0,
        "q1": 0.0,
        "q2": 1.0,
        "q3": 0.0,
    }
    assert three["q1"].note == "correct: fail, pass, fail"


@pytest.mark.slow
def test_criteria_have_weights_and_one_without_a_verdict_leaves_the_reply_ungraded(case: Case) -> None:
    rubric = GradingRubric(
        "two", (Criterion("right", "Right?", weight=3.0), Criterion("tone", "Its tone?", "1-5")), "Be strict."
    )
    run = case.made.run(["x [strict=2]", "y [strict=pass]", "z [strict=garbled]"], "weighed")
    with case.made.context() as context:
        wanted = JudgingWanted((run.id,), (JUDGE,), rubric, given={"base_url": case.made.url})
        todo = judging_todo(context, wanted)
        assert todo.plan is not None
        lines = list(judging_lines(context, todo.plan, open_sources(todo.plan, context.settings)))
    assert (
        f"{JUDGE} judges run {run.id[:8]} (open.jsonl) by {rubric.words}: 3 replies, 2 criteria, 6 calls."
        in lines
    )
    case.made.judged(run, rubric=rubric)
    with case.made.context() as context, pytest.raises(NotFound):
        kept_name(context.store, run, "judge")
    with case.made.context() as context:
        assert judging_summary(context.store, context.store.runs(limit=1)[0]).unread == 3


@pytest.mark.slow
def test_a_run_that_was_resumed_since_is_judged_on_and_a_judging_of_a_judging_is_refused(case: Case) -> None:
    run = case.made.run(["one [strict=pass]", "two [strict=fail]", None], "growing")
    (first,) = case.made.judged(run, given={"workers": 2}).runs
    asked = len(case.made.asked)
    (case.made.home / "growing.jsonl").write_text('{"id": "q2", "output": "three [strict=pass]"}\n')
    with case.made.context() as context:
        resume(context, [run.id])
    (second,) = case.made.judged(run).runs
    assert second.id != first.id and len(case.made.asked) == asked + 1
    assert {name: each.score for name, each in case.made.grades(run).items()} == {
        "q0": 1.0,
        "q1": 0.0,
        "q2": 1.0,
    }
    with pytest.raises(ConfigError, match="is a judging itself"):
        case.made.judged(second)


@pytest.mark.slow
def test_a_judge_of_a_run_that_was_deleted_ends_without_a_grade(case: Case) -> None:
    run = case.made.run(["gone [strict=broken]", "kept [strict=pass]"], "gone")
    case.made.broken[0] = True
    (judging,) = case.made.judged(run).runs
    case.made.broken[0] = False
    with case.made.context() as context:
        pruning.remove(context.store, [run.id])
        with pytest.raises(NotFound, match="deleted"):
            resume(context, [judging.id])


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        ({"judges": ()}, "No judge given: add --judge"),
        ({"judges": (JUDGE, JUDGE)}, "--votes 2 asks it that often"),
        ({"votes": 3, "given": {"temperature": 0.0}}, "asks for the same vote 3 times"),
        ({"votes": 0}, "from 1 to 25"),
        ({"given": {"shuffle": True}}, "a judging has no option 'shuffle'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_asked(
    case: Case, wanted: dict, fault: str
) -> None:
    asked = len(case.made.asked)
    with pytest.raises(ConfigError, match=fault):
        case.made.judged(case.run, **wanted)
    assert len(case.made.asked) == asked
