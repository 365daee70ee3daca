"""Docker as a sandbox, on a daemon that the tests start: what runs there is contained as bubblewrap contains it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import docker
import pytest
from dockerd import dockerd
from searching import KEY, finds_what_is_planted_and_nothing_before
from sights import each_reaches_its_own, looked

from proctor.errors import SandboxMissing
from proctor.plan.shipped_agents import SHIPPED
from proctor.references import RolloutsRef
from proctor.sandbox.contract import Box, Command, Mount, Policy, Sandbox
from proctor.sandbox.opening import open_sandbox
from proctor.simulator import spawn
from programs import proctor
from rollouts.boxed import image_in, once_it_speaks
from rollouts.installed import agents_in

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
SMALL = Policy(memory_mb=128, cpus=1.0, pids=32, disk_mb=32)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with dockerd(tmp_path_factory.mktemp("dockerd")) as address, pytest.MonkeyPatch.context() as here:
        here.setenv("DOCKER_HOST", address)
        yield address


@pytest.fixture(scope="module")
def sandbox(daemon: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    found = open_sandbox(RolloutsRef("tests", sandbox="docker"), image_in(tmp_path_factory.mktemp("home")))
    yield found
    if found.client is not None:
        found.client.close()


def within(sandbox: Sandbox, work: Callable[[Box], Awaitable[None]], *mounts: Mount) -> None:
    """Do something in a box that is closed afterwards."""

    async def whole() -> None:
        box = await sandbox.open(SMALL, mounts)
        try:
            await work(box)
        finally:
            await box.close()

    asyncio.run(whole())


def sh(words: str, **terms: object) -> Command:
    return Command(("/bin/sh", "-c", words), **terms)


@pytest.mark.promise("C-19")
def test_a_container_holds_what_was_asked_for_and_that_is_tried_in_it(sandbox: Sandbox) -> None:
    asyncio.run(sandbox.check(SMALL))
    assert sandbox.told.endswith("no network, read-only root")


def test_memory_processes_and_disk_end_where_they_should_and_the_box_goes_on(sandbox: Sandbox) -> None:
    async def work(box: Box) -> None:
        eaten = await box.run(Command(("python3", "-c", "bytearray(600 << 20)")))
        assert eaten.code == 137
        forked = await box.run(sh("i=0; while [ $i -lt 99 ]; do sleep 9 & i=$((i+1)); done", timeout_s=20))
        assert b"fork" in forked.said
        filled = await box.run(sh("dd if=/dev/zero of=/app/repo/big bs=1M count=99"))
        assert b"No space left" in filled.said
        last = (await box.run(sh("rm big; id -u; touch /etc/x"))).said
        # What is printed and what goes wrong come by two pipes, in any order.
        assert b"1000\n" in last and b"Read-only file system" in last

    within(sandbox, work)


def test_what_a_command_started_is_dead_when_it_has_ended(sandbox: Sandbox, tmp_path: Path) -> None:
    async def work(box: Box) -> None:
        await box.run(sh("setsid sleep 600 >/dev/null 2>&1 & setsid sleep 601 >/dev/null 2>&1 & exit 3"))
        told = await box.run(sh("ps -eo args"))
        assert b"sleep 60" not in told.said
        words = "trap 'echo asked; exit 9' TERM INT; echo begun; sleep 60 & wait"
        late = await box.run(once_it_speaks(sh(words, timeout_s=0.2), tmp_path / "late"))
        assert (late.why, late.code) == ("timeout", 9)

    within(sandbox, work)


def test_files_go_in_and_come_out_as_they_are_and_links_are_not_followed(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    source = tmp_path / "repo"
    (source / "src").mkdir(parents=True)
    (source / "src/a.py").write_text("x = 1\n")
    (tmp_path / "shown.txt").write_text("seen")

    async def work(box: Box) -> None:
        await box.put(source, "/app/repo")
        told = await box.run(
            sh("cat /opt/shown.txt src/a.py; echo 2 > src/b; ln -s /etc/passwd out; chmod 0 src/b")
        )
        assert told.said == b"seenx = 1\n"
        assert (await box.run(sh("echo 1 > /opt/shown.txt"))).code != 0
        found = await box.files("/app/repo")
        assert (found / "src/b").read_text() == "2\n"
        assert (found / "out").is_symlink()

    within(sandbox, work, Mount(tmp_path / "shown.txt", "/opt/shown.txt"))


def test_a_flood_of_output_is_counted_and_not_kept(sandbox: Sandbox, tmp_path: Path) -> None:
    async def work(box: Box) -> None:
        flood = sh("head -c 20000000 /dev/zero", output=tmp_path / "log", output_bytes=1_000)
        assert (await box.run(flood)).printed_bytes == 20_000_000
        assert (tmp_path / "log").stat().st_size == 1_000

    within(sandbox, work)


def test_a_container_reaches_what_listens_in_it_and_nothing_else_of_any_network(sandbox: Sandbox) -> None:
    async def whole() -> None:
        one, other = await asyncio.gather(sandbox.open(SMALL), sandbox.open(SMALL))
        try:
            sights = await looked(one, other)
        finally:
            await one.close()
            await other.close()
        each_reaches_its_own(sights)

    asyncio.run(whole())


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv: apt-get install util-linux")
def test_where_no_network_may_be_entered_a_relay_serves_the_box(daemon: str, tmp_path: Path) -> None:
    home, here = image_in(tmp_path / "home"), Path(__file__).parent
    less = ("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin")
    done = subprocess.run(
        [*less, sys.executable, str(here / "relayed_boxes.py"), str(home)],
        env={**os.environ, "DOCKER_HOST": daemon},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found["told"].endswith("loopback by a relay")
    each_reaches_its_own(found["sights"], gone=("", "ConnectionResetError"))
    assert found["whole"] == "24"  # connections at once, a megabyte each way
    assert found["heard"] == [11]  # the command was killed, and so the relay: its connection has ended
    # Nobody's is the relay's process, which the box's user can neither stop nor look into; it dies with each command.
    assert sorted(found["running"].split()[::2]) == ["0", "1000", "65534"]


def test_a_program_in_a_container_finds_no_key_of_this_machine(
    sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    finds_what_is_planted_and_nothing_before(sandbox, tmp_path)


def test_a_task_s_dockerfile_is_built_on_the_local_base(sandbox: Sandbox, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(
        "FROM proctor-base\nRUN mkdir -p /app/repo && echo built > /app/repo/note\n"
    )

    async def work() -> None:
        box = await sandbox.open(SMALL, (), tmp_path)
        try:
            assert (await box.run(sh("cat /app/repo/note"))).said == b"built\n"
        finally:
            await box.close()

    asyncio.run(work())


def test_containers_of_dead_processes_are_removed_and_those_of_living_ones_are_not(
    sandbox: Sandbox, daemon: str, tmp_path: Path
) -> None:
    client = docker.DockerClient(base_url=daemon)
    asyncio.run(sandbox.check(SMALL))
    left = client.containers.create(
        "proctor-base", ["true"], labels={"proctor.owner": f"{socket.gethostname()}:999999999:1.0"}
    )

    async def work(_box: Box) -> None:
        other = open_sandbox(RolloutsRef("tests", sandbox="docker"), image_in(tmp_path / "other"))
        await other.check(SMALL)
        other.client.close()
        assert left.id not in {each.id for each in client.containers.list(all=True)}

    within(sandbox, work)
    assert client.containers.list(all=True) == []
    client.close()


def test_without_a_daemon_it_is_said_what_to_start(box_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{box_home}/nobody.sock")
    alone = open_sandbox(RolloutsRef("tests", sandbox="docker"), box_home)
    with pytest.raises(SandboxMissing, match=r"No Docker daemon answers .*Start dockerd"):
        asyncio.run(alone.check(SMALL))


@pytest.mark.promise("C-19")
def test_a_benchmark_is_run_in_docker_from_its_file(daemon: str, tmp_path: Path) -> None:
    home = image_in(tmp_path / "home")
    (tmp_path / "docker.toml").write_text(
        'name = "docker"\nsandbox = "docker"\n[[tasks]]\nagent = "reference"\n'
        f'prepared_dir = "{ROOT / "examples/tasks/mend-the-mean"}"\n'
    )
    done = proctor(home, "rollouts", "run", str(tmp_path / "docker.toml"), DOCKER_HOST=daemon)
    assert "1 of 1 scored trial passed" in done.stdout
    record = json.loads(next(home.glob("runs/*/evaluation_results.json")).read_text())
    assert record["total_score"] == 1.0


@pytest.mark.promise("C-20")
def test_agents_that_others_wrote_work_in_containers(daemon: str, tmp_path: Path) -> None:
    home = agents_in(image_in(tmp_path / "home"))
    task = f'[[tasks]]\nprepared_dir = "{ROOT / "examples/tasks/mend-the-mean"}"\nmodel = "openai/sim"\n'
    entries = "".join(f'{task}agent = "{name}"\n' for name in SHIPPED)
    (tmp_path / "real.toml").write_text(f'name = "real"\nsandbox = "docker"\n{entries}')
    with spawn(["--script", str(ROOT / "examples/scripts/mend-the-mean.jsonl")], {}) as server:
        words = ("rollouts", "run", str(tmp_path / "real.toml"))
        done = proctor(home, *words, DOCKER_HOST=daemon, OPENAI_BASE_URL=f"{server.url}/v1")
    assert done.stdout.count("1 of 1 scored trial passed") == len(SHIPPED), done.stdout
