"""The table of suites is complete, and every prompt asks for what its task can read."""

from __future__ import annotations

import pytest

from proctor.suites.answers import read_answer
from proctor.suites.prompts import PROMPTS
from proctor.suites.readers import vocabulary
from proctor.suites.tasks import METRIC_VERSIONS, MMLU, SUITES, TASKS, subject_title
from proctor.types import Reply

EXAMPLES = {
    "boolq": {"question": "is it so?", "passage": "It is so."},
    "mmlu": {"subject": "high_school_physics", "question": "Which?", "choices": ["w", "x", "y", "z"]},
    "pubmedqa": {"question": "Does it help?", "contexts": ["We tried.", "It helped."]},
    "choices": {"question": "Which?", "choices": ["w", "x", "y"]},
    "labels": {"question": "How is it?", "labels": ["good", "bad"]},
    "text": {"question": "Who?"},
    "verbatim": {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]},
}


def test_the_suites_hold_the_official_sizes():
    assert len(SUITES["mmlu"].tasks) == len(MMLU) == 57
    assert sum(task.official["eval"] for task in SUITES["mmlu"].tasks) == 14_042
    assert sum(task.official["dev"] for task in SUITES["mmlu"].tasks) == 285
    medical = {task.key: task.official_size for task in SUITES["medical"].tasks}
    assert medical.pop("pubmedqa") == 500
    assert sum(medical.values()) == 1089
    assert [task.key for task in SUITES["superglue"].tasks] == ["boolq"]


def test_histograms_agree_with_the_sizes():
    for task in TASKS.values():
        if task.histogram:
            assert sum(task.histogram.values()) == task.official_size
            assert set(task.histogram) == {label.name for label in task.labels}


def test_every_task_has_a_prompt_labels_or_choices_and_known_metrics():
    for task in TASKS.values():
        assert task.prompt in PROMPTS
        assert bool(task.labels) is (task.kind == "labels")
        assert set(task.metrics) <= METRIC_VERSIONS.keys()


def test_titles():
    assert TASKS["pubmedqa"].title == "PubMedQA, official 500"
    assert subject_title("high_school_us_history") == "High school US history"
    assert subject_title("anatomy") == "Anatomy"


def test_versions_name_their_prompt():
    for name, prompt in PROMPTS.items():
        assert prompt.version.startswith(f"{name}/")


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() - {"verbatim"}))
def test_a_prompt_is_one_user_turn_that_ends_with_the_form_of_the_answer(name):
    messages = PROMPTS[name].render(EXAMPLES[name])
    assert [message.role for message in messages] == ["user"]
    last = messages[0].content.splitlines()[-1]
    assert last.startswith("Answer: <")
    assert last.endswith(">")


def test_each_prompt_shows_all_its_fields():
    for name, fields in EXAMPLES.items():
        shown = "\n".join(message.content for message in PROMPTS[name].render(fields))
        for value in fields.values():
            parts = value if isinstance(value, list) else [value]
            for part in parts:
                text = part["content"] if isinstance(part, dict) else part.replace("_", " ").rstrip("?")
                assert text in shown


def test_messages_of_a_row_are_sent_as_they_are():
    messages = PROMPTS["verbatim"].render(EXAMPLES["verbatim"])
    assert [(message.role, message.content) for message in messages] == [
        ("system", "Be brief."),
        ("user", "Hi"),
    ]


@pytest.mark.parametrize("key", ["boolq", "pubmedqa", "anatomy"])
def test_a_model_that_repeats_the_prompt_has_not_answered(key):
    task = TASKS[key]
    fields = EXAMPLES[task.prompt]
    echo = Reply(PROMPTS[task.prompt].render(fields)[0].content)
    words = vocabulary(task.labels) if task.labels else None
    answer = read_answer(echo, kind=task.kind, vocabulary=words, choices=fields.get("choices", ()))
    assert answer == (None, None)
