"""A "better" that rests on leaving out replies of the better side: they are counted as wrong, and it is judged again.

What measured nothing (a request that failed, a reply that nobody scored) is left out of a comparison, on the ground
that it says nothing of the model. Who fails where the answer would have been wrong looks better by it: with errors in
place of a fifth of one side's wrong answers, two equal models in 1,273 rows are told apart in 17 % of all cases, with
three fifths in 96 %. So "better" must hold in the worst case too, in which all of them are wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from proctor.figures import fraction, p_value
from proctor.findings import Comparison, Difference
from proctor.stats.estimates_sheet import measured
from proctor.stats.estimates_task import MEANS, WORDS, TaskSheet, exam
from proctor.stats.metrics import Scored
from proctor.types import Outcome

# A comparison made anew with these exams of its two runs, adjusted in the same family and judged.
Again = Callable[[Sequence[TaskSheet], Sequence[TaskSheet]], Comparison]
BETTER = ("first better", "second better")


def held(
    found: Comparison, exams: tuple[Sequence[TaskSheet], Sequence[TaskSheet]], again: Again
) -> Comparison:
    """The comparison without each "better" that counting its better side's unmeasured askings as wrong would undo.

    Its verdict is then "no difference shown", and `Difference.withheld` says why. A difference that has a path of a
    sequential test needs none of this: its test ends before the first error.
    """
    for place, better in enumerate(BETTER):
        claims = [
            each for each in (found.whole, *found.tasks) if each.verdict == better and each.path is None
        ]
        if not claims:
            continue
        counted, missing = as_wrong(exams[place], exams[1 - place])
        if not any(missing.values()):
            continue
        made = again(counted, exams[1]) if place == 0 else again(exams[0], counted)
        tasks = {each.task: each for each in made.tasks}
        run = (found.first, found.second)[place]
        whole = sum(n for key, n in missing.items() if _counts(key, exams[place]))
        found = replace(
            found,
            whole=_held(found.whole, made.whole, better, _never_came(whole, str(run.cell.model))),
            tasks=tuple(
                _held(
                    each,
                    tasks[each.task],
                    better,
                    _never_came(missing.get(each.task, 0), str(run.cell.model)),
                )
                for each in found.tasks
            ),
        )
    return found


def as_wrong(
    mine: Sequence[TaskSheet], theirs: Sequence[TaskSheet]
) -> tuple[list[TaskSheet], Mapping[str, int]]:
    """One run's exams with each asking that measured nothing, where the other's measured something, counted as wrong.

    Beside them how many these are in each task. An asking that neither measured says nothing of the two.
    """
    others = {one.key: {(row.item, row.content) for row in one.sheet.rows} for one in theirs}
    least = _least_seen((*mine, *theirs))
    made, missing = [], {}
    for one in mine:
        shared = others.get(one.key, set())
        lost = {
            place
            for place, row in enumerate(one.rows)
            if (row.item, row.content) in shared and not measured(row, one.spec.kind)
        }
        missing[one.key] = len(lost)
        worst = _worst(one, least.get(one.key, 0.0)) if lost else None
        if worst is None:
            made.append(one)
            continue
        rows = [worst(row) if place in lost else row for place, row in enumerate(one.rows)]
        made.append(exam(one.key, rows, one.spec, worded=one.worded))
    return made, missing


def _least_seen(exams: Sequence[TaskSheet]) -> Mapping[str, float]:
    """Task -> the least score, where nobody told a scale of scores (those of other tools)."""
    found: dict[str, float] = {}
    for one in exams:
        if MEANS.intersection(one.spec.official):
            seen = [row.score for row in one.sheet.rows if row.score is not None]
            found[one.key] = min([found.get(one.key, 0.0), *seen])
    return found


def _worst(one: TaskSheet, least: float) -> Callable[[Scored], Scored]:
    """What makes an asking of this task as wrong as an answer can be, in every metric that the task may have."""
    targets = sorted({row.target for row in one.rows if row.target is not None})
    if one.spec.kind == "number":
        ends = [float(target) for target in targets]
        answer = _farthest(min(ends, default=0.0), max(ends, default=0.0))
    elif one.spec.kind == "letters" or one.spec.kind in WORDS:
        answer = _nothing  # wrong about every candidate, and without a word in common
    else:
        answer = _next_of(one.spec.labels or tuple(targets))
    return lambda row: replace(row, outcome=Outcome.WRONG, score=least, answer=answer(row))


def _nothing(row: Scored) -> str | None:
    return None


def _farthest(low: float, high: float) -> Callable[[Scored], str | None]:
    """The end of the range of right numbers that lies farther off."""
    return lambda row: str(low if 2 * float(row.target or 0.0) > low + high else high)


def _next_of(names: Sequence[str]) -> Callable[[Scored], str | None]:
    """A wrong label: an unread answer would spare the other labels a false one. None where there is no other."""

    def answer(row: Scored) -> str | None:
        if row.target not in names or len(names) < 2:
            return None
        return names[(names.index(row.target) + 1) % len(names)]

    return answer


def _counts(key: str, exams: Sequence[TaskSheet]) -> bool:
    """Whether a task is part of the headline: those that are no part of a suite's score count where all are such."""
    extra = {one.key: one.spec.extra for one in exams}
    return not extra[key] or all(extra.values())


def _never_came(n: int, model: str) -> str:
    replies = "1 reply" if n == 1 else f"{n:,} replies"
    return f"{replies} of {model} {'has' if n == 1 else 'have'} no score (errors)" if n else ""


def _held(claim: Difference, made: Difference, better: str, lost: str) -> Difference:
    if not lost or claim.verdict != better or claim.path is not None or made.verdict == better:
        return claim
    d = made.estimate
    left = f"{fraction(d.value)} [{fraction(d.low)}, {fraction(d.high)}], {p_value(made.adjusted_p)}"
    counted = "counted as wrong it leaves" if lost.startswith("1 ") else "counted as wrong they leave"
    return replace(claim, verdict="no difference shown", withheld=f"{lost}; {counted} {left}")
