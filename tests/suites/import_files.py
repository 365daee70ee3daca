"""Files of the documented shapes to import, written by us, and the rows that they give."""

from __future__ import annotations

import json

from proctor.sources.exams.official.imports import import_path
from proctor.sources.exams.rows.normal_form import read_rows


def write_all(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def run(path, home, now=1.0):
    return import_path(path, home, now=now)


def what(report):
    return {(row.task, row.split): row.n for row in report.imported}


def tsv(*lines):
    """Lines of cells; a cell is written as it is."""
    return "\n".join("\t".join(line) for line in lines) + "\n"


def jsonl(*rows):
    return "\n".join(json.dumps(row) for row in rows)


def stored(home, task, split="eval"):
    """The stored rows as tuples of id, target and fields."""
    return [(r.id, r.target, dict(r.fields)) for r in read_rows(task, "imported", home, split=split).rows]


def imported(tmp_path, files):
    """The report of importing the files, and the home they went to."""
    home = tmp_path / "home"
    return run(write_all(tmp_path / "in", files), home), home
