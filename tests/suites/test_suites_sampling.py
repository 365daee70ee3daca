"""The sampling order is fair, nested, and the same for everybody."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.sources.exams.rows.normal_form import Row
from proctor.sources.exams.sampling import like, order, spread, take
from proctor.sources.exams.tables.tasks import TASKS

rows_of_any_kind = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("XY")), min_size=1, max_size=300
).map(lambda pairs: [Row(f"{task}/{index}", task, target, {}) for index, (task, target) in enumerate(pairs)])


def ids(rows):
    return [row.id for row in rows]


@given(rows_of_any_kind, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_the_rows(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert ids(order(shuffled)) == ids(order(rows))


@given(rows_of_any_kind)
def test_nothing_is_lost_or_doubled(rows):
    assert sorted(ids(order(rows))) == sorted(ids(rows))


@settings(max_examples=50)
@given(rows_of_any_kind)
def test_every_beginning_holds_each_stratum_in_proportion(rows):
    """In the first k of n rows, a stratum of m has m*k/n members, give or take one per stratum."""
    ordered = order(rows)
    sizes = Counter((row.task, row.target) for row in rows)
    seen = Counter()
    for k, row in enumerate(ordered, 1):
        seen[row.task, row.target] += 1
        for stratum, size in sizes.items():
            assert abs(seen[stratum] - size * k / len(rows)) <= len(sizes)


def test_the_seed_changes_the_order_and_nothing_else_does():
    rows = [Row(f"t/{index}", "t", "x", {}) for index in range(50)]
    assert ids(order(rows)) == ids(order(rows, seed=0))
    assert ids(order(rows, seed=1)) != ids(order(rows))


def test_the_order_is_the_documented_one():
    """Computed apart from the code: sha256("0|t/1"), then ("0|t/0"), then ("0|t/2") in one stratum."""
    import hashlib

    rows = [Row(f"t/{index}", "t", "x", {}) for index in range(5)]
    expected = sorted(ids(rows), key=lambda name: hashlib.sha256(f"0|{name}".encode()).hexdigest())
    assert ids(order(rows)) == expected


def test_a_smaller_sample_lies_inside_each_larger_one():
    rows = [Row(f"{task}/{index}", task, "xy"[index % 2], {}) for task in "ab" for index in range(2000)]
    ordered = order(rows)
    quick, standard, full = (take(ordered, preset) for preset in ("quick", "standard", "full"))
    assert (len(quick), len(standard), len(full)) == (200, 2000, 4000)
    assert quick == standard[:200] == full[:200]
    assert Counter((row.task, row.target) for row in quick) == {
        ("a", "x"): 50, ("a", "y"): 50, ("b", "x"): 50, ("b", "y"): 50,
    }  # fmt: skip


def test_a_limit_counts_for_each_task_and_nests():
    rows = [Row(f"a/{index}", "a", "x", {}) for index in range(30)]
    rows += [Row(f"b/{index}", "b", "x", {}) for index in range(3)]
    ordered = order(rows)
    ten = take(ordered, limit=10)
    assert Counter(row.task for row in ten) == {"a": 10, "b": 3}
    assert set(ids(take(ordered, limit=5))) <= set(ids(ten))
    assert ids(ten) == [row.id for row in ordered if row in ten]


def test_preset_and_limit_together_keep_both():
    rows = [Row(f"{task}/{index}", f"{task}", "x", {}) for task in range(50) for index in range(10)]
    both = take(order(rows), "quick", 5)
    assert len(both) == 200
    assert max(Counter(row.task for row in both).values()) <= 5


def test_targets_that_hardly_return_make_few_strata():
    """By the target itself, 1,490 single numbers would stand in the middle and the ten zeros lead the order."""
    numbers = [f"{index / 300:.3f}" for index in range(1, 1491)] + ["0"] * 10
    rows = [Row(f"stsb/{index}", "stsb", target, {}) for index, target in enumerate(numbers)]
    first = take(spread(rows, {"stsb": TASKS["stsb"]}), limit=150)
    by_points = Counter(round(float(row.target)) for row in first)
    assert {point: count for point, count in by_points.items() if not 0 < point < 5} == {0: 16, 5: 14}
    assert all(by_points[point] == 30 for point in range(1, 5))


def test_what_targets_of_a_stratum_have_in_common():
    assert like("number", "3.4") == like("number", "2.6") != like("number", "3.6")
    assert [like("letters", target) for target in ("none", "A", "B", "A,C")] == ["0", "1", "1", "2"]
    assert like("entity", "Oslo") == like("entity", "Bergen")
    assert like("labels", "yes") != like("labels", "no")
    assert like("labels", None) == ""


def test_hidden_answers_make_one_stratum():
    rows = [Row(f"ax/{index}", "ax", None, {}) for index in range(10)]
    assert ids(spread(rows, {"ax": TASKS["ax"]})) == ids(order(rows))
