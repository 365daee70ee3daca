"""/api/v1/judgings, /judged and /rubrics: models grade kept replies; what that is worth beside people's labels."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from proctor.api import answers
from proctor.api.benchmarking import JobId
from proctor.api.dependencies import OpenContext, Reader, Runner
from proctor.api.schemas import JOB_ID, KeptGraderName
from proctor.errors import ConfigError
from proctor.plan.rubrics import rubric_of, rubric_table, rubric_text, rubric_toml
from proctor.references import WORTH, GradingRubric
from proctor.service.admin import access
from proctor.service.checked import worth
from proctor.service.checked.documents import compared_document, judged_document
from proctor.service.checked.leaning import leaning_document, leanings
from proctor.service.judges import requests
from proctor.service.judges.requests import JudgingRequest, JudgingStanding
from proctor.service.runs.requests import Body
from proctor.service.watch import job_states

ROUTER = APIRouter(tags=["judging"])
RunIdent = Annotated[str, Query(max_length=100, examples=[JOB_ID])]
RUBRIC = {
    "name": "helpful",
    "criteria": [{"name": "solved", "asks": "Is the problem solved?", "scale": "yes/no"}],
}


class RubricRequest(Body):
    """A rubric to be checked: as a JSON object, or as the text of a TOML file."""

    rubric: dict[str, Any] | None = Field(None, examples=[RUBRIC])
    toml: str | None = Field(None, max_length=200_000)

    def meant(self) -> GradingRubric:
        """Raises ConfigError."""
        if (self.rubric is None) == (self.toml is None):
            raise ConfigError("Give either rubric or toml")
        return rubric_of(self.rubric) if self.rubric is not None else rubric_toml((self.toml or "").encode())


class JudgedComparisonRequest(Body):
    """Two judged runs; `grader` is whose grades, where several judged."""

    first: str = Field(max_length=100, examples=[JOB_ID])
    second: str = Field(max_length=100)
    grader: str | None = Field(None, max_length=500)


@ROUTER.post("/judgings", summary="Begin a judging")
def begin(request: JudgingRequest, context: OpenContext, user: Runner) -> dict[str, Any]:
    """A job of the queue for each judge and judged run, in the judged runs' project.

    Followed, cancelled and restarted as any job (/jobs). When it ends, its verdicts become grades of the judged run.
    What was judged so before is not asked again: that judging is told, and goes on where it lacks something.
    """
    made = requests.begin(context, request, user.name)
    for each in made:
        found = requests.standing(context, each.id)
        access.note(context, user.name, "judge", each.id, f"{each.cell.model} on run {found.ref.run}")
    return {"judgings": [_judging(context, requests.standing(context, each.id)) for each in made]}


@ROUTER.get("/judgings", summary="Judgings of a run")
def listed(run_id: RunIdent, context: OpenContext, user: Reader) -> dict[str, Any]:
    """The newest first; of pairs those on either side."""
    found = requests.standing_of(context, run_id)
    return {"run_id": run_id, "judgings": [_judging(context, each) for each in found]}


@ROUTER.get("/judgings/{job_id}", summary="One judging")
def one(job_id: JobId, context: OpenContext, user: Reader) -> dict[str, Any]:
    """How it stands, by which rubric it judges, and once it has ended what became of its verdicts."""
    found = requests.standing(context, job_id)
    return {**_judging(context, found), "rubric": _rubric(found.rubric), "summary": found.summary}


@ROUTER.get("/judged/{job_id}", summary="What a run shows by a judge")
def judged(
    job_id: JobId, context: OpenContext, user: Reader, grader: KeptGraderName = None
) -> dict[str, Any]:
    """The judge's score, people's, and the corrected one, with which to quote; and where the judge leans.

    Without `grader` the only judge's grades. Without labels nobody has checked the judge, and it is said so.
    """
    run = job_states.run_of(context, job_id)
    found = worth.judged_result(context, run.id, grader)
    leaning = leanings(context, run.id, found.grader)
    return {**judged_document(found), "leanings": [leaning_document(each) for each in leaning]}


@ROUTER.post("/judged/compare", summary="Compare two runs by a judge")
def compare(request: JudgedComparisonRequest, context: OpenContext, user: Reader) -> dict[str, Any]:
    """First minus second, by judge, people and corrected. A judge that nobody checked decides nothing."""
    ids = [job_states.run_of(context, each).id for each in (request.first, request.second)]
    return compared_document(worth.judged_comparison(context, ids[0], ids[1], request.grader))


@ROUTER.get("/rubrics", summary="Rubrics")
def rubrics(user: Reader) -> dict[str, Any]:
    """The built-in rubric, and the scales that criteria may have with what each grade is worth."""
    scales = {scale: dict(grades) for scale, grades in WORTH.items()}
    return {"rubrics": [_rubric(GradingRubric())], "scales": scales}


@ROUTER.post("/rubrics/check", summary="Check a rubric")
def check(request: RubricRequest, user: Reader) -> dict[str, Any]:
    """The rubric as it would be read; or a 400 whose `detail` names every fault with its place."""
    return _rubric(request.meant())


def _judging(context: OpenContext, of: JudgingStanding) -> dict[str, Any]:
    run, state = of.run, job_states.state_of(context, of.run.id)
    gone = [each for each, there in of.there.items() if there is None]
    return {
        "job_id": run.id,
        "status": run.status.value,
        "judge": str(run.cell.model),
        "run_id": of.ref.run,
        "against": of.ref.against,
        "deleted": gone,
        "grader": of.grader,
        "rubric": of.rubric.words,
        "votes": run.cell.repeats,
        "verdicts": run.settled,
        "planned": run.planned or None,
        "step": state.step,
        "created_at": answers.stamp(run.created_at),
        "completed_at": answers.stamp(run.finished_at),
        "error": answers.job_error(run),
    }


def _rubric(rubric: GradingRubric) -> dict[str, Any]:
    return {
        "words": rubric.words,
        "sha256": rubric.sha256,
        **rubric_table(rubric),
        "toml": rubric_text(rubric),
    }
