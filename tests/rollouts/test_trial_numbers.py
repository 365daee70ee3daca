"""What trials show, in every view of numbers: by hand for uneven rollouts, with every denominator, task by task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trials_kept import LIMIT, PROVIDER, SANDBOX, VERIFIER, F, Kept, P, half, kept_run, unpriced

from bundles import altered, by_item, in_json, in_lines
from opened import bundle, compare_named, leaderboard, report
from proctor.errors import ConfigError
from proctor.findings import Evaluation
from proctor.service.context import open_store
from proctor.service.data.verify import verify
from proctor.service.results.results import shown
from proctor.settings import Settings
from proctor.stats.intervals import wilson
from proctor.stats.metrics import Scored
from proctor.stats.rollouts.same_tasks import same_tasks
from proctor.stats.rollouts.trials import mean_score, success_rate
from proctor.trial_findings import RunTrials
from proctor.types import Outcome, Status
from simulators import settings

# By hand: 2/3, 2/5, 1, 0, 1 and, of two scored, 1/2.
UNEVEN: Mapping[str, Sequence[Kept]] = {
    "mend": [P, P, F],
    "sort": [P, F, F, half(0.5), P],
    "docs": [P],
    "parse": [F, LIMIT, F],
    "cache": [P, P, P],
    "merge": [F, P, SANDBOX],
}
T975_5 = 2.570582  # Student's t with 5 degrees of freedom, from a table


@pytest.fixture
def home(tmp_path: Path) -> Settings:
    return settings(tmp_path)


def trials(known: Settings, run_id: str) -> RunTrials:
    with open_store(known) as store:
        found = shown(store, store.run(run_id)).trials
    assert found is not None
    return found


def compared(known: Settings, *names: str) -> Evaluation:
    return compare_named(list(names), known).evaluation


@pytest.mark.promise("C-30")
def test_every_task_weighs_alike_however_often_it_was_rolled_out(home: Settings) -> None:
    found = trials(home, kept_run(home, "shell/a", UNEVEN))
    assert found.success.value == pytest.approx((2 / 3 + 2 / 5 + 1 + 0 + 1 + 1 / 2) / 6)
    assert found.score.value == pytest.approx((2 / 3 + 2.5 / 5 + 1 + 0 + 1 + 1 / 2) / 6)
    assert (found.success.scored, found.success.asked) == (6, 6)  # tasks


@pytest.mark.promise("C-30")
def test_the_interval_counts_what_rollouts_of_so_few_tasks_are_worth(home: Settings) -> None:
    found = trials(home, kept_run(home, "shell/a", UNEVEN)).success
    shares = np.array([2 / 3, 2 / 5, 1, 0, 1, 1 / 2])
    p, variance = shares.mean(), shares.var(ddof=1) / 6
    worth = max(6, (1 + p * (1 - p) / variance) * (1.959964 / T975_5) ** 2)
    assert (found.low, found.high) == pytest.approx(wilson(p, worth), abs=1e-6)


@pytest.mark.promise("C-30")
def test_rollouts_that_are_all_alike_tell_no_more_than_one_each() -> None:
    def rows(times: int) -> list[Scored]:
        return [
            _row(f"t{task}", repeat, passed=task % 2 == 0) for task in range(6) for repeat in range(times)
        ]

    once, often = success_rate(rows(1)), success_rate(rows(50))
    assert (often.low, often.high) == pytest.approx((once.low, once.high))


@pytest.mark.promise("C-30")
def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """5 tasks of 5 rollouts, chances from a Beta distribution: without Student's t it is held in 88 % only."""
    random = np.random.default_rng(3)
    held = {success_rate: 0, mean_score: 0}
    for _ in range(300):
        passed = random.random((5, 5)) < random.beta(1.6, 0.4, 5)[:, None]
        rows = [_row(f"t{i}", k, passed=bool(passed[i, k])) for i, k in product(range(5), range(5))]
        for figure in held:
            found = figure(rows)
            assert found.low is not None and found.high is not None
            held[figure] += found.low <= 0.8 <= found.high
    assert min(held.values()) >= 0.93 * 300


def test_pass_at_k_rests_on_the_tasks_that_have_k_scored_trials(home: Settings) -> None:
    found = {each.k: each for each in trials(home, kept_run(home, "shell/a", UNEVEN)).passes}
    # Chen et al.: 1 - C(n-c, k) / C(n, k); merge has two scored trials, docs one.
    assert found[2].any.value == pytest.approx((1 + (1 - 3 / 10) + 0 + 1 + 1) / 5)
    assert found[2].all.value == pytest.approx((1 / 3 + 1 / 10 + 0 + 1 + 0) / 5)
    assert found[3].any.value == pytest.approx((1 + (1 - 1 / 10) + 0 + 1) / 4)
    assert found[5].any.value == 1 and found[5].all.value == 0
    assert [(k, each.any.scored, each.any.asked) for k, each in found.items()] == [
        (2, 5, 6),
        (3, 4, 6),
        (4, 1, 6),
        (5, 1, 6),
    ]


def test_what_broke_is_counted_by_its_kind_and_never_scored(home: Settings) -> None:
    every = [P, LIMIT, SANDBOX, VERIFIER, PROVIDER, None]
    found = trials(home, kept_run(home, "shell/a", {"one": every, "two": [SANDBOX, SANDBOX, None]}))
    counts = found.counts
    assert (counts.planned, counts.scored, counts.passed, counts.at_limit, counts.not_run) == (9, 2, 1, 1, 2)
    assert counts.unscored == {"sandbox": 3, "verifier": 1, "agent-model": 1}
    assert counts.scored + sum(counts.unscored.values()) + counts.not_run + counts.set_aside == counts.planned
    assert found.success.value == 0.5  # of the one task that has a scored trial
    assert (found.success.scored, found.success.asked) == (1, 2)
    two = next(each for each in found.tasks if each.task == "two")
    assert two.success.value is None and two.success.reason == "no trial of it was scored"


def test_what_ended_behind_a_gap_is_said_and_not_counted(home: Settings) -> None:
    kept: dict[str, list[Kept | None]] = {"first": [F, F], "second": [None, None], "third": [P, P]}
    found = trials(home, kept_run(home, "shell/a", kept, status=Status.CANCELLED))
    assert found.success.value == 0.0
    assert (found.counts.scored, found.counts.set_aside, found.counts.not_run) == (2, 2, 2)


@pytest.mark.slow
def test_the_price_of_a_success_has_the_failures_in_it_and_needs_every_cost(home: Settings) -> None:
    spent = trials(home, kept_run(home, "shell/a", {"one": [P, F, F], "two": [P, F]})).spent
    assert spent.per_pass("cost_usd") == pytest.approx(5 * 0.1 / 2)
    assert (spent.per_trial("seconds"), spent.per_pass("seconds")) == (2.0, 5.0)
    partly = trials(home, kept_run(home, "shell/b", {"one": [P, unpriced(F)]})).spent
    assert partly.per_pass("cost_usd") is None and partly.told["cost_usd"] == 1
    assert trials(home, kept_run(home, "shell/c", {"one": [F]})).spent.per_pass("cost_usd") is None


# Compared ----------------------------------------------------------------------------------------


def seven(*passed: int) -> dict[str, list[Kept]]:
    return {f"t{i}": [P] * n + [F] * (3 - n) for i, n in enumerate(passed)}


@pytest.mark.promise("C-24", "C-11")
def test_the_better_agent_is_named_in_words_of_tasks(home: Settings) -> None:
    one = kept_run(home, "shell/strong", seven(3, 3, 2, 3, 3, 3, 3, 3))
    other = kept_run(home, "shell/weak", seven(0, 0, 0, 1, 0, 0, 0, 1))
    found = compared(home, one, other)
    whole = found.comparisons[0].whole
    assert (whole.first, whole.second) == pytest.approx((23 / 24, 2 / 24))
    assert whole.p_value == pytest.approx(2 / 2**8)  # all eight signs alike
    assert found.verdict.startswith(
        "shell/strong is better than shell/weak on tasks like these 8, by 0.875 ["
    )
    assert (
        "in the success rate (sign-flip permutation p = 0.008; 8 tasks where shell/strong did"
        in found.verdict
    )
    assert "row" not in found.verdict and "model" not in found.verdict


@pytest.mark.promise("C-24")
def test_too_few_tasks_show_nothing_of_others_but_may_of_themselves(home: Settings) -> None:
    one, other = (
        kept_run(home, f"shell/{n}", seven(*each)) for n, each in (("a", (3, 3, 3)), ("b", (0, 0, 0)))
    )
    found = compared(home, one, other)
    whole = found.comparisons[0].whole
    assert whole.verdict == "no difference shown" and whole.p_value == pytest.approx(0.25)
    assert whole.detectable is None  # three signs alike are luck in one of four cases
    assert whole.same_tasks_p == pytest.approx(2 / math.comb(6, 3) ** 3)
    assert (
        "On these very 3 tasks shell/a is better than shell/b, beyond the luck of the rollouts"
        in found.verdict
    )


def test_the_p_value_on_these_very_tasks_is_that_of_all_ways_to_exchange_trials() -> None:
    first, second = {"a": (2, 1), "b": (3, 3)}, {"a": (3, 0), "b": (2, 1)}  # trials, passed
    assert same_tasks(_trials(first), _trials(second)) == pytest.approx(_by_all_ways(first, second))


@pytest.mark.promise("C-24")
def test_a_task_is_the_same_where_its_content_is_and_never_by_its_name(home: Settings) -> None:
    same = kept_run(home, "shell/a", {"x": [P, P], "y": [F, F], "z": [P]})
    renamed = kept_run(home, "shell/b", {"x-2": [F], "y": [F, P, P]}, contents={"x-2": "x", "y": "another"})
    pair = compared(home, same, renamed).comparisons[0]
    assert (pair.whole.first, pair.whole.second, pair.whole.shared) == (1.0, 0.0, 1)
    assert pair.sharing is not None
    assert (pair.sharing.first, pair.sharing.second, pair.sharing.both) == (3, 2, 1)
    foreign = kept_run(home, "shell/c", {"x": [P]}, contents={"x": "yet another"})
    with pytest.raises(ConfigError, match="share no task of the 3 and 1 that they worked on"):
        compared(home, same, foreign)


def test_other_conditions_are_told_and_another_pass_score_is_refused(home: Settings) -> None:
    plain = kept_run(home, "shell/a", seven(3, 3))
    elsewhere = kept_run(home, "shell/b", seven(3, 0), sandbox="local")
    told = compared(home, plain, elsewhere).verdict
    assert told.endswith("made a difference: sandbox bubblewrap (shell/a) and local (shell/b).")
    lenient = kept_run(home, "shell/c", seven(3, 3), pass_score=0.5)
    with pytest.raises(ConfigError, match=r"differ in their pass score \(1\.0 and 0\.5\)"):
        compared(home, plain, lenient)


@pytest.mark.promise("C-24", "C-11")
def test_agents_are_ranked_by_success_on_the_tasks_that_all_have(home: Settings) -> None:
    kept_run(home, "shell/weak", seven(0, 0, 0, 1, 0, 0, 0))
    kept_run(home, "shell/strong", seven(3, 3, 2, 3, 3, 3, 3))
    kept_run(home, "shell/strong@timeout_s=5", seven(3, 3, 3, 3, 3, 3, 3))
    board = leaderboard(home, suite="bench")
    assert board.metric == "success_rate" and board.models == 3
    ranked = {str(each.result.run.cell.model): each.rank for each in board.places}
    assert ranked == {"shell/strong@timeout_s=5": 1, "shell/strong": 1, "shell/weak": 3}


# Kept, packed, told ------------------------------------------------------------------------------


def test_a_bundle_is_recomputed_elsewhere_and_what_was_changed_is_found(
    home: Settings, tmp_path: Path
) -> None:
    runs = [kept_run(home, "shell/a", UNEVEN), kept_run(home, "shell/b", {**UNEVEN, "docs": [F]})]
    path = tmp_path / "trials.zip"
    bundle(runs, home, path)
    whole = verify(path)
    assert whole.faults == () and whole.figures > 300
    assert any("verdicts are those that were recorded" in note for note in whole.notes)

    patched = altered(path, lambda m: in_lines(m, "replies.jsonl", _other_patch))
    assert "its patch is not the one whose hash was recorded" in " ".join(verify(patched).faults)
    passed = altered(path, lambda m: in_lines(m, "replies.jsonl", _passed))
    assert "said to have passed with a score of 0" in " ".join(verify(passed).faults)
    figure = altered(path, lambda m: in_json(m, "results.json", _one_more_passed))
    assert "trials, passed" in " ".join(verify(figure).faults)


@pytest.mark.parametrize("form", ["md", "html", "latex"])
def test_a_report_tells_of_agents_and_tasks_with_every_denominator(home: Settings, form: str) -> None:
    runs = [kept_run(home, "shell/a", UNEVEN), kept_run(home, "shell/b", {**UNEVEN, "docs": [SANDBOX]})]
    text = " ".join(report(runs, home, form).split())
    for words in (
        "Success rate and mean score of each agent, over tasks",
        "Trials planned",
        "Not scored: sandbox",
        "Scored, ended at a limit",
        "Tasks with k scored trials",
        "Task by task: passed of scored trials",
        "Price of a success",
    ):
        assert words in text
    assert "Answer rate" not in text and "items" not in text.partition("Record of the runs")[0]


def _row(task: str, repeat: int, *, passed: bool) -> Scored:
    outcome = Outcome.CORRECT if passed else Outcome.WRONG
    return Scored(task, "tasks", "passed", None, outcome, float(passed), repeat=repeat)


def _trials(of: Mapping[str, tuple[int, int]]) -> list[Scored]:
    return [_row(task, k, passed=k < passed) for task, (n, passed) in of.items() for k in range(n)]


def _by_all_ways(first: Mapping[str, tuple[int, int]], second: Mapping[str, tuple[int, int]]) -> float:
    """Each task's trials dealt to the two in all ways, one by one."""
    by_task = []
    for task, (m, passed) in first.items():
        n, others = second[task]
        pool = [1] * (passed + others) + [0] * (m + n - passed - others)
        dealt = [sum(pool[i] for i in chosen) for chosen in combinations(range(m + n), m)]
        by_task.append([each / m - (sum(pool) - each) / n for each in dealt])
    observed = sum(first[t][1] / first[t][0] - second[t][1] / second[t][0] for t in first)
    ways = [abs(sum(each)) >= abs(observed) - 1e-9 for each in product(*by_task)]
    return sum(ways) / len(ways)


def _other_patch(records: list[dict[str, Any]]) -> None:
    by_item(records, "mend")["text"] = "diff --git a/b.py b/b.py\n"


def _passed(records: list[dict[str, Any]]) -> None:
    found = by_item(records, "parse")
    found["outcome"], found["answer"] = "correct", "passed"
    found["record"] = {**found["record"], "passed": True}


def _one_more_passed(document: dict[str, Any]) -> None:
    document["runs"][0]["trials"]["passed"] += 1
