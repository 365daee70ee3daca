"""SuperGLUE as a table: sizes, labels and metrics as its authors publish them."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.sources.exams.tables.glue import HIDDEN, RTE, VALIDATION
from proctor.sources.exams.tables.shapes import (
    CONTRADICTION,
    ENTAILMENT,
    FOLLOWS,
    FOLLOWS_NOT,
    NEUTRAL,
    NO,
    YES,
    HubSet,
    Suite,
    Task,
)

TEST_ONLY: Mapping[str, str] = {"eval": "test"}


def hub(key: str, splits: Mapping[str, str] = VALIDATION, config: str | None = None) -> HubSet:
    return HubSet("aps/super_glue", config or key, splits, None, f"superglue/{key}")


BOOLQ = Task(
    key="boolq",
    title="BoolQ",
    kind="labels",
    prompt="boolq",
    labels=(YES, NO),
    positive="yes",
    official={"eval": 3270, "dev": 9427},
    histogram={"yes": 2033, "no": 1237},
    cluster="passage",
    hub=hub("boolq"),
    note="SuperGLUE's validation split, whose answers are public; rows of one passage hang together.",
)

CB = Task(
    key="cb",
    title="CB",
    kind="labels",
    prompt="cb",
    labels=(ENTAILMENT, CONTRADICTION, NEUTRAL),
    metrics=("accuracy", "macro_f1"),
    official={"eval": 56, "dev": 250},
    hub=hub("cb"),
)

COPA = Task(
    key="copa",
    title="COPA",
    kind="choices",
    prompt="copa",
    official={"eval": 100, "dev": 400},
    histogram={"A": 55, "B": 45},
    hub=hub("copa"),
)

MULTIRC = Task(
    key="multirc",
    title="MultiRC",
    kind="letters",
    prompt="multirc",
    metrics=("f1a", "em"),
    official={"eval": 953},
    cluster="paragraph",
    hub=hub("multirc"),
    note="One call a question, for the letters of all its right answers; 953 questions on 4,848 answers.",
)

RECORD = Task(
    key="record",
    title="ReCoRD",
    kind="entity",
    prompt="record",
    metrics=("f1", "em"),
    official={"eval": 10_000, "dev": 100_730},
    cluster="passage",
    hub=hub("record"),
)

WIC = Task(
    key="wic",
    title="WiC",
    kind="labels",
    prompt="wic",
    labels=(NO, YES),
    positive="yes",
    official={"eval": 638, "dev": 5428},
    hub=hub("wic"),
)

WSC = Task(
    key="wsc",
    title="WSC",
    kind="labels",
    prompt="wsc",
    labels=(NO, YES),
    positive="yes",
    official={"eval": 104, "dev": 554},
    histogram={"no": 66, "yes": 38},
    hub=hub("wsc", config="wsc.fixed"),
)

AXB = Task(
    key="axb",
    title="AX-b, the broad diagnostics of SuperGLUE",
    kind="labels",
    prompt="rte",
    labels=(FOLLOWS, FOLLOWS_NOT),
    metrics=("mcc",),
    also=("accuracy",),
    positive="entailment",
    official={"eval": 1104},
    extra=True,
    hub=hub("axb", TEST_ONLY),
    note=HIDDEN,
)

AXG = Task(
    key="axg",
    title="AX-g, the gender diagnostics of SuperGLUE",
    kind="labels",
    prompt="axg",
    labels=(FOLLOWS, FOLLOWS_NOT),
    metrics=("accuracy", "gender_parity"),
    positive="entailment",
    official={"eval": 356},
    histogram={"entailment": 178, "not_entailment": 178},
    paired=True,
    extra=True,
    hub=hub("axg", TEST_ONLY),
    note=HIDDEN,
)

SUPERGLUE = Suite(
    "superglue", "SuperGLUE", (BOOLQ, CB, COPA, MULTIRC, RECORD, RTE, WIC, WSC, AXB, AXG), "macro"
)
