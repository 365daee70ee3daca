"""MMLU and the medical suite as tables: subjects, sizes and sources."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.sources.exams.tables.shapes import MAYBE, NO, YES, HubSet, Suite, Task

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


MMLU: Mapping[str, Task] = {
    subject: Task(
        key=subject,
        title=f"MMLU: {subject_title(subject)}",
        kind="choices",
        prompt="mmlu",
        official={"eval": size, "dev": 5},
        ordered_dev=True,
        hub=HubSet(
            "cais/mmlu",
            subject,
            {"eval": "test", "dev": "dev"},
            "c30699e8356da336a370243923dbaf21066bb9fe",
            "mmlu",
        ),
        note="The test split of the authors' archive; worked examples are its dev rows.",
    )
    for sizes in SUBJECTS.values()
    for subject, size in sorted(sizes.items())
}

MEDQA = Task(
    key="medqa",
    title="MedQA-USMLE, 4 options",
    kind="choices",
    prompt="medqa",
    official={"eval": 1273, "dev": 10_178},
    histogram={"A": 353, "B": 309, "C": 346, "D": 265},
    hub=HubSet(
        "GBaker/MedQA-USMLE-4-options",
        "default",
        {"eval": "phrases_no_exclude_test.jsonl", "dev": "phrases_no_exclude_train.jsonl"},
        None,
        "medical/medqa",
    ),
    note="The test split; rows with five options can be imported, and are another exam.",
)

MEDMCQA = Task(
    key="medmcqa",
    title="MedMCQA, validation",
    kind="choices",
    prompt="medmcqa",
    official={"eval": 4183, "dev": 182_822},
    histogram={"A": 1348, "B": 1085, "C": 925, "D": 825},
    hub=HubSet(
        "openlifescienceai/medmcqa",
        "data",
        {"eval": "validation", "dev": "train"},
        None,
        "medical/medmcqa",
    ),
    note="The validation split: the answers of the test split are not public.",
)

PUBMEDQA = Task(
    key="pubmedqa",
    title="PubMedQA, official 500",
    kind="labels",
    prompt="pubmedqa",
    labels=(YES, NO, MAYBE),
    metrics=("accuracy", "macro_f1"),
    official={"eval": 500, "dev": 500},
    histogram={"yes": 276, "no": 169, "maybe": 55},
    hub=HubSet(
        "qiaojin/PubMedQA",
        "pqa_labeled",
        {"eval": "train", "dev": "train"},  # told apart by the official test ids
        "9001f2853fb87cab8d220904e0de81ac6973b318",
        "medical/pubmedqa",
    ),
    note="The 500 test articles of test_ground_truth.json; the abstract is shown without its conclusion.",
)

MMLU_SUITE = Suite(
    "mmlu",
    "MMLU (57 subjects)",
    tuple(MMLU[key] for key in sorted(MMLU)),
    "micro",
    {category: tuple(sorted(subjects)) for category, subjects in SUBJECTS.items()},
)

MEDICAL = Suite(
    "medical",
    "Medical (MedQA, MedMCQA, PubMedQA and six MMLU subjects)",
    (MEDQA, MEDMCQA, PUBMEDQA, *(MMLU[subject] for subject in MEDICAL_SUBJECTS)),
    "micro",
)
