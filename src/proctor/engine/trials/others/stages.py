"""A task in several steps: the agent's box lives over all of them, and after each the work is taken as it stands.

A step that has to reach a reward is verified before the next one begins, in a clean box as ever; where it does not,
no later step is begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.engine.agents.contract import AgentWork
from proctor.engine.room import room_for
from proctor.engine.trials.baseline import TaskBaseline, linked
from proctor.engine.trials.collecting import Taken
from proctor.engine.trials.others.reward import Reward
from proctor.engine.trials.others.series import joined
from proctor.engine.trials.patch import apply_patch
from proctor.engine.trials.tree import tree_of
from proctor.errors import SandboxError, VerifierError
from proctor.sandbox.contract import Box, Command
from proctor.sources.rollouts.place import HealthCheck, Stage
from proctor.sources.rollouts.task import PreparedTask
from proctor.trial_record import MOST_STEPS, AgentEnd

SETUP_S = 600.0
WORST: Sequence[AgentEnd] = ("done", "failed", "limit")


@dataclass(frozen=True, slots=True)
class StageWork:
    """What one step came to: the agent's work, and what was taken then; None: the last one's is still in the box."""

    stage: Stage
    work: AgentWork
    taken: Taken | None = None


@dataclass(frozen=True, slots=True)
class StageHands:
    """What a trial does for each step, by its number: has the agent work, takes what changed since the files of
    `baseline`, and verifies all that has been taken so far."""

    ask: Callable[[Stage, int], Awaitable[AgentWork]]
    take: Callable[[TaskBaseline, int], Awaitable[Taken]]
    rewarded: Callable[[Sequence[StageWork]], Awaitable[Reward]]


async def begin_stage(task: PreparedTask, stage: Stage, box: Box) -> str | None:
    """Put the step's files where the agent works, run its setup.sh, wait until it is healthy; why not, else None."""
    cwd = task.place.cwd
    if stage.workdir is not None:
        await box.put(task.folder / stage.workdir, cwd)
        if (task.folder / stage.workdir / "setup.sh").is_file():
            words = ("bash", f"{cwd.rstrip('/')}/setup.sh")
            ended = await box.run(Command(words, task.environment, cwd, timeout_s=SETUP_S))
            if ended.code:
                return (
                    f"step {stage.name}: its setup.sh ended with exit code {ended.code}: {_last(ended.said)}"
                )
    if stage.healthcheck is not None:
        return await _unhealthy(task, stage.name, stage.healthcheck, box)
    return None


async def _unhealthy(task: PreparedTask, name: str, check: HealthCheck, box: Box) -> str | None:
    """Why the box is not healthy; None where it is. Each try is a command, and what it starts ends with it."""
    said = ""
    for number in range(max(1, check.retries)):
        if number:
            await asyncio.sleep(check.interval_s)
        words = ("bash", "-c", check.command)
        ended = await box.run(Command(words, task.environment, task.place.cwd, timeout_s=check.timeout_s))
        if ended.code == 0:
            return None
        said = _last(ended.said) or f"exit code {ended.code}"
    return f"{f'step {name}: ' if name else ''}its healthcheck did not pass: {said}"


def _last(said: bytes) -> str:
    return said.decode("utf-8", "replace").strip()[-300:]


async def worked_through(
    task: PreparedTask, box: Box, baseline: TaskBaseline, hands: StageHands, private: Path
) -> tuple[list[StageWork], TaskBaseline]:
    """The steps, one after the other, until one cannot be begun or does not reach what it has to.

    Also gives the files that the last step's work is to be compared with. Raises: SandboxError where the first step
    cannot be begun; VerifierError, DiskFull.
    """
    done: list[StageWork] = []
    for number, stage in enumerate(task.stages):
        why = await _held_back(done, hands) or await begin_stage(task, stage, box)
        if why is not None and not done:
            raise SandboxError(f"{task.id}: {why}")
        if why is not None:
            done[-1] = _noted(done[-1], f"{why}: no later step was begun")
            break
        done.append(StageWork(stage, await hands.ask(stage, number)))
        if number + 1 < len(task.stages):
            taken = await hands.take(baseline, number)
            done[-1] = replace(done[-1], taken=taken)
            baseline = await asyncio.to_thread(advanced, baseline, taken.patch, private / f"after-{number}")
    return done, baseline


async def _held_back(done: Sequence[StageWork], hands: StageHands) -> str | None:
    """Why no step may follow the last one; None where one may."""
    if not done:
        return None
    last = done[-1]
    if last.taken is not None and last.taken.void:
        return "its work was too large"
    try:
        reached = not last.stage.least or (await hands.rewarded(done)).reaches(last.stage.least)
    except VerifierError:
        return f"step {last.stage.name} could not be verified"  # which the verifier says itself, at its time
    return None if reached else f"step {last.stage.name} did not reach its least reward"


def _noted(done: StageWork, note: str) -> StageWork:
    return replace(done, work=replace(done.work, notes=(*done.work.notes, note)))


def advanced(baseline: TaskBaseline, patch: bytes, place: Path) -> TaskBaseline:
    """The files with a patch, in a folder of their own. Raises: VerifierError, DiskFull, SandboxError."""
    if not patch:
        return baseline
    made = TaskBaseline(place, {})
    with room_for(place):
        made.files.mkdir(parents=True)
        linked(baseline.tree, baseline.files, made.files)
        apply_patch(patch, made.files, place / "applying")
    return TaskBaseline(place, tree_of(made.files))


def whole_work(done: Sequence[StageWork]) -> AgentWork:
    """The work of all steps as one: sums, and the worst end."""
    works = [each.work for each in done]
    calls = [each.calls for each in works if each.calls is not None]
    first, *others = works
    return replace(
        works[-1],
        ended=max((each.ended for each in works), key=WORST.index),
        limits_met=tuple(told for each in works for told in each.limits_met),
        usage=sum((each.usage for each in others), first.usage),
        unused=sum((each.unused for each in others), first.unused),
        calls=sum(calls) if calls else None,
        steps=tuple(step for each in works for step in each.steps)[:MOST_STEPS],
        steps_left_out=sum(each.steps_left_out for each in works)
        + max(0, sum(len(each.steps) for each in works) - MOST_STEPS),
        notes=tuple(told for each in works for told in each.notes),
    )


def whole_taken(done: Sequence[StageWork], last: Taken) -> Taken:
    """What was taken of all steps as one: `last` stands for the last one."""
    all_taken = [each.taken or last for each in done]
    patches = [(each.stage.name, taken.patch) for each, taken in zip(done, all_taken, strict=True)]
    return Taken(
        joined(patches),
        all_taken[-1].tree,
        tuple(dict.fromkeys(path for each in all_taken for path in each.touched)),
        tuple(dict.fromkeys(note for each in all_taken for note in each.notes)),
        tuple(dict.fromkeys(told for each in all_taken for told in each.limits_met)),
        void=any(each.void for each in all_taken),
    )
