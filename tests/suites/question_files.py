"""A short way to open a question file that a test wrote."""

from __future__ import annotations

from proctor.references import ExamRef
from proctor.sources.exams.files.questions import open_file


def source(path, **more):
    return open_file(ExamRef("file", str(path), **more))


def by_id(found):
    return {item.id: item for item in found.items()}


def numbered(*answers, options=("w", "x", "y", "z")):
    """Rows with the same options and these answers."""
    return [{"question": "?", "choices": list(options), "answer": answer} for answer in answers]


def answered(*answers):
    return [{"question": f"Is it {index}?", "answer": answer} for index, answer in enumerate(answers)]


REVIEWS = "question,label,notes\n" + "".join(
    f'"Review, number {index}",{"positive" if index % 2 else "negative"},x\n' for index in range(20)
)
