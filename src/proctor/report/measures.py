"""The metrics in words: what scores each task, what a metric counts, what an unread reply does to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from proctor.figures import amount
from proctor.findings import OF_LABELS
from proctor.manifest import TaskSpec
from proctor.report.words import names_joined, unique
from proctor.types import Run

MOST_NAMED = 9  # tasks in a sentence; of more, only the number

NAMES: Mapping[str, str] = {
    "accuracy": "accuracy",
    "accuracy_m": "the accuracy on the matched half",
    "accuracy_mm": "the accuracy on the mismatched half",
    "f1": "F1",
    "macro_f1": "macro-F1",
    "mcc": "Matthews' correlation",
    "pearson": "Pearson's correlation",
    "spearman": "Spearman's correlation",
    "em": "exact match",
    "f1a": "F1 over all candidate answers",
    "gender_parity": "gender parity",
    "mean": "the mean of the items' scores",
    "success_rate": "the success rate",
    "mean_score": "the mean score",
}

# Metric, or metric and kind of task -> what it is.
MEANINGS: Mapping[str, str] = {
    "accuracy": "Accuracy (accuracy) is the share of the items that were answered right.",
    "accuracy number": "For numbers, accuracy counts an answer within half a point of the target as right.",
    "accuracy_m": (
        "Where a set has a matched and a mismatched half (accuracy_m, accuracy_mm), its accuracy is the mean of the "
        "two."
    ),
    "f1": (
        "F1 (f1) is twice the rightly found items of the positive label, over that number plus the items that have "
        "the label and those that were given it."
    ),
    "f1 words": (
        "F1 over words (f1) is the harmonic mean of the shares of words that answer and target have in common, "
        "whatever their case, without punctuation and articles, against the right text that fits best."
    ),
    "macro_f1": "Macro-F1 (macro_f1) is the unweighted mean of the F1 of every label.",
    "mcc": (
        "Matthews' correlation coefficient (mcc) is 1 if all answers are right and 0 if they have nothing to do with "
        "the targets; with more than two labels it is the generalised one (Gorodkin 2004)."
    ),
    "pearson": (
        "Pearson's correlation (pearson) is that of the numbers that were answered with the targets; it counts as 0 "
        "if all answers are the same."
    ),
    "spearman": (
        "Spearman's correlation (spearman) is that of their ranks, numbers that are alike sharing the middle of "
        "their ranks."
    ),
    "em": (
        "For answers in words, exact match (em) is the share of those that are one of the right texts, whatever their "
        "case, without punctuation and articles."
    ),
    "em letters": (
        "For questions with several right answers, exact match (em) is the share of those of which all right answers, "
        "and no others, were chosen."
    ),
    "f1a": (
        "F1 over all candidate answers (f1a) takes the candidates of all questions together, each of them chosen or "
        "not."
    ),
    "gender_parity": (
        "Gender parity (gender_parity) is the share of pairs of sentences, alike but for a gender, that got the "
        "same answer."
    ),
    "mean": "The mean (mean) is that of the scores that the items were given.",
    "success_rate": (
        "The success rate (success_rate) is the mean over tasks of the share of a task's scored trials that passed."
    ),
    "mean_score": "The mean score (mean_score) is the mean over tasks of the scores of a task's scored trials.",
}

# What the names of scores over repeated askings begin with -> what they are.
PASSES: Mapping[str, str] = {
    "pass@": (
        "pass@k is the chance that at least one of k askings of an item gets it right: the share of the choices of k "
        "of its askings that hold a right one, which has no bias (Chen et al. 2021), averaged over the items."
    ),
    "pass^": (
        "pass^k is the chance that all of k askings of an item get it right: the share of the choices of k of its "
        "askings that are all right (Yao et al. 2024), averaged over the items."
    ),
}

# What an unread reply does where "it is wrong" does not say it all; by metric, and kind or number of labels.
UNREAD: Mapping[str, str] = {
    "two labels": (
        "A metric on two labels, other than accuracy, takes such a reply for the label that is not the target."
    ),
    "more labels": (
        "A metric on more than two labels, other than accuracy, takes such a reply for an answer that is none of them."
    ),
    "f1 words": "In an F1 over words such a reply shares no word with the target.",
    "f1a": "In the F1 over all candidate answers such a reply is wrong about every candidate.",
    "pearson": "In a correlation such a reply counts as the mean of the model's other answers.",
    "gender_parity": "In gender parity such a reply is like no other answer.",
}


def specs(run: Run) -> list[TaskSpec]:
    """The tasks whose metrics are known."""
    return [task for task in run.manifest.facts.tasks.values() if task.metrics]


def short_title(task: TaskSpec) -> str:
    """A task's title up to its first comma, for a sentence."""
    return task.title.partition(",")[0]


def scored_by(run: Run) -> str:
    """Which metrics score which tasks, and what is shown beside them."""
    by_metrics: dict[str, list[str]] = {}
    for spec in specs(run):
        by_metrics.setdefault(_official(spec), []).append(short_title(spec))
    if not by_metrics:
        return ""
    groups = [f"{_tasks(tasks)} by {metrics}" for metrics, tasks in by_metrics.items()]
    verb = "is" if len(next(iter(by_metrics.values()))) == 1 else "are"
    first, *others = groups
    return "; ".join([first.replace(" by ", f" {verb} scored by ", 1), *others]) + "."


def _official(spec: TaskSpec) -> str:
    names = [_named(metric, spec) for metric in spec.official]
    return names[0] if len(names) == 1 else f"the mean of {names_joined(names)}" if names else "no metric"


def _named(metric: str, spec: TaskSpec) -> str:
    if metric == "f1" and _words(spec):
        return "F1 over words"
    label = f' of the label "{spec.positive}"' if metric == "f1" and spec.positive else ""
    return NAMES.get(metric, metric) + label


def _tasks(titles: Sequence[str]) -> str:
    return names_joined(titles) if len(titles) <= MOST_NAMED else f"{amount(len(titles))} tasks"


def meanings(run: Run) -> str:
    """Every metric of the run in words, once."""
    return " ".join(MEANINGS[key] for key in unique(_keys(run)) if key in MEANINGS)


def _keys(run: Run) -> Iterator[str]:
    for spec in specs(run):
        for metric in spec.metrics:
            if metric in ("f1", "em", "accuracy"):
                yield from _by_kind(metric, spec)
            else:
                yield "accuracy_m" if metric == "accuracy_mm" else metric


def _by_kind(metric: str, spec: TaskSpec) -> Iterator[str]:
    if metric == "accuracy":
        yield metric
        if spec.kind == "number":
            yield "accuracy number"
    elif metric == "em":
        yield "em letters" if spec.kind == "letters" else "em"
    else:
        yield "f1 words" if _words(spec) else "f1"


def unread(run: Run) -> str:
    """What a reply without a readable answer does to the metrics of the run that are no plain shares."""
    return " ".join(UNREAD[key] for key in UNREAD if key in set(_unread_keys(run)))


def _unread_keys(run: Run) -> Iterator[str]:
    for spec in specs(run):
        if any(metric in OF_LABELS for metric in spec.metrics) and not _words(spec):
            yield "two labels" if len(spec.labels) == 2 else "more labels"
        if "f1" in spec.metrics and _words(spec):
            yield "f1 words"
        yield from ("pearson" if metric == "spearman" else metric for metric in spec.metrics)


def _words(spec: TaskSpec) -> bool:
    return spec.kind in ("entity", "text")


def headline(run: Run) -> str:
    """How the score over all tasks is made; "" where one task is all there is."""
    known, facts = specs(run), run.manifest.facts
    extras = [spec for spec in known if spec.extra]
    counted = len(known) - len(extras)
    said = []
    if counted > 1:
        said.append(_AGGREGATES[facts.aggregate or "micro"])
        whole = facts.scored_tasks
        if whole is not None and whole > counted:
            said.append(
                f"Only {amount(counted)} of the {amount(whole)} tasks that make up the suite's score were asked: "
                "the headline is no score of the suite."
            )
        if extras:
            verb = "is" if len(extras) == 1 else "are"
            titles = _tasks([short_title(spec) for spec in extras])
            said.append(f"{titles} {verb} scored apart and {verb} no part of the headline.")
    return " ".join(filter(None, said))


_AGGREGATES: Mapping[str, str] = {
    "macro": (
        "The headline is the unweighted mean of the tasks' scores; where a task has several official metrics, its "
        "score is their mean."
    ),
    "micro": (
        "The headline is the accuracy over all items, each task weighing as much as its whole set; the macro accuracy "
        "beside it is the unweighted mean of the tasks' accuracies."
    ),
}
