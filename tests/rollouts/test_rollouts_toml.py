"""A benchmark's TOML: every documented key and ours, all faults at once, and rows that never collide."""

from __future__ import annotations

import re
import shutil
import time
import tomllib
from pathlib import Path

import pytest

from proctor.errors import ConfigError
from proctor.plan.check import check
from proctor.plan.codec import cell_from_json, cell_to_json
from proctor.plan.rollouts import Surroundings, plan_of_table, plan_of_toml
from proctor.providers import PROVIDERS
from proctor.references import RolloutsRef, TaskEntry, TrialLimits
from proctor.types import Cell, Plan

TASK = Path(__file__).parents[2] / "examples/tasks/mend-the-mean"
FOLDERS = re.compile(r'prepared_dir = "([^"]+)"')


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text: str, *, sandbox: str | None = None) -> Plan:
    """The plan of a TOML, with every folder that it names as a prepared task."""
    for folder in FOLDERS.findall(text):
        if not Path(folder).exists():
            shutil.copytree(TASK, folder)
    path = Path("configs/bench.toml")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return check(plan_of_toml(path, told(sandbox)))


def told(sandbox: str | None = None) -> Surroundings:
    return Surroundings("configs/bench.toml", Path("data"), tuple(PROVIDERS), sandbox=sandbox)


def ref(cell: Cell) -> RolloutsRef:
    assert isinstance(cell.source, RolloutsRef)
    return cell.source


def entry(plan: Plan, cell: int = 0, task: int = 0) -> TaskEntry:
    return ref(plan.cells[cell]).tasks[task]


def names(plan: Plan) -> list[str]:
    return [str(cell.model) for cell in plan.cells]


def faults(text: str, **given: str) -> list[str]:
    with pytest.raises(ConfigError) as said:
        read(text, **given)
    return str(said.value).splitlines()


def documented(shared: Path, name: str) -> str:
    """The TOML of the document whose name this is."""
    blocks = re.findall(r"```toml\n(.*?)```", (shared / "spec/rollouts.md").read_text(), re.DOTALL)
    return next(block for block in blocks if f'name = "{name}"' in block)


@pytest.mark.promise("C-01")
def test_the_documents_first_file_is_read_as_it_stands(here: Path, shared: Path) -> None:
    own = Path("data/tasks/prepared/task_1")
    shutil.copytree(TASK, own)
    (own / "overrides.json").write_text("{}")
    other = shutil.copytree(own, "data/tasks/prepared/task_2")
    plan = read(documented(shared, "my_benchmark"))
    assert plan.name == "my_benchmark"
    assert names(plan) == [
        "shell/openai/gpt-4",
        "shell/anthropic/claude-3-sonnet",
        "shell/openai/gpt-3.5-turbo",
    ]
    assert [entry(plan, cell).rollouts for cell in range(3)] == [3, 5, 1]
    assert [cell.limits.parallel for cell in plan.cells] == [4, 4, 4]
    assert entry(plan, 0).overrides == str(here / own / "overrides.json")
    assert (Path(other) / "overrides.json").is_file() and entry(
        plan, 1
    ).overrides is None  # apply_overrides = false
    assert entry(plan, 2).overrides is None
    assert entry(plan).folder == str(here / own) and entry(plan).given == str(own)


@pytest.mark.promise("C-02", "C-12", "C-29")
def test_a_sweep_of_timeouts_gives_rows_of_their_own_with_typed_times(here: Path, shared: Path) -> None:
    plan = read(documented(shared, "parameter_sweep"))
    assert names(plan) == ["shell/openai/gpt-4 (timeout 1800 s)", "shell/openai/gpt-4 (timeout 3600 s)"]
    assert [entry(plan, cell).timeout_s for cell in (0, 1)] == [1800.0, 3600.0]
    assert [ref(cell).first for cell in plan.cells] == [0, 3]
    limits = entry(plan, 1).within(TrialLimits(agent_s=1800, trial_s=3600))
    assert (limits.agent_s, limits.trial_s) == (3600, 5400)
    assert {cell.agent.model for cell in plan.cells if cell.agent} == {"openai/gpt-4"}


@pytest.mark.promise("C-11")
def test_one_task_under_three_models_makes_three_rows_with_trials_numbered_apart(
    here: Path, shared: Path
) -> None:
    plan = read(documented(shared, "model_comparison"))
    assert names(plan) == ["shell/openai/gpt-4", "shell/anthropic/claude-3-sonnet", "shell/gemini/gemini-pro"]
    numbers = [ref(cell).first + each for cell in plan.cells for each in range(entry(plan).rollouts)]
    assert numbers == list(range(15))


@pytest.mark.promise("C-13")
def test_mixed_workloads_keep_their_models_and_rollouts(here: Path, shared: Path) -> None:
    plan = read(documented(shared, "mixed_workloads"))
    assert [(str(cell.model), entry(plan, at).rollouts) for at, cell in enumerate(plan.cells)] == [
        ("shell/openai/gpt-4", 3),
        ("shell/anthropic/claude-3-sonnet", 3),
        ("shell/openai/gpt-3.5-turbo", 2),
    ]


@pytest.mark.promise("C-27")
def test_hundreds_of_tasks_are_one_row_and_read_quickly(here: Path, shared: Path) -> None:
    one = documented(shared, "large_scale_benchmark").partition("# ...")[0]
    head, table = one.split("[[tasks]]")
    text = head + "".join("[[tasks]]" + table.replace("task_001", f"task_{at:03}") for at in range(600))
    for at in range(600):
        folder = Path(f"data/tasks/prepared/task_{at:03}")
        folder.mkdir(parents=True)
        (folder / "tb_meta.json").write_text("{}")
    began = time.monotonic()
    plan = read(text)
    assert time.monotonic() - began < 5
    (cell,) = plan.cells
    assert len(ref(cell).tasks) == 600 and cell.limits.parallel == 16
    # 3,000 trials of an hour at most, 16 at once: no limit of runs cuts them short.
    assert cell.limits.timeout_s > 3000 * 3600 / 16
    assert cell_from_json(cell_to_json(cell)) == cell


def test_variables_reach_the_task_and_the_documents_control_variable_becomes_a_time(here: Path) -> None:
    plan = read(
        '[[tasks]]\nprepared_dir = "a"\nagent = "null"\n'
        'environment_variables = { MODE = "fast", DEPTH = 3, TIMEOUT_SEC = "90" }\n'
    )
    assert entry(plan).environment == ("MODE=fast", "DEPTH=3")
    assert entry(plan).timeout_s == 90.0


def test_without_a_name_a_benchmark_has_that_of_its_file(here: Path) -> None:
    plan = read('[[tasks]]\nprepared_dir = "a"\nagent = "null"\n')
    assert plan.name == "bench" and ref(plan.cells[0]).config == "configs/bench.toml"
    assert names(plan) == ["agent/null"]


def test_one_rule_for_overrides(here: Path) -> None:
    shutil.copytree(TASK, "a")
    Path("other.json").write_text("{}")
    head = '[[tasks]]\nprepared_dir = "a"\nagent = "null"\n'
    assert entry(read(head)).overrides is None
    assert entry(read(head + 'overrides = "other.json"\n')).overrides == str(here / "other.json")
    Path("a/overrides.json").write_text("{}")
    assert entry(read(head)).overrides == str(here / "a/overrides.json")
    assert entry(read(head + 'overrides = "other.json"\n')).overrides == str(here / "other.json")
    assert entry(read(head + 'overrides = "gone.json"\napply_overrides = false\n')).overrides is None
    assert faults(head + 'overrides = "gone.json"\n') == [
        "configs/bench.toml: [[tasks]] 1: overrides: there is no file gone.json (apply_overrides = false does without)"
    ]


def test_an_entry_that_is_listed_again_adds_its_rollouts(here: Path) -> None:
    one = '[[tasks]]\nprepared_dir = "a"\nagent = "null"\nrollouts = 2\n'
    for folder in ("a", "c"):
        shutil.copytree(TASK, folder)
    plan = read(one + one.replace('"a"', '"./c/../a"') + one.replace('"a"', '"c"'))
    (cell,) = plan.cells
    assert [(Path(each.folder).name, each.rollouts) for each in ref(cell).tasks] == [("a", 4), ("c", 2)]


def test_own_overrides_of_several_tasks_are_no_sweep_and_files_of_one_name_stay_apart(here: Path) -> None:
    for folder in ("a", "b"):
        shutil.copytree(TASK, folder)
        Path(folder, "overrides.json").write_text("{}")
    one = '[[tasks]]\nprepared_dir = "a"\nagent = "null"\n'
    assert names(read(one + one.replace('"a"', '"b"'))) == ["agent/null"]
    for folder in ("x", "y"):
        Path(folder).mkdir()
        Path(folder, "o.json").write_text("{}")
    swept = read(one + one + 'overrides = "x/o.json"\n' + one + 'overrides = "y/o.json"\n')
    assert names(swept) == [
        "agent/null (overrides overrides.json)",
        "agent/null (overrides o.json)",
        "agent/null (overrides o.json, 2)",
    ]
    assert len(set(map(ref, swept.cells))) == 3


@pytest.mark.promise("C-31")
def test_limits_are_the_benchmarks_or_the_tasks_own(here: Path) -> None:
    plan = read(
        '[limits]\nmax_tokens = 5000\ncpus = 2\nmax_calls = "none"\n'
        '[[tasks]]\nprepared_dir = "a"\nmodel = "ollama/qwen3:8b"\ntoken_limit = 700\ntimeout_s = 60\n'
        '[[tasks]]\nprepared_dir = "b"\nmodel = "ollama/qwen3:8b"\n'
    )
    base = ref(plan.cells[0]).limits
    assert base == TrialLimits(max_tokens=5000, cpus=2.0, max_calls=None)
    assert entry(plan).within(base).max_tokens == 700 and entry(plan).within(base).agent_s == 60
    assert entry(plan, 0, 1).within(base) == base
    assert (
        ref(
            read('[limits]\nmax_tokens = "none"\n[[tasks]]\nprepared_dir = "a"\nagent = "null"\n').cells[0]
        ).limits.max_tokens
        is None
    )


def test_the_sandbox_is_the_environments_before_the_files(here: Path) -> None:
    text = 'sandbox = "local"\n[[tasks]]\nprepared_dir = "a"\nagent = "null"\n'
    assert ref(read(text).cells[0]).sandbox == "local"
    assert ref(read(text, sandbox="docker").cells[0]).sandbox == "docker"
    assert ref(read(text, sandbox="modal").cells[0]).sandbox == "modal"
    assert "SANDBOX_BACKEND: 'vm'" in faults(text, sandbox="vm")[0]


def test_all_faults_are_told_at_once_with_entry_and_key(here: Path) -> None:
    said = faults(
        'name = "a/b"\nparallel = 0\npas_score = 1\n'
        '[limits]\nmemory = 5\ncpus = "two"\n'
        '[[tasks]]\nprepared_dir = "a"\nagent = "null"\nrollouts = true\n'
        '[[tasks]]\nmodel = "gpt-4"\n'
        '[[tasks]]\nprepared_dir = "gone"\nmodel = "somebody"\nrollouts = 0\napply_overrides = "no"\n'
        '[[tasks]]\nprepared_dir = "b"\nagent = "codex"\ntimeout_s = nan\n'
        'environment_variables = { "A-B" = "1", TIMEOUT_SEC = "soon" }\n'
    )
    text = "\n".join(said)
    for part in (
        "name: 'a/b' names a folder",
        "parallel: 0 is out of range: 1 to 256",
        "unknown key 'pas_score', did you mean 'pass_score'?",
        "[limits]: unknown key 'memory', did you mean 'memory_mb'?",
        "[limits]: cpus: 'two' is a text where a number belongs",
        "[[tasks]] 1: rollouts: True is true or false where a whole number belongs",
        "[[tasks]] 2: Each [[tasks]] entry must include prepared_dir",
        "[[tasks]] 3: rollouts: 0 is out of range: 1 to 1000",
        "[[tasks]] 3: apply_overrides: 'no' is a text where true or false belongs",
        "[[tasks]] 4: timeout_s: nan",
        "[[tasks]] 4: environment_variables: 'A-B' is no name of a variable",
        "[[tasks]] 4: environment_variables: TIMEOUT_SEC = 'soon': give seconds",
    ):
        assert part in text, (part, text)
    assert "codex" in text and "somebody" in text


@pytest.mark.promise("C-21")
def test_a_folder_that_is_none_or_no_task_is_said_before_anything_begins(here: Path) -> None:
    Path("empty").mkdir()
    two = '[[tasks]]\nprepared_dir  = "empty"\nagent = "null"\n'  # two blanks: the folder is not made
    said = faults(two + two.replace('"empty"', '"empty/../gone"'))
    assert said[1:] == [
        "  [[tasks]] 1: prepared_dir: empty is no prepared task: it has no tb_meta.json",
        "  [[tasks]] 2: prepared_dir: there is no folder empty/../gone",
    ]


@pytest.mark.parametrize(
    "name", ["..", "a/b", ".hidden", "-v", "", "temp", "a\\b", "x" * 101, "new\nline", "~"]
)
def test_a_name_that_is_no_folders_is_refused(here: Path, name: str) -> None:
    task = {"prepared_dir": str(TASK), "agent": "null"}
    with pytest.raises(ConfigError, match="name"):
        plan_of_table({"name": name, "tasks": [task]}, told())


def test_two_ways_of_saying_the_time_must_agree(here: Path) -> None:
    task = '[[tasks]]\nprepared_dir = "a"\nagent = "null"\ntimeout_s = 5\nenvironment_variables = {TIMEOUT_SEC = '
    assert entry(read(task + "5}\n")).timeout_s == 5.0
    assert "give one of them" in faults(task + "6}\n")[0]


def test_files_that_are_no_benchmarks_say_what_they_are(here: Path, shared: Path) -> None:
    with pytest.raises(ConfigError, match=r"Config file gone\.toml does not exist"):
        plan_of_toml(Path("gone.toml"), told())
    assert "Empty or missing config" in faults("")[0]
    assert "another format" in faults((shared / "data/rollouts/banking77.toml").read_text())[0]
    assert "Invalid value" in faults("name = ")[0]


@pytest.mark.parametrize(("name", "trials"), [("hello_world", 4), ("env_bench", 10)])
def test_real_files_mean_the_trials_that_they_list(here: Path, shared: Path, name: str, trials: int) -> None:
    text = (shared / f"data/rollouts/{name}.toml").read_text()
    with pytest.raises(ConfigError, match="there is no folder /home/user/Documents/GitHub/one-shot-bench"):
        plan_of_table({"name": name, **tomllib.loads(text)}, told())
    moved = re.sub(r'"/home/[^"]*/prepared/([^"/]*)(/[^"]*)?"', r'"tasks/\1\2"', text)
    for folder in FOLDERS.findall(moved):
        shutil.copytree(TASK, folder, dirs_exist_ok=True)
        Path(folder, "overrides.json").write_text("{}")
    plan = read(moved)
    (cell,) = plan.cells
    assert str(cell.model).startswith("shell/openai/gpt-5-") and plan.name == name
    assert sum(each.rollouts for each in ref(cell).tasks) == trials
