"""Tasks of other makers run as prepared ones do: real folders of Harbor's format, and instances of SWE-bench's kind."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from boxed import images, need_bubblewrap

from proctor.engine.agents.contract import AgentAtWork
from proctor.engine.agents.own import NullAgent, ReferenceAgent, ScriptedAgent
from proctor.engine.trials.runner import TrialRunner
from proctor.errors import DataError, SandboxMissing, VerifierError
from proctor.references import RolloutsRef, TaskEntry, TrialLimits
from proctor.sandbox.bubblewrap import Bubblewrap
from proctor.sandbox.image import ImageRecipe, build_image, make_image
from proctor.sandbox.places import sweep
from proctor.sources.rollouts.harbor.instruction import without_canary
from proctor.sources.rollouts.reading import read_task
from proctor.sources.rollouts.source import open_rollouts
from proctor.trial_record import TrialRecord, record_from
from proctor.types import Model

LIMITS = TrialLimits(agent_s=60, verifier_s=60, memory_mb=512, disk_mb=128)
PROGRAMS = ("sqlite3", "xxd")  # that one of the tasks uses
RECIPE = ImageRecipe(packages=("pytest",), programs=tuple(filter(shutil.which, PROGRAMS)))


@dataclass(frozen=True)
class OthersDesk:
    """A home, and boxes with pytest in them."""

    home: Path
    sandbox: Bubblewrap
    folders: Path

    def runner(self, folder: Path | str, agent: AgentAtWork, rollouts: int = 1) -> TrialRunner:
        place = self.folders / folder
        stamp = f"{place.name}-{type(agent).__name__}"
        entry = TaskEntry(str(place), rollouts)
        ref = RolloutsRef("others", tasks=(entry,), data=str(self.home), stamp=stamp, limits=LIMITS)
        return TrialRunner(ref, open_rollouts(ref, self.home), self.sandbox, agent, Model("agent", "t"))

    def tried(self, folder: Path | str, agent: AgentAtWork) -> TrialRecord:
        runner = self.runner(folder, agent)
        (item,) = runner.source.items()

        async def trial() -> TrialRecord:
            return record_from((await runner(item, 0)).raw)

        return asyncio.run(trial())

    def scripted(self, script: str) -> ScriptedAgent:
        path = self.home / "agent.sh"
        path.write_text(script)
        return ScriptedAgent(path)


@pytest.fixture(scope="module")
def desk(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OthersDesk]:
    need_bubblewrap()
    home = tmp_path_factory.mktemp("others")
    image = build_image("others", images(), RECIPE)
    yield OthersDesk(home, Bubblewrap(image, home / "boxes"), shared / "data/rollouts/tasks")
    sweep(home / "boxes")


@pytest.fixture
def tasks(shared: Path) -> Path:
    return shared / "data/rollouts/tasks"


def harbor(place: Path, **files: str) -> Path:
    """A small folder of Harbor's format: write 4 into /app/n.txt."""
    told = {
        "task.toml": 'version = "1.0"\n',
        "instruction.md": "Write the number 4 into /app/n.txt.\n",
        "environment/Dockerfile": "FROM ubuntu:24.04\nWORKDIR /app\nRUN echo 3 > n.txt\n",
        "tests/test.sh": "grep -q 4 /app/n.txt && echo 1 > /logs/verifier/reward.txt\n",
        **{name.replace("__", "/").replace("_", "."): text for name, text in files.items()},
    }
    for name, text in told.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return place


@pytest.mark.parametrize(
    ("name", "cwd", "requires"),
    [
        ("effect-autoagent__simple-script", "/root", set()),
        ("harbor-cookbook__multi-reward", "/app", {"package:pytest==8.4.1"}),
        ("harbor-cookbook__multi-step", "/app", set()),
        ("infrabench__db-wal-recovery", "/app", set()),
        ("tb3-ci__fail-validate-oracle", "/app", {"package:pytest==8.4.1"}),
    ],
)
def test_real_folders_of_harbors_format_are_read_and_a_copy_reads_the_same(
    tasks: Path, tmp_path: Path, name: str, cwd: str, requires: set[str]
) -> None:
    task = read_task(tasks / name, tmp_path)
    assert task.place.cwd == cwd and requires <= set(task.requires) and not task.lacking
    assert "canary" not in task.instruction.lower()
    again = read_task(task.folder, tmp_path)
    assert (again.id, again.sha256, again.stages) == (task.id, task.sha256, task.stages)


@pytest.mark.parametrize(
    ("table", "memory_mb", "cpus"),
    [
        ("[environment]\nmemory_mb = 512\ncpus = 1", 512, 1.0),
        ('[environment]\nmemory = "2G"\nstorage = "10G"', 2048, None),
        ('[environment]\nmemory = "512M"\ncpus = 0.5', 512, 0.5),
        ("[agent]\ntimeout_sec = 9", None, None),
    ],
)
def test_every_dialect_of_a_task_toml_is_understood(
    tmp_path: Path, table: str, memory_mb: int | None, cpus: float | None
) -> None:
    folder = harbor(tmp_path / "task", task_toml=f'schema_version = "1.3"\n{table}')
    own = read_task(folder, tmp_path / "home").own
    assert (own.memory_mb, own.cpus) == (memory_mb, cpus)


@pytest.mark.promise("C-21")
@pytest.mark.parametrize(
    ("files", "told"),
    [
        (
            {"tests__test_sh": "curl -fsS https://example.com/x.tgz | tar xz\n"},
            "downloads https://example.com",
        ),
        ({"environment__docker-compose_yaml": "services: {}\n"}, "starts several containers"),
        ({"task_toml": "[environment]\ngpus = 1\n"}, "wants a GPU"),
        ({"environment__Dockerfile": "FROM a\nCOPY --from=b /x /y\n"}, "only files of environment/"),
    ],
)
def test_what_no_box_can_do_is_told_before_anything_is_asked(
    tmp_path: Path, files: Mapping[str, str], told: str
) -> None:
    task = read_task(harbor(tmp_path / "task", **files), tmp_path / "home")
    assert told in (task.refusal("bubblewrap") or "") and told in (task.refusal("docker") or "")


@pytest.mark.promise("C-21")
def test_all_faults_of_a_folder_are_told_at_once(tmp_path: Path) -> None:
    folder = harbor(
        tmp_path / "task", task_toml="[environment]\nmemory = 'much'\n", instruction_md="<!-- canary -->"
    )
    with pytest.raises(
        DataError, match=r"(?s)no instruction.*environment.memory|environment.memory.*no instruction"
    ):
        read_task(folder, tmp_path / "home")


def test_a_canary_is_stripped_from_what_the_agent_is_told_and_other_remarks_are_kept() -> None:
    assert without_canary("<!-- harbor-canary GUID 1 -->\nDo it.\n<!-- why -->\n") == "Do it.\n<!-- why -->\n"


@pytest.mark.promise("C-21")
def test_what_the_image_lacks_is_told_by_the_check_and_no_agent_begins(tasks: Path, tmp_path: Path) -> None:
    need_bubblewrap()
    bare = OthersDesk(tmp_path, Bubblewrap(make_image("base", images()), tmp_path / "boxes"), tasks)
    with pytest.raises(SandboxMissing, match="the Python package pytest"):
        asyncio.run(bare.runner("harbor-cookbook__multi-reward", NullAgent()).check())
    with pytest.raises(SandboxMissing, match=r"line 5: RUN apt-get.*lacks the program sqlite3"):
        asyncio.run(bare.runner("infrabench__db-wal-recovery", NullAgent()).check())
    with pytest.raises(SandboxMissing, match=r"Python's module pytz.*--with pytz"):
        asyncio.run(bare.runner("swebench__marshmallow-code__marshmallow-1359", NullAgent()).check())
    assert not list(tmp_path.glob("runs/*"))


@pytest.mark.parametrize(
    ("name", "score", "figures"),
    [
        ("harbor-cookbook__multi-reward", 1.0, {"correctness": 1.0, "performance": 1.0}),
        ("infrabench__db-wal-recovery", 1.0, {"reward": 1.0}),
        ("tb3-ci__fail-validate-oracle", 0.0, {"reward": 0.0}),
    ],
)
def test_the_reference_of_a_real_task_scores_what_its_maker_means(
    desk: OthersDesk, name: str, score: float, figures: Mapping[str, float]
) -> None:
    if "db-wal" in name and len(RECIPE.programs) < len(PROGRAMS):
        pytest.skip("needs sqlite3 and xxd: apt-get install sqlite3 xxd")
    record = desk.tried(name, ReferenceAgent())
    assert (record.score, record.custom_metrics) == (score, figures)


def test_the_steps_of_a_task_are_worked_on_in_one_box_and_verified_each_as_the_work_stood_then(
    desk: OthersDesk,
) -> None:
    record = desk.tried("harbor-cookbook__multi-step", ReferenceAgent())
    assert {name: each.score for name, each in record.rubrics.items()} == {
        "scaffold": 1.0,
        "implement": 1.0,
        "document": 1.0,
    }
    patch = Path(record.run_dir, "artifacts/diff.patch").read_text()
    assert [line for line in patch.splitlines() if line.startswith("# proctor step")] == [
        f"# proctor step: {name}" for name in ("scaffold", "implement", "document")
    ]


def test_a_step_that_misses_its_least_reward_ends_the_trial_and_later_ones_give_nothing(
    desk: OthersDesk,
) -> None:
    record = desk.tried("harbor-cookbook__multi-step", NullAgent())
    assert record.score == 0.0
    assert "step scaffold did not reach its least reward: no later step was begun" in record.notes
    assert record.tests["steps/document/tests/test.sh"].output == "This step was not reached."


FORGE = """
mkdir -p /logs/verifier /root/.local/bin
echo 1 > /logs/verifier/reward.txt; echo '{"reward": 1}' > /logs/verifier/reward.json
echo 'echo 1 > /logs/verifier/reward.txt; exit 0' | tee /root/.local/bin/env /root/.bashrc /root/.profile
printf '#!/bin/sh\\nexit 0\\n' | tee /root/.local/bin/pytest /root/.local/bin/uvx; chmod +x /root/.local/bin/*
echo 'import os; os._exit(0)' > /app/deduplicate.py
echo 'import os; os._exit(0)' > /app/sitecustomize.py
echo 'def pytest_sessionfinish(session): session.exitstatus = 0' > /app/conftest.py
"""


WRITER = """
cat > /app/deduplicate.py <<'END'
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            with open("/logs/verifier/reward.json", "w") as file:
                file.write('{"correctness": 1, "performance": 1}')
            time.sleep(0.001)
    os._exit(0)
def deduplicate(records):
    return []
END
"""


@pytest.mark.promise("C-20")
def test_what_tested_code_leaves_running_does_not_write_the_reward(desk: OthersDesk) -> None:
    record = desk.tried("harbor-cookbook__multi-reward", desk.scripted(WRITER))
    assert record.custom_metrics == {"correctness": 0.0, "performance": 0.0}


@pytest.mark.promise("C-20")
def test_planted_rewards_and_code_that_ends_the_tests_early_give_nothing(desk: OthersDesk) -> None:
    record = desk.tried("harbor-cookbook__multi-reward", desk.scripted(FORGE))
    assert record.score == 0.0, record.tests
    assert "did not come to their end" in record.tests["tests/test.sh"].output


def test_work_outside_of_the_working_folder_counts_and_the_systems_folders_are_not_carried(
    desk: OthersDesk,
) -> None:
    record = desk.tried(
        "effect-autoagent__simple-script",
        desk.scripted("echo 5050 > /root/result.txt; touch /tmp/x; ls -a /tests"),
    )
    patch = Path(record.run_dir, "artifacts/diff.patch").read_text()
    assert record.score == 1.0 and "b/root/result.txt" in patch and "tmp/x" not in patch


def test_a_test_that_writes_no_reward_is_a_fault_of_the_verifiers_and_no_0(
    desk: OthersDesk, tmp_path: Path
) -> None:
    folder = harbor(tmp_path / "silent")
    with pytest.raises(VerifierError, match="without a reward"):
        desk.tried(folder, NullAgent())
    assert desk.tried(folder, desk.scripted("echo 4 > n.txt")).score == 1.0


ISSUE: Mapping[str, str] = {
    "src/box/__init__.py": "def half(n):\n    return n\n",
    "tests/test_half.py": "import pytest\nfrom box import half\n\n\ndef test_zero():\n    assert half(0) == 0\n",
    "setup.cfg": "[tool:pytest]\naddopts = -p no:cacheprovider\n",
}
FIX = """--- a/src/box/__init__.py
+++ b/src/box/__init__.py
@@ -1,2 +1,2 @@
 def half(n):
-    return n
+    return n // 2
"""
TESTED = """--- a/tests/test_half.py
+++ b/tests/test_half.py
@@ -4,3 +4,8 @@

 def test_zero():
     assert half(0) == 0
+
+
+@pytest.mark.parametrize("n", [4], ids=["a b [4] at 12:30"])
+def test_half(n):
+    assert half(n) == 2
"""


def instance(place: Path) -> str:
    """FILE.jsonl#ID of an instance whose repository lies beside it."""
    repo = place / "made__box"
    for name, text in ISSUE.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"],
    ):
        subprocess.run(["git", *words], cwd=repo, check=True)
    base = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, check=True, capture_output=True, text=True)
    row = {
        "instance_id": "made__box-1",
        "repo": "made/box",
        "base_commit": base.stdout.strip(),
        "problem_statement": "half(4) should be 2.",
        "patch": FIX,
        "test_patch": TESTED,
        "FAIL_TO_PASS": json.dumps(["tests/test_half.py::test_half[a b [4] at 11:59]"]),
        "PASS_TO_PASS": json.dumps(["tests/test_half.py::test_zero"]),
        "version": 1.0,
    }
    rows = [row, {**row, "instance_id": "made__box-2"}]
    (place / "rows.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in rows))
    return str(place / "rows.jsonl")


def test_an_instance_is_resolved_where_what_failed_passes_and_what_passed_still_does(
    desk: OthersDesk, tmp_path: Path
) -> None:
    folder = f"{instance(tmp_path)}#made__box-1"
    asyncio.run(desk.runner(folder, NullAgent()).check())
    assert desk.tried(folder, NullAgent()).score == 0.0
    assert desk.tried(folder, ReferenceAgent()).score == 1.0
    broken = "echo 'def half(n): return 2' > src/box/__init__.py; echo 'def test_half(): pass' > tests/test_half.py"
    record = desk.tried(folder, desk.scripted(broken))
    assert record.score == 0.0 and record.tests["fail_to_pass.json"].passed  # the gate does not hold
    assert not record.tests["pass_to_pass.json"].passed
    rows = Path(folder.partition("#")[0])
    rows.write_text(
        rows.read_text().replace("test_half[a b [4] at 11:59]", "test_gone").replace("::test_zero", "::gone")
    )
    with pytest.raises(SandboxMissing, match="finds none of the tests that are named"):
        asyncio.run(desk.runner(folder, NullAgent()).check())


@pytest.mark.promise("C-21")
def test_of_several_instances_one_must_be_named_and_its_repository_be_here(tmp_path: Path) -> None:
    rows = instance(tmp_path)
    with pytest.raises(DataError, match=r"holds 2 instances .*rows.jsonl#made__box-1"):
        read_task(Path(rows), tmp_path / "home")
    (tmp_path / "made__box").rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match=r"made__box-1 needs made/box as of .*--repo"):
        read_task(Path(f"{rows}#made__box-1"), tmp_path / "home")
