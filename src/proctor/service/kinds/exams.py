"""Exams as kinds of sources: proctor's suites, and files of questions of the user's own."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from proctor.grading.formats import Label
from proctor.protocols import Exam, Grader
from proctor.providers.contract import Labels
from proctor.references import ExamRef, Rows, SourceRef
from proctor.service.context import Context
from proctor.service.kinds.contract import Fetch, Method, SourceKind, TaskLabels, Tell
from proctor.service.kinds.rows_elsewhere import SPLITS, bring_rows, out_of_reach, share_rows, shares
from proctor.settings import Settings
from proctor.sources.exams.files.questions import open_file
from proctor.sources.exams.rows.normal_form import (
    Stored,
    missing_tasks,
    present_origin,
    read_sample,
    rows_path,
)
from proctor.sources.exams.sampling import PRESETS
from proctor.sources.exams.source import SuiteSource, open_suite, select, task_keys
from proctor.sources.exams.tables.tasks import SUITES, TASKS, suite_named
from proctor.types import Item, Run

if TYPE_CHECKING:
    from proctor.simulator import KnownAnswer

WORDINGS = 3


# Planned ---------------------------------------------------------------------------------------


def with_rows(ref: ExamRef, settings: Settings) -> ExamRef:
    """The reference with the environment's choice of rows, where it makes none itself."""
    return ref if ref.rows else replace(ref, rows=settings.rows)


def suite_title(ref: ExamRef) -> str:
    return suite_named(ref.name).title


def wordings(ref: ExamRef) -> int:
    return WORDINGS if ref.wording == "all" else 1


def sized(ref: ExamRef, _context: Context) -> int:
    return items_of(ref)


def items_of(ref: ExamRef) -> int:
    """How many questions a suite's reference asks for, as far as that is known without its rows."""
    suite = SUITES.get(ref.name)
    keys = ref.tasks
    if suite and not keys:
        keys = tuple(task.key for task in suite.tasks if not task.extra or ref.preset == "full")
    known = [key for key in keys if key in TASKS]
    if ref.rows == "sample":
        sizes = [len(found.rows) for found in read_sample(known, Path(), "eval").values()]
    else:
        sizes = [TASKS[key].official_size or 0 for key in known]
    if ref.limit:
        return sum(min(ref.limit, size) for size in sizes) or ref.limit
    most = PRESETS[ref.preset or "full"]
    return sum(sizes) if most is None else min(sum(sizes) or most, most)


def questions(ref: ExamRef) -> Hashable:
    return ref.kind, ref.name, ref.style, ref.shots, frozenset(ref.tasks)


# Opened ----------------------------------------------------------------------------------------


def opened_suite(ref: ExamRef, settings: Settings) -> SuiteSource:
    return open_suite(ref, settings.home)


def opened_file(ref: ExamRef, _settings: Settings) -> SuiteSource:
    return open_file(ref)


def lacking_file(ref: ExamRef, _context: Context) -> str | None:
    return None if Path(ref.name).exists() else f"the file {ref.name} (upload it, and any worker can have it)"


def bring_suite(ref: ExamRef, context: Context) -> None:
    """The newest rows that are shared, where rows of that kind are wanted; what no place has, opening it finds."""
    rows = with_rows(ref, context.settings).rows
    if rows != "sample":
        bring_rows(context, every_task(ref), rows or "imported")


def lacking_rows(ref: ExamRef, context: Context) -> str | None:
    """Rows that were imported, and are neither here nor shared; all others come with proctor or from the hub."""
    if with_rows(ref, context.settings).rows != "imported":
        return None
    wanted = task_keys(ref)
    missing = out_of_reach(context, wanted, "imported")
    if not missing:
        return None
    some = "" if len(missing) == len(wanted) else f" ({', '.join(missing[:5])})"
    return f"the rows of {ref.name}{some}: `proctor data import PATH`"


@dataclass(frozen=True, slots=True)
class RowsHere:
    """Which tasks of a suite this machine has rows of, as they are wanted, and which of the wanted it lacks."""

    here: tuple[str, ...]
    lacking: tuple[str, ...]


def rows_here(ref: ExamRef, settings: Settings) -> RowsHere:
    """Looks at files alone. Rows of a data set are always here, and the hub's are fetched where they are asked for."""
    rows = with_rows(ref, settings).rows
    if ref.kind != "suite" or rows in ("sample", "hub"):
        return RowsHere((), ())
    wanted = task_keys(ref)
    origins: tuple[Stored, ...] = ("imported",) if rows == "imported" else ("imported", "hub")
    missing = [missing_tasks(wanted, settings.home, "eval", origin) for origin in origins]
    fewest = min(missing, key=len)
    return RowsHere(tuple(task for task in wanted if task not in fewest), tuple(fewest))


def rows_stamp(ref: SourceRef, settings: Settings) -> Hashable:
    """What changes when the rows of a suite do; a data set's reference names its content itself."""
    if ref.kind != "suite" or not isinstance(ref, ExamRef):
        return None
    origins: tuple[Stored, ...] = ("imported", "hub")
    places = [rows_path(settings.home, task, "eval", origin) for task in task_keys(ref) for origin in origins]
    found = [place.stat() for place in places if place.is_file()]
    return tuple((each.st_ino, each.st_mtime_ns, each.st_size) for each in found)


def share_suite(ref: ExamRef, context: Context) -> ExamRef:
    """The reference with the kind of rows that this machine has, once they are where other machines find them."""
    rows = with_rows(ref, context.settings).rows
    if rows == "sample" or not shares(context):
        return ref
    origin = rows or present_origin(task_keys(ref), context.settings.home)
    if origin is None:
        return ref
    share_rows(context, [(task, split) for task in every_task(ref) for split in SPLITS], origin)
    return replace(ref, rows=origin)


def every_task(ref: ExamRef) -> list[str]:
    """The tasks that a reference may need rows of. Raises: ConfigError."""
    return [task.key for task in select(suite_named(ref.name), ref)]


def on_hub(ref: ExamRef) -> Fetch | None:
    """The hub has what was not imported, unless other rows were asked for."""
    if ref.rows not in (None, "hub"):
        return None
    return Fetch(
        partial(_download, ref),
        f"The rows of {ref.name} are not on this server, and to fetch them from the hub takes a key with the "
        "scope 'run'. The sample rows are here: data \"sample\"",
    )


def _download(ref: ExamRef, settings: Settings, tell: Tell | None) -> None:
    from proctor.sources.exams.hub.download import ensure

    tasks = [TASKS[key] for key in task_keys(ref)]
    splits = ("eval", "dev") if ref.shots or ref.style else ("eval",)
    ensure(tasks, settings.home, settings, on_progress=tell, splits=splits)


def with_origin(ref: ExamRef, source: SuiteSource) -> ExamRef:
    """The reference with the kind of rows that were found."""
    return replace(ref, rows=next((rows for rows in get_args(Rows) if rows == source.facts.rows), None))


# Run -------------------------------------------------------------------------------------------


def method_of(exam: Exam) -> Method:
    return Method(
        exam.grader.grade,
        stop=exam.stop,
        labels=lambda: Labels(*exam.labels()),
        row_ids=exam.row_ids,
    )


def replayed(exam: SuiteSource) -> SuiteSource:
    return exam.replayed()


def graded_as(exam: SuiteSource, graders: Mapping[str, str]) -> SuiteSource:
    return exam.graded_as(graders)


def graded_with(exam: SuiteSource, grader: Grader) -> SuiteSource:
    return exam.graded_with(grader)


def answers_to(exam: Exam) -> dict[str, KnownAnswer]:
    """What the simulator knows: for each prompt, by its hash, the right answer and some wrong ones."""
    from proctor.simulator import KnownAnswer, prompt_key

    items = [item for item in exam.items() if item.target is not None]
    others = _targets(items)
    known: dict[str, KnownAnswer] = {}
    for item in items:
        right = exam.spoken(item)
        wrong = tuple(exam.wrong(item)) or tuple(t for t in others[item.group] if t != item.target)
        key = prompt_key([(m.role, m.content) for m in item.ask.messages])
        known[key] = KnownAnswer(right, wrong or (f"not {right}",))
    return known


def _targets(items: Sequence[Item]) -> dict[str, list[str]]:
    """Some targets of each task, in order of appearance: what a wrong answer in free words may look like."""
    seen: dict[str, dict[str, None]] = {}
    for item in items:
        group = seen.setdefault(item.group, {})
        if item.target is not None and len(group) < 10:
            group[item.target] = None
    return {group: list(targets) for group, targets in seen.items()}


# Shown -----------------------------------------------------------------------------------------


def suite_key(run: Run) -> str:
    return run.cell.source.name


def labels_of_task(task: str) -> tuple[Label, ...] | None:
    return TASKS[task].labels if task in TASKS else None


def labels_in_rows(exam: SuiteSource) -> TaskLabels:
    return {key: task.labels for key, task in exam.tasks.items()}


# The user's own questions in a file; the other kinds of exams say what they do otherwise.
FILE: SourceKind[ExamRef, SuiteSource] = SourceKind(
    sized=sized,
    wordings=wordings,
    alike=questions,
    open=opened_file,
    lacking=lacking_file,
    method=method_of,
    replayed=replayed,
    graded_as=graded_as,
    graded_with=graded_with,
    answers=answers_to,
    own=True,
    row_labels=labels_in_rows,
)
SUITE = replace(
    FILE,
    short="--preset quick --limit 20",
    resolved=with_rows,
    named=suite_title,
    open=opened_suite,
    bring=bring_suite,
    lacking=lacking_rows,
    share=share_suite,
    missing=on_hub,
    found=with_origin,
    called=suite_key,
    on_server=True,
    own=False,
    row_labels=None,
    task_labels=labels_of_task,
)
