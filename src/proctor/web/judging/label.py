"""The dashboard: labelling. One reply at a time, by keyboard or by thumb, blind to its author and to judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse

from proctor.errors import ConfigError, NotFound, ProctorError
from proctor.references import Criterion, JudgingRef
from proctor.service.admin.access import User
from proctor.service.checked.at_hand import judgings_here
from proctor.service.context import Context
from proctor.service.datasets.arriving import received
from proctor.service.evidence.cache import Lately
from proctor.service.grades.view import graders_of
from proctor.service.labelling.progress import progress
from proctor.service.labelling.queue import LabelQueue, ShownEntry, queue, renewed, shown
from proctor.service.labelling.saying import put, reveal, undo
from proctor.service.labelling.taken_in import take_in
from proctor.service.labelling.wish import RANDOM_PART, LabelWish
from proctor.service.labelling.written import labels_csv, open_csv
from proctor.service.watch import job_states
from proctor.types import Run
from proctor.web.addresses import query
from proctor.web.dependencies import Filling, Labeller, OpenContext, Text, go, is_fragment
from proctor.web.markdown import markdown
from proctor.web.render import problem_facts, show
from proctor.web.untrusted import with_marks

ROUTER = APIRouter()
MOST_RUNS = 8
PREFERRED = {"1": "The first is better", "tie": "Neither", "2": "The second is better"}
TIE_KEY = "0"


@dataclass(frozen=True, slots=True)
class LabelQuery:
    """What is labelled, as the address has it: `rubric` by its words, `key` which entry, `criterion` which is next."""

    runs: Annotated[tuple[str, ...], Query(max_length=MOST_RUNS)] = ()
    pairs: Annotated[str, Query(max_length=5)] = ""
    rubric: Text = ""
    random: Annotated[str, Query(max_length=6)] = ""
    key: Text = ""
    criterion: Text = ""

    @property
    def size(self) -> int:
        return int(self.random) if self.random.isdigit() and int(self.random) > 0 else RANDOM_PART

    def query(self) -> dict[str, Any]:
        """Which labelling it is, whatever the entry."""
        told = {"pairs": self.pairs, "rubric": self.rubric, "random": self.random}
        return {
            "runs": list(dict.fromkeys(self.runs)),
            **{name: value for name, value in told.items() if value},
        }

    def path(self, key: str = "", criterion: str = "", part: str = "") -> str:
        return f"/label{part}" + query(self.query(), key=key, criterion=criterion)


Asked = Annotated[LabelQuery, Depends()]


def wish_of(context: Context, asked: LabelQuery, user: User) -> LabelWish:
    """Raises: NotFound, ConfigError."""
    runs: dict[str, Run] = {}
    for name in asked.runs:
        run = job_states.run_of(context, name)
        ref = run.cell.source
        for judged in (ref.run, ref.against) if isinstance(ref, JudgingRef) else (run.id,):
            if judged:
                runs[judged] = job_states.run_of(context, judged)
    if not runs:
        raise ConfigError("No run is named whose answers are to be labelled: begin on a run's page")
    if asked.pairs and len(runs) != 2:
        raise ConfigError(f"Preferences are between the answers of two runs; {len(runs)} are named")
    wish = LabelWish(runs=tuple(runs), user=user.name, pairwise=bool(asked.pairs), random=asked.size)
    return replace(wish, rubric=_rubric(context, runs, asked.rubric)) if asked.rubric else wish


def _rubric(context: Context, runs: Mapping[str, Run], words: str) -> Any:
    for run_id in runs:
        for judging in judgings_here(context, run_id):
            ref = judging.cell.source
            if isinstance(ref, JudgingRef) and ref.rubric.words == words:
                return ref.rubric
    raise NotFound(f"No judging of these runs has the rubric {words[:80]}")


def queue_of(context: Context, asked: LabelQuery, user: User) -> LabelQueue:
    """The queue with what is said by now; which replies are in it is kept in memory while no grade comes to them."""
    wish = wish_of(context, asked, user)
    graders = tuple((run, each) for run in wish.runs for each in graders_of(context, run))
    return renewed(context, Lately(context).kept(("labels", wish, graders), lambda: queue(context, wish)))


@dataclass(frozen=True, slots=True)
class GradeButton:
    """A grade that may be said, and the key that says it."""

    grade: str
    words: str
    key: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class CriterionButtons:
    """A criterion of the entry with its grades; `active` is the one that the keys grade."""

    criterion: Criterion
    buttons: tuple[GradeButton, ...]
    active: bool
    said: str


def buttons_of(found: LabelQueue, entry: ShownEntry, wanted: str) -> list[CriterionButtons]:
    """The criteria in their order; the keys grade the one that is wanted, else the first that nothing was said of."""
    names = [each.name for each in found.criteria]
    said_of = entry.entry.said
    unsaid = [name for name in names if name not in said_of]
    active = wanted if wanted in names else unsaid[0] if unsaid else names[0]
    made = []
    for each in found.criteria:
        said = said_of[each.name].grade if each.name in said_of else ""
        grades = _keyed(found.grades(each), pairwise=found.pairwise)
        buttons = tuple(GradeButton(grade, words, key, grade == said) for key, grade, words in grades)
        made.append(CriterionButtons(each, buttons, each.name == active, said))
    return made


def _keyed(grades: Sequence[str], *, pairwise: bool) -> list[tuple[str, str, str]]:
    """Key, grade and words: numbers have their own key, the lowest first; other grades count from the best.

    >>> _keyed(("pass", "fail"), pairwise=False)
    [('1', 'pass', 'Pass'), ('2', 'fail', 'Fail')]
    >>> [key for key, _, _ in _keyed(("5", "4", "3", "2", "1"), pairwise=False)]
    ['1', '2', '3', '4', '5']
    """
    if pairwise:
        return [(TIE_KEY if grade == "tie" else grade, grade, PREFERRED[grade]) for grade in grades]
    if all(grade.isdigit() for grade in grades):
        return [(grade, grade, grade) for grade in sorted(grades, key=int)]
    return [(str(place), grade, grade.capitalize()) for place, grade in enumerate(grades, 1)]


@ROUTER.get("/label")
def label_page(request: Request, context: OpenContext, user: Labeller, asked: Asked) -> Response:
    """The page, or with htmx the entry that is gone to."""
    return _shown(request, context, asked, queue_of(context, asked, user))


def _shown(
    request: Request,
    context: Context,
    asked: LabelQuery,
    found: LabelQueue,
    **more: Any,
) -> Response:
    """The entry that the address names, else the first that is open; the end where none is."""
    index = _index(found, asked.key)
    entry = None if index is None else shown(context, found.entries[index])
    facts: dict[str, Any] = {
        "asked": asked,
        "queue": found,
        "index": index,
        "entry": entry,
        "criteria": buttons_of(found, entry, asked.criterion) if entry else [],
        "replies": [with_marks(markdown(text)) for text in entry.replies] if entry else [],
        "before": found.entries[index - 1].key if index else "",
        "after": found.entries[index + 1].key if index is not None and index + 1 < len(found.entries) else "",
        "open_at": found.open_at(-1 if index is None else index),
        "random_done": sum(each.done and each.drawn == "random" for each in found.entries),
        # Figures of many labels take a moment, and whoever labels goes on meanwhile.
        "progress": None if is_fragment(request) else progress(context, found),
        "revealed": None,
        "problem": None,
        "kept": "",
        **more,
    }
    if is_fragment(request):
        answer = show(request, "_label.html", **facts)
        answer.headers["HX-Push-Url"] = asked.path(entry.entry.key if entry else "", asked.criterion)
        return answer
    first = found.runs[0]
    return show(request, "label.html", here="history", first=first, **facts)


@ROUTER.get("/label/worth")
def worth_piece(request: Request, context: OpenContext, user: Labeller, asked: Asked) -> Response:
    """How wide the interval is, what more labels buy, and how far labellers agree."""
    found = queue_of(context, asked, user)
    return show(request, "_label_worth.html", progress=progress(context, found))


def _index(found: LabelQueue, key: str) -> int | None:
    if key:
        try:
            return found.at(key)
        except NotFound:
            pass  # of another size of the random part, or of a run that was judged again since
    return found.open_at()


@ROUTER.post("/label")
def say(request: Request, context: OpenContext, user: Labeller, asked: Asked, form: Filling) -> Response:
    """Keep what is said of an entry, and show what comes next: its next criterion, or the next that is open."""
    found, key = queue_of(context, asked, user), str(form.get("key") or "")
    criterion, grade = _meant(form)
    here = replace(asked, key=key, criterion=criterion)
    try:
        told = _put(context, found, here, grade, form)
    except ProctorError as problem:
        return _shown(request, context, here, found, problem=problem_facts(problem))
    found = renewed(context, found)
    there = _following(found, here) if form.get("grade") else here
    if not is_fragment(request):
        return go(request, there.path(there.key, there.criterion))
    return _shown(request, context, there, found, kept=told)


def _meant(form: FormData) -> tuple[str, str]:
    """The criterion and the grade; a button names both, because the buttons of all criteria stand in one form."""
    grade = str(form.get("grade") or "")
    criterion, _, grade = grade.rpartition(":")
    return criterion or str(form.get("criterion") or ""), grade


def _put(context: Context, found: LabelQueue, here: LabelQuery, grade: str, form: FormData) -> str:
    """What is said of it is kept. Raises: ConfigError, NotFound."""
    said = found.entries[found.at(here.key)].said.get(here.criterion)
    if not grade and said is None:
        raise ConfigError("A note stands beside a grade: say the grade, and the note is kept with it")
    note = str(form.get("note") or "").replace("\r\n", "\n")
    tags = str(form.get("tags") or "").split(",")
    kept = put(
        context, found, here.key, here.criterion, grade or (said.grade if said else ""), note=note, tags=tags
    )
    words = PREFERRED[kept.grade] if found.pairwise else kept.grade
    return f"Kept: {words}." if grade else "Note and tags are kept."


def _following(found: LabelQueue, here: LabelQuery) -> LabelQuery:
    """The same entry while it has a criterion of which nothing was said; else the next one that is open."""
    at = found.at(here.key)
    if not found.entries[at].done:
        return replace(here, criterion="")
    following = found.open_at(at)
    return replace(here, key="" if following is None else found.entries[following].key, criterion="")


@ROUTER.post("/label/undo")
def take_back(request: Request, context: OpenContext, user: Labeller, asked: Asked) -> Response:
    found = queue_of(context, asked, user)
    key = undo(context, found)
    there = replace(asked, key=key or asked.key, criterion="")
    told = "Taken back." if key else "There is nothing to take back."
    if not is_fragment(request):
        return go(request, there.path(there.key), told)
    return _shown(request, context, there, renewed(context, found), kept=told)


@ROUTER.post("/label/reveal")
def show_names(
    request: Request, context: OpenContext, user: Labeller, asked: Asked, form: Filling
) -> Response:
    """Who wrote it and what judges said; what is said of it from now on counts in no estimate."""
    found, key = queue_of(context, asked, user), str(form.get("key") or asked.key)
    told = reveal(context, found, key)
    return _shown(request, context, replace(asked, key=key), renewed(context, found), revealed=told)


# In and out --------------------------------------------------------------------------------------


@ROUTER.get("/label/labels.csv")
def labels_out(
    context: OpenContext, user: Labeller, asked: Asked, form: Annotated[str, Query(max_length=10)] = ""
) -> Response:
    """The labels that count as CSV; with `form=open` what is left, to be filled in with a spreadsheet."""
    found = queue_of(context, asked, user)
    lines = (open_csv if form == "open" else labels_csv)(context, found)
    name = f"{'to-label' if form == 'open' else 'labels'}-{found.runs[0].id[:8]}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(lines, media_type="text/csv", headers=headers)


@ROUTER.post("/label/labels.csv")
async def labels_in(request: Request, context: OpenContext, user: Labeller, asked: Asked) -> Response:
    """Labels of a file, all or none."""
    kind = request.headers.get("content-type", "")
    found = await run_in_threadpool(lambda: queue_of(context, asked, user))
    try:
        async with received(request.stream(), kind, context.settings, most_files=1) as came:
            if not came.files:
                raise ConfigError("Choose a file")
            body = came.files[0].path.read_bytes()
            name = came.files[0].filename
        told = await run_in_threadpool(take_in, context, found, name, body, own=user.scope != "admin")
    except ClientDisconnect:
        return Response("The upload broke off", 400)
    except ProctorError as problem:
        return await run_in_threadpool(_shown, request, context, asked, found, problem=problem_facts(problem))
    return go(request, asked.path(), told.told)
