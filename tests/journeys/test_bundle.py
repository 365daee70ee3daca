"""Figures that others can check: packed on one machine, verified in an empty folder by the program alone."""

from __future__ import annotations

import json
import zipfile

import pytest

from bundles import altered, by_item, in_lines
from programs import csv_of_sums, proctor, proctor_json

pytestmark = pytest.mark.slow


@pytest.fixture
def elsewhere(tmp_path):
    """An empty folder, and a PROCTOR_HOME that is not there."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


def ran(home, *words):
    return [run["run_id"] for run in proctor_json(home, "run", *words)["runs"]]


def verified(path, elsewhere, *words, code=0):
    """What `proctor verify` prints in the empty folder, which stays as it was."""
    before = sorted(elsewhere.iterdir())
    done = proctor(elsewhere / "no-home", "verify", str(path), *words, code=code, cwd=elsewhere)
    assert sorted(elsewhere.iterdir()) == before
    return done.stdout


def test_two_models_packed_and_verified_in_an_empty_folder(tmp_path, elsewhere):
    file = csv_of_sums(tmp_path / "sums.csv", 60)
    models = ("--model", "simulator/sim", "--model", "simulator/sim-small")
    ids = ran(tmp_path, str(file), *models)
    said = proctor(tmp_path, "bundle", *ids, "-o", "pair.zip").stdout
    assert "pair.zip: 2 runs, 120 attempts" in said and "SHA-256 " in said
    file.unlink()
    assert verified(tmp_path / "pair.zip", elsewhere).startswith("verified: 120 replies read again, ")
    document = json.loads(verified(tmp_path / "pair.zip", elsewhere, "--json"))
    assert document["verified"] and document["runs"] == 2 and document["faults"] == []

    def rewrite(replies):
        reply = by_item(replies, "sums/7")
        reply["text"] = "Answer: B" if reply["answer"] == "A" else "Answer: A"

    other = altered(tmp_path / "pair.zip", lambda inside: in_lines(inside, "replies.jsonl", rewrite))
    said = verified(other, elsewhere, code=1)
    assert said.startswith("NOT verified") and "item sums/7: the bundle says" in said


def test_the_name_is_the_runs_and_what_is_no_bundle_ends_with_2(tmp_path, elsewhere):
    (run_id,) = ran(tmp_path, str(csv_of_sums(tmp_path / "sums.csv", 5)), "--model", "baseline/majority")
    proctor(tmp_path, "bundle", run_id)
    assert zipfile.is_zipfile(tmp_path / f"bundle-{run_id[:8]}.zip")
    (tmp_path / "text.zip").write_text("text")
    proctor(elsewhere, "verify", str(tmp_path / "text.zip"), code=2)
    proctor(elsewhere, "verify", str(tmp_path / "nowhere.zip"), code=2)
    assert "12345678" in proctor(tmp_path, "bundle", "12345678", code=2).stderr


@pytest.mark.parametrize("mode", ["structured", "logprob"])
def test_every_mode_of_answering_is_read_again(tmp_path, elsewhere, mode):
    (run_id,) = ran(
        tmp_path, str(csv_of_sums(tmp_path / "sums.csv", 30)), "--model", "simulator/sim", "--mode", mode
    )
    proctor(tmp_path, "bundle", run_id, "-o", "mode.zip")
    assert verified(tmp_path / "mode.zip", elsewhere).startswith("verified: 30 replies read again")


@pytest.mark.parametrize("suite", ["glue", "superglue", "mmlu", "medical"])
def test_every_exam_is_verified_against_its_rows(tmp_path, elsewhere, suite):
    (run_id,) = ran(tmp_path, suite, "--data", "sample", "--preset", "full", "--model", "simulator/sim")
    proctor(tmp_path, "bundle", run_id, "-o", "exam.zip", "--prompts")
    said = verified(tmp_path / "exam.zip", elsewhere, "--rows")
    assert said.startswith("verified: ") and "items compared" in said
    assert "sample rows, which measure nothing real" in said


def test_another_tools_run_verifies_but_for_its_replies(tmp_path, elsewhere, shared):
    found = sorted((shared / "data" / "predictions" / "lm_eval").rglob("results_*.json"))
    proctor(tmp_path, "import", str(found[0].parent))
    runs = [run["run_id"] for run in proctor_json(tmp_path, "list")["runs"]]
    proctor(tmp_path, "bundle", runs[0], "-o", "log.zip")
    said = verified(tmp_path / "log.zip", elsewhere, "--rows")
    assert said.startswith("verified: 0 of ") and "another tool asked and read them" in said
