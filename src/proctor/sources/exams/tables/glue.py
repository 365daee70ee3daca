"""GLUE as a table: sizes, labels and metrics as its authors publish them."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.grading.formats import Label
from proctor.sources.exams.tables.shapes import (
    CONTRADICTION,
    ENTAILMENT,
    FOLLOWS,
    FOLLOWS_NOT,
    NEUTRAL,
    HubSet,
    Suite,
    Task,
)

VALIDATION: Mapping[str, str] = {"eval": "validation", "dev": "train"}
HIDDEN = "The answers are not public: scored only where the rows bring them."


def hub(key: str, splits: Mapping[str, str] = VALIDATION) -> HubSet:
    return HubSet("nyu-mll/glue", key, splits, None, f"glue/{key}")


COLA = Task(
    key="cola",
    title="CoLA",
    kind="labels",
    prompt="cola",
    labels=(
        Label("unacceptable", ("not acceptable", "ungrammatical", "not grammatical")),
        Label("acceptable", ("grammatical", "not unacceptable")),
    ),
    metrics=("mcc",),
    also=("accuracy",),
    positive="acceptable",
    official={"eval": 1043, "dev": 8551},
    hub=hub("cola"),
)

SST2 = Task(
    key="sst2",
    title="SST-2",
    kind="labels",
    prompt="sst2",
    labels=(Label("negative", ("not positive",)), Label("positive", ("not negative",))),
    positive="positive",
    official={"eval": 872, "dev": 67_349},
    hub=hub("sst2"),
)

MRPC = Task(
    key="mrpc",
    title="MRPC",
    kind="labels",
    prompt="mrpc",
    labels=(
        Label("not_equivalent", ("false", "not true", "untrue", "different meaning"), shown="no"),
        Label("equivalent", ("true", "not false", "same meaning"), shown="yes"),
    ),
    metrics=("accuracy", "f1"),
    positive="equivalent",
    official={"eval": 408, "dev": 3668},
    hub=hub("mrpc"),
)

QQP = Task(
    key="qqp",
    title="QQP",
    kind="labels",
    prompt="qqp",
    labels=(
        Label("not_duplicate", ("false", "not true", "untrue", "not duplicates"), shown="no"),
        Label("duplicate", ("true", "not false", "duplicates"), shown="yes"),
    ),
    metrics=("accuracy", "f1"),
    positive="duplicate",
    official={"eval": 40_430, "dev": 363_846},
    hub=hub("qqp"),
)

STSB = Task(
    key="stsb",
    title="STS-B",
    kind="number",
    prompt="stsb",
    metrics=("pearson", "spearman"),
    official={"eval": 1500, "dev": 5749},
    hub=hub("stsb"),
)

MNLI = Task(
    key="mnli",
    title="MNLI",
    kind="labels",
    prompt="mnli",
    labels=(ENTAILMENT, NEUTRAL, CONTRADICTION),
    also=("accuracy_m", "accuracy_mm"),
    official={"eval": 9815 + 9832, "dev": 392_702},
    cluster="premise",
    hub=hub("mnli", {"eval": "validation_matched+validation_mismatched", "dev": "train"}),
    note="Accuracy is the mean of the matched and the mismatched half; rows on one premise hang together.",
)

QNLI = Task(
    key="qnli",
    title="QNLI",
    kind="labels",
    prompt="qnli",
    labels=(FOLLOWS, FOLLOWS_NOT),
    positive="entailment",
    official={"eval": 5463, "dev": 104_743},
    histogram={"entailment": 2702, "not_entailment": 2761},
    hub=hub("qnli"),
)

RTE = Task(
    key="rte",
    title="RTE",
    kind="labels",
    prompt="rte",
    labels=(FOLLOWS, FOLLOWS_NOT),
    positive="entailment",
    official={"eval": 277, "dev": 2490},
    hub=hub("rte"),
    note="One task of GLUE and of SuperGLUE.",
)

WNLI = Task(
    key="wnli",
    title="WNLI",
    kind="labels",
    prompt="wnli",
    labels=(FOLLOWS_NOT, FOLLOWS),
    positive="entailment",
    official={"eval": 71, "dev": 635},
    histogram={"not_entailment": 40, "entailment": 31},
    hub=hub("wnli"),
    note="The validation rows were made to mislead: they share sentences with train rows of the other label.",
)

AX = Task(
    key="ax",
    title="AX, the diagnostics of GLUE",
    kind="labels",
    prompt="mnli",
    labels=(ENTAILMENT, NEUTRAL, CONTRADICTION),
    metrics=("mcc",),
    also=("accuracy",),
    official={"eval": 1104},
    extra=True,
    hub=hub("ax", {"eval": "test"}),
    note=HIDDEN,
)

GLUE = Suite("glue", "GLUE", (COLA, SST2, MRPC, QQP, STSB, MNLI, QNLI, RTE, WNLI, AX), "macro")
