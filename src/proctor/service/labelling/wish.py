"""What somebody wants to label, and by which rubric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.errors import ConfigError
from proctor.printable import in_one_line
from proctor.references import Criterion, GradingRubric, JudgingRef
from proctor.service.context import Context
from proctor.service.judging.changes import own_rubric
from proctor.service.judging.judgings import judgings_of
from proctor.store import Store
from proctor.types import Run

RANDOM_PART = 50  # items, where nobody says how many
LONGEST_LABELLER = 200


@dataclass(frozen=True, slots=True)
class LabelWish:
    """The replies of one run, or of several to the same items, as `user` is to label them.

    `rubric` None is that of the runs' newest judging, else the built-in one; `criterion` only that of it. With
    `pairwise` it is asked which of two runs' replies is better. `random` is how many items are drawn at random: their
    labels stand for all.
    """

    runs: tuple[str, ...]
    user: str
    rubric: GradingRubric | None = None
    pairwise: bool = False
    criterion: str | None = None
    random: int = RANDOM_PART


def wished_runs(context: Context, wish: LabelWish) -> list[Run]:
    """Raises: NotFound; ConfigError where they cannot be labelled together."""
    checked_labeller(wish.user)
    if len(set(wish.runs)) < len(wish.runs) or not wish.runs:
        raise ConfigError("Name each run that is to be labelled once")
    if wish.pairwise and len(wish.runs) != 2:
        raise ConfigError(f"A preference is between the replies of two runs, not of {len(wish.runs)}")
    runs = [context.store.run(each) for each in wish.runs]
    for run in runs:
        if isinstance(run.cell.source, JudgingRef):
            raise ConfigError(
                f"Run {run.id[:8]} is a judging: label the run that it judged, {run.cell.source.run[:8]}"
            )
        if run.finished_at is None:
            raise ConfigError(
                f"Run {run.id[:8]} has not ended yet: what is drawn now would stand only for what was asked so far"
            )
    return runs


def checked_labeller(name: str) -> str:
    """Raises ConfigError for what is no name."""
    if not name.strip():
        raise ConfigError("Labels need the name of who gives them")
    if len(name) > LONGEST_LABELLER or in_one_line(name) != name:
        raise ConfigError(f"A labeller's name is one line of at most {LONGEST_LABELLER} characters")
    return name


def rubric_for(context: Context, wish: LabelWish) -> GradingRubric:
    """By what the wish's replies are labelled. Raises: NotFound, ConfigError."""
    return rubric_of(context.store, wished_runs(context, wish), wish)


def rubric_of(store: Store, runs: Sequence[Run], wish: LabelWish) -> GradingRubric:
    if wish.rubric is not None:
        return wish.rubric
    judged = [ref_of(each) for run in runs for each in reversed(judgings_of(store, run.id))]
    alike = [ref.rubric for ref in judged if (ref.against is not None) == wish.pairwise]
    return next(iter([*alike, *(ref.rubric for ref in judged)]), None) or own_rubric(store, runs[0])


def criteria_of(rubric: GradingRubric, wish: LabelWish) -> tuple[Criterion, ...]:
    """Those that are asked; a reply has of these the ones of its item. Raises ConfigError for one there is not."""
    if wish.criterion is None:
        return rubric.criteria
    found = tuple(each for each in rubric.criteria if each.name == wish.criterion)
    if not found:
        names = ", ".join(each.name for each in rubric.criteria)
        raise ConfigError(f"Rubric {rubric.name} has no criterion {wish.criterion!r}: it has {names}")
    return found


def ref_of(judging: Run) -> JudgingRef:
    ref = judging.cell.source
    assert isinstance(ref, JudgingRef)
    return ref
