"""Worked examples come from the dev rows, are the same for every item, and are none of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import ConfigError, DataError
from proctor.references import ExamRef
from proctor.sources.exams.files.questions import open_file
from proctor.sources.exams.rows.normal_form import Row, write_rows
from proctor.sources.exams.shots import choose
from proctor.sources.exams.source import open_suite
from proctor.sources.exams.tables.tasks import SUITES, TASKS

SUITE_OF = {task.key: suite.key for suite in SUITES.values() for task in suite.tasks}
KEYS = [key for key in TASKS if SUITE_OF[key] != "mmlu"] + ["astronomy"]


def sample(task, home, **more):
    return open_suite(ExamRef("suite", SUITE_OF[task], tasks=(task,), rows="sample", **more), home)


def pool(count, labels):
    return [
        Row(f"rte/dev-{index}", "rte", labels[index % len(labels)], {"n": index}) for index in range(count)
    ]


def pick(rows, count, task=TASKS["rte"], asked=()):
    return choose(task, rows, count, seed=0, shown=lambda row: str(row.fields["n"]), asked=asked)


@pytest.mark.parametrize("wording", [1, 2, 3])
@pytest.mark.parametrize("key", KEYS)
def test_every_item_is_shown_the_same_examples_with_their_right_answers(key, wording, tmp_path):
    source = sample(key, tmp_path, shots=2, wording=wording)
    plain = {item.id: item for item in sample(key, tmp_path, wording=wording).items()}
    beginnings = set()
    for item in source.items():
        (message,) = item.ask.messages
        start, _, rest = message.content.partition("Now it is your turn.\n\n")
        beginnings.add(start)
        assert start.count("Worked example ") == 2
        assert plain[item.id].ask.messages[0].content.endswith(rest)
        assert item.hash != plain[item.id].hash
        assert (item.target, item.options) == (plain[item.id].target, plain[item.id].options)
        answers = [
            line.removeprefix("Answer: ") for line in start.splitlines() if line.startswith("Answer: ")
        ]
        assert len(answers) == 2
        assert all(answer in item.options for answer in answers if TASKS[key].kind in ("labels", "choices"))
    assert len(beginnings) == 1
    assert source.facts.shots == 2
    assert source.facts.prompts["shots"] == "shots/1"


def test_labels_are_shown_evenly():
    rows = pool(50, ["entailment"] * 9 + ["not_entailment"])
    for count in (2, 4, 6):
        chosen = pick(rows, count)
        assert Counter(row.target for row in chosen) == {"entailment": count / 2, "not_entailment": count / 2}


@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_the_choice_does_not_depend_on_the_order_of_the_rows(random, count):
    rows = pool(30, ["entailment", "not_entailment"])
    chosen = pick(rows, count)
    random.shuffle(rows)
    assert pick(rows, count) == chosen


def test_fewer_examples_are_some_of_the_more():
    rows = pool(30, ["entailment", "not_entailment"])
    assert {row.id for row in pick(rows, 3)} <= {row.id for row in pick(rows, 4)}


def test_mmlu_shows_its_dev_rows_in_order():
    rows = [Row(f"anatomy/{index}", "anatomy", "ABCD"[index % 4], {"n": index}) for index in range(5)]
    assert pick(rows, 3, TASKS["anatomy"]) == tuple(rows[:3])


def test_no_example_is_an_item_that_is_asked():
    rows = pool(6, ["entailment", "not_entailment"])
    chosen = pick(rows, 3, asked={"0", "1", "2"})
    assert {row.fields["n"] for row in chosen} == {3, 4, 5}
    with pytest.raises(DataError, match=r"rte: 4 worked examples wanted, and there are 3: ask for at most 3"):
        pick(rows, 4, asked={"0", "1", "2"})


def test_an_item_among_the_dev_rows_is_not_shown(tmp_path):
    source = sample("rte", tmp_path)
    write_rows(tmp_path, "rte", "eval", source.rows, source=("x",), now=1.0)
    twins = [replace(row, id=f"rte/dev-{index}") for index, row in enumerate(source.rows[:19])]
    fresh = Row(
        "rte/dev-new", "rte", "entailment", {"sentence1": "It rains a lot.", "sentence2": "It rains."}
    )
    write_rows(tmp_path, "rte", "dev", [*twins, fresh], source=("x",), now=1.0)
    ref = ExamRef("suite", "glue", tasks=("rte",), shots=1, limit=1)
    (item,) = open_suite(ref, tmp_path).items()
    assert "Sentence 1: It rains a lot." in item.ask.messages[0].content
    with pytest.raises(DataError, match="rte: 2 worked examples wanted, and there are 1"):
        open_suite(replace(ref, shots=2), tmp_path)


def test_rows_without_an_answer_are_no_examples():
    rows = [replace(row, target=None) for row in pool(3, ["entailment"])]
    with pytest.raises(DataError, match="1 worked example wanted, and there are 0: leave out --shots"):
        pick(rows, 1)


def test_no_dev_rows_at_all(tmp_path):
    source = sample("rte", tmp_path)
    write_rows(tmp_path, "rte", "eval", source.rows, source=("x",), now=1.0)
    with pytest.raises(
        DataError, match=r"rte: 1 worked example wanted, .* no dev rows here.*proctor data import PATH"
    ):
        open_suite(ExamRef("suite", "glue", tasks=("rte",), shots=1), tmp_path)
    with pytest.raises(ConfigError, match="--shots -1"):
        sample("rte", tmp_path, shots=-1)


def test_a_file_of_questions_has_no_dev_rows(file):
    path = file("q.csv", "question,answer\nWho?,Ann\nWhere?,Oslo\n")
    with pytest.raises(DataError, match="q: 2 worked examples wanted, and there are no dev rows"):
        open_file(ExamRef("file", str(path), shots=2))
    rows = [{"messages": [{"role": "user", "content": f"Say {word}"}], "answer": word} for word in ("a", "b")]
    with pytest.raises(ConfigError, match="The rows of m bring their own messages: leave out --shots"):
        open_file(ExamRef("file", str(file("m.jsonl", rows)), shots=2))
    with pytest.raises(ConfigError, match="has one wording only"):
        open_file(ExamRef("file", str(file("m.jsonl", rows)), wording="all"))
