"""What a comparison of outputs comes to: its one line, and whether it passes a gate."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import NotFound
from proctor.figures import fraction, share
from proctor.findings import RelativeChange
from proctor.references import BatchRef
from proctor.service.batches.compare import BatchComparison, OutputPair
from proctor.service.batches.outputs import LAST, check_run, in_words, last_like
from proctor.service.context import Context, find


@dataclass(frozen=True, slots=True)
class SameGate:
    """Whether enough of what the baseline answered is kept. `share` is None where nothing could be compared."""

    least: float
    share: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def passed(self) -> bool:
        return self.share is not None and self.share >= self.least

    @property
    def sentence(self) -> str:
        if self.share is None:
            return "Gate FAILED: no request that the baseline answered was asked of the other."
        word = "passed" if self.passed else "FAILED"
        found = f"{fraction(self.share)} [{fraction(self.low)}, {fraction(self.high)}]"
        return (
            f"Gate {word}: {found} of the {self.n:,} requests that the baseline answered are the same; "
            f"at least {fraction(self.least)} was asked for."
        )


def gate_same(comparison: BatchComparison, least: float) -> SameGate:
    """The gate of the output that kept least. What newly fails is not the same; what was not asked does not count."""
    worst = min(comparison.pairs, key=lambda pair: -1.0 if pair.kept.value is None else pair.kept.value)
    kept = worst.kept
    return SameGate(least, kept.value, kept.low, kept.high, kept.scored)


def verdict(comparison: BatchComparison, place: int = 1) -> str:
    """One line on an output beside the baseline: "same 49,210, changed 778, newly failing 12, tokens a second -3 %"."""
    return ", ".join(_words(comparison.pairs[place - 1]))


def in_a_sentence(comparison: BatchComparison, names: Sequence[str], place: int = 1) -> str:
    """How far an output agrees with the baseline, in a sentence; `names` are those of all outputs.

    It is a count of these very requests, and no statement of which replies are better.
    """
    pair = comparison.pairs[place - 1]
    agreed = pair.agreement
    if not pair.both or agreed is None or agreed.value is None:
        return f"{names[place]} and {names[0]} have no request that both answered."
    told = f"{names[place]} gives the same reply as {names[0]} to {pair.same:,} of {pair.both:,} requests"
    ends = (
        ""
        if agreed.low is None
        else f" ({share(agreed.value)}, 95 % {share(agreed.low)} to {share(agreed.high)})"
    )
    failing = pair.counts["newly failing"]
    return f"{told}{ends}{f'; {failing:,} newly fail' if failing else ''}."


def _words(pair: OutputPair) -> Iterator[str]:
    counts = pair.counts
    equivalent = f" ({counts['equivalent']:,} of them only equivalent)" if counts["equivalent"] else ""
    yield f"same {pair.same:,}{equivalent}"
    yield f"changed {counts['different']:,}"
    yield f"newly failing {counts['newly failing']:,}"
    if counts["newly answered"]:
        yield f"newly answered {counts['newly answered']:,}"
    if counts["failed in both"]:
        yield f"failed in both {counts['failed in both']:,}"
    if counts["only A"]:
        yield f"missing {counts['only A']:,}"
    if counts["only B"]:
        yield f"new {counts['only B']:,}"
    if pair.tokens_per_s is not None:
        yield f"tokens a second {percent(pair.tokens_per_s.relative)}"


def percent(part: float) -> str:
    """A change in per cent, with its sign.

    >>> percent(-0.031), percent(0.0), percent(0.125), percent(0.004)
    ('-3 %', '0 %', '+12 %', '+0.4 %')
    """
    if not part:
        return "0 %"
    return f"{part * 100:+.0f} %" if abs(part) >= 0.01 else f"{part * 100:+.1f} %"


def change_words(what: str, change: RelativeChange, unit: str = "") -> str:
    """A change with its interval and both figures.

    >>> change_words("seconds", RelativeChange(1.0, 0.97, -0.03, -0.05, -0.01, 90), " s")
    'seconds -3 % [-5 %, -1 %] (0.97 s, before 1 s; 90 requests)'
    """
    figures = f"{_plain(change.second)}{unit}, before {_plain(change.first)}{unit}; {change.n:,} requests"
    ends = f"[{percent(change.low)}, {percent(change.high)}]"
    return f"{what} {percent(change.relative)} {ends} ({figures})"


def _plain(value: float) -> str:
    """
    >>> _plain(1134.2), _plain(0.00354)
    ('1,134', '0.00354')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def named(context: Context, other: str, beside: BatchRef | None = None) -> str:
    """What `--against` would compare with, in words, before anything is asked. Raises: NotFound, ConfigError."""
    if other == LAST:
        if beside is None:
            raise NotFound(f"`{LAST}` needs a file of requests beside it")
        return in_words(last_like(context, beside))
    if Path(other).is_file():
        return other
    runs = find(context.store, other)
    for run in runs:
        check_run(run)
    return ", ".join(in_words(run) for run in runs)
