"""The files of a task as the steps of its Dockerfile make them: in a box without a network, once for each content.

What a step changed outside of the folders that are carried is kept too, and is in every box of the task.
"""

from __future__ import annotations

import asyncio
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from proctor.engine.room import room_for
from proctor.engine.trials.boxes import GIT, KEPT_GIT, in_time, named_otherwise, opened_box
from proctor.engine.trials.others.stand_ins import shown, stand_ins, with_stand_ins
from proctor.errors import SandboxError, SandboxMissing
from proctor.sandbox.contract import Box, Command, Policy, Sandbox
from proctor.sources.rollouts.place import BuildStep
from proctor.sources.rollouts.task import PreparedTask

# Where steps may write, beside the folders of the task: what of it an image itself holds, docker lets nobody change.
PLACES = ("/opt", "/srv", "/mnt", "/home", "/etc", "/usr/local", "/var")
BUILD_S, STEP_S, TOOK_S = 900.0, 600.0, 120.0
BUILT, MARK = "/tmp/.built.tar", "/run/.begun"
SAID = 600  # characters of what a step printed
PASSED_BY = ("/var/tmp*", BUILT, "/tmp/.list", "*/__pycache__*")
WITHOUT = " ".join(f"! -path '{each}'" for each in PASSED_BY)
# All of the task's folders, of which an image may hold something, and what is new elsewhere.
LISTED = f"""
find "$@" -xdev '(' -type f -o -type l -o -type d ')' {WITHOUT} -print0 2>/dev/null > /tmp/.list
find {" ".join(PLACES)} -xdev -cnewer {MARK} '(' -type f -o -type l -o -type d ')' {WITHOUT} -print0 \
    2>/dev/null >> /tmp/.list
tar --null --no-recursion -cf {BUILT} -T /tmp/.list
"""


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """Folders of this machine: `carried` holds what lies in the task's own folders, `system` the rest."""

    carried: Path
    system: Path


async def built_files(task: PreparedTask, sandbox: Sandbox, policy: Policy, room: Path) -> TaskFiles:
    """Make them below the folder `room`.

    Raises: SandboxMissing for a step that cannot be taken here, saying what it lacks; SandboxError, DiskFull.
    """
    tools = await asyncio.to_thread(stand_ins, room.parent)
    writable = (*task.place.writable, *PLACES)
    wide = Policy(policy.memory_mb, policy.cpus, policy.pids, max(policy.disk_mb, 1024), writable)
    async with opened_box(sandbox, wide, shown(tools, None), None) as box:
        await in_time(BUILD_S, f"make the files of {task.id}", _taken(task, box))
        await named_otherwise(box, task.place, GIT, KEPT_GIT)
        await _need(box, ("sh", "-c", LISTED, "sh", *task.place.folders), "the files could not be read")
        place = await in_time(TOOK_S, f"take the files of {task.id}", box.files("/tmp"))
        return await asyncio.to_thread(_unpacked, place / BUILT.rpartition("/")[2], task, room)


async def _taken(task: PreparedTask, box: Box) -> None:
    await _need(box, ("mkdir", "-p", *task.place.folders), "its folders could not be made")
    await _need(box, ("touch", MARK), "the box could not be written")
    # Files whose times are those of the mark would be overlooked.
    await _need(box, ("sleep", "0.02"), "the box could not be used")
    for step in task.steps:
        if step.kind == "run":
            await _run(task, box, step)
        elif step.kind == "folder":
            await _need(box, ("mkdir", "-p", step.target), f"{task.id}, {step.line}")
        else:
            await _copy(task, box, step)


async def _run(task: PreparedTask, box: Box, step: BuildStep) -> None:
    env = with_stand_ins({"HOME": task.place.home or "/root", **_without_ours(step.environment)})
    ended = await box.run(Command(step.words, env, step.cwd, timeout_s=STEP_S))
    if ended.code:
        said = ended.said.decode("utf-8", "replace").strip()
        told = [line.removeprefix("proctor: ") for line in said.splitlines() if line.startswith("proctor: ")]
        why = "; ".join(dict.fromkeys(told)) or said[-SAID:] or f"exit code {ended.code}"
        raise SandboxMissing(
            f"{task.id}: a step of its Dockerfile cannot be taken here, {step.line}: {why}. Put what it lacks into the "
            "image of the boxes (`proctor sandbox image --with NAME`, or --from a root that has it)"
        )


def _without_ours(environment: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in environment.items() if name != "HOME"}


async def _copy(task: PreparedTask, box: Box, step: BuildStep) -> None:
    source = task.folder / step.source
    target = f"{step.target.rstrip('/')}/{source.name}" if step.into else step.target.rstrip("/") or "/"
    if source.is_dir():
        for each in sorted(source.iterdir()):
            await box.put(each, f"{target.rstrip('/')}/{each.name}")
    else:
        await box.put(source, target)
    if step.mode:
        await _need(box, ("chmod", "-R", step.mode, target), f"{task.id}, {step.line}")


async def _need(box: Box, words: tuple[str, ...], what: str) -> None:
    ended = await box.run(Command(words, cwd="/", timeout_s=TOOK_S))
    if ended.code:
        raise SandboxError(f"{what}: {ended.said.decode('utf-8', 'replace').strip()[-SAID:]}")


def _unpacked(archive: Path, task: PreparedTask, room: Path) -> TaskFiles:
    """The box is the task's own: what its archive would put elsewhere is refused all the same."""
    with room_for(room):
        whole = room / "whole"
        whole.mkdir(parents=True)
        try:
            with tarfile.open(archive) as file:
                file.extractall(whole, filter=_plain)
        except tarfile.TarError as error:
            raise SandboxError(f"{task.id}: the files that its steps made cannot be taken: {error}") from None
        carried = room / "files"
        carried.mkdir()
        for part in task.place.parts:
            (carried / part).parent.mkdir(parents=True, exist_ok=True)
            if (whole / part).is_dir():
                (whole / part).rename(carried / part)
            else:
                (carried / part).mkdir()
        _emptied(whole)
        whole.rename(room / "system")
    return TaskFiles(carried, room / "system")


def _plain(member: tarfile.TarInfo, place: str) -> tarfile.TarInfo | None:
    """Links may lead anywhere in a box; names may not."""
    if member.issym():
        found = tarfile.data_filter(member.replace(linkname="x", deep=False), place)
        return None if found is None else found.replace(linkname=member.linkname, deep=False)
    found = tarfile.data_filter(member, place)
    return found.replace(mode=(member.mode & 0o777) | 0o600 | (0o100 if member.isdir() else 0), deep=False)


def _emptied(folder: Path) -> None:
    """Take away folders in which nothing is."""
    for each in sorted(
        (path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink()), reverse=True
    ):
        if not any(each.iterdir()):
            each.rmdir()
