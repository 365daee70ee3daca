"""`proctor plan`: what a run will take and what it can show, from the rows and the model's last runs. Asks nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from statistics import median
from typing import Any

from proctor.errors import ConfigError
from proctor.providers.prices import read_prices
from proctor.service.runs import open_store
from proctor.settings import Settings
from proctor.stats.power import detectable, half_width, items_for
from proctor.store import Store
from proctor.types import Cell, Plan, Run, Source, Status

LAST_RUNS = 5
PROMPTS_READ = 200  # of a source, for the length of its prompts
CHARACTERS_A_TOKEN = 4
LEAST_SPREAD = 0.2  # a forecast of time is never surer than this


@dataclass(frozen=True, slots=True)
class CellForecast:
    """What one model will take. None is not known; `basis` says what the figures rest on."""

    model: str
    calls: int
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    low_s: float | None
    high_s: float | None
    basis: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a plan will take and what it can show.

    `share` is the share of right answers that the power figures assume, from past runs or 0.8;
    `detectable` the difference shown with 80 % power where the models' scores correlate by 0.5, and
    `detectable_close` where they correlate by 0.7. `needed` is for the difference asked about.
    """

    source_title: str
    items: int
    tasks: int
    smallest_task: int
    cells: tuple[CellForecast, ...]
    share: float
    half_width: float
    detectable: float
    detectable_close: float
    difference: float | None = None
    needed: int | None = None


@dataclass(frozen=True, slots=True)
class _Past:
    """One past run, per call."""

    input_tokens: float | None
    output_tokens: float | None
    seconds: float | None  # of wall time, with as many at once as there were
    cost_usd: float | None
    score: float | None


def forecast(
    plan: Plan, sources: Sequence[Source], settings: Settings, *, difference: float | None = None
) -> Forecast:
    """Raises ConfigError for a difference that is not between 0 and 1."""
    if difference is not None and not 0 < difference < 1:
        raise ConfigError(
            f"--difference {difference:g}: give a share between 0 and 1, such as 0.02 for two points"
        )
    source, first = sources[0], plan.cells[0]
    with open_store(settings) as store:
        past = [_past_of(store, cell) for cell in plan.cells]
    cells = [
        _cell(cell, source, runs, how, settings) for cell, (runs, how) in zip(plan.cells, past, strict=True)
    ]
    shares = [run.score for runs, _ in past for run in runs if run.score is not None]
    share = min(0.99, max(0.5, median(shares))) if shares else 0.8
    worded = source.manifest.get("wording") == "all"
    items = len(source) // 3 if worded else len(source)
    repeats = first.repeats * (3 if worded else 1)
    asked = source.manifest.get("asked") or {"": items}
    n = max(1, items)
    return Forecast(
        source_title=source.title,
        items=items,
        tasks=len(asked),
        smallest_task=min(asked.values()),
        cells=tuple(cells),
        share=share,
        half_width=half_width(n, share=share),
        detectable=detectable(n, share=share, repeats=repeats),
        detectable_close=detectable(n, share=share, correlation=0.7, repeats=repeats),
        difference=difference,
        needed=items_for(difference, share=share, repeats=repeats) if difference else None,
    )


def _past_of(store: Store, cell: Cell) -> tuple[list[_Past], str]:
    """The model's last runs: of the same source if there are any, else of others."""
    runs = [
        run
        for run in store.runs(limit=200, model=str(cell.model), status=Status.COMPLETED)
        if run.settled and run.cell.sampling.think == cell.sampling.think and run.cell.source.kind != "log"
    ]
    alike = [run for run in runs if run.cell.source.name == cell.source.name]
    chosen = (alike or runs)[:LAST_RUNS]
    if not chosen:
        return [], f"no earlier run of {cell.model}"
    word = "run" if len(chosen) == 1 else f"{len(chosen)} runs"
    where = f"on {chosen[0].source_title}" if alike else "on other questions"
    return [_look(store, run) for run in chosen], f"its last {word} {where}"


def _look(store: Store, run: Run) -> _Past:
    tally, scores = store.tally(run.id), store.scores(run.id)
    value = scores[0].estimate.value if scores else None
    return _Past(
        tally.input_tokens_per_item,
        tally.output_tokens_per_item,
        run.elapsed_s / run.settled if run.elapsed_s else None,
        tally.cost_usd / run.settled if tally.cost_usd is not None else None,
        value,
    )


def _cell(cell: Cell, source: Source, past: Sequence[_Past], basis: str, settings: Settings) -> CellForecast:
    calls = len(source) * cell.repeats
    tokens_in, tokens_out = (
        _median([getattr(run, name) for run in past]) for name in ("input_tokens", "output_tokens")
    )
    if tokens_in is None and cell.model.provider not in ("baseline", "replay"):
        tokens_in = _prompt_tokens(source)
        basis = (
            f"{basis}; tokens in guessed from the prompts' length"
            if past
            else f"{basis}: tokens in are a guess"
        )
    cost = _median([run.cost_usd for run in past])
    price = read_prices(settings.home).of(cell.model)
    if cost is None and price is not None and tokens_in is not None and tokens_out is not None:
        cost = (tokens_in * price.input + tokens_out * price.output) / 1e6
    seconds = [run.seconds for run in past if run.seconds is not None]
    low = min(seconds) * (1 - LEAST_SPREAD) if seconds else None
    high = max(seconds) * (1 + LEAST_SPREAD) if seconds else None
    return CellForecast(
        model=str(cell.model),
        calls=calls,
        input_tokens=_times(tokens_in, calls),
        output_tokens=_times(tokens_out, calls),
        cost_usd=None if cost is None else cost * calls,
        low_s=None if low is None else low * calls,
        high_s=None if high is None else high * calls,
        basis=basis,
    )


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _times(value: float | None, calls: int) -> int | None:
    return None if value is None else round(value * calls)


def _prompt_tokens(source: Source) -> float | None:
    lengths = [sum(len(m.content) for m in item.prompt) for item in islice(source.items(), PROMPTS_READ)]
    return sum(lengths) / len(lengths) / CHARACTERS_A_TOKEN if lengths else None


def duration_words(low_s: float, high_s: float) -> str:
    """A length of time as a range in whole minutes.

    >>> duration_words(700, 1500), duration_words(20, 50), duration_words(65, 70), duration_words(4000, 11000)
    ('11-25 minutes', 'under 1 minute', '1-2 minutes', '1-4 hours')
    """
    if high_s < 60:
        return "under 1 minute"
    unit, word = (3600, "hours") if low_s >= 3600 else (60, "minutes")
    low, high = max(1, int(low_s // unit)), -int(-high_s // unit)
    return f"{low}-{max(high, low + 1)} {word}"


def forecast_document(of: Forecast) -> dict[str, Any]:
    return asdict(of)
