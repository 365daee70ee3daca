"""A file of requests as a source: checked in one pass, then read line by line as it is asked, never held in memory."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from proctor.errors import ConfigError, DataError
from proctor.figures import left_out_mark
from proctor.grading.spec import parse_grader
from proctor.manifest import BatchFacts, TaskSpec
from proctor.protocols import Grader
from proctor.references import BatchRef
from proctor.sources.batches.check import DIGEST_BYTES, Survey, survey
from proctor.sources.batches.checked import BadRequestLine, CheckedFile
from proctor.sources.batches.dialects import EMBEDDINGS
from proctor.sources.batches.graded import Answers, graded_by, named_grader, ready, with_grader
from proctor.sources.batches.lines import GROUP, LineReader, item_of, reader_of
from proctor.sources.batches.texts import LineTexts
from proctor.types import Item

SEED = 0  # of the random order


@dataclass(frozen=True, slots=True)
class DrawnLines:
    """The requests that are asked, in their order: the number of each one's line, and where in the file it begins."""

    numbers: Sequence[int]
    places: Sequence[int]


@dataclass(frozen=True, slots=True)
class BatchSource:
    """The requests of a file, in the run's order. `first_lines` tell where each model is named first, and
    `clusters` what a line's request hangs together with, where copies of requests do.
    """

    title: str
    facts: BatchFacts
    texts: LineTexts = field(repr=False)
    reader: LineReader = field(repr=False)
    drawn: DrawnLines = field(repr=False)
    understood: Sequence[str] = ()
    grader: Grader | None = None
    answers: Answers = field(default=(), repr=False)
    first_lines: Mapping[str, int] = field(default_factory=dict)
    clusters: Mapping[int, str] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.drawn.numbers)

    def items(self) -> Iterator[Item]:
        """Raises: DataError where the file is no longer what it was when it was opened."""
        read, clusters = self.reader.read, self.clusters
        texts = self.texts.some(self.drawn.places)
        for number, text in zip(self.drawn.numbers, texts, strict=True):
            try:
                item = item_of(read(number, text))
                yield replace(item, cluster=clusters[number]) if number in clusters else item
            except BadRequestLine as error:
                raise DataError(
                    f"{self.title}: line {number}: {error}. The file has changed since it was opened"
                ) from None

    def graded_as(self, graders: Mapping[str, str]) -> BatchSource:
        """The same by the grader that a run began with."""
        words = graders.get(GROUP)
        return (
            self if words is None else self.graded_with(ready(parse_grader(words, where=GROUP), self.answers))
        )

    def graded_with(self, grader: Grader) -> BatchSource:
        said = tuple(line for line in self.understood if not line.startswith("Grader "))
        return replace(
            self,
            grader=grader,
            facts=with_grader(self.facts, grader, self.answers),
            understood=(*said, f"Grader {grader.name}: it was named."),
        )


def open_batch(ref: BatchRef, path: Path) -> BatchSource:
    """The requests of a file, after a look at all of them.

    Raises: DataError naming each bad line, DataMissing, ConfigError.
    """
    _check_limit(ref)
    named = named_grader(ref)
    found = survey(path, ref, grader=named, to_ask=True)
    checked, copies = found.checked, found.copies
    left_out = checked.settle(lenient=ref.lenient)
    order = order_of(len(found.numbers), ref)
    drawn = DrawnLines(_at(found.numbers, order), _at(found.places, order))
    graded = graded_by(ref, named, found.answers)
    title = ref.listed + left_out_mark(left_out)
    facts = BatchFacts(
        suite=Path(ref.listed).stem if graded else None,
        rows="batch",
        tasks={
            GROUP: TaskSpec(
                title,
                full_size=checked.count if ref.limit is None or ref.order == "random" else None,
                asked=len(drawn.numbers),
                data_sha256=checked.sha256,
            )
        },
        n=len(drawn.numbers),
        item_set_sha256=set_digest(found, order),
        seed=SEED if ref.order == "random" else None,
        left_out=left_out,
        copies=copies.counted if copies else None,
        file=ref.listed,
        file_sha256=checked.sha256,
        endpoint=checked.endpoint,
        models=checked.models,
        order=ref.order,
        stream=ref.stream,
    )
    grader = None if graded is None else graded.grader
    return BatchSource(
        title,
        with_grader(facts, grader, found.answers),
        found.texts,
        reader_of(ref, flat=found.texts.flat),
        drawn,
        (*understood(ref, checked, len(drawn.numbers)), *((graded.why,) if graded else ())),
        grader,
        found.answers if grader is not None else (),
        checked.first_lines,
        copies.clusters if copies else {},
    )


def _check_limit(ref: BatchRef) -> None:
    if ref.limit is not None and ref.limit < 1:
        raise ConfigError(f"The limit is {ref.limit}; it counts requests, from 1")


def order_of(count: int, ref: BatchRef) -> Sequence[int] | None:
    """The places of the requests that are asked, in their order; None: all, as in the file.

    The random order is that of splitmix64 (Steele, Lea and Flood 2014) over the places, the same on every machine.
    """
    if ref.order == "file":
        return None if ref.limit is None else range(min(ref.limit, count))
    import numpy as np  # takes a while to load, and few runs shuffle

    with np.errstate(over="ignore"):
        mixed = np.arange(1 + SEED, count + 1 + SEED, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    order = array("Q")
    order.frombytes(np.argsort(mixed, kind="stable")[: ref.limit].astype(np.uint64).tobytes())
    return order


def _at(values: array[int], order: Sequence[int] | None) -> array[int]:
    return values if order is None else array("Q", (values[place] for place in order))


def set_digest(found: Survey, order: Sequence[int] | None) -> str:
    """The SHA-256 of what is asked, whatever the order: of the sorted digests of the requests."""
    import numpy as np  # as above

    each = np.frombuffer(found.digests, dtype=">u8").reshape(-1, DIGEST_BYTES // 8)
    if order is not None:
        each = each[np.asarray(order, dtype=np.int64)]
    ranked = each[np.lexsort((each[:, 1], each[:, 0]))]
    return hashlib.sha256(ranked.tobytes()).hexdigest()


# In words ------------------------------------------------------------------------------------------------


def understood(ref: BatchRef, checked: CheckedFile, asked: int) -> Iterable[str]:
    """What was understood, for a person to check before anything is spent."""
    where = " and ".join(f"{url} ({count:,})" for url, count in checked.urls.items())
    yield f"{_requests(asked)} for {checked.endpoint or where}{_of_whole(ref, checked)}{_named(ref, checked)}"
    if checked.form != "JSON lines":
        yield f"read from {checked.form}" + (f" by the template {ref.template!r}" if ref.template else "")
    if ref.fields:
        yield f"where a request says nothing else: {', '.join(ref.fields)}"
    if checked.most_tokens is not None and not checked.uncapped:
        yield f"at most {checked.most_tokens:,} tokens are written in each reply"
    elif checked.uncapped and checked.endpoint != EMBEDDINGS:
        yield f"{_requests(checked.uncapped)} set no bound to the tokens of the reply (max_tokens)"
    if ref.gold is not None:
        yield f"right answers of {_requests(checked.gold)} from {ref.gold!r}; they are not sent"
    for note in checked.notes:
        if note.code != "other_model":
            yield str(note)


def _requests(count: int) -> str:
    return f"{count:,} request{'' if count == 1 else 's'}"


def _of_whole(ref: BatchRef, checked: CheckedFile) -> str:
    if ref.order == "random":
        return f", drawn at random from {checked.count:,}" if ref.limit is not None else ", in random order"
    return ", the first of the file" if ref.limit is not None else ""


def _named(ref: BatchRef, checked: CheckedFile) -> str:
    if not checked.models or ref.on_mismatch == "strict":
        return ""
    names = list(checked.models)
    some = ", ".join(names[:3]) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")
    return f"; they name {some}, which the run's model replaces"
