"""The suites and their tasks, as one table: what is asked, which answers count, how large the set is.

A task is an entry here and a prompt in prompts.py; nothing else in the program names a task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["choices", "labels", "text"]

# Part of what makes two scores comparable: raised when a metric starts to give other numbers.
METRIC_VERSIONS: Mapping[str, str] = {"accuracy": "accuracy/1"}


@dataclass(frozen=True, slots=True)
class Label:
    """An answer by name, and the other words that mean it ("not true" for "no")."""

    name: str
    synonyms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of question.

    `labels` are the answers of a task of kind "labels"; a lettered task takes its choices from each
    row. `official` is the size of each official split, `histogram` the answers of its eval split,
    where they are known. `cluster` names the field that items which hang together have in common.
    """

    key: str
    title: str
    kind: Kind
    prompt: str
    labels: tuple[Label, ...] = ()
    metrics: tuple[str, ...] = ("accuracy",)
    official: Mapping[str, int] = field(default_factory=dict)
    histogram: Mapping[str, int] = field(default_factory=dict)
    cluster: str | None = None
    note: str = ""

    @property
    def official_size(self) -> int | None:
        """How many items the official evaluation has; None where there is no official set."""
        return self.official.get("eval")


@dataclass(frozen=True, slots=True)
class Suite:
    """Tasks that are run and reported together.

    `aggregate` says how the headline is made: over all items ("micro") or over the tasks ("macro").
    """

    key: str
    title: str
    tasks: tuple[Task, ...]
    aggregate: Literal["micro", "macro"]


YES = Label("yes", ("true", "not false"))
NO = Label("no", ("false", "not true", "untrue"))
MAYBE = Label("maybe")

# MMLU's subjects by its authors' categories, with the size of the test split; dev has 5 rows each.
SUBJECTS: Mapping[str, Mapping[str, int]] = {
    "STEM": {
        "abstract_algebra": 100,
        "astronomy": 152,
        "college_biology": 144,
        "college_chemistry": 100,
        "college_computer_science": 100,
        "college_mathematics": 100,
        "college_physics": 102,
        "computer_security": 100,
        "conceptual_physics": 235,
        "electrical_engineering": 145,
        "elementary_mathematics": 378,
        "high_school_biology": 310,
        "high_school_chemistry": 203,
        "high_school_computer_science": 100,
        "high_school_mathematics": 270,
        "high_school_physics": 151,
        "high_school_statistics": 216,
        "machine_learning": 112,
    },
    "humanities": {
        "formal_logic": 126,
        "high_school_european_history": 165,
        "high_school_us_history": 204,
        "high_school_world_history": 237,
        "international_law": 121,
        "jurisprudence": 108,
        "logical_fallacies": 163,
        "moral_disputes": 346,
        "moral_scenarios": 895,
        "philosophy": 311,
        "prehistory": 324,
        "professional_law": 1534,
        "world_religions": 171,
    },
    "social sciences": {
        "econometrics": 114,
        "high_school_geography": 198,
        "high_school_government_and_politics": 193,
        "high_school_macroeconomics": 390,
        "high_school_microeconomics": 238,
        "high_school_psychology": 545,
        "human_sexuality": 131,
        "professional_psychology": 612,
        "public_relations": 110,
        "security_studies": 245,
        "sociology": 201,
        "us_foreign_policy": 100,
    },
    "other": {
        "anatomy": 135,
        "business_ethics": 100,
        "clinical_knowledge": 265,
        "college_medicine": 173,
        "global_facts": 100,
        "human_aging": 223,
        "management": 103,
        "marketing": 234,
        "medical_genetics": 100,
        "miscellaneous": 783,
        "nutrition": 306,
        "professional_accounting": 282,
        "professional_medicine": 272,
        "virology": 166,
    },
}

MEDICAL_SUBJECTS = (
    "anatomy",
    "clinical_knowledge",
    "college_biology",
    "college_medicine",
    "medical_genetics",
    "professional_medicine",
)


def subject_title(subject: str) -> str:
    """A subject as a person writes it.

    >>> subject_title("us_foreign_policy")
    'US foreign policy'
    """
    words = ["US" if word == "us" else word for word in subject.split("_")]
    return f"{words[0][0].upper()}{words[0][1:]} {' '.join(words[1:])}".rstrip()


BOOLQ = Task(
    key="boolq",
    title="BoolQ",
    kind="labels",
    prompt="boolq",
    labels=(YES, NO),
    official={"eval": 3270, "dev": 9427},
    histogram={"yes": 2033, "no": 1237},
    cluster="passage",
    note="SuperGLUE's validation split, whose answers are public; rows of one passage hang together.",
)

PUBMEDQA = Task(
    key="pubmedqa",
    title="PubMedQA, official 500",
    kind="labels",
    prompt="pubmedqa",
    labels=(YES, NO, MAYBE),
    official={"eval": 500, "dev": 500},
    histogram={"yes": 276, "no": 169, "maybe": 55},
    note="The 500 test articles of test_ground_truth.json; the abstract is shown without its conclusion.",
)

MMLU: Mapping[str, Task] = {
    subject: Task(
        key=subject,
        title=f"MMLU: {subject_title(subject)}",
        kind="choices",
        prompt="mmlu",
        official={"eval": size, "dev": 5},
        note="The test split of the authors' archive, no worked examples shown.",
    )
    for sizes in SUBJECTS.values()
    for subject, size in sorted(sizes.items())
}

SUITES: Mapping[str, Suite] = {
    "superglue": Suite("superglue", "SuperGLUE (BoolQ so far)", (BOOLQ,), "macro"),
    "mmlu": Suite("mmlu", "MMLU (57 subjects)", tuple(MMLU[key] for key in sorted(MMLU)), "micro"),
    "medical": Suite(
        "medical",
        "Medical (PubMedQA and six MMLU subjects so far)",
        (PUBMEDQA, *(MMLU[subject] for subject in MEDICAL_SUBJECTS)),
        "micro",
    ),
}

TASKS: Mapping[str, Task] = {task.key: task for suite in SUITES.values() for task in suite.tasks}
