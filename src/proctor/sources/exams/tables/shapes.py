"""What a task and a suite are: the columns of the tables that describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from proctor.grading.formats import AnswerFormat, Label


@dataclass(frozen=True, slots=True)
class HubSet:
    """Where the hub has a task's rows.

    `splits` maps our splits to the hub's (several are joined by "+", to be read in that order) or to
    the name of a file, which ends in .json or .jsonl. `revision` is a commit, where one is settled.
    `form` names the reader that makes rows of it.
    """

    dataset: str
    config: str
    splits: Mapping[str, str]
    revision: str | None
    form: str


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of question.

    `labels` are the answers of a task of kind "labels"; a lettered task takes its choices from each
    row. `metrics` are the official ones, whose mean is the task's score, and `also` those shown beside
    them; `positive` is the label that F1 counts. `official` is the size of each official split,
    `histogram` the targets of its eval split, where they are known. Items hang together when they share
    the field `cluster`, or, with `paired`, when they are rows 2k and 2k + 1. An `extra` task is no part
    of the suite's score.
    """

    key: str
    title: str
    kind: AnswerFormat
    prompt: str
    labels: tuple[Label, ...] = ()
    metrics: tuple[str, ...] = ("accuracy",)
    also: tuple[str, ...] = ()
    positive: str | None = None
    official: Mapping[str, int] = field(default_factory=dict)
    histogram: Mapping[str, int] = field(default_factory=dict)
    cluster: str | None = None
    paired: bool = False
    extra: bool = False
    ordered_dev: bool = False  # worked examples are the first dev rows, as the authors showed them
    hub: HubSet | None = None
    note: str = ""
    grader: str | None = None  # as `parse_grader` takes it; None: chosen by the answers

    @property
    def official_size(self) -> int | None:
        """How many items the official evaluation has; None where there is no official set."""
        return self.official.get("eval")


@dataclass(frozen=True, slots=True)
class Suite:
    """Tasks that are run and reported together.

    `aggregate` says how the headline is made: over all items ("micro") or over the tasks ("macro").
    `categories` are groups of tasks that are reported as well.
    """

    key: str
    title: str
    tasks: tuple[Task, ...]
    aggregate: Literal["micro", "macro"]
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


YES = Label("yes", ("true", "not false"))
NO = Label("no", ("false", "not true", "untrue"))
MAYBE = Label("maybe")

# The two answers of tasks that ask whether one text follows from another; the model says yes or no.
FOLLOWS = Label("entailment", ("true", "not false", "entailed", "entails"), shown="yes")
FOLLOWS_NOT = Label(
    "not_entailment",
    ("false", "not true", "untrue", "no entailment", "not entailed", "does not entail", "doesn't entail"),
    shown="no",
)

ENTAILMENT = Label("entailment", ("entailed", "entails", "true"))
NEUTRAL = Label("neutral", ("neither", "undetermined"))
CONTRADICTION = Label("contradiction", ("contradicts", "contradicted", "contradictory", "false"))
