"""`proctor plan` as a user types it: before the first run, after it, and with nobody to ask."""

from __future__ import annotations

import pytest

from programs import csv_of_sums, proctor, proctor_json

pytestmark = pytest.mark.slow  # whole commands and runs; make test-fast leaves them out


@pytest.mark.promise("A-27")
def test_before_the_first_run_it_says_what_is_unknown_and_how_to_learn_it(tmp_path):
    csv_of_sums(tmp_path / "sums.csv", 200)
    words = ["plan", "sums.csv", "--model", "ollama/a", "--model", "openai/b", "--difference", "0.05"]
    # No key is set and no server listens: planning needs neither.
    said = proctor(tmp_path, *words).stdout
    assert "sums.csv: 200 items, 2 models, 400 calls." in said
    assert "ollama/a, tokens in: the length of the prompts, about 4 characters a token" in said
    assert "tokens out, time: no earlier run of ollama/a" in said
    assert "no price in" in said and "prices.toml" in said
    assert "With 80 % of the answers right (an assumption" in said
    assert "a score is sure to about +/- 0.055" in said
    assert "differ by about 0.082 or more; by 0.063 if they mostly fail on the same items" in said
    assert "Items are taken as independent." in said
    assert "takes about 540 items; the source has only 200, which show about 0.082 or more." in said
    assert "At 1 request a second, 200 calls of each model take 3 min 20 s" in said
    assert "No time is known yet for ollama/a, openai/b: a first `proctor run` with --limit 20 tells." in said


def test_after_a_run_it_knows_tokens_and_time_and_asks_nothing(tmp_path):
    csv_of_sums(tmp_path / "sums.csv", 60)
    run = proctor_json(tmp_path, "run", "sums.csv", "--limit", "20", "--model", "simulator/sim")["runs"][0]
    document = proctor_json(tmp_path, "plan", "sums.csv", "--model", "simulator/sim")
    cell = document["cells"][0]
    assert cell["calls"] == 60
    assert cell["input_tokens"]["value"] == pytest.approx(60 * run["input_tokens_per_item"])
    assert cell["output_tokens"]["value"] == pytest.approx(60 * run["output_tokens_per_item"])
    assert cell["seconds"]["value"] == pytest.approx(3 * run["elapsed_s"])
    assert cell["seconds"]["low"] < cell["seconds"]["value"] < cell["seconds"]["high"]
    assert cell["cost_usd"]["value"] is None
    assert document["estimated_duration"] == "under 1 minute"
    assert document["power"]["assumed"]["share"] == pytest.approx(min(0.95, run["score"]["value"]))
    (tmp_path / "prices.toml").write_text('["simulator/sim"]\ninput = 3.0\noutput = 15.0\n')
    priced = proctor_json(tmp_path, "plan", "sums.csv", "--model", "simulator/sim")["cells"][0]
    expected = 3.0 * cell["input_tokens"]["value"] + 15.0 * cell["output_tokens"]["value"]
    assert priced["cost_usd"]["value"] == pytest.approx(expected / 1e6, rel=1e-3)
    assert len(proctor_json(tmp_path, "list")["runs"]) == 1
    said = proctor(tmp_path, "plan", "sums.csv", "--model", "simulator/sim").stdout
    assert (
        "simulator/sim, tokens in, tokens out, time: its last run of this source; cost: prices.toml" in said
    )


def test_a_suite_on_sample_rows_with_its_tasks_and_a_model_that_asks_no_server(tmp_path):
    words = ["plan", "glue", "--data", "sample", "--model", "baseline/majority", "--difference", "0.2"]
    said = proctor(tmp_path, *words).stdout
    assert "GLUE: 180 items, 1 model, 180 calls.  [sample rows, no real score]" in said
    assert "baseline/majority: asks no server." in said
    assert "Each of the 9 tasks, with 20 items, shows about 0.519 or more." in said
    assert "A difference of 0.200 takes about 39 items: these are enough." in said
    document = proctor_json(tmp_path, *words)
    assert len(document["power"]["tasks"]) == 9
    assert document["total"]["cost_usd"] == {
        "value": None,
        "basis": "asks no server",
        "low": None,
        "high": None,
    }


def test_it_refuses_what_run_refuses(tmp_path):
    csv_of_sums(tmp_path / "sums.csv", 5)
    for words in (
        ["sums.csv", "--model", "ollama/a", "--temperature", "3"],
        ["sums.csv", "--model", "ollama/a", "--preset", "quick"],
        ["nothing.csv", "--model", "ollama/a"],
        ["sums.csv", "--model", "ollama/a", "--model", "ollama/a"],
    ):
        planned = proctor(tmp_path, "plan", *words, code=2).stderr
        assert planned.splitlines()[-2:] == proctor(tmp_path, "run", *words, code=2).stderr.splitlines()[-2:]
    assert (
        "--difference 2"
        in proctor(tmp_path, "plan", "sums.csv", "--model", "ollama/a", "--difference", "2", code=2).stderr
    )
