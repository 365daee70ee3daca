"""The forking paths: what a user does with equal models until one is "better", and what proctor then says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from calibrate_draws import Random
from forks_made import Hall, questions, subjects
from proctor.references import ExamRef
from proctor.service.evidence.compare import compared
from proctor.service.looks.peeks import looked
from proctor.stats.paired import ALPHA, mcnemar_exact
from proctor.stats.sequential.spending import looks_at

Refs = Mapping[str, ExamRef]
ABLE = 0.75
RERUNS, MODELS, SUBJECTS = 20, 10, 57
AGAIN = 10  # times that runs are asked until it is decided
EVERY = 25  # items between two peeks
A, B = "anna", "bob"


@dataclass(slots=True)
class Verdicts:
    """What was said along a path: by McNemar alone, and by proctor, without a word of what was tried and with it."""

    alone: bool = False
    better: bool = False
    wordless: bool = False
    withheld: bool = False
    said: list[str] = field(default_factory=list)

    def mcnemar(self, first: Any, second: Any) -> bool:
        """Whether McNemar alone calls one better, given what each did on the items that count."""
        one, two = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
        found = mcnemar_exact(int((one & ~two).sum()), int((two & ~one).sum())) < ALPHA
        self.alone |= found
        return found

    def proctor(self, hall: Hall, names: Sequence[str], word: str, **how: Any) -> bool:
        """Whether proctor calls one better; `word` is a pattern for what must stand beside it."""
        evaluation = compared(hall.context, names, **how).evaluation
        (pair,) = evaluation.comparisons
        self.withheld |= bool(pair.whole.withheld)
        return self.tell("better" in pair.verdict, evaluation.verdict, word)

    def tell(self, better: bool, verdict: str, word: str) -> bool:
        if better:
            self.better = True
            self.wordless |= re.search(word, verdict) is None
            self.said.append(verdict)
        return better


@dataclass(frozen=True, slots=True)
class Fork:
    """A path: its title, which exams it needs (in a folder), one walk of it, and how often it is walked."""

    title: str
    exams: Callable[[Path], Refs]
    walk: Callable[[Random, Hall], Verdicts]
    times: int
    says: str  # what keeps it from fooling, in a few words


def _file(n: int, copies: int = 1) -> Callable[[Path], Refs]:
    return lambda folder: {"q": ExamRef("file", str(questions(folder / "q.jsonl", n, copies)))}


def _in_wordings(n: int) -> Callable[[Path], Refs]:
    def make(folder: Path) -> Refs:
        suite = str(subjects(folder, 1, n))
        return {f"q{w}": ExamRef("file", suite, wording=w) for w in (1, 2, 3)}

    return make


def _subjects(n: int) -> Callable[[Path], Refs]:
    return lambda folder: {"q": ExamRef("file", str(subjects(folder, SUBJECTS, n)))}


def _each_subject(n: int) -> Callable[[Path], Refs]:
    def make(folder: Path) -> Refs:
        suite = str(subjects(folder, SUBJECTS, n))
        return {f"s{k}": ExamRef("file", suite, tasks=(f"s{k}",)) for k in range(SUBJECTS)}

    return make


def right(random: Random, n: int, able: float = ABLE) -> list[bool]:
    found: list[bool] = (random.random(n) < able).tolist()
    return found


# The paths -----------------------------------------------------------------------------------------


def rerun(random: Random, hall: Hall) -> Verdicts:
    """Both models are run again until the latest runs, or the names, show one better."""
    found, n = Verdicts(), len(hall.exams["q"].items)
    easy = random.beta(
        2 * ABLE, 2 * (1 - ABLE), size=n
    )  # the items' chances, the same for both and every time
    for k in range(1, RERUNS + 1):
        sides = [random.random(n) < easy for _ in (A, B)]
        ids = [hall.sat(name, "q", side.tolist()) for name, side in zip((A, B), sides, strict=True)]
        word = rf"of (all )?its {k} runs here" if k > 1 else NEVER
        if found.mcnemar(*sides):
            found.proctor(hall, ids, word)
        found.proctor(hall, [A, B], word)
    return found


def extremes(random: Random, hall: Hall, **how: Any) -> Verdicts:
    """Ten models are run, and the best is compared with the worst alone."""
    found, n = Verdicts(), len(hall.exams["q"].items)
    sides = [right(random, n) for _ in range(MODELS)]
    for k, side in enumerate(sides):
        hall.sat(f"model-{k}", "q", side)
    ranked = sorted(range(MODELS), key=lambda k: -sum(sides[k]))
    best, worst = ranked[0], ranked[-1]
    found.mcnemar(sides[best], sides[worst])
    word = "named beforehand" if how else f"one of {MODELS * (MODELS - 1) // 2} pairs of the {MODELS} models"
    found.proctor(hall, [f"model-{best}", f"model-{worst}"], word, **how)
    return found


def peek(random: Random, hall: Hall) -> Verdicts:
    """Two runs at work are looked at every 25 items, and that look counts at which one is better."""
    found, n = Verdicts(), len(hall.exams["q"].items)
    sides = [right(random, n) for _ in (A, B)]
    runs = [hall.begun(name, "q") for name in (A, B)]
    for before, t in pairwise([*range(0, n, EVERY), n]):
        for run, side in zip(runs, sides, strict=True):
            hall.answer(run, "q", side[before:t], before)
        looked(hall.context, [hall.context.store.run(run.id) for run in runs])
        alone = found.mcnemar(*(side[:t] for side in sides))
        if t == n:
            for run in runs:
                hall.end(run)
        # Where McNemar has found nothing so far no path has crossed either; what has crossed is seen at the end.
        if alone or t == n:
            found.proctor(hall, [run.id for run in runs], "looked at|(stopped|decided) ")
    return found


def wordings(random: Random, hall: Hall) -> Verdicts:
    """Both models are asked in three wordings, one after the other, and the wording counts that shows one better."""
    found, n = Verdicts(), len(hall.exams["q1"].items)
    for k, exam in enumerate(hall.exams, 1):
        sides = [right(random, n) for _ in (A, B)]
        ids = [hall.sat(name, exam, side) for name, side in zip((A, B), sides, strict=True)]
        found.mcnemar(*sides)
        found.proctor(hall, ids, rf"of {k} wordings" if k > 1 else NEVER)
    return found


def rows_of_subjects(random: Random, hall: Hall) -> Verdicts:
    """Both models are run once, and the subjects' rows below the comparison are read one by one."""
    found, asked = Verdicts(), hall.exams["q"]
    sides = [right(random, len(asked.items)) for _ in (A, B)]
    for name, side in zip((A, B), sides, strict=True):
        hall.sat(name, "q", side)
    evaluation = compared(hall.context, [A, B]).evaluation
    groups = np.array([item.group for item in asked.items])
    for group in dict.fromkeys(groups):
        found.mcnemar(*(np.array(side)[groups == group] for side in sides))
    for row in evaluation.comparisons[0].tasks:
        found.tell("better" in row.verdict, "", NEVER)
    return found


def runs_of_subjects(random: Random, hall: Hall) -> Verdicts:
    """Both models are run on one subject after the other, and the subject counts that shows one better."""
    found = Verdicts()
    for k, (exam, of) in enumerate(hall.exams.items(), 1):
        sides = [right(random, len(of.items)) for _ in (A, B)]
        ids = [hall.sat(name, exam, side) for name, side in zip((A, B), sides, strict=True)]
        if found.mcnemar(*sides):  # no test of all items of two runs says better where this one does not
            found.proctor(hall, ids, rf"of {k} sets of tasks" if k > 1 else NEVER)
    return found


def copied(random: Random, hall: Hall) -> Verdicts:
    """Every question stands in the file several times, and a model answers its copies alike."""
    found, items = Verdicts(), hall.exams["q"].items
    words = [repr(item.ask) for item in items]
    place = {text: k for k, text in enumerate(dict.fromkeys(words))}
    sides = []
    for name in (A, B):
        once = right(random, len(place))
        sides.append([once[place[text]] for text in words])
        hall.sat(name, "q", sides[-1])
    found.mcnemar(*sides)
    found.proctor(hall, [A, B], NEVER)
    return found


def failing(share: float) -> Callable[[Random, Hall], Verdicts]:
    """In place of a part of one model's wrong answers stand errors, which are left out."""

    def walk(random: Random, hall: Hall) -> Verdicts:
        found, n = Verdicts(), len(hall.exams["q"].items)
        first, second = (right(random, n) for _ in (A, B))
        lost = random.random(n) < share
        kept = [ok or not gone for ok, gone in zip(first, lost, strict=True)]
        told = [ok if here else None for ok, here in zip(first, kept, strict=True)]
        ids = [hall.sat(A, "q", told), hall.sat(B, "q", second)]
        found.mcnemar(*(np.array(side)[kept] for side in (first, second)))
        found.proctor(hall, ids, NEVER)
        return found

    return walk


def side_by_side(share: float) -> Callable[[Random, Hall], Verdicts]:
    """Both are asked until it is decided, and the first errs for good in place of a part of its wrong answers."""

    def walk(random: Random, hall: Hall) -> Verdicts:
        found, n = Verdicts(), len(hall.exams["q"].items)
        first, second = (right(random, n) for _ in (A, B))
        lost = random.random(n) < share
        kept = [ok or not gone for ok, gone in zip(first, lost, strict=True)]
        told = [ok if here else None for ok, here in zip(first, kept, strict=True)]
        there = np.array(kept)
        for t in looks_at(n):  # who looks as often by McNemar alone
            found.mcnemar(*(np.array(side)[:t][there[:t]] for side in (first, second)))
        found.proctor(hall, hall.side_by_side("q", {A: told, B: second}), NEVER)
        return found

    return walk


def decided_again(random: Random, hall: Hall) -> Verdicts:
    """Both are asked until it is decided, again and again, until it is decided for one of them."""
    found, n = Verdicts(), len(hall.exams["q"].items)
    for k in range(1, AGAIN + 1):
        sides = [right(random, n) for _ in (A, B)]
        found.mcnemar(*sides)
        ids = hall.side_by_side("q", dict(zip((A, B), sides, strict=True)))
        found.proctor(hall, ids, "of (all )?its .* runs here|stopped early" if k > 1 else NEVER)
    return found


# The table -----------------------------------------------------------------------------------------

NEVER = "(?!)"  # no word makes it good

FORKS: Mapping[str, Fork] = {
    "rerun": Fork(
        f"run both {RERUNS} times", _file(80), rerun, 40, "a name means all its runs; an id is one of so many"
    ),
    "extremes": Fork(
        "best and worst of ten", _file(277), extremes, 120, "one of 45 pairs, and adjusted for them"
    ),
    "only": Fork(
        "the same, named beforehand (`--only`)",
        _file(277),
        partial(extremes, only=True),
        60,
        "no further models count, since these were named beforehand",
    ),
    "peek": Fork(f"a look every {EVERY} of 1,273 items", _file(1273), peek, 40, "tested by its whole path"),
    "decided": Fork("asked until it is decided", _file(600), side_by_side(0.0), 60, "an exact walk"),
    "charged": Fork(
        "the same, errors for 60 % of one's wrong answers",
        _file(600),
        side_by_side(0.6),
        60,
        "who leads pays for errors of its own",
    ),
    "again": Fork(
        f"asked until it is decided, {AGAIN} times", _file(200), decided_again, 40, "one of so many runs"
    ),
    "wordings": Fork("three wordings", _in_wordings(200), wordings, 100, "one of 3 wordings"),
    "rows": Fork(
        "57 subjects, row by row", _subjects(40), rows_of_subjects, 60, "adjusted over the subjects"
    ),
    "runs": Fork(
        "57 subjects, run by run", _each_subject(40), runs_of_subjects, 20, "one of 57 sets of tasks"
    ),
    "twice": Fork("every question 2 times", _file(400, 2), copied, 120, "copies are one cluster"),
    "five": Fork("every question 5 times", _file(400, 5), copied, 120, "copies are one cluster"),
    "fifth": Fork(
        "errors for 20 % of one's wrong answers", _file(600), failing(0.2), 100, "they must not decide it"
    ),
    "most": Fork(
        "errors for 60 % of one's wrong answers", _file(600), failing(0.6), 100, "they must not decide it"
    ),
}
