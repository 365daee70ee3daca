"""Kept replies graded again, by several graders side by side. Nothing is asked; what is found may be kept."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

from proctor.errors import ConfigError, ProctorError
from proctor.findings import Estimate
from proctor.grading.extractors import extractor
from proctor.grading.worth import not_graded
from proctor.protocols import Grader
from proctor.service.context import Context, find
from proctor.service.grades.named import check_ours, first_grader, grader_named
from proctor.service.results.results import scored_rows
from proctor.stats.agreement import agreement
from proctor.stats.estimates import Count
from proctor.stats.estimates import accuracy as share_of
from proctor.stats.estimates_sheet import nothing
from proctor.store import AttemptRow, Store
from proctor.store.write import grades
from proctor.store.write.grades import KeptGrade
from proctor.types import Grade, Item, Outcome, Reply, Run

SHOWN_CHARS = 200
AT_ONCE = 32  # replies that a grader which takes its time is given together


@dataclass(frozen=True, slots=True)
class GraderResult:
    """What one grader makes of a run. `unread` holds the items in which it found no answer.

    `ungraded` counts replies that it could not grade, whose `notes` say why, the commonest first.
    """

    grader: str
    outcomes: Mapping[str, int]
    accuracy: Estimate
    unread: tuple[str, ...]
    ungraded: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The share of replies to which two graders give the same score, of those that both gave one."""

    first: str
    second: str
    share: Estimate


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A reply that is graded differently: what each grader made of it, by its name."""

    item_id: str
    repeat: int
    target: str | None
    answers: Mapping[str, str | None]
    outcomes: Mapping[str, str]
    scores: Mapping[str, float | None]
    reply: str  # its first 200 characters


@dataclass(frozen=True, slots=True)
class Regrading:
    """A run graded again. `errors` counts attempts without a reply: there is nothing to grade in them.

    `kept` are the graders whose grades are kept now, with how many of them are new.
    """

    run: Run
    by: tuple[GraderResult, ...]
    agreements: tuple[Agreement, ...]
    differences: tuple[Disagreement, ...]
    replies: int
    errors: int
    kept: Mapping[str, int]


def grade_kept(context: Context, run_id: str, graders: Sequence[str], *, keep: bool = True) -> Regrading:
    """Grade a run's kept replies with each grader and set them beside the run's first grades.

    Grades that are kept already are taken as they are. Raises: NotFound, ConfigError for a grader that is unknown or
    cannot grade the run's answers.
    """
    run = one_run(context.store, run_id)
    chosen = [grader_named(words, run, context.settings) for words in dict.fromkeys(graders)]
    return graded_again(context.store, run, chosen, keep=keep, first=first_grader(run))


def rescore(context: Context, run_id: str, extractors: Sequence[str], *, keep: bool = False) -> Regrading:
    """Read a run's replies with each extractor; with a single one, beside the run's own.

    Raises: NotFound, ConfigError for an unknown extractor or one that cannot read the run's tasks.
    """
    run = one_run(context.store, run_id)
    check_ours(run)
    chosen = [extractor(name).name for name in named_extractors(run, extractors)]
    graders = [grader_named(name, run, context.settings) for name in chosen]
    return graded_again(context.store, run, graders, keep=keep)


def one_run(store: Store, run_id: str) -> Run:
    """Raises: NotFound; ConfigError for the id of a plan with several runs."""
    runs = find(store, run_id)
    if len(runs) > 1:
        raise ConfigError(
            f"{run_id} is a plan of {len(runs)} runs; name one of them: {', '.join(run.id[:8] for run in runs)}"
        )
    return runs[0]


def named_extractors(run: Run, extractors: Sequence[str]) -> list[str]:
    """The extractors asked for; a single one is set beside the run's own, which comes first."""
    asked = list(dict.fromkeys(extractors))
    own = run.manifest.facts.extractor if not run.manifest.facts.graders else None
    return list(dict.fromkeys([own, *asked])) if own and len(asked) < 2 else asked


def graded_again(
    store: Store, run: Run, chosen: Sequence[Grader], *, keep: bool, first: str = ""
) -> Regrading:
    """`first`: the run's first grades stand beside the others, under this name."""
    own = first_grader(run)
    known = {each.name: grades.by(store, run.id, each.name) for each in chosen} if keep else {}
    others = [each for each in chosen if each.name != first]
    found: dict[str, list[tuple[str, Grade]]] = {name: [] for name in _names(first, others)}
    differences, errors, kept = [], 0, Counter[str]()
    rows = scored_rows(store, run)
    while some := list(islice(rows, AT_ONCE)):
        errors += sum(row.outcome is Outcome.ERROR for row in some)
        replied = [(row, *said(store, run, row)) for row in some if row.outcome is not Outcome.ERROR]
        new: list[KeptGrade] = []
        for (row, item, reply), graded in zip(replied, _all_graded(replied, others, known), strict=True):
            place = (row.item_id, row.repeat, row.attempt)
            for name, grade in graded.items():
                if keep and name != own and place not in known[name] and grade.grader:
                    new.append(KeptGrade(*place, time.time(), grade))
            if first:
                graded = {first: Grade(row.outcome, row.score, row.answer, row.rung, first), **graded}
            for name, grade in graded.items():
                found[name].append((row.item_id, grade))
            if len({(grade.answer, grade.outcome, grade.score) for grade in graded.values()}) > 1:
                differences.append(_difference(row, item, reply, graded))
        grades.add(store, run.id, new)
        kept.update(each.grade.grader for each in new)
    replies = len(next(iter(found.values()), ()))
    return Regrading(
        run,
        tuple(_result(name, given, replies + errors) for name, given in found.items()),
        tuple(_agreements(found)),
        tuple(differences),
        replies,
        errors,
        {each.name: kept[each.name] for each in others if keep and each.name != own},
    )


def _names(first: str, others: Sequence[Grader]) -> list[str]:
    return [*([first] if first else []), *(each.name for each in others)]


def said(store: Store, run: Run, row: AttemptRow) -> tuple[Item, Reply]:
    """What was asked and what was said, as they were kept."""
    # Items that show the same are kept once: whose they are, their attempt says.
    return replace(store.item(row.item_hash), id=row.item_id, group=row.task), store.reply(run.id, row)


# Grading ---------------------------------------------------------------------------------------

Replied = tuple[AttemptRow, Item, Reply]


def _all_graded(
    replied: Sequence[Replied], by: Sequence[Grader], known: Mapping[str, Mapping[grades.Place, Grade]]
) -> list[dict[str, Grade]]:
    """What each grader makes of each reply, by its name; graders that take their time are given all of them at once."""
    given = [{each.name: _begun(each, one, known) for each in by} for one in replied]
    waiting = [grade for one in given for grade in one.values() if not isinstance(grade, Grade)]
    ended = iter(asyncio.run(_all(waiting)) if waiting else ())
    return [
        {name: grade if isinstance(grade, Grade) else next(ended) for name, grade in one.items()}
        for one in given
    ]


def _begun(
    grader: Grader, replied: Replied, known: Mapping[str, Mapping[grades.Place, Grade]]
) -> Grade | Awaitable[Grade]:
    row, item, reply = replied
    kept = known.get(grader.name, {}).get((row.item_id, row.repeat, row.attempt))
    if kept is not None:
        return kept
    try:
        return grader.grade(item, reply)
    except ProctorError as error:
        return not_graded(error)


async def _all(waiting: Sequence[Awaitable[Grade]]) -> list[Grade]:
    return await asyncio.gather(*map(_ended, waiting))


async def _ended(waiting: Awaitable[Grade]) -> Grade:
    try:
        return await waiting
    except ProctorError as error:
        return not_graded(error)


# What came of it -------------------------------------------------------------------------------


def _difference(row: AttemptRow, item: Item, reply: Reply, found: Mapping[str, Grade]) -> Disagreement:
    return Disagreement(
        row.item_id,
        row.repeat,
        item.target,
        {name: grade.answer for name, grade in found.items()},
        {name: grade.outcome.value for name, grade in found.items()},
        {name: grade.score for name, grade in found.items()},
        reply.text[:SHOWN_CHARS],
    )


def _result(name: str, found: Sequence[tuple[str, Grade]], asked: int) -> GraderResult:
    outcomes = Counter(grade.outcome for _, grade in found)
    ungraded = Counter(grade.note or "" for _, grade in found if grade.outcome is Outcome.ANSWERED)
    return GraderResult(
        name,
        {outcome.value: outcomes[outcome] for outcome in Outcome if outcomes[outcome]},
        _accuracy(found, asked),
        tuple(dict.fromkeys(item_id for item_id, grade in found if grade.outcome in UNREAD)),
        ungraded.total(),
        tuple(note for note, _ in ungraded.most_common(MOST_NOTES) if note),
    )


UNREAD = (Outcome.NO_ANSWER, Outcome.TRUNCATED, Outcome.REFUSED)
MOST_NOTES = 3


def _accuracy(found: Sequence[tuple[str, Grade]], asked: int) -> Estimate:
    """The share of scored replies that are right; repeats of an item count as one for the interval."""
    scored = list(_scored(found))
    if not scored:
        return nothing(asked, "no reply was scored")
    items = {item_id for item_id, _ in scored}
    return share_of(Count(asked, len(scored), sum(right for _, right in scored), len(items)))


def _scored(found: Sequence[tuple[str, Grade]]) -> Iterator[tuple[str, bool]]:
    for item_id, grade in found:
        if grade.score is not None:
            yield item_id, grade.outcome is Outcome.CORRECT


def _agreements(found: Mapping[str, Sequence[tuple[str, Grade]]]) -> Iterator[Agreement]:
    """Every pair of graders; all have graded the same replies, in the same order."""
    for (one, mine), (other, theirs) in combinations(found.items(), 2):
        both = [(item, a.score, b.score) for (item, a), (_, b) in zip(mine, theirs, strict=True)]
        yield Agreement(one, other, agreement(both))
