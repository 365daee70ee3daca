"""The tables of the suites are complete and agree with what the authors of the sets publish."""

from __future__ import annotations

from collections import Counter

import pytest

from proctor.findings import METRIC_VERSIONS
from proctor.grading.formats import Label
from proctor.grading.ladder1.readers import read_label
from proctor.grading.vocabulary import vocabulary
from proctor.sources.exams.prompts.by_name import PROMPTS
from proctor.sources.exams.tables.exams import MMLU, SUBJECTS, subject_title
from proctor.sources.exams.tables.tasks import SUITES, TASKS

KEYS = {
    "glue": "cola sst2 mrpc qqp stsb mnli qnli rte wnli ax",
    "superglue": "boolq cb copa multirc record rte wic wsc axb axg",
    "medical": (
        "medqa medmcqa pubmedqa anatomy clinical_knowledge college_biology college_medicine medical_genetics "
        "professional_medicine"
    ),
}

# Task -> official metrics, metrics beside them.
METRICS = {
    "cola": (("mcc",), ("accuracy",)),
    "sst2": (("accuracy",), ()),
    "mrpc": (("accuracy", "f1"), ()),
    "qqp": (("accuracy", "f1"), ()),
    "stsb": (("pearson", "spearman"), ()),
    "mnli": (("accuracy",), ("accuracy_m", "accuracy_mm")),
    "qnli": (("accuracy",), ()),
    "rte": (("accuracy",), ()),
    "wnli": (("accuracy",), ()),
    "ax": (("mcc",), ("accuracy",)),
    "boolq": (("accuracy",), ()),
    "cb": (("accuracy", "macro_f1"), ()),
    "copa": (("accuracy",), ()),
    "multirc": (("f1a", "em"), ()),
    "record": (("f1", "em"), ()),
    "wic": (("accuracy",), ()),
    "wsc": (("accuracy",), ()),
    "axb": (("mcc",), ("accuracy",)),
    "axg": (("accuracy", "gender_parity"), ()),
    "medqa": (("accuracy",), ()),
    "medmcqa": (("accuracy",), ()),
    "pubmedqa": (("accuracy", "macro_f1"), ()),
}


@pytest.mark.parametrize("suite", KEYS)
def test_the_suites_hold_their_tasks_in_order(suite):
    assert [task.key for task in SUITES[suite].tasks] == KEYS[suite].split()


def test_the_suites_hold_the_official_sizes():
    sizes = {
        suite.key: sum(task.official_size or 0 for task in suite.tasks if not task.extra)
        for suite in SUITES.values()
    }
    # SuperGLUE's 19,293 count MultiRC by its 4,848 answers; it is asked by its 953 questions.
    assert sizes == {"glue": 69_711, "superglue": 19_293 - 4848 + 953, "mmlu": 14_042, "medical": 7045}
    assert len(MMLU) == 57
    assert sum(task.official["dev"] for task in MMLU.values()) == 285


def test_the_categories_of_mmlu_have_their_published_sizes():
    assert {name: (len(sizes), sum(sizes.values())) for name, sizes in SUBJECTS.items()} == {
        "STEM": (18, 3018),
        "humanities": (13, 4705),
        "social sciences": (12, 3077),
        "other": (14, 3242),
    }
    assert sorted(key for keys in SUITES["mmlu"].categories.values() for key in keys) == sorted(MMLU)


@pytest.mark.parametrize("key", METRICS)
def test_metrics_are_the_official_ones(key):
    assert (TASKS[key].metrics, TASKS[key].also) == METRICS[key]


def test_headlines_are_made_as_their_fields_make_them():
    aggregates = {suite.key: suite.aggregate for suite in SUITES.values()}
    assert aggregates == {"glue": "macro", "superglue": "macro", "mmlu": "micro", "medical": "micro"}
    assert [task.key for task in TASKS.values() if task.extra] == ["ax", "axb", "axg"]


def test_rte_and_the_medical_subjects_are_the_same_tasks_in_both_suites():
    by_suite = {suite.key: {task.key: task for task in suite.tasks} for suite in SUITES.values()}
    assert by_suite["glue"]["rte"] is by_suite["superglue"]["rte"]
    assert by_suite["medical"]["anatomy"] is by_suite["mmlu"]["anatomy"]


def test_histograms_agree_with_the_sizes():
    for task in TASKS.values():
        if task.histogram:
            assert sum(task.histogram.values()) == task.official_size, task.key
            assert set(task.histogram) == ({label.name for label in task.labels} or set(task.histogram))


def test_every_task_has_what_its_kind_needs():
    for task in TASKS.values():
        assert len(PROMPTS[task.prompt]) == 3
        assert bool(task.labels) is (task.kind == "labels")
        assert {*task.metrics, *task.also} <= METRIC_VERSIONS.keys()
        names = [label.name for label in task.labels]
        assert len(set(names)) == len(names)
        assert task.positive is None or task.positive in names
        assert "f1" not in task.metrics or task.positive or task.kind == "entity"


@pytest.mark.parametrize("key", [key for key, task in TASKS.items() if task.labels])
def test_every_word_for_a_label_is_read_as_that_label(key):
    words = vocabulary(TASKS[key].labels)
    for label in TASKS[key].labels:
        for word in (label.name, label.shown, *label.synonyms):
            assert read_label(word, words) == label.name, word


def test_labels_are_asked_for_by_plain_words():
    assert Label("neutral").shown == "neutral"
    shown = {key: {label.name: label.shown for label in TASKS[key].labels} for key in ("rte", "mrpc", "cola")}
    assert shown == {
        "rte": {"entailment": "yes", "not_entailment": "no"},
        "mrpc": {"not_equivalent": "no", "equivalent": "yes"},
        "cola": {"unacceptable": "unacceptable", "acceptable": "acceptable"},
    }


def test_every_task_says_where_the_hub_has_it():
    for task in TASKS.values():
        assert task.hub is not None
        assert "eval" in task.hub.splits
        assert set(task.hub.splits) <= {"eval", "dev"}
    pinned = Counter(task.hub.dataset for task in TASKS.values() if task.hub and task.hub.revision)
    assert pinned == {"cais/mmlu": 57, "qiaojin/PubMedQA": 1}  # no revision that suites.md does not state
    assert TASKS["wsc"].hub.config == "wsc.fixed"


def test_titles():
    assert TASKS["pubmedqa"].title == "PubMedQA, official 500"
    assert subject_title("high_school_us_history") == "High school US history"
    assert subject_title("anatomy") == "Anatomy"
    assert not [suite.title for suite in SUITES.values() if "so far" in suite.title]
