"""The words for what attempts show: a number and how sure it is, a difference and what may be said of it.

    Estimate    a number and how sure we are of it
    Score       one metric of a task, or of the whole, in one run
    Histogram   how measured values lie
    Speed       how long a request took, by which clock, among how many
    Difference  one metric of two runs, on the items both have scored
    RelativeChange  by what part a figure of one output is larger than of another
    Comparison  two runs: the whole, then task by task
    Place       a model's row on a leaderboard, with the ranks it may have

Statistics make them, views show them. Everything here is frozen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from proctor.findings.looks import Decision, Looks, Path
from proctor.types import NOTHING_USED, Run, Usage

if TYPE_CHECKING:
    from proctor.trial_findings import RunTrials

# Every metric with its version, which is part of what makes two scores comparable: raised when the metric
# starts to give other numbers. stats/ computes them, report/measures.py says in words what they are.
METRIC_VERSIONS: Mapping[str, str] = {
    name: f"{name}/1"
    for name in (
        "accuracy",
        "accuracy_m",
        "accuracy_mm",
        "f1",
        "macro_f1",
        "mcc",
        "pearson",
        "spearman",
        "em",
        "mean",
        "f1a",
        "gender_parity",
        "success_rate",
        "mean_score",
    )
}
# Those of the table of targets by answers: any task of kind "labels" can have them, a user's too.
OF_LABELS = ("f1", "macro_f1", "mcc")
# Of trials of agents; what they count are tasks.
OF_TRIALS = ("success_rate", "mean_score")
SIGNED = (
    "mcc",
    "pearson",
    "spearman",
)  # from -1 to 1; every other metric but a mean of grades is from 0 to 1
OVER_TASKS = ", mean of "  # between a metric and how many tasks: the name of its unweighted mean over tasks


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its standard error and interval, over `scored` of `asked` items.

    `value` is None when nothing was scored, and `reason` says why. `low` and `high` are the ends of
    the 95 % interval computed by `method`.
    """

    value: float | None
    stderr: float | None
    low: float | None
    high: float | None
    scored: int
    asked: int
    method: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one task (or of the whole suite) in one run."""

    task: str
    title: str
    metric: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class RelativeChange:
    """A figure of two outputs to the same `n` requests, and by what part the second is larger: -0.03 is 3 % less.

    `low` and `high` are the ends of the 95 % interval of `relative`.
    """

    first: float
    second: float
    relative: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Histogram:
    """`counts[i]` values lie between `edges[i]` and `edges[i + 1]`."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


Basis = Literal["server", "measured"]
MOST_TOLD = 0.5  # of the requests: fewer whose server said how long it worked do not speak for the run


@dataclass(frozen=True, slots=True)
class Speed:
    """How long a run's requests took, by two clocks. Seconds are means of a request; None was not told.

    `wire_s` is the time on the wire of `timed` requests, from the first byte sent to the last one read: waiting for
    the server is in it. On average `in_flight` of our requests were at the server then. `service_s` is how long the
    server says that it worked on each, without waiting, for `served` of them. The two rates are output tokens for
    each second of a request, by either clock.
    """

    wire_s: float
    timed: int
    in_flight: float | None = None
    wire_tokens_per_s: float | None = None
    service_s: float | None = None
    served: int = 0
    service_tokens_per_s: float | None = None

    @property
    def basis(self) -> Basis:
        """Whose clock the run's speed is told by: the server's, where it told enough of the requests."""
        return "measured" if self.service_s is None or self.served < MOST_TOLD * self.timed else "server"

    def told_by(self, shared: Basis | None) -> Basis:
        """By which clock to show it beside others: theirs, where there is one for all, else its own."""
        return self.basis if shared is None or (shared == "server" and self.basis != "server") else shared

    def seconds(self, basis: Basis) -> float | None:
        return self.service_s if basis == "server" else self.wire_s

    def at_once(self, basis: Basis) -> float | None:
        """How many of our requests shared the server on average: those it worked on, or all that were there.

        Little's law (1961): in a steady state as many are in a place as arrive there in a second, times the seconds
        that each stays.
        """
        if basis == "measured" or self.in_flight is None or self.service_s is None or not self.wire_s:
            return self.in_flight
        return max(1.0, self.in_flight * min(1.0, self.service_s / self.wire_s))

    def tokens_per_s(self, basis: Basis) -> float | None:
        return self.service_tokens_per_s if basis == "server" else self.wire_tokens_per_s

    @property
    def output_tokens_per_s(self) -> float | None:
        return self.tokens_per_s(self.basis)


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts and means over a run's settled items; a mean is None where nothing was reported.

    `unused` is what servers told of requests whose replies do not count: they could not be used, or a later
    attempt at the item replaced them. It is in none of the other figures.
    """

    outcomes: Mapping[str, int]
    answer_rate: float | None
    speed: Speed | None
    input_tokens_per_item: float | None
    output_tokens_per_item: float | None  # with the reasoning tokens
    cost_usd: float | None
    errors: Mapping[str, int] = field(default_factory=dict)  # slug -> items
    retries: int = 0
    reasoning_tokens_per_item: float | None = None
    unused: Usage = NOTHING_USED
    at_limit: int = 0  # settled trials whose agent was ended by a limit


@dataclass(frozen=True, slots=True)
class Cause:
    """Why items of a run failed: the kind of error, and one message of those that are alike but for numbers.

    `said` is in the server's words where a server spoke, and "" for failures whose messages were not read;
    `item_id` is the first item of them.
    """

    slug: str
    said: str
    items: int
    item_id: str | None = None

    def in_words(self, planned: int, what: str = "items") -> str:
        """One line: how many, the kind, the words, and the first item.

        >>> Cause("network", "http://h: refused", 2, "sums/4").in_words(48)
        '2 of 48 items failed: network, "http://h: refused" (first sums/4)'
        """
        words = f', "{self.said}"' if self.said else " (messages not read)"
        where = f" ({'first ' if self.items > 1 else ''}{self.item_id})" if self.item_id else ""
        return f"{self.items:,} of {planned:,} {what} failed: {self.slug}{words}{where}"


def failed_in_short(causes: Sequence[Cause]) -> str:
    """For a list: how many failed, and of what, the commonest first.

    >>> failed_in_short([Cause("network", "a", 2), Cause("bad-request", "b", 1), Cause("network", "c", 1)])
    '4 failed: network 3, bad-request 1'
    >>> failed_in_short([Cause("network", "a", 2)]), failed_in_short([])
    ('2 failed: network', '')
    """
    kinds: dict[str, int] = {}
    for cause in causes:
        kinds[cause.slug] = kinds.get(cause.slug, 0) + cause.items
    if not kinds:
        return ""
    listed = [slug if len(kinds) == 1 else f"{slug} {items:,}" for slug, items in kinds.items()]
    return f"{sum(kinds.values()):,} failed: {', '.join(listed)}"


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run shows: its scores, counts, speed, and why items failed.

    The first score is the headline, the first cause the commonest. `trials` is set for agents on tasks alone.
    """

    run: Run
    scores: tuple[Score, ...]
    tally: Tally
    causes: tuple[Cause, ...] = ()
    trials: RunTrials | None = None

    @property
    def output_tokens_per_s(self) -> float | None:
        """Output tokens of all requests together for each second of work on the run."""
        tokens, spent_s = self.tally.output_tokens_per_item, self.run.elapsed_s
        settled = sum(self.tally.outcomes.values()) - self.tally.outcomes.get("error", 0)
        return None if tokens is None or not spent_s or not settled else tokens * settled / spent_s


Verdict = Literal["first better", "second better", "practically equal", "no difference shown"]


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric of two runs on the items both have scored; differences are first minus second.

    `task` is "" for the whole. `first` and `second` are the metric on the shared items; `estimate` is
    their difference with its 95 % interval, `scored` of it the shared items. The counts are of items:
    those where one run scored higher than the other (for rights and wrongs: that only one got right),
    and those that both got right. `adjusted_p` is Holm's over the request for the whole, and
    Benjamini and Hochberg's over the tasks of the pair for a task.
    """

    task: str
    title: str
    metric: str
    first: float | None
    second: float | None
    estimate: Estimate
    test: str
    p_value: float | None
    both_right: int
    only_first: int
    only_second: int
    adjusted_p: float | None = None
    verdict: Verdict = "no difference shown"
    correlation: float | None = None  # of the two runs' item scores; None where one of them never varies
    comparisons: int = 1  # how many p-values are adjusted together; what follows allows for them
    detectable: float | None = None  # the smallest difference that as many items like these show, 80 % power
    items_needed: int | None = None  # about how many show one of this size; None if it is under its error
    same_tasks_p: float | None = (
        None  # of trials: exchanged within these very tasks; adjusted over the request too
    )
    margin: float = 0.01  # two scores this close are practically equal; in the metric's units
    path: Path | None = None  # of its test, where the runs were looked at or stopped before they were whole
    withheld: str = ""  # why "better" is not said although test and interval would say it

    @property
    def shared(self) -> int:
        return self.estimate.scored

    @property
    def discordant(self) -> int:
        return self.only_first + self.only_second


@dataclass(frozen=True, slots=True)
class Sharing:
    """How many items the first of two runs was asked, the second, and both of them; `what` they are called."""

    first: int
    second: int
    both: int
    what: Literal["items", "tasks"] = "items"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs on the items both have scored: the headline, then each task's own score.

    A run of one task has no `tasks`. Two headlines within `margin` of each other count as practically equal;
    it is in their metric's units, and each task's difference has its own. `sharing` counts what they were asked,
    scored or not.
    """

    first: Run
    second: Run
    whole: Difference
    tasks: tuple[Difference, ...] = ()
    sharing: Sharing | None = None

    @property
    def margin(self) -> float:
        return self.whole.margin

    @property
    def verdict(self) -> Verdict:
        return self.whole.verdict


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Runs side by side: what each scored, every pair compared, and one sentence about it.

    `compared` has, run by run, the score that is compared, on the items that all of them have scored. `clock` is the
    one by which all their times mean the same; where there is none, `unlike_times` says why and what to do.
    `looks` says what was looked at besides, `decision` how runs stand that were asked side by side until decided.
    """

    plan_id: str
    results: tuple[RunResult, ...]
    comparisons: tuple[Comparison, ...]
    verdict: str
    compared: tuple[Score, ...] = ()
    clock: Basis | None = None
    unlike_times: str = ""
    looks: Looks | None = None
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A model's row on a leaderboard.

    `score` is the board's metric. `rank` is shared by models that are tied: 1 + the number of models
    shown to be better. `lowest` is the worst rank the model may have; ranks from `rank` to `lowest`
    hold for all models at once with 95 % confidence. `p_best` is how often the model is the best of
    the board in resampled exams. `runs` counts its completed runs of the source; `trend` compares the
    run with the model's one before it on the same board (first is the newer), None where there is none.
    """

    result: RunResult
    score: Estimate
    rank: int
    lowest: int
    p_best: float | None
    runs: int
    trend: Difference | None = None


@dataclass(frozen=True, slots=True)
class Board:
    """Models ranked on items that they share, asked in the same way; best score first.

    `metric` is the name of what is ranked; `models` counts all that were ranked, of which `places` shows
    the first. `left_out` says in words which runs are not on it. `shared` is how many items the scores are of
    where the models were not all asked the same, and `note` says so in words; None and "" where they were.
    """

    source_title: str
    metric: str
    places: tuple[BoardRow, ...]
    comparisons: tuple[Comparison, ...]
    left_out: tuple[str, ...] = ()
    models: int = 0
    shared: int | None = None
    note: str = ""
