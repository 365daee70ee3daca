"""pass@k and pass^k: against their definitions, and clustered by item."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from compared import row
from proctor.stats.estimates import Shape, TaskShape, scores
from proctor.stats.repeats import pass_at_k, pass_hat_k

PLAIN = TaskShape("Plain")


@pytest.mark.parametrize(("n", "right"), [(5, 2), (6, 0), (6, 6), (7, 3)])
def test_both_are_shares_of_all_ways_to_draw_k(n: int, right: int) -> None:
    askings = [True] * right + [False] * (n - right)
    for k in range(1, n + 1):
        drawn = list(itertools.combinations(askings, k))
        assert pass_at_k(n, right, k) == pytest.approx(sum(map(any, drawn)) / len(drawn))
        assert pass_hat_k(n, right, k) == pytest.approx(sum(map(all, drawn)) / len(drawn))


def test_the_known_figures() -> None:
    assert (pass_at_k(5, 2, 1), pass_at_k(5, 2, 3), pass_hat_k(5, 2, 2)) == (0.4, 0.9, pytest.approx(0.1))


def found(
    rights: list[list[float | None]], shape: Shape | None = None
) -> dict[str, tuple[float | None, int, int]]:
    rows = [row(f"q/{i}", right, repeat=k) for i, each in enumerate(rights) for k, right in enumerate(each)]
    every = scores(rows, shape or Shape("", {"q": PLAIN}))
    return {s.metric: (s.estimate.value, s.estimate.scored, s.estimate.asked) for s in every}


def test_scores_of_a_run_with_repeats() -> None:
    of = found([[1.0, 1.0, 0.0, 0.0, 0.0]] * 4)
    assert list(of) == ["accuracy", "pass@2", "pass^2", "pass@4", "pass^4", "pass@5", "pass^5"]
    assert of["accuracy"][0] == pytest.approx(0.4) and of["pass^2"][0] == pytest.approx(0.1)
    assert of["pass@5"] == (1.0, 4, 4) and of["pass^5"] == (0.0, 4, 4)


def test_a_run_without_repeats_has_none() -> None:
    assert list(found([[1.0], [0.0]])) == ["accuracy"]


def test_an_item_with_too_few_askings_is_left_out() -> None:
    of = found([[1.0, 1.0], [1.0, None], [0.0, 1.0]])
    assert of["pass^2"] == (0.5, 2, 3)


def test_items_not_askings_are_what_an_interval_counts() -> None:
    """Asked twice or twenty times: where an item's askings agree the interval stays the same."""
    chance = random.Random(1)
    rights = [float(chance.random() < 0.7) for _ in range(40)]
    widths = []
    for times in (2, 20):
        rows = [row(f"q/{i}", right, repeat=k) for i, right in enumerate(rights) for k in range(times)]
        e = next(s.estimate for s in scores(rows, Shape("", {"q": PLAIN})) if s.metric == "pass@2")
        widths.append((e.high or 0) - (e.low or 0))
    assert widths[0] == pytest.approx(widths[1]) and widths[0] > 0.2


def test_over_tasks_every_item_counts_the_same() -> None:
    rows = [row(f"a/{i}", 1.0, task="a", repeat=k) for i in range(3) for k in range(2)]
    rows += [row("b/0", float(k), task="b", repeat=k) for k in range(2)]
    shape = Shape("Suite", {"a": TaskShape("A"), "b": TaskShape("B")}, "macro")
    of = {(s.task, s.metric): s.estimate.value for s in scores(rows, shape)}
    assert of["", "pass^2"] == 0.75 and of["", "pass@2"] == 1.0 and of["b", "pass^2"] == 0.0


def test_tasks_that_name_their_clusters_alike_keep_them_apart() -> None:
    rows = [
        row(f"{task}/{i}", float((i + k) % 3 > 0), task=task, repeat=k, cluster=f"c{i // 2}")
        for task in "ab"
        for i in range(8)
        for k in range(2)
    ]
    apart = [replace(r, cluster=f"{r.task}{r.cluster}") for r in rows]
    shape = Shape("Suite", {"a": TaskShape("A"), "b": TaskShape("B")}, "macro")
    of = [[s for s in scores(each, shape) if s.metric == "pass^2" and not s.task] for each in (rows, apart)]
    assert of[0] == of[1] and of[0][0].estimate.method == "Wilson on the effective n of the clusters"


def test_an_item_that_only_failed_is_asked_but_not_scored() -> None:
    of = found([[1.0, 1.0], [None, None]])
    assert of["pass@2"] == (1.0, 1, 2)


def test_where_no_item_has_k_measured_askings_the_reason_is_said() -> None:
    rows = [row("q/0", right, repeat=k) for k, right in enumerate([1.0, 0.0, None])]
    of = {s.metric: s.estimate for s in scores(rows, Shape("", {"q": PLAIN}))}
    assert of["pass@3"].value is None and of["pass@3"].reason == "no item has 3 measured askings"
    assert of["pass@3"].asked == 1 and of["pass@2"].value == 1.0
