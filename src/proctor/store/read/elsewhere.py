"""Complete runs of other sources that were asked the same items: a file under another name is the same questions."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import func, select

from proctor.store.core.schema import Database
from proctor.store.core.tables import ATTEMPT, RUN
from proctor.types import Status

MOST_RUNS = 20  # the newest that are looked into: attempts have no index by item


@dataclass(frozen=True, slots=True)
class SameItems:
    """What is looked for: complete runs of `models` (provider and name) in `projects`, of `least` items or more.

    They are of other sources than `sources`, have other keys of comparability than `keys`, and were asked at least
    half of `hashes`, a few items of the run that is looked at.
    """

    projects: Collection[int]
    models: Collection[tuple[str, str]]
    sources: Collection[str]
    keys: Collection[str]
    hashes: Collection[str]
    least: int


def same_items_elsewhere(store: Database, wanted: SameItems) -> set[tuple[str, str]]:
    """The model in full and the exam of each of them, of the newest that there are."""
    names = [f"{provider}/{name}" for provider, name in wanted.models]
    full = RUN.c.provider + "/" + RUN.c.model
    query = (
        select(RUN.c.num, full, RUN.c.exam)
        .where(
            RUN.c.project_id.in_(sorted(wanted.projects)),
            full.in_(sorted(names)),
            RUN.c.source.not_in(sorted(wanted.sources)),
            RUN.c.comparability.not_in(sorted(wanted.keys)),
            RUN.c.status == Status.COMPLETED.value,
            RUN.c.settled >= RUN.c.planned,
            RUN.c.stopped.is_(None),
            RUN.c.planned >= wanted.least,
        )
        .order_by(RUN.c.created_at.desc())
        .limit(MOST_RUNS)
    )
    with store.reading() as connection:
        runs = {num: (model, exam or "") for num, model, exam in connection.execute(query)}
        if not runs or not wanted.hashes:
            return set()
        shared = (
            select(ATTEMPT.c.run_num)
            .where(ATTEMPT.c.run_num.in_(sorted(runs)), ATTEMPT.c.item_hash.in_(sorted(wanted.hashes)))
            .group_by(ATTEMPT.c.run_num)
            .having(2 * func.count(ATTEMPT.c.item_hash.distinct()) >= len(wanted.hashes))
        )
        return {runs[num] for num in connection.execute(shared).scalars()}
