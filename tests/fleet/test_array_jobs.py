"""Tasks of array jobs: which part each is told to ask, and the templates for Slurm, Kubernetes and AWS Batch.

The templates' own commands are run here, with what the array's manager would set; no cluster ran them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from proctor.errors import ConfigError
from proctor.plan.array import told_by
from proctor.service.context import open_context
from programs import csv_of_sums, environment, proctor
from simulators import settings

pytestmark = pytest.mark.slow

TEMPLATES = Path(__file__).parents[2] / "examples" / "fleet"


@pytest.mark.parametrize(
    ("variables", "shard"),
    [
        ({"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "8", "SLURM_ARRAY_TASK_MIN": "1"}, "3/8"),
        (
            {
                "SLURM_ARRAY_TASK_ID": "4",
                "SLURM_ARRAY_TASK_COUNT": "3",
                "SLURM_ARRAY_TASK_MIN": "0",
                "SLURM_ARRAY_TASK_STEP": "2",
            },
            "3/3",
        ),
        ({"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "1", "PROCTOR_SHARDS": "8"}, "3/8"),
        ({"JOB_COMPLETION_INDEX": "0", "PROCTOR_SHARDS": "4"}, "1/4"),
        ({"AWS_BATCH_JOB_ARRAY_INDEX": "9", "AWS_BATCH_JOB_ARRAY_SIZE": "10"}, "10/10"),
    ],
)
def test_each_kind_of_array_tells_its_task_the_part(variables: dict[str, str], shard: str) -> None:
    assert str(told_by(variables)) == shard


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "1", "SLURM_ARRAY_TASK_MIN": "3"},
        {"SLURM_ARRAY_TASK_ID": "0", "PROCTOR_SHARDS": "8"},
        {"SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_COUNT": "3", "SLURM_ARRAY_TASK_MIN": "1"},
        {"JOB_COMPLETION_INDEX": "4", "PROCTOR_SHARDS": "4"},
        {"JOB_COMPLETION_INDEX": "4"},
        {"AWS_BATCH_JOB_ARRAY_INDEX": "x", "AWS_BATCH_JOB_ARRAY_SIZE": "10"},
    ],
)
def test_an_array_that_does_not_tell_the_part_is_refused_with_what_to_give(variables: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="--shard 3/8"):
        told_by(variables)


def test_a_worker_asks_its_part_of_a_command_and_no_other_command(tmp_path: Path) -> None:
    home, file = tmp_path, csv_of_sums(tmp_path / "sums.csv", 9)
    words = ["run", str(file), "--model", "baseline/majority"]
    array = {"AWS_BATCH_JOB_ARRAY_INDEX": "1", "AWS_BATCH_JOB_ARRAY_SIZE": "3"}
    assert "shard 2/3" in proctor(home, "worker", "--shard", "--", *words, **array).stdout
    proctor(home, "worker", "--shard", "2/3", "--", "list", code=2)
    proctor(home, "worker", "--", *words, code=2)
    proctor(home, "worker", "--shard", "4/3", "--", *words, code=2)


def slurm() -> tuple[list[str], list[dict[str, str]]]:
    tasks = [{"SLURM_ARRAY_TASK_ID": str(index)} for index in range(1, 9)]
    return ["bash", str(TEMPLATES / "slurm.sbatch")], tasks


def kubernetes() -> tuple[list[str], list[dict[str, str]]]:
    job = yaml.safe_load((TEMPLATES / "kubernetes-job.yaml").read_text())["spec"]
    (container,) = job["template"]["spec"]["containers"]
    own = {each["name"]: each["value"] for each in container["env"]}
    assert job["completionMode"] == "Indexed" and own["PROCTOR_SHARDS"] == str(job["completions"])
    tasks = [{**own, "JOB_COMPLETION_INDEX": str(index)} for index in range(job["completions"])]
    return [*container["command"], *container["args"]], tasks


def aws_batch() -> tuple[list[str], list[dict[str, str]]]:
    job = json.loads((TEMPLATES / "aws-batch-job.json").read_text())["containerProperties"]
    own = {each["name"]: each["value"] for each in job["environment"]}
    sizes = {"AWS_BATCH_JOB_ARRAY_SIZE": "8"}
    tasks = [{**own, **sizes, "AWS_BATCH_JOB_ARRAY_INDEX": str(index)} for index in range(8)]
    return list(job["command"]), tasks


def test_the_templates_have_each_task_ask_its_part_into_a_home_of_its_own(tmp_path: Path) -> None:
    file, path = (
        csv_of_sums(tmp_path / "sums.csv", 9),
        f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    )
    running = {}
    for template in (slurm, kubernetes, aws_batch):
        words, tasks = template()
        assert len(tasks) == 8
        given = {"EXAM": str(file), "MODEL": "baseline/majority", "PARTS": str(tmp_path / template.__name__)}
        env = {**environment(tmp_path), **tasks[6], **given, "PATH": path}
        running[template.__name__] = subprocess.Popen(words, env=env, cwd=tmp_path, stderr=subprocess.PIPE)
    for name, process in running.items():
        _, said = process.communicate()
        assert process.returncode == 0, said
        (home,) = (tmp_path / name).iterdir()
        with open_context(settings(home)) as context:
            (run,) = context.store.runs()
        assert (str(run.cell.limits.shard), run.planned, run.settled) == ("7/8", 1, 1)


def test_shell_templates_are_shell() -> None:
    for name in ("slurm.sbatch", "aws-batch-submit.sh"):
        subprocess.run(["bash", "-n", str(TEMPLATES / name)], check=True)
