"""The figures of two outputs: shares over clusters, kappa, and changes by pairs, beside what they must come to."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from proctor.stats.estimates_share import share
from proctor.stats.estimates_sheet import TaskShape, sheet
from proctor.stats.metrics import Scored
from proctor.stats.outputs.changes import AT_ONCE, PairedSums, change
from proctor.stats.outputs.labels import MOST_LABELS, LabelCount
from proctor.stats.outputs.shares import ShareCount
from proctor.types import Outcome


@pytest.mark.parametrize("seed", range(5))
def test_a_share_over_clusters_is_that_of_an_exam_of_the_same_rows(seed: int) -> None:
    draw = random.Random(seed)
    rows = []
    for cluster in range(40):
        chance = draw.betavariate(2, 1)
        for n in range(draw.randint(1, 9)):
            rows.append((f"{cluster}/{n}", f"c{cluster}" if cluster % 4 else None, draw.random() < chance))
    count = ShareCount()
    for _, cluster, holds in rows:
        count.add(holds, cluster)
    scored = [
        Scored(
            item=item,
            task="t",
            target="x",
            answer="x",
            outcome=Outcome.CORRECT if holds else Outcome.WRONG,
            score=float(holds),
            cluster=cluster,
            half=None,
            repeat=0,
            candidates=None,
            content=item,
        )
        for item, cluster, holds in rows
    ]
    spec = TaskShape(
        title="t",
        official=("accuracy",),
        also=(),
        positive=None,
        labels=(),
        kind="choices",
        full_size=None,
        extra=False,
    )
    expected = share(sheet(scored, spec), spec, "accuracy")
    found = count.estimate("")
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )


def test_kappa_of_rare_labels_is_counted_with_the_others_put_together() -> None:
    count = LabelCount()
    for n in range(200):
        count.add(f"label {n}", f"label {n}")
    assert len({name for pair in count.pairs for name in pair}) <= MOST_LABELS + 2
    assert count.estimate().value == 1.0
    alone = LabelCount()
    alone.add("a", "a")
    assert alone.estimate().value is None and "one label" in (alone.estimate().reason or "")


def test_a_change_covers_the_true_one_as_often_as_it_says() -> None:
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(400):
        seconds = rng.lognormal(0, 0.5, 80)
        other = seconds * rng.lognormal(math.log(1.1) - 0.02, 0.2, 80)  # 10 % more in the mean
        sums = PairedSums(2)
        for one, two in zip(seconds, other, strict=True):
            sums.add(float(one), float(two))
        found = change(sums, (0,), (1,))
        assert found is not None and found.n == 80
        held += found.low <= 0.1 <= found.high
    assert 0.91 <= held / 400 <= 0.98


def test_sums_added_in_pieces_are_those_of_all_rows_and_pairs_with_gaps_do_not_count() -> None:
    rng = np.random.default_rng(1)
    rows = rng.lognormal(0, 1, (3 * AT_ONCE + 17, 4)) + 1e6
    sums = PairedSums(4)
    for one in rows:
        sums.add(*map(float, one))
    sums.add(1.0, None, 2.0, 3.0)
    found = sums.moments()
    assert found is not None and found[0] == len(rows)
    assert np.allclose(found[1], rows.mean(axis=0)) and np.allclose(found[2], np.cov(rows.T), rtol=1e-6)
    assert change(PairedSums(2), (0,), (1,)) is None
