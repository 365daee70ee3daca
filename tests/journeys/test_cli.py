"""The commands as a user types them, in processes of their own."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest

from proctor.service.opening.simulate import known_answers
from proctor.simulator import spawn
from programs import HANG_S, csv_of_sums, proctor, proctor_json, started
from simulators import settings

pytestmark = pytest.mark.slow  # whole commands and runs; make test-fast leaves them out

TWO = ["--model", "baseline/majority", "--model", "baseline/random"]


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "mine.csv"
    lines = [f"Is {i} even?,{'yes' if i % 2 == 0 else 'no'}" for i in range(60)]
    path.write_text("\n".join(["question,answer", *lines]))
    return path


def test_a_file_of_questions_needs_no_settings_server_or_key(tmp_path, rows):
    done = proctor(tmp_path, "run", "mine.csv", *TWO)
    assert "60 rows from mine.csv (CSV): question from column 'question', answer from 'answer'" in done.stderr
    assert "answers: 2 labels (no 30, yes 30)" in done.stderr
    assert "60 items, 2 models, 120 calls" in done.stderr
    assert "accuracy 0.500 [0.377, 0.623]  n = 60" in done.stdout
    assert "do not show which of" in done.stdout
    assert "answer rate 1.000" in done.stdout


def test_the_closing_sentence_says_which_is_better_and_by_how_much(tmp_path, rows):
    answers = known_answers(settings(tmp_path), [rows])
    with spawn(["--model", "good=1.0", "--model", "poor=0.3"], answers) as server:
        words = ["run", "mine.csv", "--model", "ollama/good", "--model", "ollama/poor"]
        done = proctor(tmp_path, *words, OLLAMA_HOST=server.url)
    assert "ollama/good is better than ollama/poor on rows like these 60, by 0." in done.stdout
    assert "exact McNemar p < 0.0001" in done.stdout


def test_json_is_one_document_on_standard_output(tmp_path, rows):
    document = proctor_json(tmp_path, "run", "mine.csv", *TWO)
    assert [run["model"] for run in document["runs"]] == TWO[1::2]
    assert document["error"] is None and document["unfinished"] == []
    comparison = document["comparisons"][0]
    assert comparison["shared"] == 60
    assert 0 <= comparison["p_value"] <= 1
    score = document["runs"][0]["score"]
    assert (score["value"], score["scored"], score["asked"]) == (0.5, 60, 60)
    assert math.isclose(score["low"], 0.3773, abs_tol=1e-4)


def test_pubmedqas_majority_is_its_known_share(tmp_path, shared):
    proctor(tmp_path, "data", "import", str(shared / "data" / "medical"))
    words = ["run", "medical", "--tasks", "pubmedqa", "--preset", "full", "--model", "baseline/majority"]
    document = proctor_json(tmp_path, *words)
    score = document["runs"][0]["score"]
    assert (score["value"], score["scored"]) == (0.552, 500)
    shown = proctor(tmp_path, *words).stdout
    assert "PubMedQA, official 500  accuracy 0.552 [0.508, 0.595]  n = 500" in shown


def test_the_whole_shared_folder_is_imported_and_every_stranger_listed(tmp_path, shared):
    report = proctor_json(tmp_path, "data", "import", str(shared / "data"))
    sizes = {i["task"]: i["n"] for i in report["imported"] if i["split"] == "eval"}
    known = {"mnli": 9815, "qnli": 5463, "wnli": 71, "boolq": 3270, "copa": 100, "wsc": 104, "axg": 356,
             "medqa": 1273, "medmcqa": 4183, "pubmedqa": 500}  # fmt: skip
    assert {task: n for task, n in sizes.items() if task in known} == known
    assert sum(sizes.values()) == sum(known.values()) + 14042
    assert report["failed"] == []
    # Half of MNLI and part of COPA's train split are what lies there; both are said.
    assert [w.partition(" has ")[0].rpartition(": ")[2] for w in report["warnings"]] == [
        "MNLI (eval)",
        "COPA (dev)",
    ]
    skipped = {s["file"] for s in report["skipped"]}
    assert {name.partition("/")[0] for name in skipped} >= {"openai_batch", "predictions", "rollouts"}
    again = proctor_json(tmp_path, "data", "import", str(shared / "data"))
    assert not any(i["changed"] for i in again["imported"])
    listed = proctor_json(tmp_path, "data", "list")
    assert len(listed["tasks"]) == len(report["imported"])


def test_exports_hold_every_item(tmp_path, rows):
    run = proctor_json(tmp_path, "run", "mine.csv", "--model", "baseline/majority")["runs"][0]["run_id"]
    table = list(csv.DictReader(io.StringIO(proctor(tmp_path, "export", run[:8]).stdout)))
    assert len(table) == 60 and {row["outcome"] for row in table} == {"correct", "wrong"}
    lines = [
        json.loads(line) for line in proctor(tmp_path, "export", run, "--format", "jsonl").stdout.splitlines()
    ]
    assert len(lines) == 60 and lines[0]["prompt"][0]["role"] == "user"
    document = json.loads(proctor(tmp_path, "export", run, "--format", "json").stdout)
    assert len(document["items"]) == 60
    proctor(tmp_path, "export", run, "-o", "out.csv")
    assert (tmp_path / "out.csv").read_text().count("\n") == 61


def test_a_spreadsheet_never_runs_a_reply(tmp_path):
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "a", "question": "?", "answer": "=1+1"}) + "\n")
    (tmp_path / "replies.jsonl").write_text(json.dumps({"id": "a", "text": "=HYPERLINK(1)"}) + "\n")
    words = ["run", "q.jsonl", "--model", "replay/x", "--replies", "replies.jsonl"]
    run = proctor_json(tmp_path, *words)["runs"][0]["run_id"]
    row = next(csv.DictReader(io.StringIO(proctor(tmp_path, "export", run).stdout)))
    assert row["reply"] == "'=HYPERLINK(1)" and row["target"] == "'=1+1"


def test_rerun_makes_a_new_run_with_the_old_one_as_parent(tmp_path, rows):
    first = proctor_json(tmp_path, "run", "mine.csv", *TWO)
    again = proctor_json(tmp_path, "rerun", first["plan_id"])
    assert [r["parent_id"] for r in again["runs"]] == [r["run_id"] for r in first["runs"]]
    assert [r["score"] for r in again["runs"]] == [r["score"] for r in first["runs"]]
    assert len(proctor_json(tmp_path, "list")["runs"]) == 4
    assert len(proctor_json(tmp_path, "list", "--model", "baseline/random")["runs"]) == 2


def test_resume_refuses_a_finished_run_and_changed_rows(tmp_path, rows):
    run = proctor_json(tmp_path, "run", "mine.csv", "--model", "baseline/majority")["runs"][0]["run_id"]
    assert "Nothing to resume" in proctor(tmp_path, "resume", run, code=2).stderr
    answers = known_answers(settings(tmp_path), [rows])
    with spawn(["--latency", "0.2"], answers) as server:
        words = [
            "run",
            "mine.csv",
            "--model",
            "openai/sim",
            "--base-url",
            f"{server.url}/v1",
            "--for",
            "0.3s",
        ]
        partial = proctor_json(tmp_path, *words)["runs"][0]
        assert partial["partial"]
        rows.write_text(rows.read_text().replace("Is 7 even?", "Is 7 odd?"))
        assert (
            "no longer those it began with" in proctor(tmp_path, "resume", partial["run_id"], code=2).stderr
        )


def test_runs_of_different_sizes_are_compared_on_what_they_share_and_runs_asked_otherwise_are_not(
    tmp_path, rows
):
    def asked(*words):
        return proctor_json(tmp_path, "run", "mine.csv", *words)["runs"][0]["run_id"]

    one = asked("--model", "baseline/random")
    few = asked("--limit", "30", "--model", "baseline/majority")
    assert "30 items that both were asked, of 60 and 30" in proctor(tmp_path, "show", one, few).stdout
    otherwise = asked("--wording", "2", "--model", "baseline/majority")
    assert "differ in their" in proctor(tmp_path, "show", one, otherwise, code=2).stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (
            ["run", "gleu", "--model", "baseline/random"],
            2,
            "Invalid benchmark suite. Supported: glue, superglue, mmlu, medical",
        ),
        (["run", "none.csv", "--model", "baseline/random"], 2, "No file none.csv"),
        (["run", "mmlu", "--model", "baseline/random"], 2, "proctor data import PATH"),
        (["run", "mine.csv", "--model", "mystery"], 2, "ollama/mystery"),
        (["run", "mine.csv", "--model", "baseline/none"], 5, "baseline/majority, baseline/random"),
        (["run", "mine.csv", "--model", "ollama/a"], 5, "OLLAMA_HOST"),
        (["run", "mine.csv", "--model", "openai/gpt-x"], 5, "OPENAI_API_KEY"),
        (["run", "mine.csv", "--model", "replay/x"], 2, "--replies FILE"),
        (["run", "mine.csv", "--model", "baseline/random", "--temperature", "9"], 2, "between 0 and 2"),
        (["run", "mine.csv", "--model", "baseline/random", "--for", "soon"], 2, "'soon' is no duration"),
        (
            ["run", "mine.csv", "--model", "baseline/random", "--tasks", "a"],
            2,
            "A file has no tasks",
        ),
        (["run", "mine.csv", "--model", "baseline/random", "--modle", "x"], 2, "No such option"),
        (["show", "12345678"], 2, "12345678"),
        (["models", "nobody"], 2, "Known: ollama"),
        (["data", "import", "nowhere"], 2, "nowhere"),
    ],
)
def test_a_wrong_request_says_what_and_what_to_do(tmp_path, rows, words, code, said):
    done = proctor(tmp_path, *words, code=code)
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_models_are_listed_as_text_and_json(tmp_path, rows):
    with spawn([], known_answers(settings(tmp_path), [rows])) as server:
        text = proctor(tmp_path, "models", OLLAMA_HOST=server.url, OPENAI_BASE_URL=f"{server.url}/v1").stdout
        listed = proctor_json(tmp_path, "models", "ollama", OLLAMA_HOST=server.url)
        misspelt = proctor(
            tmp_path, "run", "mine.csv", "--model", "Ollama/sim", code=2, OLLAMA_HOST=server.url
        )
        assert "It is offered as ollama/sim:latest" in misspelt.stderr
    assert "ollama/sim:latest" in text and "openai/sim\n" in text and "baseline/majority" in text
    nobody = proctor(tmp_path, "models", "ollama", code=5)
    assert (nobody.stdout + nobody.stderr).count("cannot connect") == 1
    first = listed["providers"][0]["models"][0]
    assert first["model"] == "ollama/sim:latest" and len(first["digest"]) == 64


def test_the_demo_scores_the_built_in_models_and_shows_the_way_on(tmp_path):
    done = proctor(tmp_path, "demo")
    for model in ("simulator/sim", "baseline/majority", "baseline/random"):
        assert done.stdout.count(f"{model}  ") >= 4
    assert done.stdout.count("[sample rows, no real score]") == 12
    assert "No Ollama model found" in done.stdout
    assert done.stdout.rstrip().splitlines()[-1].lstrip().startswith("Official rows")


def test_the_demo_names_the_models_that_ollama_has(tmp_path, rows):
    with spawn(["--latency", "0.05"], known_answers(settings(tmp_path), [])) as server:
        done = proctor(tmp_path, "demo", OLLAMA_HOST=server.url)
    further = done.stdout.partition("Go further:")[2]
    both = "--model ollama/sim:latest --model ollama/sim-small:latest"
    assert f"proctor run mmlu --data sample {both}   # about 1 min" in further.replace(
        "under a minute", "about 1 min"
    )
    assert f"proctor run my_questions.jsonl {both}" in further


def test_a_suite_without_a_size_is_quick(tmp_path, shared):
    proctor(tmp_path, "data", "import", str(shared / "data" / "mmlu"))
    run = proctor_json(tmp_path, "run", "mmlu", "--model", "baseline/random")["runs"][0]
    assert (run["planned"], run["manifest"]["preset"]) == (200, "quick")
    assert run["scores"][0]["title"] == "MMLU (57 subjects)"


def test_simulate_serves_the_files_it_is_given(tmp_path):
    file = csv_of_sums(tmp_path / "sums.csv", 20)
    process = started(tmp_path, ["simulate", "--rows", str(file), "--model", "clever=1.0"])
    try:
        url = process.stdout.readline().strip().rpartition(" ")[2]
        run = proctor_json(tmp_path, "run", str(file), "--model", "ollama/clever", OLLAMA_HOST=url)["runs"][0]
        assert run["score"]["value"] == 1.0
    finally:
        process.terminate()
        process.communicate(timeout=HANG_S)


def test_a_baseline_has_no_server_that_lacks_a_word_for_a_setting(tmp_path):
    file = csv_of_sums(tmp_path / "sums.csv", 4)
    said = proctor(tmp_path, "run", str(file), "--model", "baseline/majority", "--max-tokens", "9").stdout
    assert "accuracy" in said and "not sent" not in said
