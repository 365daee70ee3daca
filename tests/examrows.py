"""The tasks of the suites as the statistics see them, and rows of them answered in known ways, for tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from proctor.findings import Score
from proctor.stats.estimates import Shape, TaskShape, scores
from proctor.stats.metrics import Scored, letters, squad_f1
from proctor.types import Outcome

NLI = ("entailment", "neutral", "contradiction")
PAIR = ("not_entailment", "entailment")
YES_NO = ("no", "yes")
BOTH = ("accuracy", "f1")


def labelled(
    title: str, names: tuple[str, ...], official: tuple[str, ...] = ("accuracy",), also: tuple[str, ...] = ()
) -> TaskShape:
    """A labelled task; its positive label is the last."""
    return TaskShape(title, official, also, names[-1], names, "labels")


def extra(shape: TaskShape) -> TaskShape:
    return TaskShape(
        shape.title, shape.official, shape.also, shape.positive, shape.labels, shape.kind, extra=True
    )


GLUE = {
    "cola": labelled("CoLA", ("unacceptable", "acceptable"), ("mcc",), ("accuracy",)),
    "sst2": labelled("SST-2", ("negative", "positive")),
    "mrpc": labelled("MRPC", ("not_equivalent", "equivalent"), BOTH),
    "qqp": labelled("QQP", ("not_duplicate", "duplicate"), BOTH),
    "stsb": TaskShape("STS-B", ("pearson", "spearman"), kind="number"),
    "mnli": labelled("MNLI", NLI, also=("accuracy_m", "accuracy_mm")),
    "qnli": labelled("QNLI", PAIR),
    "rte": labelled("RTE", PAIR),
    "wnli": labelled("WNLI", PAIR),
    "ax": extra(labelled("AX", NLI, ("mcc",), ("accuracy",))),
}
SUPERGLUE = {
    "boolq": labelled("BoolQ", YES_NO),
    "cb": labelled("CB", ("entailment", "contradiction", "neutral"), ("accuracy", "macro_f1")),
    "copa": TaskShape("COPA"),
    "multirc": TaskShape("MultiRC", ("f1a", "em"), kind="letters"),
    "record": TaskShape("ReCoRD", ("f1", "em"), kind="entity"),
    "rte": labelled("RTE", PAIR),
    "wic": labelled("WiC", YES_NO),
    "wsc": labelled("WSC", YES_NO),
    "axb": extra(labelled("AX-b", PAIR, ("mcc",), ("accuracy",))),
    "axg": extra(labelled("AX-g", PAIR, ("accuracy",), ("gender_parity",))),
}
MEDICAL = {
    "pubmedqa": labelled("PubMedQA", ("yes", "no", "maybe"), ("accuracy", "macro_f1")),
    "medqa": TaskShape("MedQA"),
    "anatomy": TaskShape("MMLU: Anatomy"),
}
SUITES = {"glue": GLUE, "superglue": SUPERGLUE, "medical": MEDICAL}

NAMES = ("Ada Lovelace", "the Analytical Engine", "Charles Babbage", "London", "Ada")
ANSWERS = {
    "choices": ("A", "B", "C", "D"),
    "letters": ("none", "A", "B", "A,B", "A,C", "B,C", "A,B,C"),
    "entity": NAMES,
    "number": tuple(str(i / 5).removesuffix(".0") for i in range(26)),
}
PER_CLUSTER = {"boolq": 2, "mnli": 3, "multirc": 4, "record": 2, "axg": 2}
CANDIDATES = 4


def answers(spec: TaskShape) -> tuple[str, ...]:
    return spec.labels or ANSWERS[spec.kind]


def row(task: str, spec: TaskShape, place: int, target: str | None, answer: str | None) -> Scored:
    """One row as the extractor would give it."""
    per = PER_CLUSTER.get(task)
    score, outcome = judged(spec.kind, target, answer)
    return Scored(
        item=f"{task}/{place}",
        task=task,
        target=target,
        answer=answer,
        outcome=outcome,
        score=score,
        cluster=f"c{place // per}" if per else None,
        half=("m" if place % 5 < 2 else "mm") if task == "mnli" else None,
        candidates=CANDIDATES if spec.kind == "letters" else None,
    )


def judged(kind: str, target: str | None, answer: str | None) -> tuple[float | None, Outcome]:
    if target is None:
        return None, Outcome.NO_ANSWER
    if answer is None:
        return 0.0, Outcome.NO_ANSWER
    scores: dict[str, Callable[[], float]] = {
        "entity": lambda: squad_f1(answer, [target]),
        "number": lambda: 1 - abs(float(answer) - float(target)) / 5,
        "letters": lambda: float(letters(answer) == letters(target)),
    }
    score = scores.get(kind, lambda: float(answer == target))()
    right = abs(float(answer) - float(target)) <= 0.5 if kind == "number" else score == 1.0
    return score, Outcome.CORRECT if right else Outcome.WRONG


def _wrong(names: Sequence[str], target: str) -> str:
    return names[(names.index(target) + 1) % len(names)]


# How a model answers: from the task's answers and the targets of its items to the answers given.
WAYS: dict[str, Callable[[Sequence[str], list[str], Random], Sequence[str | None]]] = {
    "perfect": lambda names, targets, random: targets,
    "wrong": lambda names, targets, random: [_wrong(names, target) for target in targets],
    "one label": lambda names, targets, random: [names[1]] * len(targets),
    "shuffled": lambda names, targets, random: random.sample(targets, len(targets)),
    "silent": lambda names, targets, random: [None] * len(targets),
    "half silent": lambda names, targets, random: [t if i % 2 else None for i, t in enumerate(targets)],
    "mixed": lambda names, targets, random: [random.choice([t, t, *names, None]) for t in targets],
}


def exam_rows(task: str, spec: TaskShape, way: str, n: int = 120) -> list[Scored]:
    """`n` items of a task with every answer among the targets, answered in one of WAYS."""
    random = Random(f"{task} {n}")
    names = answers(spec)
    targets = [names[i] if i < len(names) else random.choice(names) for i in range(n)]
    said = WAYS[way](names, targets, random)
    return [row(task, spec, i, t, a) for i, (t, a) in enumerate(zip(targets, said, strict=True))]


def suite_rows(name: str, way: str, leave_out: tuple[str, ...] = ()) -> list[Scored]:
    tasks = SUITES[name]
    return [r for t, spec in tasks.items() if t not in leave_out for r in exam_rows(t, spec, way)]


def one(task: str, place: int, score: float | None, **more: Any) -> Scored:
    """A lettered item that was right, wrong, or ended in an error."""
    outcome = {None: Outcome.ERROR, 1.0: Outcome.CORRECT}.get(score, Outcome.WRONG)
    answer = None if score is None else "A" if score else "B"
    made = Scored(f"{task}/{place}", task, "A", answer, outcome, score)
    return replace(made, **more)


def task_of(right: int, n: int, task: str = "a") -> list[Scored]:
    return [one(task, place, float(place < right)) for place in range(n)]


def only(rows: list[Scored], spec: TaskShape | None = None) -> Score:
    return scores(rows, Shape("", {rows[0].task: spec or TaskShape("A")}))[0]
