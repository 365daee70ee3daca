"""Data sets as a kind of source: files of questions that were uploaded, asked under their names."""

from __future__ import annotations

from dataclasses import replace

from proctor.references import ExamRef
from proctor.service.context import Context
from proctor.service.kinds.exams import FILE, suite_key
from proctor.settings import Settings
from proctor.sources.exams.files.questions import open_file
from proctor.sources.exams.sampling import PRESETS
from proctor.sources.exams.source import SuiteSource
from proctor.store.datasets import entries
from proctor.store.datasets.files import brought, file_of


def sized(ref: ExamRef, context: Context) -> int:
    """As many as it has rows, where it is still here."""
    kept = entries.with_content(context.store, ref.content or "")
    most = ref.limit or PRESETS[ref.preset or "full"]
    return 0 if kept is None else kept.rows if most is None else min(kept.rows, most)


def opened_dataset(ref: ExamRef, settings: Settings) -> SuiteSource:
    """Under the data set's name; ids stay the file's, so that another name makes no other questions of them."""
    path = file_of(ref, settings)
    source = open_file(replace(ref, kind="file", name=str(path)))
    return replace(source, title=source.title.replace(path.name, ref.name, 1))


def brought_dataset(ref: ExamRef, context: Context) -> None:
    """Its questions lie in the database, where every machine has them."""
    if ref.content is not None:
        brought(context.store, ref.content, context.settings)


def lacking_nothing(_ref: ExamRef, _context: Context) -> str | None:
    return None


DATASET = replace(
    FILE,
    sized=sized,
    open=opened_dataset,
    bring=brought_dataset,
    lacking=lacking_nothing,
    called=suite_key,
    on_server=True,
)
