"""Which part of a run a task of an array job asks: what Slurm, Kubernetes and AWS Batch tell their tasks."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.errors import ConfigError
from proctor.types import Shard

AUTO = "auto"  # how the command line asks for it
MINE = "PROCTOR_SHARDS"


def told_by(array: Mapping[str, str]) -> Shard:
    """The part of this process, by the variables of `ARRAYS` that are set.

    Slurm counts from the array's first index in its steps, or from 1 where PROCTOR_SHARDS says how many there are: a
    task that is submitted again alone must not take itself for all. Kubernetes and AWS Batch count from 0. Raises:
    ConfigError where nothing tells it, or what is told is no part.

    >>> str(told_by({"SLURM_ARRAY_TASK_ID": "5", "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_COUNT": "8"}))
    '3/8'
    >>> str(told_by({"JOB_COMPLETION_INDEX": "0", "PROCTOR_SHARDS": "4"}))
    '1/4'
    """
    if "SLURM_ARRAY_TASK_ID" in array:
        return _of_slurm(array)
    if "JOB_COMPLETION_INDEX" in array:
        return _part(array, "JOB_COMPLETION_INDEX", _number(array, MINE))
    if "AWS_BATCH_JOB_ARRAY_INDEX" in array:
        size = "AWS_BATCH_JOB_ARRAY_SIZE" if MINE not in array else MINE
        return _part(array, "AWS_BATCH_JOB_ARRAY_INDEX", _number(array, size))
    raise ConfigError(
        "--shard auto: this is no task of an array job of Slurm, Kubernetes or AWS Batch. Give the part, such as "
        "--shard 3/8"
    )


def _of_slurm(array: Mapping[str, str]) -> Shard:
    if MINE in array:
        return _part(array, "SLURM_ARRAY_TASK_ID", _number(array, MINE), first=1)
    of = _number(array, "SLURM_ARRAY_TASK_COUNT")
    if of == 1:
        raise ConfigError(
            "--shard auto: an array of a single task does not tell in how many parts the run is asked. Set "
            f"{MINE}, with tasks counted from 1, or give the part, such as --shard 3/8"
        )
    step = _number(array, "SLURM_ARRAY_TASK_STEP") if "SLURM_ARRAY_TASK_STEP" in array else 1
    return _part(array, "SLURM_ARRAY_TASK_ID", of, first=_number(array, "SLURM_ARRAY_TASK_MIN"), step=step)


def _part(array: Mapping[str, str], name: str, of: int, *, first: int = 0, step: int = 1) -> Shard:
    index, beside = divmod(_number(array, name) - first, step or 1)
    if beside or not 0 <= index < of:
        told = f"counted from {first}" + (f" in steps of {step}" if step > 1 else "")
        raise ConfigError(
            f"--shard auto: {name}={array[name]} is none of {of} tasks {told}. Give the part, such as --shard 3/8"
        )
    return Shard(index, of)


def _number(array: Mapping[str, str], name: str) -> int:
    text = array.get(name, "")
    if not (text.isascii() and text.isdecimal()):
        told = f"{name}={text} is no number" if text else f"{name} is not set"
        raise ConfigError(f"--shard auto: {told}. Give the part, such as --shard 3/8")
    return int(text)
