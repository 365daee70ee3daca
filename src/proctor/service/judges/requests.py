"""What a server is asked to judge: the words of the outside, and how they become jobs of the queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from proctor.errors import ConfigError, Conflict, NotFound
from proctor.plan.doors import from_config
from proctor.plan.rubrics import rubric_of
from proctor.plan.wanted import OF_JUDGINGS
from proctor.references import GradingRubric, JudgingRef
from proctor.service.checked.summary import judging_summary, summary_document
from proctor.service.context import Context, find
from proctor.service.judges.todo import judging_todo
from proctor.service.judges.wanted import MOST_VOTES, JudgingWanted
from proctor.service.judging.judgings import judgings_of, kept_as
from proctor.service.runs import queue
from proctor.service.runs.queue import Ticket
from proctor.service.runs.requests import Body, Priority, options_body
from proctor.service.watch import job_states
from proctor.types import Limits, Run

MOST_RUNS, MOST_JUDGES = 20, 10
RunIdent = Annotated[str, Field(min_length=4, max_length=100)]


class JudgeConfig(options_body(lambda option: option.key, OF_JUDGINGS)):  # type: ignore[misc]  # fields are the table's
    """How a judge is asked, and what bounds it."""


class JudgingRequest(Body):
    """Models that grade kept replies by the criteria of a rubric, or say which of two runs' replies they prefer."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "runs": ["a967f363-ee96-4bac-9f52-4d169bbc4851"],
                    "judges": ["ollama/qwen3:8b"],
                    "rubric": {
                        "name": "helpful",
                        "criteria": [{"name": "solved", "asks": "Is it solved?", "scale": "pass/fail"}],
                    },
                }
            ]
        },
    )

    runs: list[RunIdent] = Field(min_length=1, max_length=MOST_RUNS, description="Ids of the runs to judge.")
    judges: list[Annotated[str, Field(min_length=3, max_length=350)]] = Field(
        min_length=1, max_length=MOST_JUDGES, description="Models, as provider/name; each judges all."
    )
    rubric: dict[str, Any] | None = Field(
        None, description="name, guidance and criteria (POST /rubrics/check); none is the built-in `correct`."
    )
    votes: int = Field(1, ge=1, le=MOST_VOTES, description="How often each judge is asked about one reply.")
    against: RunIdent | None = Field(
        None, description="The other run of pairs: which of the two replies is better, asked in both orders."
    )
    config: JudgeConfig = JudgeConfig()
    priority: Priority = "high"

    def wanted(self) -> JudgingWanted:
        """Raises ConfigError."""
        if baked := [each for each in self.judges if each.startswith("replay/")]:
            raise ConfigError(f"{baked[0]} answers from a file; the server opens no files by their paths")
        given = from_config(self.config.model_dump(exclude_none=True))
        rubric = None if self.rubric is None else rubric_of(self.rubric)
        return JudgingWanted(
            tuple(self.runs), tuple(self.judges), rubric, votes=self.votes, against=self.against, given=given
        )


def begin(context: Context, request: JudgingRequest, user: str) -> list[Run]:
    return begin_judging(context, request.wanted(), Ticket(user, 0, request.priority))


def begin_judging(context: Context, wanted: JudgingWanted, ticket: Ticket) -> list[Run]:
    """A job for each judge and judged run, in the project of what it judges, whatever the ticket says.

    What was judged so before is not asked again: it is among the runs given, and goes on where it lacks something.
    Raises: NotFound for a run out of reach; Conflict for one that has not ended or is being judged so just now;
    ConfigError, QueueFull.
    """
    judged = [run for ident in wanted.runs for run in find(context.store, ident)]
    others = find(context.store, wanted.against) if wanted.against else []
    if unended := [run for run in (*judged, *others) if run.finished_at is None]:
        raise Conflict(f"Run {unended[0].id} is {unended[0].status}: it can be judged when it has ended")
    projects = {job_states.project_of(context, run.id) for run in judged}
    if len(projects) > 1:
        raise ConfigError("The runs are of several projects: judge those of each project by themselves")
    todo = judging_todo(context, wanted, base=Limits(timeout_s=context.settings.job_timeout_s))
    again = [_taken_up(context, run) for run in todo.begun]
    ticket = replace(ticket, project_id=projects.pop())
    new = queue.submit_all(context, todo.plan, ticket) if todo.plan else []
    return [*new, *again, *todo.done]


def _taken_up(context: Context, run: Run) -> Run:
    """Raises Conflict for a judging of the command line: the server has no place for it in its queue."""
    try:
        return queue.restart(context, run.id)
    except NotFound:
        raise Conflict(
            f"Run {run.id[:8]} has judged a part of it in a terminal: `proctor resume {run.id[:8]}` goes on"
        ) from None


@dataclass(frozen=True, slots=True)
class JudgingStanding:
    """A judging with the runs that it is about, as far as they are there and may be seen."""

    run: Run
    ref: JudgingRef
    grader: str  # under which its grades are kept
    there: Mapping[str, Run | None]  # the judged runs by their ids; None: deleted, or out of reach

    summary: Mapping[str, Any] | None  # what became of its verdicts, once it has ended

    @property
    def rubric(self) -> GradingRubric:
        return self.ref.rubric


def standing(context: Context, judging_id: str) -> JudgingStanding:
    """Raises: NotFound, also for a run that is no judging."""
    run = job_states.run_of(context, judging_id)
    if not isinstance(run.cell.source, JudgingRef):
        raise NotFound(f"Run {run.id} is no judging")
    found = _standing(context, run, run.cell.source.run)
    if run.finished_at is None:
        return found
    return replace(found, summary=summary_document(judging_summary(context.store, run)))


def standing_of(context: Context, run_id: str) -> Sequence[JudgingStanding]:
    """The judgings of a run, on either side of pairs, the newest first. Raises: NotFound."""
    run = job_states.run_of(context, run_id)
    return [_standing(context, each, run.id) for each in reversed(judgings_of(context.store, run.id))]


def _standing(context: Context, run: Run, seen_from: str) -> JudgingStanding:
    ref = _ref(run.cell.source)
    judged = [each for each in (ref.run, ref.against) if each]
    there = {each: _there(context, each) for each in judged}
    return JudgingStanding(run, ref, kept_as(run, seen_from), there, None)


def _there(context: Context, run_id: str) -> Run | None:
    try:
        return context.store.run(run_id)
    except NotFound:
        return None


def _ref(source: object) -> JudgingRef:
    assert isinstance(source, JudgingRef)
    return source
