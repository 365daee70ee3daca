"""Compared requests a page at a time, disagreements first, and one request with where its replies differ."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from proctor.errors import ConfigError, NotFound
from proctor.service.batches.beside import STATUSES, TAGS, joined
from proctor.service.batches.compare import FIRST_IDS, BatchComparison, ComparedRequest, compared_request
from proctor.service.context import Context
from proctor.service.results.differing import RequestBeside, differing

__all__ = ["ComparedPage", "RequestBeside", "differences", "row", "rows"]

BETWEEN = "\n"  # in a cursor, between the status and the id


@dataclass(frozen=True, slots=True)
class ComparedPage:
    """Requests of a comparison. `after` gives the next page; None: these are the last."""

    rows: tuple[ComparedRequest, ...]
    after: str | None = None


def rows(
    context: Context,
    comparison: BatchComparison,
    *,
    status: str | None = None,
    after: str | None = None,
    limit: int = 50,
) -> ComparedPage:
    """Requests of one status or tag in the order of their ids; without one all, by what became of them, worst first.

    `after` is what the page before gave. Raises: ConfigError for no such status.
    """
    if status is not None and status not in (*STATUSES, *TAGS):
        raise ConfigError(
            f"no status {status!r} of a compared request; there are {', '.join((*STATUSES, *TAGS))}"
        )
    begun, _, last = (after or "").partition(BETWEEN)
    wanted: list[str] = [status] if status else list(STATUSES)
    found: list[ComparedRequest] = []
    for one in wanted[wanted.index(begun) if begun in wanted else 0 :]:
        found += islice(
            _of(context, comparison, one, last if one == begun else "", limit), limit - len(found)
        )
        if len(found) >= limit:
            return ComparedPage(tuple(found), f"{one}{BETWEEN}{found[-1].custom_id}")
    return ComparedPage(tuple(found))


def row(context: Context, comparison: BatchComparison, custom_id: str) -> ComparedRequest:
    """Raises: NotFound."""
    for found in _by_ids(context, comparison, [custom_id]):
        return found
    raise NotFound(f"No output has the request {custom_id}")


def differences(found: ComparedRequest) -> tuple[RequestBeside | None, ...]:
    """For each output beside the baseline where their replies differ; None where one has no reply."""
    return tuple(_differences(found, place) for place in range(1, len(found.replies)))


def _differences(found: ComparedRequest, place: int) -> RequestBeside | None:
    one, two = found.replies[0], found.replies[place]
    if one is None or two is None or one.text is None or two.text is None:
        return None
    return differing(one.text, two.text)


def _of(
    context: Context, comparison: BatchComparison, status: str, after: str, limit: int
) -> Iterator[ComparedRequest]:
    """Requests of a status beyond an id: by the ids that are known, then by walking on."""
    ids: Sequence[str] = comparison.ids.get(status, ())
    start = bisect_right(ids, after)
    yield from _by_ids(context, comparison, ids[start : start + limit])
    whole = sum(n for name, n in (*comparison.counts.items(), *comparison.tags.items()) if name == status)
    if whole > FIRST_IDS and start + limit > len(ids):
        yield from _walked(context, comparison, status, max(after, ids[-1]))


def _by_ids(context: Context, comparison: BatchComparison, ids: Sequence[str]) -> Iterator[ComparedRequest]:
    told = [output.found(context, ids) for output in comparison.outputs] if ids else []
    for custom_id in ids:
        replies = tuple(each.get(custom_id) for each in told)
        if any(given is not None for given in replies):
            yield compared_request(custom_id, replies, comparison.comparator)


def _walked(
    context: Context, comparison: BatchComparison, status: str, after: str
) -> Iterator[ComparedRequest]:
    walks = [output.walk(context, after) for output in comparison.outputs]
    for custom_id, replies in joined(walks):
        found = compared_request(custom_id, replies, comparison.comparator)
        if status == found.status or status in found.tags:
            yield found
