"""Boxes: what a sandbox offers, and that nothing of one is left, however its owner ended."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from boxed import nothing_left

from proctor.errors import ConfigError, SandboxError, SandboxMissing
from proctor.references import RolloutsRef
from proctor.sandbox.bubblewrap import Bubblewrap
from proctor.sandbox.cgroups import MB, find_trees
from proctor.sandbox.contract import ARTIFACTS, REPO, Command, CommandEnd, Mount, Policy, Sandbox
from proctor.sandbox.local import Local
from proctor.sandbox.opening import open_sandbox
from proctor.trial_record import Consumed
from programs import with_ctrl_c

SMALL = Policy(memory_mb=96, pids=32, disk_mb=16)


def ran(sandbox: Sandbox, *scripts: str, mounts: tuple[Mount, ...] = ()) -> list[CommandEnd]:
    """Run them one after the other in one box."""

    async def run() -> list[CommandEnd]:
        box = await sandbox.open(SMALL, mounts)
        try:
            return [await box.run(Command(("sh", "-c", each), timeout_s=20.0)) for each in scripts]
        finally:
            await box.close()

    return asyncio.run(run())


@pytest.fixture(params=["bubblewrap", "local"])
def sandbox(request: pytest.FixtureRequest, box_home: Path) -> Sandbox:
    """Each sandbox of this machine in turn."""
    return open_sandbox(RolloutsRef("tests", sandbox=request.param), box_home)


def test_a_command_says_and_ends_as_in_a_shell(sandbox: Sandbox, box_home: Path) -> None:
    with nothing_left(box_home):
        (ended,) = ran(sandbox, "echo hello; echo to stderr >&2; exit 7")
    assert (ended.code, ended.said, ended.why) == (7, b"hello\nto stderr\n", "exited")


def test_what_one_command_leaves_the_next_one_finds(sandbox: Sandbox) -> None:
    _, ended = ran(sandbox, "echo kept > /tmp/note; echo file > new", "cat /tmp/note new")
    assert ended.said == b"kept\nfile\n"


def test_a_command_is_given_no_environment_but_its_own(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open-sesame")
    (ended,) = ran(sandbox, "env")
    names = {line.partition("=")[0] for line in ended.said.decode().splitlines()}
    assert names <= {"PATH", "HOME", "PWD", "TMPDIR", "SHLVL", "_"}


def test_a_folder_is_seen_read_only_and_given_files_are_copies(sandbox: Sandbox, tmp_path: Path) -> None:
    evaluation, repo = tmp_path / "evaluation", tmp_path / "repo"
    for folder in (evaluation, repo / "src"):
        folder.mkdir(parents=True)
    (evaluation / "test.sh").write_text("exec cat src/main")
    (repo / "src/main").write_text("the work\n")
    (repo / "run").write_text("#!/bin/sh\n")
    (repo / "run").chmod(0o4755)
    (repo / "link").symlink_to("src/main")

    async def run() -> CommandEnd:
        box = await sandbox.open(SMALL, [Mount(evaluation, "/app/evaluation")])
        try:
            await box.put(repo, REPO)
            await box.run(
                Command(("sh", "-c", "echo changed >> src/main; ./run; echo mine > /app/artifacts/notes.md"))
            )
            copied = await box.files(f"{REPO}/run")
            assert copied.stat().st_mode & 0o7777 == 0o755
            assert (await box.files(f"{ARTIFACTS}/notes.md")).read_text() == "mine\n"
            with pytest.raises(SandboxError, match="link"):
                await box.files(f"{REPO}/link")
            return await box.run(Command(("sh", "/app/evaluation/test.sh")))
        finally:
            await box.close()

    assert asyncio.run(run()).said == b"the work\nchanged\n"
    assert (repo / "src/main").read_text() == "the work\n"
    if sandbox.name == "bubblewrap":
        (ended,) = ran(
            sandbox, "echo x > /app/evaluation/test.sh", mounts=(Mount(evaluation, "/app/evaluation"),)
        )
        assert b"Read-only" in ended.said


def test_a_sandbox_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"chroot.*bubblewrap, docker, local, modal"):
        open_sandbox(RolloutsRef("tests", sandbox="chroot"), tmp_path)


def test_this_machine_itself_is_said_to_contain_nothing(tmp_path: Path) -> None:
    local = Local(tmp_path / "boxes")
    assert "not contained" in local.told
    (ended,) = ran(local, "sleep 600 & echo $!")
    assert ended.why == "exited"
    deadline = time.monotonic() + 60
    while runs(int(ended.said)):  # it is killed, and dies when its turn on this machine comes
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert list((tmp_path / "boxes").iterdir()) == []


def runs(pid: int) -> bool:
    """Not one that is dead and not yet collected by its parent."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


# Owners that end ---------------------------------------------------------------------------------

OWNER = """
import asyncio, sys
from pathlib import Path
from proctor.references import RolloutsRef
from proctor.sandbox.contract import Command, Policy
from proctor.sandbox.opening import open_sandbox

async def main():
    sandbox = open_sandbox(RolloutsRef("tests"), Path(sys.argv[1]))
    box = await sandbox.open(Policy(96, 1.0, 32, 16))
    try:
        await box.run(Command(("sh", "-c", "touch begun; sleep 600", "of-a-killed-owner")))
    finally:
        await box.close()

asyncio.run(main())
"""


@contextmanager
def owner(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with a box in which a command runs."""
    words = [sys.executable, "-c", OWNER, str(home)]
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(words, stdout=nowhere, stderr=nowhere, preexec_fn=with_ctrl_c)
    try:
        while not list((home / "boxes").glob("box-*/root/app/repo/begun")):
            assert process.poll() is None, "it ended before its command began"
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.wait()


def groups_left(names: list[str]) -> list[Path]:
    return [each for name in names for each in Path("/sys/fs/cgroup").rglob(f"proctor-{name}")]


def test_what_a_killed_process_left_is_gone_at_the_next_start(bubblewrap: Bubblewrap, box_home: Path) -> None:
    with owner(box_home) as process:
        (box,) = (box_home / "boxes").iterdir()
        told = json.loads((box / "owner.json").read_bytes())
        assert told["pid"] == process.pid
        assert bubblewrap.sweep() == [], "its owner lives"
        process.kill()
        process.wait()
        assert groups_left([box.name])
        with nothing_left(box_home):
            asyncio.run(bubblewrap.check(SMALL))
        assert groups_left([box.name]) == []


def test_after_an_interrupt_nothing_is_left(box_home: Path) -> None:
    with nothing_left(box_home), owner(box_home) as process:
        (box,) = (box_home / "boxes").iterdir()
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        assert groups_left([box.name]) == []


# What a machine cannot hold ----------------------------------------------------------------------


def test_without_root_nothing_runs_and_it_is_said_what_to_do(bubblewrap: Bubblewrap, box_home: Path) -> None:
    script = (
        "import asyncio, os, sys\nfrom pathlib import Path\nfrom proctor.sandbox.bubblewrap import Bubblewrap\n"
        "from proctor.sandbox.contract import Policy\nfrom proctor.sandbox.image import Image\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "sandbox = Bubblewrap(Image('base', Path(sys.argv[1]), ''), Path('/tmp'))\n"
        "asyncio.run(sandbox.check(Policy()))\n"
    )
    words = [sys.executable, "-c", script, str(bubblewrap.image.root)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "SandboxMissing: bubblewrap's limits need root" in done.stderr
    assert "run proctor as root" in done.stderr


def test_without_bubblewrap_it_is_said_what_to_install(
    bubblewrap: Bubblewrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SandboxMissing, match="apt-get install bubblewrap"):
        asyncio.run(bubblewrap.check(SMALL))


def test_a_limit_that_is_not_taken_refuses_the_box(bubblewrap: Bubblewrap, box_home: Path) -> None:
    with nothing_left(box_home), pytest.raises(SandboxMissing, match=r"cpu.*does not take"):
        asyncio.run(bubblewrap.check(Policy(memory_mb=96, cpus=0.000_1, pids=32, disk_mb=16)))


# Control groups of version 2, on a folder that looks like their file system ----------------------

MOUNTS = "proc /proc proc rw 0 0\ncgroup2 {folder} cgroup2 rw,nosuid,nodev,noexec,relatime 0 0\n"


def version_2(tmp_path: Path, *, own: str = "/") -> Path:
    tree = tmp_path / "cgroup"
    tree.mkdir()
    (tree / "cgroup.subtree_control").write_text("memory\n")
    return tree


def test_version_2_is_given_its_own_files(tmp_path: Path) -> None:
    tree = version_2(tmp_path)
    trees = find_trees(MOUNTS.format(folder=tree), "0::/system.slice/of-proctor\n")
    assert (tree / "cgroup.subtree_control").read_text() == "+cpu +pids"
    group = trees.group("box-1")
    (tree / "box-1").mkdir()
    (tree / "box-1/memory.swap.max").touch()
    (tree / "box-1").rename(tree / "made")
    group.make(Policy(memory_mb=100, cpus=1.5, pids=20, disk_mb=28))
    written = {each.name: each.read_text() for each in (tree / "box-1").iterdir()}
    assert written == {"memory.max": str(128 * MB), "pids.max": "23", "cpu.max": "150000 100000"}
    assert group.begin("run-0") == [tree / "box-1/run-0/cgroup.procs"]


def test_version_2_tells_what_was_used(tmp_path: Path) -> None:
    tree = version_2(tmp_path)
    group = find_trees(MOUNTS.format(folder=tree), "0::/\n").group("box-1")
    folder = tree / "box-1"
    folder.mkdir()
    assert group.consumed() == Consumed()
    (folder / "memory.peak").write_text("1048576\n")
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\n")
    (folder / "cpu.stat").write_text(
        "usage_usec 1500000\nuser_usec 1\nnr_throttled 4\nthrottled_usec 250000\n"
    )
    (folder / "pids.events").write_text("max 7\n")
    assert group.consumed() == Consumed(1_048_576, 1.5, 0.25, 2, 7)


def test_a_machine_without_control_groups_is_refused() -> None:
    with pytest.raises(SandboxMissing, match="no control group for memory, cpu, pids"):
        find_trees("proc /proc proc rw 0 0\n", "0::/\n")
