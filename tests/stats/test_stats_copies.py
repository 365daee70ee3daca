"""What is asked twice under other ids is one unit: in one task, in two tasks, or seen in one run alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from compared import row, run
from proctor.findings import Difference
from proctor.stats.compare import compare
from proctor.stats.estimates import Shape, TaskShape, scores
from proctor.stats.metrics import Scored

TWO = Shape("S", {"q": TaskShape("Q", full_size=200), "r": TaskShape("R", full_size=200)})
ONE = Shape("S", {"q": TaskShape("Q")})


def asked(seed: int, copies: int = 1, n: int = 100, **other: object) -> list[Scored]:
    """A model that is right in 70 % of the rows, and answers a copy as it answered the first."""
    chance = random.Random(seed)
    right = [float(chance.random() < 0.7) for _ in range(n)]
    return [
        row(f"q/{i}-{copy}", right[i], content=f"question {i}", **other)
        for copy in range(copies)
        for i in range(n)
    ]


def against(first: Sequence[Scored], second: Sequence[Scored], shape: Shape = ONE) -> Difference:
    return compare([(run("a"), first), (run("b"), second)], shape)[0].whole


def test_copies_under_other_ids_tell_no_more_than_one() -> None:
    once = against(asked(3), asked(8))
    five = against(asked(3, copies=5), asked(8, copies=5))
    assert once.test == "exact McNemar" and five.test == "sign-flip permutation of clusters"
    assert five.estimate.value == pytest.approx(once.estimate.value)
    assert five.p_value == pytest.approx(once.p_value, rel=0.1)
    assert five.estimate.low is not None and once.estimate.low is not None
    assert five.estimate.low <= once.estimate.low + 0.01
    (alone,) = scores(asked(3, copies=5), ONE)[:1]
    (single,) = scores(asked(3), ONE)[:1]
    assert alone.estimate.low == pytest.approx(single.estimate.low, abs=0.02)


def test_one_file_as_two_tasks_tells_no_more_than_one_task() -> None:
    def twice(seed: int) -> list[Scored]:
        rows = asked(seed, n=200)
        return [*rows, *(replace(one, task="r", item=one.item.replace("q/", "r/")) for one in rows)]

    once, two = against(asked(3, n=200), asked(8, n=200)), against(twice(3), twice(8), TWO)
    assert two.test == "sign-flip permutation of clusters" and two.shared == 400
    assert two.p_value == pytest.approx(once.p_value, rel=0.15)


def test_copies_and_clusters_that_share_one_hang_together() -> None:
    def rows(seed: int) -> list[Scored]:
        found = asked(seed, n=90)
        # Every passage of three begins with the question that the next one ends with.
        return [
            replace(
                one, cluster=f"p{i // 3}", content=f"question {i - 1 if i % 3 == 0 and i % 6 == 3 else i}"
            )
            for i, one in enumerate(found)
        ]

    (head,) = scores(rows(3), ONE)[:1]
    assert "clusters" in head.estimate.method
    units = {one.together or one.cluster for one in _seen(rows(3))}
    assert len(units) == 15, "30 passages, every two of which share a question"


def _seen(rows: Sequence[Scored]) -> Sequence[Scored]:
    from proctor.stats.hanging.copies import together

    return together(rows, worded=False)


def test_copies_that_one_run_alone_was_asked_or_knew_of_turn_nothing_round() -> None:
    first, second = asked(3, copies=2), asked(8, copies=2)
    both = against(first, second)
    few = against([one for one in first if not one.item.endswith("-1")], second)
    assert few.shared == 100 and few.p_value == pytest.approx(against(asked(3), asked(8)).p_value, rel=0.1)
    # A version before did not see that these are copies, but for their spaces.
    plain = [replace(one, content=one.item) for one in first]
    known = [
        replace(one, content=one.item, cluster=f"c{one.item.partition('-')[0]}") if one.item < "q/5" else one
        for one in (replace(each, content=each.item) for each in second)
    ]
    mixed = against(plain, known)
    assert mixed.estimate.value == pytest.approx(both.estimate.value) and "clusters" in mixed.test
    turned = against(known, plain)
    assert turned.estimate.value == pytest.approx(-(both.estimate.value or 0.0))
    assert turned.p_value == pytest.approx(mixed.p_value)


def test_without_copies_nothing_changes() -> None:
    rows = asked(3)
    assert _seen(rows) == rows
    assert _seen([replace(one, content="") for one in rows]) == [replace(one, content="") for one in rows]
