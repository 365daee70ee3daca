"""Styles and wordings: what is shown, how it is read, and what goes with what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proctor.errors import ConfigError, DataError
from proctor.references import ExamRef
from proctor.sources.exams.official.imports import import_path
from proctor.sources.exams.prompts.styles import STYLES, styles_of, writers_of
from proctor.sources.exams.source import open_suite
from proctor.sources.exams.tables.tasks import TASKS
from proctor.types import Outcome, Reply


def sample(name, home, **more):
    return open_suite(ExamRef("suite", name, rows="sample", **more), home)


@pytest.fixture(scope="module")
def mmlu(shared, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    import_path(shared / "data" / "mmlu", home, now=1.0)
    return home


def items(home, **more):
    return list(open_suite(ExamRef("suite", "mmlu", tasks=("anatomy",), **more), home).items())


def text(item):
    (message,) = item.ask.messages
    assert message.role == "user"
    return message.content


def test_the_original_prompt_shows_five_dev_rows_in_their_order(mmlu, shared):
    import csv

    with (shared / "data" / "mmlu" / "dev" / "anatomy_dev.csv").open(newline="") as file:
        dev = list(csv.reader(file))
    blocks = "".join(
        f"{question}\nA. {a}\nB. {b}\nC. {c}\nD. {d}\nAnswer: {answer}\n\n"
        for question, a, b, c, d, answer in dev
    )
    head = "The following are multiple choice questions (with answers) about anatomy.\n\n"
    for item in items(mmlu, style="original-5shot"):
        assert text(item).startswith(head + blocks)
        rest = text(item).removeprefix(head + blocks)
        options = "".join(
            f"\n{letter}. {choice}" for letter, choice in zip("ABCD", item.choices, strict=True)
        )
        assert rest.endswith(f"{options}\nAnswer:")


def test_five_worked_examples_are_a_default_and_not_a_must(mmlu):
    assert items(mmlu, style="original-5shot", shots=0)[0].ask.messages[0].content.count("Answer:") == 1
    manifests = [
        open_suite(
            ExamRef("suite", "mmlu", tasks=("anatomy",), style="original-5shot", shots=shots), mmlu
        ).facts
        for shots in (None, 2)
    ]
    assert [(m.style, m.shots, m.prompts) for m in manifests] == [
        ("original-5shot", 5, {"mmlu": "original-5shot/1"}),
        ("original-5shot", 2, {"mmlu": "original-5shot/1"}),
    ]


def test_six_worked_examples_of_mmlu_are_too_many(mmlu):
    with pytest.raises(
        DataError, match=r"anatomy: 6 worked examples wanted, and there are 5: ask for at most 5"
    ):
        items(mmlu, shots=6)


def test_simple_evals_is_the_published_template(mmlu):
    item = items(mmlu, style="simple-evals")[0]
    lines = text(item).split("\n")
    assert lines[0] == (
        "Answer the following multiple choice question. The last line of your response should be of the "
        "following format: 'Answer: $LETTER' (without quotes) where LETTER is one of ABCD. Think step by step "
        "before answering."
    )
    assert lines[-4:] == [f"{letter}) {choice}" for letter, choice in zip("ABCD", item.choices, strict=True)]
    with pytest.raises(ConfigError, match="Style simple-evals shows no worked examples: leave out --shots"):
        items(mmlu, style="simple-evals", shots=1)


def test_each_style_reads_replies_in_its_own_way(tmp_path):
    talk = "Answer: A looks tempting.\nAnswer: B"
    read = {}
    for style in STYLES:
        source = sample(
            "mmlu", tmp_path, tasks=("anatomy",), style=style, shots=0 if style[0] == "o" else None
        )
        item = next(iter(source.items()))
        read[style] = (source.facts.extractor, source.grader.grade(item, Reply(talk)).answer)
    assert read == {
        "proctor": ("proctor/2", "B"),
        "original-5shot": ("proctor/2", "B"),
        "simple-evals": ("simple-evals/1", "A"),
        "lm-eval-generative": ("first-line/1", None),
    }


def test_the_first_line_counts_in_lm_evals_style_and_the_model_is_stopped_there(tmp_path):
    source = sample("mmlu", tmp_path, tasks=("anatomy",), style="lm-eval-generative")
    assert source.stop == ("\n",)
    assert source.facts.stop == ("\n",)
    assert sample("mmlu", tmp_path).stop == ()
    for item in source.items():
        assert source.grader.grade(item, Reply(f"{item.target}.")).outcome is Outcome.CORRECT
        assert source.grader.grade(item, Reply(f"The answer is {item.target}")).outcome is Outcome.NO_ANSWER
        assert text(item).endswith("\nAnswer:")
        assert text(item).count("Answer:") == 1


def test_an_extractor_that_is_asked_for_wins_over_the_styles(tmp_path):
    source = sample("mmlu", tmp_path, style="simple-evals", extractor="proctor/1")
    assert source.facts.extractor == "proctor/1"
    with pytest.raises(ConfigError, match="No extractor 'proctor/9'"):
        sample("mmlu", tmp_path, extractor="proctor/9")


def test_a_prompt_that_nobody_wrote_is_named():
    task = replace(TASKS["medqa"], prompt="medqa-two")
    with pytest.raises(
        ConfigError, match=r"medqa: there is no prompt 'medqa-two'; sources/exams/prompts/by_name\.py"
    ):
        writers_of(STYLES["proctor"], task, 1)


def test_the_styles_of_mmlu_are_there_in_the_medical_suite_too(tmp_path):
    source = sample("medical", tmp_path, tasks=("anatomy",), style="simple-evals")
    assert source.facts.prompts == {"mmlu": "simple-evals/1"}
    assert styles_of(TASKS["virology"]) == ("proctor", "original-5shot", "simple-evals", "lm-eval-generative")


def test_a_style_that_a_task_does_not_have(tmp_path):
    with pytest.raises(
        ConfigError, match=r"medqa cannot be asked in style simple-evals; its styles: proctor\."
    ):
        sample("medical", tmp_path, style="simple-evals")
    with pytest.raises(ConfigError, match=r"No style 'helm'\. Styles: proctor, original-5shot, "):
        sample("mmlu", tmp_path, style="helm")
    with pytest.raises(ConfigError, match="Style simple-evals has one wording only: leave out --wording 2"):
        sample("mmlu", tmp_path, style="simple-evals", wording=2)


@pytest.mark.parametrize("wording", [1, 2, 3])
def test_a_wording_is_recorded_by_its_version(wording, tmp_path):
    source = sample("glue", tmp_path, tasks=("rte",), wording=wording)
    assert source.facts.wording == wording
    assert source.facts.prompts == {"rte": ["rte/1", "rte/w2/1", "rte/w3/1"][wording - 1]}


def test_all_wordings_ask_each_item_three_times_in_a_row(tmp_path):
    single = [
        {item.id: item for item in sample("glue", tmp_path, wording=wording).items()} for wording in (1, 2, 3)
    ]
    source = sample("glue", tmp_path, wording="all")
    found = list(source.items())
    ids = [item.id for item in found]
    assert len(source) == len(found) == 3 * len(single[0])
    assert ids == [f"{name}@{number}" for name in single[0] for number in (1, 2, 3)]
    for item in found:
        name, _, number = item.id.partition("@")
        alone = single[int(number) - 1][name]
        assert (item.ask.messages, item.hash, item.group) == (alone.ask.messages, alone.hash, alone.group)
        assert item.cluster == (alone.cluster or name)
    assert source.facts.wording == "all"
    assert source.facts.prompts["cola"] == "cola/1 + cola/w2/1 + cola/w3/1"
    assert source.facts.n == len(single[0])
    assert sorted(source.row_ids) == sorted(ids)


def test_a_limit_counts_items_and_not_their_wordings(tmp_path):
    source = sample("glue", tmp_path, tasks=("cola", "rte"), wording="all", limit=2)
    assert len(source) == 12
    assert source.facts.full_sizes == {"cola": 20, "rte": 20}


def test_what_is_unusual_is_said(tmp_path):
    source = sample("mmlu", tmp_path, wording="all", shuffle=True, shots=1)
    assert source.understood == (
        "each item is asked in three wordings; its score is the mean of the three",
        "1 worked example from the dev rows before each item",
        "lettered choices stand in a seeded order of their own for each item",
    )
    assert sample("mmlu", tmp_path).understood == ()
