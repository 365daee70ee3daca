"""A run whose rows are nowhere on this machine: fetched from a hub, kept, and not fetched again."""

from __future__ import annotations

import threading

import pytest
from hub_server import COMMIT, parquet, running_hub

from programs import proctor, proctor_json

pytestmark = pytest.mark.slow  # whole commands and runs; make test-fast leaves them out

ROWS = [{"sentence": f"Sentence {n} reads well.", "label": n % 2, "idx": n} for n in range(12)]
WORDS = ["run", "glue", "--tasks", "cola", "--preset", "full", "--model", "baseline/majority"]


def test_a_run_fetches_what_is_missing_and_the_commit_stands_in_the_record(tmp_path):
    with running_hub() as hub:
        hub.files["nyu-mll/glue"] = {"cola/validation-00000-of-00001.parquet": parquet(*ROWS)}
        first = proctor(tmp_path, *WORDS, HF_ENDPOINT=hub.url)
        assert "Fetching rows from the hub" in first.stderr
        run = proctor_json(tmp_path, *WORDS, HF_ENDPOINT=hub.url)["runs"][0]
        assert len(hub.asked(".parquet")) == 2, "once: the hub's answer, and the host it points to"
        listed = proctor_json(tmp_path, "data", "list")["tasks"]
        assert [(s["task"], s["origin"], s["n"], s["revision"]) for s in listed] == [
            ("cola", "hub", 12, COMMIT)
        ]
    assert (run["rows"], run["settled"]) == ("hub", 12)
    assert run["manifest"]["revisions"] == {"cola": COMMIT}
    # The rows stay when the hub is gone, and the run is resumed and repeated from them.
    again = proctor_json(tmp_path, "rerun", run["run_id"])["runs"][0]
    assert again["scores"] == run["scores"]
    assert "cola" in proctor(tmp_path, "data", "verify", code=1).stdout, "12 rows are not the official 1,043"


def test_sample_rows_are_taken_only_when_asked_for(tmp_path):
    refused = proctor(tmp_path, *WORDS, code=2)
    assert "Failed to load GLUE dataset" in refused.stderr and "--data sample" in refused.stderr
    shown = proctor(tmp_path, *WORDS, "--data", "sample").stdout
    scores = [line for line in shown.splitlines() if "mcc" in line or "accuracy" in line]
    assert len(scores) == 2 and all("sample rows" in line for line in scores)
    assert "sample rows" in proctor(tmp_path, *WORDS, PROCTOR_DATA="sample").stdout


def test_who_imported_some_tasks_hears_which_when_the_others_are_not_to_be_had(tmp_path):
    (tmp_path / "CoLA").mkdir()
    (tmp_path / "CoLA" / "dev.tsv").write_text("a\t1\t\tShe ran.\n")
    proctor(tmp_path, "data", "import", str(tmp_path / "CoLA"))
    refused = proctor(
        tmp_path, "run", "glue", "--model", "baseline/majority", HF_ENDPOINT="http://127.0.0.1:9", code=2
    )
    assert "Imported are 1 of 9 tasks (cola): a run of these alone needs no hub" in refused.stderr


def test_the_hub_of_the_tests_ends_however_early_it_is_told_to():
    before = threading.active_count()
    for _ in range(3):
        with running_hub():
            pass
        assert threading.active_count() == before, "its thread would keep pytest from ending"
