"""Why items of a run failed: their messages counted once, when it ends, by kind and by the server's words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from proctor.errors import AttemptError, attempt_errors
from proctor.findings import Cause, RunResult, Tally
from proctor.service.context import Context
from proctor.service.results.advice import advice
from proctor.store import Store
from proctor.store.read import failures
from proctor.store.read.lists import RunLine
from proctor.store.write import summaries
from proctor.types import Run

MOST_READ = 500  # messages of each kind of error
MOST_KEPT = 10  # causes of a run; rarer ones are counted by their kind alone

# What stands in front of the server's own words, see providers/wire/refusals.py.
_PLACE = re.compile(r"^\S+ at \S+ answered \d{3}: ")
_VARIES = re.compile(r"\S*\d\S*")


def causes_of(store: Store, run: Run, tally: Tally) -> tuple[Cause, ...]:
    """The causes kept at the run's end; counted now if it has not ended or an older version ended it."""
    if not tally.errors:
        return ()
    kept = summaries.get(store, run.id) if run.finished_at else None
    if kept is not None and "causes" in kept:
        return tuple(Cause(**record) for record in kept["causes"])
    return counted(store, run.id, tally.errors)


def counted(store: Store, run_id: str, kinds: Mapping[str, int]) -> tuple[Cause, ...]:
    """The causes of a run whose errors are `kinds` (slug -> items): the commonest kind first, and of it the commonest.

    Of a kind, failures whose messages were not read come last, however many they are.
    """
    found: list[Cause] = []
    for slug, items in sorted(kinds.items(), key=lambda kind: -kind[1]):
        read = failures.failed(store, run_id, None if slug == "unknown" else slug, limit=MOST_READ)
        found += _alike(slug, items, [(each.item_id, said(each.message)) for each in read])
    return tuple(found)


def _alike(slug: str, items: int, read: Sequence[tuple[str, str]]) -> Iterator[Cause]:
    """One cause for all messages that differ only in words with digits; the others of the kind without words."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for item_id, words in read:
        groups.setdefault(_VARIES.sub("#", words), []).append((item_id, words))
    told = sorted(groups.values(), key=len, reverse=True)[:MOST_KEPT]
    for group in told:
        item_id, words = group[0]
        yield Cause(slug, words, len(group), item_id)
    if untold := items - sum(map(len, told)):
        yield Cause(slug, "", untold)


def said(message: str) -> str:
    """The server's own words of a kept message; the whole of it where no server spoke.

    >>> said("openai at http://h/v1 answered 400: too long"), said("http://h: connection refused")
    ('too long', 'http://h: connection refused')
    """
    return _PLACE.sub("", message, count=1)


def as_records(causes: Sequence[Cause]) -> list[dict[str, Any]]:
    """As they are kept in a run's summary."""
    return [asdict(cause) for cause in causes]


def of_lines(context: Context, lines: Sequence[RunLine]) -> dict[str, tuple[Cause, ...]]:
    """The kept causes of those runs of a list that have some; of an older version's runs only the kinds are known."""
    lacking = [line.id for line in lines if line.unmeasured]
    kept = failures.kept(context.store, lacking) if lacking else {}
    found: dict[str, tuple[Cause, ...]] = {}
    for run_id, summary in kept.items():
        kinds = (Cause(slug, "", n) for slug, n in summary["tally"].get("errors", {}).items())
        known = summary.get("causes")
        if causes := tuple(kinds if known is None else (Cause(**record) for record in known)):
            found[run_id] = causes
    return found


def failed_whole(result: RunResult) -> AttemptError | None:
    """The error as which a run ends in which no item has an outcome and some failed; None for any other.

    It is of the commonest cause's kind, and says its words.
    """
    if result.run.settled or not result.causes:
        return None
    first = result.causes[0]
    failed = sum(cause.items for cause in result.causes)
    every = f"All {failed:,} items" if failed > 1 else "The only item"
    mostly = "" if len(result.causes) == 1 else f" ({first.items:,} of them as follows)"
    kinds = {kind.slug: kind for kind in attempt_errors()}
    error = kinds.get(first.slug, AttemptError)(
        f"{every} that {'were' if failed > 1 else 'was'} asked failed{mostly}: {first.said or first.slug}"
    )
    error.cure = advice(first, result.run)
    return error
