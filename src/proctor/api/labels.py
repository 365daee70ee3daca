"""/api/v1/labels: people grade replies by the criteria of a rubric: what is next, blind, and what was said."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter
from fastapi.responses import Response
from pydantic import Field

from proctor.api.dependencies import Labeller, OpenContext, Reader
from proctor.api.schemas import JOB_ID
from proctor.errors import ConfigError, Forbidden
from proctor.plan.rubrics import rubric_of
from proctor.service.admin import access
from proctor.service.admin.access import LOCAL, User
from proctor.service.context import Context
from proctor.service.labelling import progress, queue, saying, taken_in, written
from proctor.service.labelling.queue import LabelEntry, LabelQueue
from proctor.service.labelling.said import LabelSaid
from proctor.service.labelling.wish import RANDOM_PART, LabelWish
from proctor.service.runs.requests import Body
from proctor.service.watch import job_states

ROUTER = APIRouter(prefix="/labels", tags=["labels"])
MOST_SHOWN = 100
MOST_CSV = 20_000_000


class LabelWishRequest(Body):
    """The replies of a run, or of several to the same items, as one person labels them."""

    runs: list[Annotated[str, Field(max_length=100)]] = Field(min_length=1, max_length=8, examples=[[JOB_ID]])
    rubric: dict[str, Any] | None = Field(
        None, description="As for a judging; none is that of the runs' newest judging, else the built-in one."
    )
    pairwise: bool = Field(False, description="Which of two runs' replies is better.")
    criterion: str | None = Field(None, max_length=100, description="Only this one of the rubric's.")
    random: int = Field(RANDOM_PART, ge=0, le=100_000, description="How many items are drawn at random.")
    labeller: str | None = Field(
        None,
        max_length=100,
        description="Whose labels these are, on a server without keys; else the key's user.",
    )

    def queue(self, context: Context, user: User) -> LabelQueue:
        """Raises: ConfigError, Forbidden, NotFound, DataError."""
        runs = tuple(job_states.run_of(context, each).id for each in self.runs)
        rubric = None if self.rubric is None else rubric_of(self.rubric)
        wish = LabelWish(
            runs, _labeller(user, self.labeller), rubric, self.pairwise, self.criterion, self.random
        )
        return queue.queue(context, wish)


class QueueRequest(LabelWishRequest):
    """Which part of the queue is shown."""

    after: str | None = Field(None, max_length=200, description="The key after which it goes on.")
    limit: int = Field(10, ge=1, le=MOST_SHOWN)
    done: bool = Field(False, description="Show also what this person has graded.")


class LabelPutRequest(LabelWishRequest):
    """What this person says of an entry, as it was shown."""

    key: str = Field(max_length=200)
    criterion: str | None = Field(
        None, max_length=100, description="May be left out where there is only one."
    )
    grade: str = Field(max_length=20, examples=["pass"])
    note: str | None = Field(None, max_length=saying.LONGEST_NOTE)
    tags: list[Annotated[str, Field(max_length=saying.LONGEST_TAG)]] = Field([], max_length=saying.MOST_TAGS)


class RevealRequest(LabelWishRequest):
    key: str = Field(max_length=200)


class LabelsOutRequest(LabelWishRequest):
    """In which form, and which."""

    form: Literal["json", "csv"] = "json"
    open: bool = Field(False, description="What is left to label, as a form to be filled in, blind: CSV.")


class LabelsInRequest(LabelWishRequest):
    """Labels as `POST /labels/export` gives them, or a form that was filled in."""

    csv: str | None = Field(None, max_length=MOST_CSV)
    labels: list[dict[str, Any]] | None = Field(None, max_length=100_000)

    def file(self) -> tuple[str, bytes]:
        """Raises ConfigError."""
        if (self.csv is None) == (self.labels is None):
            raise ConfigError("Give either csv or labels")
        if self.csv is not None:
            return "labels.csv", self.csv.encode()
        return "labels.jsonl", b"\n".join(orjson.dumps(each) for each in self.labels or ())


@ROUTER.post("/queue", summary="What to label next")
def next_entries(request: QueueRequest, context: OpenContext, user: Labeller) -> dict[str, Any]:
    """Questions with replies, blind: no model, no grade. A random part comes first, the same for everybody."""
    made = request.queue(context, user)
    begin = 0 if request.after is None else made.at(request.after) + 1
    left = [each for each in made.entries[begin:] if request.done or not each.done][: request.limit]
    return {
        "rubric": made.rubric.words,
        "guidance": made.rubric.guidance,
        "pairwise": made.pairwise,
        "entries": len(made.entries),
        "random": made.random,
        "done": sum(each.done for each in made.entries),
        "labeller": made.wish.user,
        "next": [_entry(context, made, each) for each in left],
    }


@ROUTER.post("", summary="Label a reply")
def put(request: LabelPutRequest, context: OpenContext, user: Labeller) -> dict[str, Any]:
    """A grade by one criterion, as the entry was shown, with a note and tags. What was said before is kept."""
    made = request.queue(context, user)
    said = saying.put(
        context,
        made,
        request.key,
        _criterion(made, request.criterion),
        request.grade,
        note=request.note,
        tags=request.tags,
    )
    return {"key": request.key, **_said(said)}


@ROUTER.post("/undo", summary="Take the last label back")
def undo(request: LabelWishRequest, context: OpenContext, user: Labeller) -> dict[str, Any]:
    """The one before it counts again. `key` is the entry to return to; null where there is nothing to take back."""
    return {"key": saying.undo(context, request.queue(context, user))}


@ROUTER.post("/reveal", summary="Show what is hidden of an entry")
def reveal(request: RevealRequest, context: OpenContext, user: Labeller) -> dict[str, Any]:
    """Models and grades. It is kept: what this person says of it from then on enters no estimate."""
    found = saying.reveal(context, request.queue(context, user), request.key)
    return {
        "key": request.key,
        "models": list(found.models),
        "grades": [{"grader": grader, "gave": gave} for grader, gave in found.grades],
    }


@ROUTER.post("/progress", summary="How far labelling is, and what more labels buy")
def how_far(request: LabelWishRequest, context: OpenContext, user: Labeller) -> dict[str, Any]:
    """Counts, how labellers agree (kappa with its interval), and how much narrower more labels make the interval."""
    return progress.progress_document(progress.progress(context, request.queue(context, user)))


@ROUTER.post(
    "/export",
    summary="Labels of runs",
    response_model=None,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def out(request: LabelsOutRequest, context: OpenContext, user: Reader) -> Response | dict[str, Any]:
    """What counts of what everybody said by the rubric. No cell of the CSV is taken for a formula."""
    made = request.queue(context, user)
    if request.form == "json" and not request.open:
        return {"rubric": made.rubric.words, "labels": list(written.labels_told(context, made))}
    lines = written.open_csv(context, made) if request.open else written.labels_csv(context, made)
    name = f'attachment; filename="labels-{made.runs[0].id[:8]}.csv"'
    return Response(
        "".join(lines), media_type="text/csv; charset=utf-8", headers={"Content-Disposition": name}
    )


@ROUTER.post("/import", summary="Bring labels in")
def bring(request: LabelsInRequest, context: OpenContext, user: Labeller) -> dict[str, Any]:
    """All or nothing. Rows may name other labellers, which a key of the scope `label` may not."""
    made = request.queue(context, user)
    found = taken_in.take_in(context, made, *request.file(), own=not user.may_run)
    for run in made.runs:
        access.note(context, user.name, "import-labels", run.id, found.told)
    return {**asdict(found), "told": found.told}


def _labeller(user: User, named: str | None) -> str:
    """Raises Forbidden: labels are given in one's own name."""
    if named is None or named == user.name:
        return user.name
    if user.name != LOCAL.name:
        raise Forbidden(f"The key is {user.name}'s: labels are given in that name, not in that of {named}")
    return named


def _criterion(made: LabelQueue, named: str | None) -> str:
    if named is not None:
        return named
    if len(made.criteria) > 1:
        raise ConfigError(f"Name the criterion: {', '.join(each.name for each in made.criteria)}")
    return made.criteria[0].name


def _entry(context: Context, made: LabelQueue, entry: LabelEntry) -> dict[str, Any]:
    shown = queue.shown(context, entry)
    return {
        "key": entry.key,
        "drawn": entry.drawn,
        "question": shown.question,
        "good": list(shown.good),
        "replies": list(shown.replies),
        "criteria": [
            {"name": each.name, "asks": each.asks, "grades": list(made.grades(each))}
            for each in entry.criteria
        ],
        "said": {name: _said(said) for name, said in entry.said.items()},
    }


def _said(said: LabelSaid) -> dict[str, Any]:
    return {
        "grade": said.grade,
        "note": said.note,
        "tags": list(said.tags),
        "drawn": said.drawn,
        "revealed": said.revealed,
    }
