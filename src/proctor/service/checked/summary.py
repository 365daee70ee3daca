"""What a judge's run came to: how many replies it graded and why not the others, its votes, and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from proctor.errors import NotFound
from proctor.figures import estimate
from proctor.findings import Estimate, Score
from proctor.references import Criterion, JudgingRef
from proctor.service.checked.leaning import leaning_lines
from proctor.service.grades.view import GradedView
from proctor.service.judging.judged import is_deleted
from proctor.service.judging.names import JUDGE, grader_of, is_plain
from proctor.service.judging.panel import Judges, by_reply, joint, name_of, panels
from proctor.service.judging.verdicts import EMPTY, Key, verdicts
from proctor.service.judging.votes import alike, split, verdict
from proctor.service.results import documents
from proctor.stats.estimates import Count
from proctor.stats.estimates import accuracy as share_of
from proctor.stats.estimates_sheet import nothing
from proctor.stats.judged.agreement import agree, kappa
from proctor.store import Store
from proctor.store.write import grades
from proctor.types import Grade, Outcome, Run

# How an asking of a judge ended without a grade that could be read.
WITHOUT = {
    Outcome.NO_ANSWER: "unreadable",
    Outcome.TRUNCATED: "cut by the length limit",
    Outcome.REFUSED: "refused",
    Outcome.ERROR: "failed",
}


@dataclass(frozen=True, slots=True)
class JudgingSummary:
    """What a judge's run came to, as far as it got. Of pairs only the askings are counted.

    `asked` counts askings that ended, of `planned`; `lost` those without a readable verdict, by why. `graded` replies
    of the judged run have a grade under `grader`; `unasked` of them were empty and are wrong without a judge. Not
    graded are `unread` ones, of which a criterion has no readable verdict, and `undecided` ones, whose votes are split.
    `votes` is how often replies that were asked about several times got the same grade each time, by criterion and
    reply. `score` is what the judge's grades make of the judged run; None where that is gone or has no grade.
    """

    run: Run
    judged: str
    grader: str
    planned: int
    asked: int
    lost: dict[str, int]
    graded: int
    unasked: int
    unread: int
    undecided: int
    votes: Estimate | None
    cost_usd: float | None
    score: Score | None


def judging_summary(store: Store, run: Run) -> JudgingSummary:
    """Raises NotFound for the judge's run."""
    ref = run.cell.source
    assert isinstance(ref, JudgingRef)
    name, tally = grader_of(run), store.tally(run.id)
    outcomes = {Outcome(word): n for word, n in tally.outcomes.items()}
    counts = _counted(store, run) if not ref.against else Counter[str]()
    known = _grades(store, ref.run, name)
    votes = _share(counts) if run.cell.repeats > 1 and not ref.against else None
    return JudgingSummary(
        run=run,
        judged=ref.run,
        grader=name,
        planned=run.planned,
        asked=sum(outcomes.values()) - outcomes.get(Outcome.ERROR, 0),
        lost={words: outcomes[outcome] for outcome, words in WITHOUT.items() if outcomes.get(outcome)},
        graded=len(known),
        unasked=sum(grade.note == EMPTY for grade in known),
        unread=counts["unread"],
        undecided=counts["undecided"],
        votes=votes,
        cost_usd=tally.cost_usd,
        score=_score(store, ref.run, name) if known else None,
    )


def _counted(store: Store, run: Run) -> Counter[str]:
    """One reply at a time: a run may have more than fit into memory."""
    counts: Counter[str] = Counter()
    for each in verdicts(store, run):
        if not each.complete(run.cell.repeats):
            continue
        counts["items"] += 1
        lacking = [c for c in each.criteria if verdict(each.votes[c.name], c.worth) is None]
        if lacking:
            halved = all(split(each.votes[c.name], c.worth) for c in lacking)
            counts["undecided" if halved else "unread"] += 1
        for criterion in each.criteria:
            counts["several"] += 1
            counts["alike"] += alike(each.votes[criterion.name])
    return counts


def _share(counts: Mapping[str, int]) -> Estimate:
    """The share of what was voted on that got the same grade from all votes; criteria of one reply hang together."""
    if not counts["several"]:
        return nothing(0, "no reply has all its votes")
    n = counts["several"]
    return share_of(Count(n, n, counts["alike"], counts["items"]))


def _grades(store: Store, run_id: str, name: str) -> Sequence[Grade]:
    try:
        return list(grades.by(store, run_id, name).values())
    except NotFound:
        return ()  # deleted since


def _score(store: Store, run_id: str, name: str) -> Score | None:
    found = GradedView(store, name).shown(store.run(run_id)).scores
    return found[0] if found else None


@dataclass(frozen=True, slots=True)
class JudgePair:
    """How far two judges of a panel give the same verdicts by one criterion."""

    first: str
    second: str
    criterion: str
    share: Estimate
    kappa: Estimate


def judges_agree(store: Store, judges: Judges) -> list[JudgePair]:
    """Each two judges, criterion by criterion, on the replies about which both have a verdict that is a grade."""
    first = next(iter(judges.values()))[0].cell.source
    assert isinstance(first, JudgingRef)
    said = {str(of[0].cell.model): _verdicts_of(store, of) for of in judges.values()}
    return [
        _pair(one, two, criterion, said)
        for criterion in first.rubric.criteria
        for one, two in combinations(said, 2)
    ]


Said = Mapping[tuple[str, Key], str]  # (criterion, reply) -> grade


def _verdicts_of(store: Store, runs: Sequence[Run]) -> Said:
    found: dict[tuple[str, Key], str] = {}
    for each in by_reply(store, runs).values():
        for criterion in each.criteria:
            worth = verdict(each.votes[criterion.name], criterion.worth)
            name = next((grade for grade, of in criterion.worth.items() if of == worth), None)
            if name is not None:
                found[criterion.name, each.key] = name
    return found


def _pair(one: str, two: str, criterion: Criterion, said: Mapping[str, Said]) -> JudgePair:
    keys = [key for key in said[one] if key[0] == criterion.name and key in said[two]]
    first, second = ([said[judge][key] for key in keys] for judge in (one, two))
    grades_of, ordered = tuple(criterion.worth), len(criterion.worth) > 2
    return JudgePair(
        one, two, criterion.name, agree(first, second), kappa(first, second, grades_of, ordered=ordered)
    )


# In words ----------------------------------------------------------------------------------------


def summary_lines(store: Store, run: Run) -> tuple[str, ...]:
    """What is said of a judge's run when it has ended."""
    return tuple(_lines(store, judging_summary(store, run)))


def _lines(store: Store, of: JudgingSummary) -> Iterator[str]:
    ref = of.run.cell.source
    assert isinstance(ref, JudgingRef)
    if is_deleted(store, of.judged):
        yield f"Run {of.judged[:8]}, whose replies were judged, was deleted; the verdicts are kept here."
        return
    if ref.against:
        yield from _pair_lines(store, of, ref.against)
        return
    if of.score is None:
        yield f"No reply of run {of.judged[:8]} has a grade of this judge."
    else:
        figures = f"{of.score.metric} {estimate(of.score.estimate)}  n = {of.score.estimate.scored:,}"
        yield f"By this judge run {of.judged[:8]} has {figures}: no person has checked it."
    yield f"{of.graded:,} replies are graded{_unasked(of)}{_ungraded(of)}."
    if of.lost:
        told = ", ".join(f"{n:,} {why}" for why, n in of.lost.items())
        yield f"Askings without a verdict, which make no reply wrong: {told}."
    if of.votes is not None:
        yield f"All {of.run.cell.repeats} votes were the same on {estimate(of.votes)} of what was judged."
    yield from _panel_of_plan(store, of.run)
    yield from leaning_lines(store, of.run)
    run = of.judged[:8]
    yield f"Next: proctor label {run} | proctor show {run} --grader {_shortest(store, of)}"


def _pair_lines(store: Store, of: JudgingSummary, against: str) -> Iterator[str]:
    if of.score is None:
        yield f"No pair of runs {of.judged[:8]} and {against[:8]} has a grade of this judge."
    else:
        score = of.score.estimate
        yield (
            f"By this judge run {of.judged[:8]} is preferred to run {against[:8]} in {estimate(score)} of the pairs, "
            f"a tie being half, n = {score.scored:,}; 0.5 is even: no person has checked it."
        )
    yield from leaning_lines(store, of.run)
    yield f"Next: proctor compare {of.judged[:8]} {against[:8]} --grader judge"


def _shortest(store: Store, of: JudgingSummary) -> str:
    """By which words the run is seen by this judge's grades."""
    kept = {each.grader for each in _graders_there(store, of.judged)} | {of.grader}
    return JUDGE if sum(map(is_plain, kept)) == 1 else f"'{of.grader}'"


def _graders_there(store: Store, run_id: str) -> Sequence[grades.GradedBy]:
    try:
        return grades.graders(store, run_id)
    except NotFound:
        return ()  # deleted since


def _unasked(of: JudgingSummary) -> str:
    return f" ({of.unasked:,} of them were empty: wrong, and not asked about)" if of.unasked else ""


def _ungraded(of: JudgingSummary) -> str:
    parts = []
    if of.unread:
        parts.append(f"{of.unread:,} lack a verdict that could be read")
    if of.undecided:
        parts.append(f"of {of.undecided:,} the votes are split")
    return f"; not graded: {', '.join(parts)}" if parts else ""


def panel_lines(store: Store, judges: Judges) -> Iterator[str]:
    """What several judges say together, and how far they say the same."""
    name, runs = name_of(judges), [run for of in judges.values() for run in of]
    ref = runs[0].cell.source
    assert isinstance(ref, JudgingRef)
    given = _grades(store, ref.run, name)
    score = _score(store, ref.run, name) if given else None
    if score is not None:
        split = _without(store, judges, len(given))
        yield (
            f"The {len(judges)} judges together, by the majority of their votes: {score.metric} "
            f"{estimate(score.estimate)}  n = {score.estimate.scored:,}{split} (--grader panel)"
        )
    for pair in judges_agree(store, judges):
        by = f" by {pair.criterion}" if len(ref.rubric.criteria) > 1 else ""
        yield (
            f"{pair.first} and {pair.second} give the same verdict{by} to {estimate(pair.share)}; kappa "
            f"{estimate(pair.kappa)}  n = {pair.share.scored:,}"
        )


def _without(store: Store, judges: Judges, graded: int) -> str:
    """How many replies the judges cannot agree about."""
    left = len(list(joint(store, judges))) - graded
    return f"; about {left:,} they do not agree" if left > 0 else ""


def _panel_of_plan(store: Store, run: Run) -> Iterator[str]:
    """Said once, of the last judge of a panel."""
    for judges in panels(store.plan_runs(run.plan_id)):
        runs = [each for of in judges.values() for each in of]
        if runs[-1].id == run.id and all(each.finished_at is not None for each in runs):
            yield from panel_lines(store, judges)


def summary_document(of: JudgingSummary) -> dict[str, Any]:
    """As JSON."""
    return {
        "run_id": of.run.id,
        "judged_run_id": of.judged,
        "grader": of.grader,
        "judge": str(of.run.cell.model),
        "planned": of.planned,
        "asked": of.asked,
        "without_verdict": of.lost,
        "graded": of.graded,
        "empty_replies": of.unasked,
        "unread": of.unread,
        "undecided": of.undecided,
        "same_votes": None if of.votes is None else documents.estimate(of.votes),
        "cost_usd": of.cost_usd,
        "score": None if of.score is None else documents.estimate(of.score.estimate),
    }
