"""The Python door: `proctor.evaluate` runs a plan and gives typed results back."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from proctor.errors import ConfigError, ProctorError
from proctor.figures import estimate, left_out_mark
from proctor.findings import Comparison, Estimate, Evaluation, RunResult
from proctor.plan import check_think, parse_source
from proctor.service.context import open_context
from proctor.service.data.transfer import item_records
from proctor.service.datasets.kept import here
from proctor.service.grades.function import FunctionGrader, GradingFunction
from proctor.service.opening.sources import models_named, suite_names
from proctor.service.results.outcome import PlanOutcome
from proctor.service.runs.lifecycle import start
from proctor.settings import Settings, read_settings
from proctor.types import Cell, Limits, Plan, Sampling

if TYPE_CHECKING:
    import pandas

_SAMPLING = frozenset(f.name for f in fields(Sampling))
_SOURCE = frozenset({"tasks", "preset", "rows", "answer_type", "numbers", "lenient"})


@dataclass(frozen=True, slots=True)
class Result:
    """What `evaluate` gives back.

    `runs` holds one RunResult a model, in the order in which the models were named; `comparisons`
    every pair of them; `verdict` the closing sentence. `error` is what stopped the runs early, if
    anything did, or the cause for which every item of one failed: what they measured is kept, and its `cure` says
    what to do. `runs[i].run.partial` and `runs[i].causes` say which lack items, and why.
    """

    runs: tuple[RunResult, ...]
    comparisons: tuple[Comparison, ...]
    verdict: str
    error: ProctorError | None = None
    _settings: Settings = field(repr=False, kw_only=True)

    @property
    def score(self) -> Estimate:
        """The headline of a single model. Raises ValueError where there are several."""
        if len(self.runs) != 1 or not self.runs[0].scores:
            raise ValueError(f"{len(self.runs)} models were run: look at .runs[i].scores")
        return self.runs[0].scores[0].estimate

    def __str__(self) -> str:
        heads = (
            f"{r.run.cell.model}  {r.scores[0].metric} {estimate(r.scores[0].estimate)}"
            f"{left_out_mark(r.run.manifest.facts.left_out)}"
            for r in self.runs
            if r.scores
        )
        return "\n".join([*heads, self.verdict]).rstrip()

    def items(self) -> list[dict[str, Any]]:
        """One record an item and model: outcome, score, answer, target, reply, tokens, seconds."""
        with open_context(self._settings) as context:
            return item_records(context, [r.run.id for r in self.runs])

    def to_pandas(self) -> pandas.DataFrame:
        """`items` as a data frame. Raises ImportError where pandas is not installed."""
        import pandas

        return pandas.DataFrame.from_records(self.items())


def evaluate(
    source: str | os.PathLike[str],
    model: str | Sequence[str],
    *,
    limit: int | None = None,
    base_url: str | None = None,
    replies: str | os.PathLike[str] | None = None,
    limits: Limits | None = None,
    grader: str | GradingFunction | None = None,
    **options: Any,
) -> Result:
    """Ask one model, or several, the questions of a file or suite; blocks until they are done.

    `source` is a path (JSONL, CSV) or a suite's name; `model` is "provider/name" or a list of them.
    `options` are the fields of types.Sampling (temperature, max_tokens, seed, think, ...) and of
    types.ExamRef (tasks, preset, rows, answer_type, numbers, lenient). Everything is kept in PROCTOR_HOME.
    `grader` is a grader's name with its settings ("number:rel=0.01"), or a function of item and reply that gives a
    types.Grade, a score from 0 to 1, True, False or None, and may be asynchronous; its name is recorded.

    Raises ProctorError when nothing could be asked: ConfigError for a bad request, DataError for bad
    rows, AuthError, ModelNotFound, EndpointNotFound. What stops a run later is in `Result.error`.
    """
    if unknown := sorted(options.keys() - _SAMPLING - _SOURCE):
        raise ConfigError(
            f"evaluate: unknown option {unknown[0]!r}; known: {', '.join(sorted(_SAMPLING | _SOURCE))}"
        )
    check_think(options.get("think"))
    chosen = {name: value for name, value in options.items() if name in _SOURCE}
    chosen |= {"grader": grader} if isinstance(grader, str) else {}
    if isinstance(chosen.get("tasks"), list):
        chosen["tasks"] = tuple(chosen["tasks"])
    settings = read_settings(os.environ)
    ref = parse_source(os.fspath(source), suite_names(), uploaded=here(settings), limit=limit, **chosen)
    sampling = Sampling(**{name: value for name, value in options.items() if name in _SAMPLING})
    names = [model] if isinstance(model, str) else list(model)
    cells = tuple(
        Cell(named, ref, sampling, limits or Limits())
        for named in models_named(names, settings, base_url=base_url)
    )
    plan = Plan(cells, name=os.fspath(source), replies=os.fspath(replies) if replies else None)
    function = FunctionGrader(grader) if callable(grader) else None
    outcome = _outside_any_loop(lambda: _started(plan, settings, function))
    if outcome.evaluation is None:
        assert outcome.error is not None  # without one there is always an evaluation
        raise outcome.error
    return _result(outcome, outcome.evaluation, settings)


def _started(plan: Plan, settings: Settings, grader: FunctionGrader | None) -> PlanOutcome:
    with open_context(settings) as context:
        return start(context, plan, grader=grader)


def _result(outcome: PlanOutcome, evaluation: Evaluation, settings: Settings) -> Result:
    return Result(
        evaluation.results, evaluation.comparisons, evaluation.verdict, outcome.error, _settings=settings
    )


def _outside_any_loop(work: Callable[[], PlanOutcome]) -> PlanOutcome:
    """Do the work in a thread of its own if this one has an event loop running, as a notebook's does."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    done: list[PlanOutcome] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except (ProctorError, KeyboardInterrupt) as error:
            failed.append(error)

    thread = threading.Thread(target=run, name="proctor-evaluate")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    if not done:
        raise RuntimeError("the run ended with a defect of proctor; its traceback is above")
    return done[0]
