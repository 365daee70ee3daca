"""`proctor report` as a user types it: two runs of a suite become a document for pdflatex."""

from __future__ import annotations

import pytest
from latex_reader import read

from programs import proctor, proctor_json

pytestmark = pytest.mark.slow  # whole commands and runs; make test-fast leaves them out


def test_two_runs_of_a_suite_become_one_tex_file(tmp_path):
    models = ["--model", "baseline/majority", "--model", "baseline/random"]
    plan = proctor_json(tmp_path, "run", "glue", "--data", "sample", "--tasks", "cola,rte,stsb", *models)[
        "plan_id"
    ]
    done = proctor(tmp_path, "report", plan[:8], "--format", "latex")
    assert done.stdout.strip() == f"report-{plan[:8]}.tex"
    shown = read((tmp_path / f"report-{plan[:8]}.tex").read_text(encoding="ascii")).shown
    for part in (
        "Sample rows: no real score.",
        "Task by task, to show where to look: baseline/majority (first) and baseline/random (second)",
        "were tested by approximate randomisation within tasks.",
        "Benjamini, Y., Hochberg, Y. (1995)",
    ):
        assert part in shown


def test_an_unknown_format_is_refused_with_the_ones_there_are(tmp_path):
    done = proctor(tmp_path, "report", "x", "--format", "docx", code=2)
    assert "'html', 'md', 'latex'" in done.stderr
