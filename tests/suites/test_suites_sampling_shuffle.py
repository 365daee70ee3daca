"""Shuffled choices: the target follows its text, and choices that name each other stay where they are."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import ConfigError
from proctor.references import ExamRef
from proctor.sources.exams.files.questions import open_file
from proctor.sources.exams.rows.normal_form import Row
from proctor.sources.exams.shuffle import shuffled
from proctor.sources.exams.source import open_suite


def row(choices, target="A", name="t/0", aliases=()):
    return Row(name, "t", target, {"question": "?", "choices": list(choices)}, aliases)


def texts(found):
    names = found.fields["choices"]
    return [names["ABCDEFGHIJKLMNOPQRSTUVWXYZ".index(letter)] for letter in found.target.split(",")]


@given(st.lists(st.text(min_size=1), min_size=2, max_size=26, unique=True), st.data())
def test_the_target_follows_its_text(choices, data):
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(choices)]
    targets = data.draw(st.lists(st.sampled_from(letters), min_size=1, unique=True))
    before = row(choices, ",".join(sorted(targets)))
    after = shuffled(before, seed=0)
    assert sorted(after.fields["choices"]) == sorted(choices)
    assert sorted(texts(after)) == sorted(texts(before))
    assert after.target.split(",") == sorted(after.target.split(","))
    assert shuffled(before, seed=0) == after


def test_each_place_gets_each_choice_about_equally_often():
    places = Counter(shuffled(row("wxyz", "A", f"t/{index}"), seed=0).target for index in range(4000))
    assert set(places) == set("ABCD")
    # Binomial(4000, 1/4) lies within 1000 +- 137 but for one in 2 million.
    assert all(863 <= count <= 1137 for count in places.values())


def test_the_order_hangs_on_the_item_and_the_seed():
    orders = {
        tuple(shuffled(row("wxyz", name=f"t/{index}"), seed=0).fields["choices"]) for index in range(200)
    }
    assert len(orders) == 24
    many = [row("wxyz", name=f"t/{index}") for index in range(50)]
    assert [shuffled(one, seed=0) for one in many] != [shuffled(one, seed=1) for one in many]


def test_none_and_more_targets_keep_their_meaning():
    for index in range(50):
        after = shuffled(row("wxyz", "none", f"t/{index}", aliases=("B",)), seed=0)
        assert after.target == "none"
        assert after.fields["choices"]["ABCD".index(after.aliases[0])] == "x"


@pytest.mark.parametrize(
    "last",
    [
        "None of the above", "all of the above.", "All of these options.", "None of these", "None", "Both",
        "Neither of these.", "Any of the above", "All of the options given are correct", "ALL of the above",
        "None of the above is a true statement.", "more than one of the above",
    ],
)  # fmt: skip
def test_a_last_choice_that_speaks_of_the_others_stays_last(last):
    seen = set()
    for index in range(60):
        choices = shuffled(row(["red", "green", "blue", last], name=f"t/{index}"), seed=0).fields["choices"]
        assert choices[-1] == last
        seen.add(tuple(choices))
    assert len(seen) == 6


def test_two_such_choices_both_stay():
    for index in range(20):
        before = row(["red", "green", "All of the above", "None of the above"], name=f"t/{index}")
        assert shuffled(before, seed=0).fields["choices"][2:] == ["All of the above", "None of the above"]


@pytest.mark.parametrize(
    "choices",
    [
        ["red", "green", "Both A and B", "blue"],
        ["red", "green", "blue", "both a and b."],
        ["red", "green", "A and C only", "blue"],
        ["red", "green", "blue", "Neither (a) nor (b)"],
        ["red", "green", "blue", "a. and b. above"],
        ["red", "All of the above", "green", "blue"],
    ],
)
def test_choices_that_name_each_other_are_left_as_they_are(choices):
    for index in range(20):
        before = row(choices, name=f"t/{index}")
        assert shuffled(before, seed=0) is before


@pytest.mark.parametrize(
    "choices",
    [
        ["Hepatitis A and B", "both instinctive and learned", "a cat", "Vitamin A"],
        ["all men", "none because it sinks", "neither rose", "from above"],
    ],
)
def test_choices_that_only_sound_so_are_shuffled(choices):
    orders = {
        tuple(shuffled(row(choices, name=f"t/{index}"), seed=0).fields["choices"]) for index in range(200)
    }
    assert len(orders) == 24


def test_a_shuffled_item_is_another_item_and_the_manifest_says_so(tmp_path):
    plain, other = (
        open_suite(ExamRef("suite", "medical", rows="sample", shuffle=shuffle), tmp_path)
        for shuffle in (False, True)
    )
    assert (plain.facts.shuffle, other.facts.shuffle) == (False, True)
    pairs = list(zip(plain.items(), other.items(), strict=True))
    changed = 0
    for before, after in pairs:
        assert before.id == after.id
        assert sorted(before.choices) == sorted(after.choices)
        assert (before.hash == after.hash) is (before.choices == after.choices)
        if before.choices:
            changed += before.choices != after.choices
            assert before.choices["ABCD".index(before.target)] == after.choices["ABCD".index(after.target)]
            for letter, choice in zip("ABCD", after.choices, strict=True):
                assert f"{letter}. {choice}" in after.ask.messages[0].content
    assert changed > 30


def test_all_wordings_of_an_item_have_the_same_order(tmp_path):
    source = open_suite(ExamRef("suite", "mmlu", rows="sample", shuffle=True, wording="all"), tmp_path)
    orders = {}
    for item in source.items():
        orders.setdefault(item.id.partition("@")[0], set()).add(item.choices)
    assert {len(found) for found in orders.values()} == {1}


def test_nothing_to_shuffle(tmp_path, file):
    with pytest.raises(ConfigError, match="No task here has lettered choices that could be shuffled"):
        open_suite(ExamRef("suite", "glue", rows="sample", shuffle=True), tmp_path)
    path = file("q.csv", "question,answer\nWho?,Ann\nWhere?,Oslo\n")
    with pytest.raises(ConfigError, match="leave out --shuffle"):
        open_file(ExamRef("file", str(path), shuffle=True))
