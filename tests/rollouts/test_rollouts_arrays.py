"""A benchmark as an array job: templates for Slurm, Kubernetes and AWS Batch each run a part; merged it is one run.

The templates' own commands are run here, with what the array's manager would set. AWS Batch is moto's: it is told of
the job and knows its tasks, and runs no container.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from boxed import image_in, need_bubblewrap
from moto_server import environ_of, python
from three_hosts import SCRIPT
from trials import task_folder

from proctor.references import RolloutsRef
from proctor.sandbox.places import sweep
from proctor.service.context import open_context
from proctor.service.output.trial_rows import TrialReader
from proctor.settings import read_settings
from programs import HANG_S, environment, proctor
from real import Running

TEMPLATES = Path(__file__).parents[2] / "examples/fleet"
SUBMIT = Path(__file__).with_name("aws_submit.py")
N, OF = 3, 3
CONFIG = """
name = "arrays"
parallel = 2
[limits]
memory_mb = 256
disk_mb = 64
[agents.worker]
kind = "scripted"
script = "agent.sh"
[[tasks]]
prepared_dir = "task"
agent = "worker"
rollouts = 3
"""


def slurm() -> tuple[list[str], Mapping[str, str]]:
    return ["bash", str(TEMPLATES / "rollouts.sbatch")], {"SLURM_ARRAY_TASK_ID": "1", "SHARDS": str(OF)}


def kubernetes() -> tuple[list[str], Mapping[str, str]]:
    job = yaml.safe_load((TEMPLATES / "rollouts-kubernetes-job.yaml").read_text())["spec"]
    (container,) = job["template"]["spec"]["containers"]
    own = {each["name"]: each["value"] for each in container["env"]}
    assert job["completionMode"] == "Indexed" and own["PROCTOR_SHARDS"] == str(job["completions"])
    given = {**own, "PROCTOR_SHARDS": str(OF), "JOB_COMPLETION_INDEX": "1"}
    return [*container["command"], *container["args"]], given


def aws_batch(definition: Mapping[str, Any], size: int) -> tuple[list[str], Mapping[str, str]]:
    own = {each["name"]: each["value"] for each in definition["containerProperties"]["environment"]}
    array = {"AWS_BATCH_JOB_ARRAY_SIZE": str(size), "AWS_BATCH_JOB_ARRAY_INDEX": "2"}
    return list(definition["containerProperties"]["command"]), {**own, **array}


@pytest.mark.promise("C-26")
def test_the_parts_of_three_managers_are_one_benchmark_with_the_folder_of_every_trial(
    tmp_path: Path, moto: Running
) -> None:
    need_bubblewrap()
    words = (str(TEMPLATES / "rollouts-aws-batch-job.json"), str(OF), "nightly")
    told = json.loads(python(str(SUBMIT), *words, **environ_of(moto)).stdout)
    assert (told["array"]["size"], told["definition"]["status"]) == (OF, "ACTIVE")
    task_folder(tmp_path / "task", told={"task_id": "double"})
    (tmp_path / "agent.sh").write_text(SCRIPT.format(seconds="0"))
    (tmp_path / "benchmark.toml").write_text(CONFIG)
    shared = environ_of(moto, "s3://trials/arrays")
    parts = (slurm(), kubernetes(), aws_batch(told["definition"], told["array"]["size"]))
    homes = [tmp_path / "parts" / manager for manager in ("slurm/1", "kubernetes/1", "aws/2")]
    running = [
        begun(home, argv, {**given, **shared}) for home, (argv, given) in zip(homes, parts, strict=True)
    ]
    for process in running:
        said, _ = process.communicate(timeout=HANG_S)
        assert process.returncode == 0, said
    assert "Shared: s3://trials/arrays, as nightly" in said
    for home in homes:
        sweep(home / "boxes")
    # Of the first part its home is at hand, of the others what they put into the bucket.
    merged = tmp_path / "merged"
    merged.mkdir()
    sources = (str(homes[0]), "shared:nightly")
    assert "merged of 3 of 3 shards" in proctor(merged, "merge", *sources, **shared).stderr
    settings = read_settings(environment(merged, **shared))
    with open_context(settings) as context:
        (run,) = context.store.runs()
        trials = TrialReader(context.store, settings).trials([run])
        rows = list(context.store.latest(run.id))
    assert isinstance(run.cell.source, RolloutsRef) and (run.settled, len(rows)) == (N, N)
    assert [each.state for each in trials] == ["passed", "passed", "failed"]
    for number, trial in enumerate(trials):
        assert trial.folder == merged / f"runs/{run.cell.source.stamp}-{number}"
        assert f"+rollout {number}\n" in (trial.folder / "artifacts/diff.patch").read_text()
        assert (trial.folder / "evaluation_results.json").is_file() and trial.record is not None
    files = merged / "rollouts/arrays" / run.cell.source.stamp
    assert len((files / "runs.txt").read_text().splitlines()) == N
    assert "was merged of these 3" in proctor(merged, "merge", *sources, **shared).stderr


def begun(home: Path, argv: list[str], given: Mapping[str, str]) -> subprocess.Popen[str]:
    """A task of an array, in the benchmark's folder, as its template has it."""
    place = image_in(home).parents[2]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    mine = {"PATH": path, "PARTS": str(home.parent), "BENCHMARK": "benchmark.toml"}
    env = {**environment(place), **given, **mine}
    return subprocess.Popen(
        argv, env=env, cwd=place, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def test_the_template_that_submits_is_shell() -> None:
    for name in ("rollouts.sbatch", "rollouts-aws-batch-submit.sh"):
        subprocess.run(["bash", "-n", str(TEMPLATES / name)], check=True)
