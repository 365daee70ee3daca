"""What a plan will take and what it can show, from the rows and the models' last runs. Asks no model anything."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

from proctor.errors import ConfigError
from proctor.figures import dollars, duration
from proctor.protocols import Source
from proctor.providers.prices import Prices, read_prices
from proctor.service.context import Context
from proctor.service.forecast.previous_runs import PreviousRuns, assumed_of, past_of, why_not
from proctor.service.kinds import kind_of
from proctor.stats.descriptive.averages import mean, middle
from proctor.stats.power import Assumed, detectable, effective_items, half_width, items_for
from proctor.types import Cell, Plan

PROMPTS_READ = 200  # of a source, for the length of its prompts; any beginning of it is a fair sample
CHARACTERS_A_TOKEN = 4
LEAST_SPREAD = 0.2  # a forecast of time is never surer than this
HALF_HOUR_S = 1800.0  # the documented length of a run of GLUE is 10 to 30 minutes
CLOSE = 0.7  # the correlation of two models that mostly fail on the same items
ASKS_NOBODY = ("baseline", "replay")
NO_SERVER = "asks no server"


@dataclass(frozen=True, slots=True)
class Expected:
    """An amount to expect. None is not known, and `basis` says why; else it says what the amount rests on.

    Times have a range. A `high` without a value is the most that it can come to.
    """

    value: float | None
    basis: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class CellForecast:
    """What one model will take; `model` is "" for all models together. Tokens out hold the reasoning tokens."""

    model: str
    calls: int
    input_tokens: Expected
    output_tokens: Expected
    seconds: Expected
    cost_usd: Expected


AMOUNTS = ("input_tokens", "output_tokens", "seconds", "cost_usd")


@dataclass(frozen=True, slots=True)
class TaskPower:
    """How many items of a task are asked, and the smallest difference they show; None where that is none at all.

    Of several tasks each is one comparison of as many, as where two runs are compared task by task.
    """

    task: str
    title: str
    items: int
    detectable: float | None


@dataclass(frozen=True, slots=True)
class Power:
    """What the items can show about two models whose scores correlate by 0.5, with 80 % power at p < 0.05.

    The p-value is that of one of `comparisons`, every pair of the plan's models, adjusted together (Holm).
    `effective` is the size of a plain sample that would be as sure: fewer than `items` where small tasks
    count as much as large ones. `detectable_close` is for a correlation of 0.7. `needed` items, in the
    mix of this plan, show `difference` (None: no number does); the source has `available`, and all of them
    show `at_best`. A
    smallest difference is None where even models as far apart as can be would not be told apart.
    """

    items: int
    effective: float
    available: int
    assumed: Assumed
    share_basis: str
    half_width: float
    comparisons: int
    detectable: float | None
    detectable_close: float | None
    at_best: float | None
    tasks: tuple[TaskPower, ...]
    difference: float | None = None
    needed: int | None = None


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a plan will take and what it can show. `notes` are sentences about its limits."""

    source_title: str
    understood: tuple[str, ...]
    sample: bool
    cells: tuple[CellForecast, ...]
    total: CellForecast
    power: Power
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Takes:
    """What one model will take for a source's items, where nothing is scored. `notes` are about its limits."""

    source_title: str
    understood: tuple[str, ...]
    cell: CellForecast
    notes: tuple[str, ...]


def takes(context: Context, plan: Plan, source: Source, items: int) -> Takes:
    """What a plan of one cell takes for so many items, of which `source` may be the first alone.

    Raises ConfigError for a bad prices.toml.
    """
    cell = plan.cells[0]
    prices, past = read_prices(context.settings.home), past_of(context.store, cell, source)
    found = _cell(cell, source, past, prices, items)
    notes = tuple(_notes(plan, (found,), _total((found,))))
    return Takes(source.title, tuple(source.understood), found, notes)


def forecast(
    context: Context, plan: Plan, sources: Sequence[Source], *, difference: float | None = None
) -> Forecast:
    """The plan's forecast; what its items can show is said of the first cell's source and repeats.

    Raises ConfigError for a difference that is not between 0 and 1, and for a bad prices.toml.
    """
    if difference is not None and not 0 < difference < 1:
        raise ConfigError(
            f"--difference {difference:g}: give a share between 0 and 1, such as 0.02 for two points"
        )
    prices, source = read_prices(context.settings.home), sources[0]
    pasts = [past_of(context.store, cell, at) for cell, at in zip(plan.cells, sources, strict=True)]
    assumed, basis = assumed_of(context.store, plan.cells[0].repeats, pasts)
    cells = tuple(
        _cell(cell, at, past, prices, len(at))
        for cell, at, past in zip(plan.cells, sources, pasts, strict=True)
    )
    total = _total(cells)
    return Forecast(
        source_title=source.title,
        understood=tuple(source.understood),
        sample=source.facts.sample,
        cells=cells,
        total=total,
        power=power_of(source, assumed, basis, difference, models=len(plan.cells)),
        notes=(*_notes(plan, cells, total), *beyond_shares(source)),
    )


# What it takes -----------------------------------------------------------------------------------


def _cell(cell: Cell, source: Source, past: PreviousRuns, prices: Prices, items: int) -> CellForecast:
    model, parts = str(cell.model), cell.limits.shard.of if cell.limits.shard else 1
    calls = math.ceil(items * cell.repeats / parts)
    if cell.model.provider in ASKS_NOBODY:
        return CellForecast(model, calls, *(Expected(None, NO_SERVER) for _ in AMOUNTS))
    tokens_in, tokens_out = _tokens_in(source, past, calls), _tokens_out(cell, past, calls)
    cost = _cost(cell, past, prices, tokens_in, tokens_out, calls)
    return CellForecast(model, calls, tokens_in, tokens_out, _seconds(past, calls), cost)


def _tokens_in(source: Source, past: PreviousRuns, calls: int) -> Expected:
    """Other questions may be much longer or shorter, so their runs say nothing about this."""
    known = middle([tally.input_tokens_per_item for tally in past.tallies]) if past.same_source else None
    if known is not None:
        return Expected(known * calls, past.basis)
    lengths = [
        sum(len(m.content) for m in item.ask.messages) for item in islice(source.items(), PROMPTS_READ)
    ]
    guess = f"the length of the prompts, about {CHARACTERS_A_TOKEN} characters a token: a rough guess"
    length = mean(lengths)
    return Expected(None if length is None else length / CHARACTERS_A_TOKEN * calls, guess)


def _tokens_out(cell: Cell, past: PreviousRuns, calls: int) -> Expected:
    known = middle([tally.output_tokens_per_item for tally in past.tallies])
    if known is not None:
        return Expected(known * calls, past.basis)
    most = cell.sampling.max_tokens
    if most is None or cell.sampling.think:  # some servers do not count the reasoning
        return Expected(None, why_not(past, "tokens"))
    return Expected(None, why_not(past, "tokens"), high=most * calls)


def _seconds(past: PreviousRuns, calls: int) -> Expected:
    """By the pace of whole runs: with loading, retries and as many requests at once as there were."""
    asked = [sum(tally.outcomes.values()) for tally in past.tallies]
    paces = [run.elapsed_s / n for run, n in zip(past.runs, asked, strict=True) if n and run.elapsed_s]
    usual = middle(paces)
    if usual is None:
        return Expected(None, why_not(past, "time"))
    low = min(min(paces), usual * (1 - LEAST_SPREAD)) * calls
    return Expected(
        usual * calls, past.basis, low=low, high=max(max(paces), usual * (1 + LEAST_SPREAD)) * calls
    )


def _cost(
    cell: Cell, past: PreviousRuns, prices: Prices, tokens_in: Expected, tokens_out: Expected, calls: int
) -> Expected:
    """What runs of these questions cost; else prices times tokens; else what runs of other questions cost."""
    asked = [sum(tally.outcomes.values()) for tally in past.tallies]
    known = middle(
        [
            t.cost_usd / n if n and t.cost_usd is not None else None
            for t, n in zip(past.tallies, asked, strict=True)
        ]
    )
    if known is not None and past.same_source:
        return Expected(known * calls, past.basis)
    price, taken = prices.of(cell.model), tokens_in.value
    if price is not None and taken is not None and tokens_out.value is not None:
        cost = price.cost_usd(round(taken), round(tokens_out.value))
        return Expected(cost, f"{prices.path.name} and the tokens expected")
    if known is not None:
        return Expected(known * calls, past.basis)
    if price is None:
        return Expected(None, f"{why_not(past, 'costs')}, and no price in {prices.path}")
    most = None if taken is None or tokens_out.high is None else (round(taken), round(tokens_out.high))
    why = f"{prices.path.name}; tokens out are not known"
    return Expected(None, why, high=price.cost_usd(*most) if most else None)


def _total(cells: Sequence[CellForecast]) -> CellForecast:
    """All models together; they are asked one after the other."""
    return CellForecast("", sum(cell.calls for cell in cells), *(_sum(cells, name) for name in AMOUNTS))


def _sum(cells: Sequence[CellForecast], name: str) -> Expected:
    """Unknown where it is unknown of any model: a sum that leaves some out would look like the whole."""
    parts = [(cell.model, getattr(cell, name)) for cell in cells]
    parts = [(model, part) for model, part in parts if part.basis != NO_SERVER]
    if not parts:
        return Expected(None, NO_SERVER)
    if unknown := [model for model, part in parts if part.value is None]:
        tops = [part.high if part.value is None else part.value for _, part in parts]
        most = None if None in tops or name == "seconds" else sum(tops)
        return Expected(None, f"not known for {', '.join(unknown)}", high=most)
    lows, highs = [part.low for _, part in parts], [part.high for _, part in parts]
    value, basis = sum(part.value for _, part in parts), "the sum over the models"
    return Expected(value, basis, *((sum(lows), sum(highs)) if name == "seconds" else ()))


# What it can show --------------------------------------------------------------------------------


def power_of(
    source: Source,
    assumed: Assumed,
    basis: str = "an assumption",
    difference: float | None = None,
    *,
    models: int = 2,
) -> Power:
    """What the source's items can show of two of so many models, each task with its weight in the score."""
    facts = source.facts
    scored = [task for task, spec in facts.tasks.items() if not spec.extra] or list(facts.tasks)
    # Wordings are not items of their own: what counts is how many different questions there are.
    asked = {task: n for task, n in facts.asked.items() if task in scored} or facts.asked
    full = {task: n for task, n in facts.full_sizes.items() if task in scored and n}
    weights = dict.fromkeys(facts.full_sizes, 1) if facts.aggregate == "macro" else facts.full_sizes
    items, effective, best = (
        sum(asked.values()),
        effective_items(asked, weights),
        effective_items(full, weights),
    )
    # Items that weigh the same are counted, as the comparison will count them.
    family, counted = max(1, math.comb(models, 2)), math.isclose(items, effective)
    needed = None
    wanted = items_for(difference, assumed, family, counted=counted) if difference is not None else None
    if wanted is not None:
        scale = items / effective if wanted <= best else sum(full.values()) / best
        needed = math.ceil(wanted * scale)
        needed = min(needed, sum(full.values())) if wanted <= best else needed
    return Power(
        items=items,
        effective=effective,
        available=sum(full.values()),
        assumed=assumed,
        share_basis=basis,
        half_width=half_width(effective, assumed),
        comparisons=family,
        detectable=detectable(effective, assumed, family, counted=counted),
        detectable_close=detectable(effective, replace(assumed, correlation=CLOSE), family, counted=counted),
        at_best=detectable(best, assumed, family, counted=math.isclose(best, sum(full.values()))),
        tasks=tuple(
            TaskPower(t, facts.tasks[t].title, n, detectable(n, assumed, len(asked)))
            for t, n in asked.items()
        ),
        difference=difference,
        needed=needed,
    )


def beyond_shares(source: Source) -> Iterator[str]:
    """What the power leaves out: it takes every score for a share of right answers."""
    if any("mcc" in task.official and not task.extra for task in source.facts.tasks.values()):
        # Of two labels as frequent MCC is twice the share less one, so its errors are twice as large.
        yield "These differences are in shares of right answers; one as small in mcc takes about four times the items."


def _most_tokens(cell: CellForecast) -> float:
    return sum(of.value or of.high or 0 for of in (cell.input_tokens, cell.output_tokens))


def _notes(plan: Plan, cells: Sequence[CellForecast], total: CellForecast) -> Iterator[str]:
    """What the user's limits will do, and what stands between the user and a forecast."""
    cut = plan.cells[0].sampling.max_tokens
    limits, served = plan.cells[0].limits, [cell for cell in cells if cell.seconds.basis != NO_SERVER]
    if served:
        calls, rate = served[0].calls, served[0].calls / HALF_HOUR_S
        each = f"{calls:,} {'call' if calls == 1 else 'calls'}{' of each model' if len(served) > 1 else ''}"
        yield f"At 1 request a second, {each} take {duration(calls)}; within 30 minutes at {_upwards(rate)} a second."
    if any(cell.output_tokens.value is None and cell.output_tokens.high for cell in served):
        yield f"Where no run tells the tokens out, they are at most {cut:,} a call (--max-tokens)."
    if limits.for_s is not None and (total.seconds.high or 0) > limits.for_s:
        yield f"--for {duration(limits.for_s)} may end this early; what is complete by then is scored."
    late = [cell.model for cell in served if (cell.seconds.high or 0) > limits.timeout_s]
    if late:
        yield f"{', '.join(late)} may not end within --timeout {duration(limits.timeout_s)}: raise it, or resume then."
    most = limits.max_cost_usd
    if most is not None and sum(cell.cost_usd.value or cell.cost_usd.high or 0 for cell in served) > most:
        yield f"--max-cost {dollars(most)} may end this early; what is complete by then is scored."
    if limits.max_total_tokens is not None and sum(map(_most_tokens, served)) > limits.max_total_tokens:
        yield f"--max-total-tokens {limits.max_total_tokens:,} may end this early; what is complete by then is scored."
    unpriced = [cell.model for cell in served if cell.cost_usd.value is None and cell.cost_usd.high is None]
    if most is not None and unpriced:
        yield f"--max-cost can be kept for {', '.join(unpriced)} only if the server tells its costs."
    if new := [cell.model for cell in served if cell.seconds.value is None]:
        kind = kind_of(plan.cells[0].source)
        command = "grade" if kind.holds == "verdicts" else "run"
        yield f"No time is known yet for {', '.join(new)}: a first `proctor {command}` with {kind.short} tells."


def _upwards(rate: float) -> str:
    """Two significant digits, upwards: a rate rounded down would take longer than is said.

    >>> _upwards(80 / 1800), _upwards(2000 / 1800), _upwards(1.0), _upwards(14_042 / 1800), _upwards(180_001 / 1800)
    ('0.045', '1.2', '1', '7.9', '110')
    """
    step = 10.0 ** (math.floor(math.log10(rate)) - 1)
    return f"{math.ceil(rate / step - 1e-9) * step:,.10g}"


def duration_words(low_s: float, high_s: float) -> str:
    """A length of time as a range in whole minutes or hours, rounded outwards.

    >>> duration_words(700, 1500), duration_words(20, 50), duration_words(65, 70), duration_words(4000, 11000)
    ('11-25 minutes', 'under 1 minute', '1-2 minutes', '1-4 hours')
    """
    if high_s < 60:
        return "under 1 minute"
    unit_s, word = (3600, "hours") if low_s >= 3600 else (60, "minutes")
    low, high = max(1, int(low_s // unit_s)), -int(-high_s // unit_s)
    return f"{low}-{max(high, low + 1)} {word}"


def forecast_document(of: Forecast) -> dict[str, Any]:
    """The forecast as JSON; `estimated_duration` is the time of all models in words, null where it is unknown."""
    low, high = of.total.seconds.low, of.total.seconds.high
    known = low is not None and high is not None
    return {**asdict(of), "estimated_duration": duration_words(low or 0.0, high or 0.0) if known else None}
