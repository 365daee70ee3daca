"""Outputs to the same requests, compared request by request in one walk: coverage, agreement, time and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from proctor.errors import ConfigError
from proctor.findings import Estimate, RelativeChange
from proctor.grading.comparators.contract import Comparator, Likeness
from proctor.grading.comparators.spec import parse_comparator
from proctor.grading.graders.regex import compiled
from proctor.service.batches.beside import RANKS, STATUSES, BesideBaseline, RowStatus, RowTag, beside, joined
from proctor.service.batches.outputs import GivenReply, Output, check_run, outputs_named
from proctor.service.context import Context
from proctor.stats.outputs.changes import PairedSums, change
from proctor.stats.outputs.labels import LabelCount
from proctor.stats.outputs.shares import ShareCount
from proctor.types import Run

FIRST_IDS = 10_000  # of each status, kept so that rare ones are found at once; common ones are near wherever one looks
SHOWN_IDS = 20  # in a warning
MOST_FIELDS = 200  # of JSON, with an agreement of their own
TOLD_EVERY = 2_000  # requests between two looks of whoever watches


@dataclass(frozen=True, slots=True)
class OutputSummary:
    """What one output has: `answered` and `failed` requests, means of those that tell them, faults of its file."""

    name: str
    run_id: str | None
    path: str | None
    model: str | None
    answered: int
    failed: int
    tokens_per_s: float | None  # output tokens of all for each second of the run; None for files
    faults: tuple[str, ...] = ()
    bad: int = 0

    @property
    def total(self) -> int:
        return self.answered + self.failed


@dataclass(frozen=True, slots=True)
class FieldAgreement:
    """How often a field of JSON says the same in both, among the requests where either has it."""

    path: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """Cohen's kappa, and how often which label of A stands beside which of B."""

    kappa: Estimate
    table: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class OutputPair:
    """An output (B) beside the baseline (A). `counts` are requests by status, `tags` what else is true of them.

    `unlike` counts requests whose bodies differ, `unknown` those of which that is not known. `agreement` is the share
    of same and equivalent replies among requests that both answered; `kept` among those that A answered and B was
    asked too, so that what newly fails is not kept.
    """

    counts: Mapping[RowStatus, int]
    tags: Mapping[RowTag, int]
    unlike: int
    unlike_ids: tuple[str, ...]
    unknown: int
    agreement: Estimate
    kept: Estimate
    fields: tuple[FieldAgreement, ...]
    labels: LabelAgreement | None
    notes: Mapping[str, int]  # what the comparator said, how often
    seconds: RelativeChange | None
    tokens_per_s: RelativeChange | None
    cost: RelativeChange | None

    @property
    def both(self) -> int:
        return sum(self.counts[status] for status in STATUSES if not status.startswith("only"))

    @property
    def changed(self) -> int:
        return self.counts["different"]

    @property
    def same(self) -> int:
        return self.counts["same"] + self.counts["equivalent"]


@dataclass(frozen=True, slots=True)
class BatchComparison:
    """Two to eight outputs; the first is the baseline, `pairs` are the others beside it, in their order.

    `matrix` is the agreement of every two. `counts` and `ids` are of requests by the worst that became of them in
    any output; `ids` are the first of each status or tag, as `compared_pages` needs them.
    """

    outputs: tuple[Output, ...]
    summaries: tuple[OutputSummary, ...]
    comparator: Comparator
    pairs: tuple[OutputPair, ...]
    matrix: tuple[tuple[Estimate | None, ...], ...]
    counts: Mapping[RowStatus, int]
    tags: Mapping[RowTag, int]
    ids: Mapping[str, Sequence[str]] = field(repr=False)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedRequest:
    """One request in all outputs: what each has for it, and how each beside the baseline compares."""

    custom_id: str
    replies: tuple[GivenReply | None, ...]
    beside: tuple[BesideBaseline, ...]

    @property
    def status(self) -> RowStatus:
        """The worst that became of it."""
        return min((each.status for each in self.beside), key=RANKS.__getitem__)

    @property
    def tags(self) -> tuple[RowTag, ...]:
        return tuple(dict.fromkeys(tag for each in self.beside for tag in each.tags))


Watch = Callable[[int], None]  # how many requests have been compared


def compared(
    context: Context,
    names: Sequence[str],
    how: str = "exact",
    *,
    candidate: str | None = None,
    each: Callable[[ComparedRequest], None] | None = None,
    watch: Watch | None = None,
) -> BatchComparison:
    """Outputs by run id, plan, "last" or file, compared by the comparator that `how` names.

    `candidate` is a pattern with one group over the custom_id: requests of one candidate are not independent. `each`
    is given every request, in the order of the ids. Raises: ConfigError, NotFound, DataError.
    """
    comparator = parse_comparator(how)
    outputs = outputs_named(context, names)
    return compare_outputs(context, outputs, comparator, candidate, each, watch)


def against(context: Context, run: Run, other: str, how: str = "exact") -> BatchComparison:
    """A run beside an earlier output, which is the baseline: a run, "last", or a file. Raises as `compared`."""
    check_run(run)
    return compared(context, (other, run.id), how)


def compare_outputs(
    context: Context,
    outputs: Sequence[Output],
    comparator: Comparator,
    candidate: str | None = None,
    each: Callable[[ComparedRequest], None] | None = None,
    watch: Watch | None = None,
) -> BatchComparison:
    """Raises: ConfigError for a pattern that is none."""
    told = _Told(len(outputs), comparator, candidate)
    walks = [output.walk(context) for output in outputs]
    for done, (custom_id, replies) in enumerate(joined(walks), 1):
        row = compared_request(custom_id, replies, comparator)
        told.add(row)
        if each is not None:
            each(row)
        if watch is not None and done % TOLD_EVERY == 0:
            watch(done)
    return BatchComparison(
        tuple(outputs),
        tuple(_summary(output, sums) for output, sums in zip(outputs, told.sums, strict=True)),
        comparator,
        tuple(pair.found() for pair in told.pairs),
        told.matrix(),
        told.counts,
        told.tags,
        told.ids,
        tuple(_notes(outputs, told)),
    )


def compared_request(
    custom_id: str, replies: tuple[GivenReply | None, ...], comparator: Comparator
) -> ComparedRequest:
    first = replies[0]
    return ComparedRequest(custom_id, replies, tuple(beside(first, two, comparator) for two in replies[1:]))


def _summary(output: Output, sums: _OutputSums) -> OutputSummary:
    run, file = output.run, output.file
    spent_s = run.elapsed_s if run is not None else 0.0
    return OutputSummary(
        output.name,
        run.id if run else None,
        ", ".join(map(str, file.paths)) if file else None,
        output.model,
        sums.answered,
        sums.failed,
        sums.tokens / spent_s if spent_s and sums.tokens else None,
        tuple(file.faults) if file else (),
        file.bad if file else 0,
    )


def _notes(outputs: Sequence[Output], told: _Told) -> list[str]:
    """What has to be known of the comparison besides its figures."""
    notes = [output.said for output in outputs if output.said]
    for output in outputs:
        if output.run is not None and output.run.finished_at is None:
            notes.append(f"{output.name} is {output.run.status}: what it has so far is compared")
        if output.file is not None and output.file.twice:
            notes.append(
                f"{output.name}: {output.file.twice:,} lines repeat a custom_id; the last answered one counts"
            )
    if told.pairs and not any(pair.both for pair in told.pairs):
        notes.append(
            "No request is in the baseline and in another output: their custom_ids have nothing in common"
        )
    return notes


# Counted as requests pass ----------------------------------------------------------------------------


@dataclass(slots=True)
class _OutputSums:
    answered: int = 0
    failed: int = 0
    tokens: int = 0

    def add(self, given: GivenReply | None) -> None:
        if given is None:
            return
        self.failed += given.failed
        self.answered += not given.failed
        self.tokens += given.output_tokens or 0


@dataclass(slots=True)
class _PairCount:
    counts: dict[RowStatus, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    tags: Counter[RowTag] = field(default_factory=Counter)
    unlike: list[str] = field(default_factory=list)
    unknown: int = 0
    both: int = 0
    agreement: ShareCount = field(default_factory=ShareCount)
    kept: ShareCount = field(default_factory=ShareCount)
    fields: dict[str, ShareCount] = field(default_factory=dict)
    labels: LabelCount | None = None
    notes: Counter[str] = field(default_factory=Counter)
    seconds: PairedSums = field(default_factory=lambda: PairedSums(2))
    speed: PairedSums = field(default_factory=lambda: PairedSums(4))
    cost: PairedSums = field(default_factory=lambda: PairedSums(2))

    def add(
        self, row: BesideBaseline, one: GivenReply | None, two: GivenReply | None, cluster: str | None
    ) -> None:
        self.counts[row.status] += 1
        self.tags.update(row.tags)
        if one is None or two is None:
            return
        self.both += 1
        self.unknown += one.asked is None or two.asked is None
        if "other request" in row.tags and len(self.unlike) < SHOWN_IDS:
            self.unlike.append(one.custom_id)
        alike = row.likeness is not None and row.status != "different"
        if not one.failed:
            self.kept.add(alike, cluster)
        if row.likeness is None:
            return
        self.agreement.add(alike, cluster)
        self._beneath(row.likeness, cluster)
        self.seconds.add(one.latency_s, two.latency_s)
        self.speed.add(one.output_tokens, one.latency_s, two.output_tokens, two.latency_s)
        self.cost.add(one.cost_usd, two.cost_usd)

    def _beneath(self, likeness: Likeness, cluster: str | None) -> None:
        """Fields, labels, and what the comparator said."""
        for path, alike in likeness.fields.items():
            if path in self.fields or len(self.fields) < MOST_FIELDS:
                self.fields.setdefault(path, ShareCount()).add(alike, cluster)
        if self.labels is not None and likeness.one is not None and likeness.two is not None:
            self.labels.add(likeness.one, likeness.two)
        if likeness.note is not None and not likeness.fields:
            self.notes[likeness.note if len(self.notes) < SHOWN_IDS else "other remarks"] += 1

    def found(self) -> OutputPair:
        labels = self.labels
        return OutputPair(
            self.counts,
            self.tags,
            self.tags["other request"],
            tuple(self.unlike),
            self.unknown,
            self.agreement.estimate("no request was answered in both"),
            self.kept.estimate("no request that the baseline answered was asked of the other"),
            tuple(FieldAgreement(path, count.estimate("")) for path, count in sorted(self.fields.items())),
            LabelAgreement(labels.estimate(), labels.pairs) if labels is not None else None,
            self.notes,
            change(self.seconds, (0,), (1,)),
            change(self.speed, (0, 1), (2, 3)),
            change(self.cost, (0,), (1,)),
        )


class _Told:
    """Everything that one walk counts."""

    def __init__(self, outputs: int, comparator: Comparator, candidate: str | None) -> None:
        self.compare = comparator
        labels = comparator.tells == "labels"
        self.pairs = [_PairCount(labels=LabelCount() if labels else None) for _ in range(outputs - 1)]
        self.sums = [_OutputSums() for _ in range(outputs)]
        self.counts: dict[RowStatus, int] = dict.fromkeys(STATUSES, 0)
        self.tags: Counter[RowTag] = Counter()
        self.ids: dict[str, list[str]] = {}
        self._others = {(a, b): ShareCount() for a in range(1, outputs) for b in range(a + 1, outputs)}
        self._candidate = _pattern(candidate)

    def add(self, row: ComparedRequest) -> None:
        first, cluster = row.replies[0], self._cluster(row)
        for sums, given in zip(self.sums, row.replies, strict=True):
            sums.add(given)
        for pair, found, two in zip(self.pairs, row.beside, row.replies[1:], strict=True):
            pair.add(found, first, two, cluster)
        for (a, b), count in self._others.items():
            one, two = row.replies[a], row.replies[b]
            if one is not None and two is not None and one.text is not None and two.text is not None:
                count.add(one.text == two.text or self.compare(one.text, two.text).alike, cluster)
        status, tags = row.status, row.tags
        self.counts[status] += 1
        self.tags.update(tags)
        for name in (status, *tags):
            kept = self.ids.setdefault(name, [])
            if len(kept) < FIRST_IDS:
                kept.append(row.custom_id)

    def matrix(self) -> tuple[tuple[Estimate | None, ...], ...]:
        n = len(self.sums)
        cells: dict[tuple[int, int], Estimate] = {
            (0, place): pair.agreement.estimate("none was answered in both")
            for place, pair in enumerate(self.pairs, 1)
        }
        cells |= {key: count.estimate("none was answered in both") for key, count in self._others.items()}
        return tuple(tuple(cells.get((min(a, b), max(a, b))) for b in range(n)) for a in range(n))

    def _cluster(self, row: ComparedRequest) -> str | None:
        if self._candidate is not None:
            found = self._candidate.search(row.custom_id)
            return str(found[1]) if found else None
        return next(
            (each.cluster for each in row.replies if each is not None and each.cluster is not None), None
        )


def _pattern(candidate: str | None) -> Any:
    if candidate is None:
        return None
    pattern = compiled(candidate)
    if pattern.groups != 1:
        raise ConfigError(f"--candidate {candidate!r}: give one group, (...), which is the candidate")
    return pattern
