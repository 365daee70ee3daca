"""The Python door: `proctor.evaluate` runs a plan, `judge` has its replies graded, `label` keeps what people say."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from proctor.errors import ConfigError, ProctorError
from proctor.figures import estimate, left_out_mark
from proctor.findings import Comparison, Estimate, Evaluation, RunResult
from proctor.findings.looks import Decision, Looks
from proctor.plan import Wanted
from proctor.plan.doors import from_keywords
from proctor.plan.rubrics import rubric_file
from proctor.plan.wanted import OF_JUDGINGS
from proctor.references import GradingRubric
from proctor.service.checked.found import JudgedResult
from proctor.service.checked.given import grade_records, judged_results
from proctor.service.context import open_context
from proctor.service.data.transfer import item_records
from proctor.service.grades.function import FunctionGrader, GradingFunction
from proctor.service.judges.todo import judge as ask_judges
from proctor.service.judges.todo import judging_todo
from proctor.service.judges.wanted import JudgingWanted
from proctor.service.labelling.taken_in import take_in_records
from proctor.service.labelling.wish import LabelWish
from proctor.service.results.outcome import PlanOutcome
from proctor.service.runs.lifecycle import start
from proctor.service.runs.planning import plan_of_wanted
from proctor.settings import Settings, read_settings
from proctor.types import Limits, Plan

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Result:
    """What `evaluate` gives back.

    `runs` holds one RunResult a model, in the order in which the models were named; `comparisons`
    every pair of them; `verdict` the closing sentence. `error` is what stopped the runs early, if
    anything did, or the cause for which every item of one failed: what they measured is kept, and its `cure` says
    what to do. `runs[i].run.partial` and `runs[i].causes` say which lack items, and why. `looks` is what was tried
    beside these runs, as the verdict tells it, and `decision` how models stand that were asked until decided.
    """

    runs: tuple[RunResult, ...]
    comparisons: tuple[Comparison, ...]
    verdict: str
    error: ProctorError | None = None
    looks: Looks | None = None
    decision: Decision | None = None
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
    limits: Limits | None = None,
    grader: str | GradingFunction | None = None,
    **options: Any,
) -> Result:
    """Ask one model, or several, the questions of a file or suite; blocks until they are done.

    `source` is a path (JSONL, CSV) or a suite's name; `model` is "provider/name" or a list of them.
    `options` are those of `proctor run`, named as in docs/reference/options.md: the fields of types.Sampling
    (temperature, max_tokens, seed, think, ...), of references.ExamRef (tasks, preset, limit, rows, style, ...) and of
    types.Limits (timeout_s, max_cost_usd, ..., which `limits` gives together), `repeats`, `base_url` and `replies`.
    They mean the same as there: a suite is asked at its quick size unless `preset` or `limit` says another.
    `grader` is a grader's name with its settings ("number:rel=0.01"), or a function of item and reply that gives a
    types.Grade, a score from 0 to 1, True, False or None, and may be asynchronous; its name is recorded.
    `until_decided=True` asks several models side by side, and stops once it is sure which is better.
    None leaves temperature, max_tokens, context_tokens and seed to the provider. Everything is kept in PROCTOR_HOME.

    Raises ProctorError when nothing could be asked: ConfigError for a bad request, DataError for bad
    rows, AuthError, ModelNotFound, EndpointNotFound. What stops a run later is in `Result.error`.
    """
    given = {**_of_limits(limits, options), **from_keywords(options)}
    given |= {"grader": grader} if isinstance(grader, str) else {}
    names = (model,) if isinstance(model, str) else tuple(model)
    settings = read_settings(os.environ)
    plan = plan_of_wanted(Wanted(os.fspath(source), names, given), settings)
    function = FunctionGrader(grader) if callable(grader) else None
    outcome = _outside_any_loop(lambda: _started(plan, settings, function))
    if outcome.evaluation is None:
        assert outcome.error is not None  # without one there is always an evaluation
        raise outcome.error
    return _result(outcome, outcome.evaluation, settings)


@dataclass(frozen=True, slots=True)
class JudgedRuns:
    """What `judge` gives back: for each judged run and judge what it shows, with what people's labels make of it.

    `error` is what stopped a judge early; what it had judged is kept, and the same call goes on.
    """

    results: tuple[JudgedResult, ...]
    error: ProctorError | None = None
    _settings: Settings = field(repr=False, kw_only=True)

    def __str__(self) -> str:
        return "\n".join(each.sentence for each in self.results)

    def grades(self) -> list[dict[str, Any]]:
        """One record a graded reply: run_id, grader, item_id, repeat, score (0 to 1), answer, note."""
        with open_context(self._settings) as context:
            return [
                record for each in self.results for record in grade_records(context, each.run.id, each.grader)
            ]


def judge(
    runs: Result | str | Sequence[str],
    judge: str | Sequence[str],
    *,
    rubric: GradingRubric | str | os.PathLike[str] | None = None,
    votes: int = 1,
    against: str | None = None,
    limits: Limits | None = None,
    **options: Any,
) -> JudgedRuns:
    """Have one model, or several, grade the kept replies of runs; blocks until they are done.

    `runs` is what `evaluate` gave, or ids of runs; `judge` is "provider/name" or a list of them. `rubric` is a file
    or a GradingRubric; None is the built-in one. `votes` is how often each judge is asked about a reply, `against`
    the id of the other run of pairs. `options` are those of `proctor grade --grader judge`. What was judged so before
    is not asked again. Raises ProctorError when nothing could be asked.
    """
    ids = tuple(r.run.id for r in runs.runs) if isinstance(runs, Result) else runs
    given = {**_of_limits(limits, options), **from_keywords(options, OF_JUDGINGS, "judge")}
    wanted = JudgingWanted(
        (ids,) if isinstance(ids, str) else tuple(ids),
        (judge,) if isinstance(judge, str) else tuple(judge),
        rubric if isinstance(rubric, GradingRubric | None) else rubric_file(Path(rubric)),
        votes,
        against,
        given,
    )
    settings = read_settings(os.environ)
    return _outside_any_loop(lambda: _judged(wanted, settings))


def _judged(wanted: JudgingWanted, settings: Settings) -> JudgedRuns:
    with open_context(settings) as context:
        found = ask_judges(context, judging_todo(context, wanted))
        error = next((each.error for each in found.outcomes if each.error is not None), None)
        return JudgedRuns(judged_results(context, found.runs), error, _settings=settings)


def label(
    run: str,
    grades: Mapping[str, str] | Sequence[Mapping[str, Any]],
    *,
    labeller: str,
    rubric: GradingRubric | str | os.PathLike[str] | None = None,
) -> int:
    """Keep what a person says of a run's replies; how many labels were new.

    `grades` are grades by item id ({"q/1": "pass"}), or records with the columns of `proctor label --out`: item_id,
    grade, criterion, repeat, note, tags, drawn. Only what is drawn "random" enters estimates. `rubric` None is that of
    the run's newest judging. Raises DataError that names every record that is wrong, before any is kept.
    """
    said = (
        [{"item_id": item, "grade": grade} for item, grade in grades.items()]
        if isinstance(grades, Mapping)
        else grades
    )
    chosen = rubric if isinstance(rubric, GradingRubric | None) else rubric_file(Path(rubric))
    with open_context(read_settings(os.environ)) as context:
        return take_in_records(context, LabelWish((run,), labeller, chosen), said).added


def _started(plan: Plan, settings: Settings, grader: FunctionGrader | None) -> PlanOutcome:
    with open_context(settings) as context:
        return start(context, plan, grader=grader)


def _of_limits(limits: Limits | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """What was given by `limits=`. Raises ConfigError if the same is given by its own name too."""
    if limits is None:
        return {}
    if twice := sorted(asdict(limits).keys() & options.keys()):
        raise ConfigError(
            f"evaluate: {twice[0]} is given twice, in limits= and by its name; give one of them"
        )
    return {name: value for name, value in asdict(limits).items() if value is not None and value is not False}


def _result(outcome: PlanOutcome, evaluation: Evaluation, settings: Settings) -> Result:
    return Result(
        evaluation.results,
        evaluation.comparisons,
        evaluation.verdict,
        outcome.error,
        evaluation.looks,
        evaluation.decision,
        _settings=settings,
    )


def _outside_any_loop(work: Callable[[], T]) -> T:
    """Do the work in a thread of its own if this one has an event loop running, as a notebook's does."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    done: list[T] = []
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
