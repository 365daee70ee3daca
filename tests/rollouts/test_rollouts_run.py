"""The documented door: its lines, its files and its codes, of benchmarks that are really run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from benchmarks import Desk, entry
from boxed import need_bubblewrap
from trials import MEND

from proctor.rollouts import get_task_score, load_benchmark
from proctor.service.context import open_context
from proctor.service.grades.view import graders_of
from proctor.service.output.trial_rows import TrialReader
from proctor.service.rollouts.benchmark import one
from proctor.settings import read_settings

STAMP = r"\d{8}__\d\d-\d\d-\d\d"
NAME = "your_benchmark"
# Mends the number at its first rollout only.
ONCE = f'if [ "$TASK_ROLLOUT" = 0 ]; then\n{MEND}fi\n'
METRICS = """import json, pathlib
pathlib.Path("/app/artifacts/custom_metrics.json").write_text(json.dumps({"code_complexity": 3}))
"""
MEASURING = f"{METRICS}from figures import double\nassert double(4) == 8\n"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    need_bubblewrap()
    return Desk.made(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def said(desk: Desk) -> str:
    """What the documented command prints of a benchmark of three tables and four trials."""
    one, two = desk.task("task_1", tests={"test_double.py": MEASURING}), desk.task("task_2")
    config = desk.config(
        NAME,
        desk.agent("once", ONCE),
        entry(
            one,
            "once",
            2,
            'environment_variables = { TIMEOUT_SEC = "50", MODE = "fast", API_TOKEN = "abc" }\n',
        ),
        entry(two, "once"),
        entry(two, "null"),
    )
    return desk.script("run", config).stdout


@pytest.mark.promise("C-03", "C-10")
def test_the_quiet_run_says_the_documented_lines(desk: Desk, said: str) -> None:
    lines = said.splitlines()
    stamp = desk.folder(NAME).name
    assert lines[:4] == [
        f"[rollouts] config=configs/{NAME}.toml name={NAME} tasks=3 parallel=2 trials=4",
        f"[rollouts] output=data/rollouts/{NAME}/{stamp}",
        "[rollouts] Running in quiet mode - use -vv for full output",
        "[rollouts] Starting 4 tasks with parallel=2",
    ]
    assert re.fullmatch(STAMP, stamp)
    ended = [line for line in lines if line.startswith("✓ Task ")]
    found = [
        re.match(rf"✓ Task {stamp}-(\d) completed \(launched\): (\w+), score ([\d.]+) - (\S+) on (\w+)", line)
        for line in ended
    ]
    told = sorted(each.groups() for each in found if each)
    assert told == [
        ("0", "passed", "1.000", "agent/once", "task_1"),
        ("1", "failed", "0.000", "agent/once", "task_1"),
        ("2", "passed", "1.000", "agent/once", "task_2"),
        ("3", "failed", "0.000", "agent/null", "task_2"),
    ]
    assert "✓ All 4 tasks completed!" in lines
    assert "\x1b" not in said and "⠋" not in said  # no terminal, no spinner


def test_where_each_table_means_one_trial_the_head_is_the_documents_own(desk: Desk, said: str) -> None:
    config = desk.config("plain", entry("tasks/task_2", "null"))
    lines = desk.rollouts("run", config).stdout.splitlines()
    assert lines[0] == "[rollouts] config=configs/plain.toml name=plain tasks=1 parallel=2"
    assert lines[3] == "[rollouts] Starting 1 tasks with parallel=2" and "✓ All 1 tasks completed!" in lines


def test_the_run_ends_with_rates_intervals_and_a_verdict(said: str) -> None:
    end = said.partition("tasks completed!")[2]
    assert re.search(r"agent/once .*success rate 0\.750 \[", end)
    assert "pass@2" in end and "agent/null" in end
    assert re.search(r"which of agent/once and agent/null is better|is better than", end)


@pytest.mark.promise("C-14", "C-16")
def test_the_manifest_has_what_is_documented_and_every_trials_true_state(desk: Desk, said: str) -> None:
    folder, manifest = desk.folder(NAME), desk.manifest(NAME)
    assert manifest["config"] == f"configs/{NAME}.toml"
    assert (manifest["name"], manifest["created_at"]) == (NAME, folder.name)
    rows = manifest["results"]
    assert [row["run_id"] for row in rows] == [f"{folder.name}-{number}" for number in range(4)]
    assert [row["task_dir"] for row in rows] == ["tasks/task_1"] * 2 + ["tasks/task_2"] * 2
    assert {(row["status"], row["launch_rc"]) for row in rows} == {("launched", 0)}
    assert [(row["row"], row["rollout"], row["state"], row["score"]) for row in rows] == [
        ("agent/once", 0, "passed", 1.0),
        ("agent/once", 1, "failed", 0.0),
        ("agent/once", 0, "passed", 1.0),
        ("agent/null", 0, "failed", 0.0),
    ]
    assert rows[0]["timeout_s"] == 50.0 and rows[2]["timeout_s"] == 60.0
    assert rows[0]["environment_variables"] == {"MODE": "fast", "API_TOKEN": "(set)"}
    assert rows[0]["custom_metrics"] == {"code_complexity": 3}
    assert manifest["counts"] == {"planned": 4, "scored": 4, "passed": 2, "failed": 2}
    runs = (folder / "runs.txt").read_text().splitlines()
    assert runs == [row["run_dir"] for row in rows] and all(Path(each).is_dir() for each in runs)
    results = [json.loads(path.read_text()) for path in (folder / "task_results").iterdir()]
    assert sorted(
        (each["task"], each["row"], each["counts"]["passed"]) for each in results if each["success_rate"]
    ) == [
        ("task_1", "agent/once", 1),
        ("task_2", "agent/once", 1),
    ]
    assert len(results) == 3
    told = (folder / "summary.md").read_text()
    assert "| agent/once | 0.750 [" in told and "4 trials planned, 4 scored: passed 2, failed 2" in told
    assert "| task_1 | agent/once | code_complexity | 3, 3 |" in told
    assert not list(folder.rglob(".*"))  # no half-written file is left


@pytest.mark.promise("C-15")
def test_the_file_in_temp_lists_runs_and_tasks(desk: Desk, said: str) -> None:
    stamp = desk.folder(NAME).name
    told = json.loads((desk.data / f"rollouts/temp/rollout_{NAME}__{stamp}.json").read_text())
    assert told["created_at"] == stamp and told["rollout_dir"] == str(desk.folder(NAME))
    assert told["runs"] == [row["run_dir"] for row in desk.manifest(NAME)["results"]]
    assert told["tasks"] == [str(desk.place / f"tasks/task_{number}") for number in (1, 1, 2, 2)]


def snippet(shared: Path, beginning: str) -> str:
    blocks = re.findall(r"```python\n(.*?)```", (shared / "spec/rollouts.md").read_text(), re.DOTALL)
    return next(block for block in blocks if beginning in block)


@pytest.mark.promise("C-18")
def test_the_documents_analysis_runs_unchanged_but_for_its_path(
    desk: Desk, said: str, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = snippet(shared, "Load benchmark results")
    exec(code.replace("data/rollouts/your_benchmark/20250824__12-34-56", str(desk.folder(NAME))), {})  # noqa: S102 - the document's own text
    assert capsys.readouterr().out.splitlines()[:6] == [
        *("Task: tasks/task_1", "Score: 1.0", "---"),
        *("Task: tasks/task_1", "Score: 0.0", "---"),
    ]


@pytest.mark.promise("C-24", "C-32")
def test_the_documents_comparison_runs_unchanged_but_for_its_paths(
    desk: Desk, said: str, shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = str(desk.folder(NAME))
    beginning = whole[: len(whole) - len("__00-00-00")]  # the day alone, where no other rollout is of it
    code = re.sub(
        r"data/rollouts/\w+_v[12]/20250824", beginning, snippet(shared, "Load multiple benchmark results")
    )
    names = {
        "load_benchmark": load_benchmark,
        "get_task_score": get_task_score,
        "benchmark_tasks": ["task_1", "task_2"],
    }
    exec(code, names)  # noqa: S102 - the document's own text
    assert capsys.readouterr().out.splitlines()[:3] == ["Task: task_1", "  gpt4_v1: 0.5", "  gpt4_v2: 0.5"]
    results = load_benchmark(whole)
    assert results.tasks == ("task_1", "task_2") and results.rows == ("agent/once", "agent/null")
    assert get_task_score(results, "task_2", "agent/null") == 0.0
    assert get_task_score(results, "tasks/task_2") == 0.5 and get_task_score(results, "other") is None


@pytest.mark.promise("C-06", "C-07")
def test_summarize_shows_the_latest_rollout_or_that_of_a_time(desk: Desk, said: str) -> None:
    stamp = desk.folder(NAME).name
    latest = desk.rollouts("summarize", NAME, "--latest").stdout
    assert re.search(r"agent/once .*success rate 0\.750", latest)
    assert re.search(rf"{stamp}-1 +task_1 +agent/once +failed +0\.000", latest)
    assert desk.rollouts("summarize", NAME, "--rollout", stamp).stdout == latest
    wrong = desk.rollouts("summarize", NAME, "--rollout", "20250824__12-34-56", code=2).stderr
    assert f"{NAME}@{stamp}" in wrong
    assert "No benchmark" in desk.rollouts("summarize", "nobody", "--latest", code=2).stderr
    assert "rollouts/your" not in desk.rollouts("summarize", "../rollouts", code=2).stdout


@pytest.mark.promise("C-08", "C-09")
def test_eval_verifies_the_kept_patches_again_beside_their_first_verdicts(desk: Desk, said: str) -> None:
    before = desk.manifest(NAME)
    patches = {path: path.read_bytes() for path in desk.data.glob("runs/*/artifacts/diff.patch")}
    out = desk.rollouts("eval", NAME, "--latest").stdout
    assert "4 of 4 patches verified again: 4 score as first, 0 otherwise; 0 trials have no patch" in out
    told = json.loads((desk.folder(NAME) / "eval_manifest.json").read_text())
    rows = told["results"]
    assert [(row["eval_rc"], row["status"], row["score"], row["first_score"]) for row in rows] == [
        (0, "ok", score, score) for score in (1.0, 0.0, 1.0, 0.0)
    ]
    assert [row["run_dir"] for row in rows] == [row["run_dir"] for row in before["results"]]
    assert Path(rows[0]["run_dir"], "evaluations", f"{told['evaluated_at']}.log").is_file()
    again = desk.rollouts("eval", NAME, "--rollout", desk.folder(NAME).name, "--json").stdout
    assert json.loads(again)["verified"] == 4
    with open_context(read_settings({"PROCTOR_HOME": str(desk.data)})) as context:
        run = context.store.plan_runs(str(before["plan"]))[0]
        assert told["grader"] in [each.grader for each in graders_of(context, run.id)]
        assert [row.attempt for row in context.store.latest(run.id)] == [0, 0, 0]  # nobody was asked again
    assert {path: path.read_bytes() for path in patches} == patches
    desk.rollouts("summarize", NAME)
    assert desk.manifest(NAME)["results"] == before["results"]


def test_summarize_shows_the_files_of_a_rollout_that_the_store_does_not_know(desk: Desk, said: str) -> None:
    elsewhere = desk.data / "rollouts/from_ci/20250824__12-34-56"
    elsewhere.mkdir(parents=True)
    (elsewhere / "summary.md").write_text("# as it was there\n")
    done = desk.rollouts("summarize", "from_ci", "--latest")
    assert done.stdout.startswith("# as it was there") and "Not in the store" in done.stderr


@pytest.mark.promise("C-04")
def test_progress_only_has_no_icons(desk: Desk, said: str) -> None:
    out = desk.rollouts("run", desk.config("progress", entry("tasks/task_2", "null", 2)), "-v").stdout
    assert "quiet mode" not in out and not set(out) & set("✓✗⠋⠙⠹")
    assert re.search(r"^Task \S+-0 completed \(launched\): failed", out, re.MULTILINE)
    assert "Running tasks... 2/2 completed" in out and "All 2 tasks completed!" in out.splitlines()


@pytest.mark.promise("C-05")
def test_full_output_streams_what_agents_and_verifiers_print_behind_their_trials(
    desk: Desk, said: str
) -> None:
    agent = desk.agent("loud", f"echo 'I look'; printf 'red \\033[31m\\n'\n{MEND}")
    task = desk.task(
        "loud",
        tests={"test_double.py": "print('I test')\nfrom figures import double\nassert double(4) == 8\n"},
    )
    out = desk.rollouts("run", desk.config("loud", agent, entry(task, "loud")), "-vv").stdout
    stamp = desk.folder("loud").name
    assert f"[{stamp}-0 agent] I look" in out.splitlines()
    assert f"[{stamp}-0 eval]   I test" in out.splitlines()
    assert "\x1b" not in out and "[31m" in out  # an agent's words are shown, and cannot steer a terminal
    assert out.index("I look") < out.index("completed (launched)")


def test_the_files_and_the_dashboard_agree_on_every_trial(desk: Desk, said: str) -> None:
    with open_context(read_settings({"PROCTOR_HOME": str(desk.data)})) as context:
        plan = str(desk.manifest(NAME)["plan"])
        trials = TrialReader(context.store, context.settings).trials(context.store.plan_runs(plan))
        shown = {cell.run_id: (cell.state, cell.score) for cell in one(context, plan).all_trials}
    assert {each.run_id: (each.state, each.attempt.score) for each in trials if each.attempt} == shown


class Refusing(BaseHTTPRequestHandler):
    """A server that has a model and refuses every request to it."""

    def do_GET(self) -> None:
        self._answer(200, {"data": [{"id": "m", "object": "model"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(400, {"error": {"message": "I will not"}})

    def _answer(self, status: int, told: object) -> None:
        body = json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def refusing() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def test_trials_that_measure_nothing_are_told_apart_and_in_the_exit_code(
    desk: Desk, said: str, refusing: str
) -> None:
    shell = f'[agents.shell]\nbase_url = "{refusing}"\n'
    asking = entry("tasks/task_2", "shell", 1, 'model = "openai/m"\n')
    part = desk.rollouts(
        "run", desk.config("part", shell, asking, entry("tasks/task_2", "null")), code=3, OPENAI_API_KEY="k"
    )
    lines = part.stdout.splitlines()
    stamp = desk.folder("part").name
    assert any(
        line.startswith(f"✗ Task {stamp}-0 completed (launched): provider, no score") for line in lines
    )
    assert any(line.startswith("✗ 1 of 2 tasks completed; without an outcome: ") for line in lines)
    row = desk.manifest("part")["results"][0]
    assert (row["state"], row["score"], row["status"]) == ("provider", None, "launched")
    assert "I will not" in row["error"]["message"]
    assert "provider 1" in (desk.folder("part") / "summary.md").read_text()
    results = load_benchmark(desk.folder("part"))
    assert get_task_score(results, "task_2") == 0.0 and results.trials[0].passed is None
    desk.rollouts("run", desk.config("none", shell, asking), code=5, OPENAI_API_KEY="k")


def test_what_cannot_begin_leaves_no_folder_and_says_why(desk: Desk, said: str) -> None:
    wrong = desk.rollouts("run", desk.config("wrong", entry("tasks/gone", "null")), code=2)
    assert "there is no folder tasks/gone" in wrong.stderr
    assert not (desk.data / "rollouts/wrong").exists()
    other = desk.rollouts("run", f"configs/{NAME}.toml", code=2, SANDBOX_BACKEND="vm")
    assert "'vm': there are bubblewrap, docker, modal, local" in other.stderr
    assert "does not exist" in desk.rollouts("run", "configs/nowhere.toml", code=2).stderr
    assert "Exit codes: 0 every trial has an outcome" in " ".join(
        desk.rollouts("run", "--help").stdout.split()
    )


@pytest.mark.promise("C-28")
def test_a_nightly_run_needs_no_terminal_and_is_found_by_its_time(desk: Desk, said: str) -> None:
    config = desk.config("daily_benchmark", entry("tasks/task_2", "null"))
    for _ in range(2):  # as cron would: no HOME to speak of, nobody looks
        desk.rollouts("run", config, HOME="/nonexistent")
    stamps = sorted(each.name for each in (desk.data / "rollouts/daily_benchmark").iterdir())
    assert len(stamps) == 2
    listed = desk.rollouts("list", "--name", "daily_benchmark").stdout
    assert all(stamp in listed for stamp in stamps)
    told = desk.rollouts("compare", *(f"daily_benchmark@{stamp}" for stamp in stamps)).stdout
    assert told.count("agent/null") >= 2
