"""A file of requests as a source: checked in one pass, then read line by line as it is asked, never held in memory."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from proctor.errors import DataError
from proctor.manifest import BatchFacts, TaskSpec
from proctor.references import BatchRef
from proctor.sources.batches.lines import GROUP, BadRequestLine, RequestLine, item_of, parse
from proctor.types import Item


@dataclass(frozen=True, slots=True)
class BatchSource:
    """The requests of a file, in the run's order."""

    title: str
    facts: BatchFacts
    path: Path
    count: int
    understood: Sequence[str] = ()

    def __len__(self) -> int:
        return self.count

    def items(self) -> Iterator[Item]:
        return islice((item_of(line) for line in lines_of(self.path)), self.count)


def open_batch(ref: BatchRef, path: Path) -> BatchSource:
    """Raises: DataError naming each bad line, DataMissing."""
    count, models, urls, asked = 0, Counter[str](), Counter[str](), hashlib.sha256()
    for line in islice(lines_of(path), ref.limit):
        item = item_of(line)
        count += 1
        urls[line.url] += 1
        models[str(line.body.get("model"))] += 1
        asked.update(item.hash.encode())
    facts = BatchFacts(
        rows="batch",
        tasks={GROUP: TaskSpec(path.name, asked=count)},
        n=count,
        item_set_sha256=asked.hexdigest(),
        file=path.name,
        endpoint=next(iter(urls)) if len(urls) == 1 else None,
        models=dict(models),
        order=ref.order,
        stream=ref.stream,
    )
    return BatchSource(ref.listed, facts, path, count)


def lines_of(path: Path) -> Iterator[RequestLine]:
    with path.open("rb") as file:
        for number, text in enumerate(file, 1):
            if text.strip():
                try:
                    yield parse(text)
                except BadRequestLine as error:
                    raise DataError(f"{path.name}: line {number}: {error}") from None
