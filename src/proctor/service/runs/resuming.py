"""A run that goes on: what of it must be as it was when it began."""

from __future__ import annotations

from dataclasses import replace

from proctor.errors import ConfigError, DataError
from proctor.grading.exam import FUNCTION
from proctor.protocols import Source
from proctor.references import ExamRef, SourceRef
from proctor.service.kinds import kind_of
from proctor.types import Cell, Limits, Model, Run


def as_it_began(run: Run) -> SourceRef:
    """The run's source, its replies read as they were when it began, whatever the default has become since."""
    name, source = run.manifest.facts.extractor, run.cell.source
    return replace(source, extractor=name) if name and isinstance(source, ExamRef) else source


def graded_as_it_began(run: Run, source: Source) -> Source:
    """The source with the graders of the run's first replies; of a run that nobody began, with those of now."""
    facts = run.manifest.facts
    if facts.extractor is None:
        return source
    if by_function := [name for name in facts.graders.values() if name.startswith(FUNCTION)]:
        raise ConfigError(
            f"Run {run.id[:8]} was graded by the Python function {by_function[0].removeprefix(FUNCTION)}, which only "
            "its own program has: it cannot be resumed"
        )
    graded: Source = kind_of(run.cell.source).graded_as(source, facts.graders)
    return graded


def same_rows(run: Run, source: Source) -> None:
    """Raises DataError unless the source still holds the rows that the run began with."""
    began, now = run.manifest.facts, source.facts
    for word, same in (
        ("items", began.item_set_sha256 == now.item_set_sha256),
        ("prompts", began.prompts == now.prompts),
        ("extractor", began.extractor == now.extractor),
    ):
        if not same:
            raise DataError(
                f"Run {run.id[:8]} cannot be resumed: {word} are no longer those it began with "
                f"({source.title} has changed). `proctor rerun {run.id[:8]}` starts afresh on the rows of now"
            )


def going_on(run: Run, limits: Limits | None = None, at: Model | None = None, *, whole: bool = False) -> Cell:
    """The run's cell for a resume, under other limits or with its model at another address.

    A part stays that part; what is asked until it is decided stays so unless the `whole` is to be asked.
    """
    cell = replace(run.cell, source=as_it_began(run))
    until_decided = cell.limits.until_decided and not whole
    limits = replace(limits or cell.limits, shard=cell.limits.shard, until_decided=until_decided)
    return replace(cell, limits=limits, model=at or cell.model)
