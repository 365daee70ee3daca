"""Modal as a sandbox: its own client, over gRPC, to a server on this machine whose sandboxes are real processes.

It is not run against Modal itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from benchmarks import Desk, entry
from boxed import images, need_bubblewrap, once_it_speaks
from searching import KEY, finds_nothing, script
from searching import told as told_of
from sights import each_reaches_its_own, looked
from trials import MEND

from odd_servers import models, odd_server
from proctor.errors import SandboxError, SandboxMissing
from proctor.references import RolloutsRef
from proctor.sandbox.contract import Box, Command, Mount, Policy, Sandbox
from proctor.sandbox.image import make_image
from proctor.sandbox.opening import lacking, open_sandbox

modal_server = pytest.importorskip("modal_server", reason="needs pip install 'proctor[modal]'")
HANG = "import socket, time; line = socket.create_connection(('127.0.0.1', 8080)); time.sleep(77)"
SMALL = Policy(memory_mb=256, cpus=1.0, pids=200, disk_mb=32, writable=("/srv/its own",))
REF = RolloutsRef("tests", sandbox="modal")


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the server keeps what it was asked for; whoever asks in this process finds the server."""
    need_bubblewrap()
    place = tmp_path_factory.mktemp("cloud")
    words = [sys.executable, modal_server.__file__, str(make_image("base", images()).root), str(place)]
    with (
        subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as server,
        pytest.MonkeyPatch.context() as here,
    ):
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        here.setenv("MODAL_SERVER_URL", f"http://127.0.0.1:{port}")
        here.setenv("MODAL_TOKEN_ID", modal_server.TOKEN[0])
        here.setenv("MODAL_TOKEN_SECRET", modal_server.TOKEN[1])
        yield place
        server.terminate()


@pytest.fixture(scope="module")
def sandbox(cloud: Path, tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return open_sandbox(REF, tmp_path_factory.mktemp("home"))


def within(sandbox: Sandbox, work: Callable[[Box], Awaitable[None]], *mounts: Mount) -> None:
    async def whole() -> None:
        box = await sandbox.open(SMALL, mounts)
        try:
            await work(box)
        finally:
            await box.close()

    asyncio.run(whole())


def sh(words: str, **terms: object) -> Command:
    return Command(("/bin/sh", "-c", words), **terms)


@pytest.mark.promise("C-25")
def test_a_sandbox_is_asked_for_with_its_limits_and_no_network_and_is_ended(
    sandbox: Sandbox, cloud: Path
) -> None:
    asyncio.run(sandbox.check(SMALL))
    asked = json.loads((cloud / "sb-0v2.json").read_text())["definition"]
    assert asked["networkAccess"] == {"networkAccessType": "BLOCKED"}
    resources = asked["resources"].items()
    assert {"memoryMb": 256, "memoryMbMax": 256, "milliCpu": 1000, "milliCpuMax": 1000}.items() <= resources
    assert asked["timeoutSecs"] == 2 * REF.limits.trial_s + 3_600
    assert (cloud / "sb-0v2.over").exists()
    assert "not run against Modal itself" in sandbox.told


def test_a_box_is_reached_by_a_relay_and_reaches_nothing_else(sandbox: Sandbox) -> None:
    async def whole() -> None:
        one, other = await asyncio.gather(sandbox.open(SMALL), sandbox.open(SMALL))
        try:
            sights = await looked(one, other)
        finally:
            await asyncio.gather(one.close(), other.close())
        each_reaches_its_own(sights, gone=("", "ConnectionResetError"))

    asyncio.run(whole())


def test_commands_are_another_user_s_and_nothing_of_them_lives_on(sandbox: Sandbox, tmp_path: Path) -> None:
    async def work(box: Box) -> None:
        told = await box.run(
            sh("touch '/srv/its own/x' && id -u; env | sort; cat; exit 3", env={"A": "b"}, stdin=b"heard\n")
        )
        home = b"HOME=/home/agent\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nPWD=/app/repo\n"
        assert (told.code, told.said) == (3, b"1000\nA=b\n" + home + b"heard\n")
        (await box.listen(8080)).socket.close()
        made = (
            await box.listen(8080)
        ).socket  # again, so that a relay runs with each command, and ends with it
        await box.run(sh("setsid sleep 600 >/dev/null 2>&1 & setsid sleep 601 >/dev/null 2>&1 & exit 0"))
        words = "trap 'echo asked; exit 9' INT; echo begun; sleep 60 & wait"
        late = await box.run(once_it_speaks(sh(words, timeout_s=0.2), tmp_path / "late"))
        assert (late.why, late.code, late.said) == ("timeout", 9, b"begun\nasked\n")
        running = await box.run(Command(("ps", "-eo", "uid,args", "--no-headers"), cwd="/"))
        assert b"sleep 60" not in running.said.replace(b"sleep 3600", b"")
        flood = sh("head -c 5000000 /dev/zero", output=tmp_path / "log", output_bytes=1_000)
        assert (await box.run(flood)).printed_bytes == 5_000_000
        assert (tmp_path / "log").stat().st_size == 1_000
        assert (await box.run(Command(("no-such-program",)))).code == 127
        assert b"NoNewPrivs:\t1" in (await box.run(sh("cat /proc/self/status"))).said
        assert box.consumed().peak_memory_bytes is None
        loop = asyncio.get_running_loop()
        made.setblocking(False)
        cancelled = asyncio.create_task(box.run(Command(("python3", "-c", HANG))))
        line, _ = await loop.sock_accept(made)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert await loop.sock_recv(line, 1) == b""
        line.close()
        with pytest.raises(SandboxError, match="port 8080 of a box: Address already in use"):
            await box.listen(8080)
        assert b"create_connection" not in (await box.run(sh("ps -eo args"))).said
        made.close()

    within(sandbox, work)


def test_files_go_in_and_come_out_and_what_is_shown_stays_what_it_is(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    source, shown = tmp_path / "repo", tmp_path / "tests"
    (source / "src").mkdir(parents=True)
    (source / "src/a.py").write_text("x = 1\n")
    shown.mkdir()
    (shown / "test.sh").write_text("exit 0\n")
    (shown / "test.sh").chmod(0o600)

    async def work(box: Box) -> None:
        await box.put(source, "/app/repo")
        await box.put(shown / "test.sh", "/home/agent/told.txt")
        said = await box.run(
            sh("cat src/a.py ~/told.txt /app/evaluation/test.sh /opt/one; echo 2 > src/b; ln -s /etc out")
        )
        assert said.said == b"x = 1\nexit 0\nexit 0\nexit 0\n"
        tries = "echo 1 > /app/evaluation/test.sh; mv /app/evaluation /app/x; rm -rf /app/evaluation; echo 1 > /opt/one"
        await box.run(sh(f"({tries}) 2>/dev/null; chmod 0 src/b"))
        assert (await box.run(sh("cat /app/evaluation/test.sh /opt/one"))).said == b"exit 0\nexit 0\n"
        found = await box.files("/app/repo")
        assert (found / "src/b").read_text() == "2\n"
        assert (found / "out").is_symlink()
        with pytest.raises(SandboxError, match="/nowhere cannot be taken out"):
            await box.files("/nowhere")

    within(sandbox, work, Mount(shown, "/app/evaluation"), Mount(shown / "test.sh", "/opt/one"))


def test_an_image_is_built_of_a_task_s_dockerfile_on_modal_s_own_base(
    sandbox: Sandbox, cloud: Path, tmp_path: Path
) -> None:
    async def opened(words: str) -> None:
        (tmp_path / "Dockerfile").write_text(words)
        await (await sandbox.open(SMALL, (), tmp_path)).close()

    asyncio.run(opened("# ours\nFROM proctor-base\nRUN echo built > /app/repo/note\n"))
    asked = [json.loads(each.read_text()) for each in cloud.glob("im-*.json")]
    assert any("RUN echo built > /app/repo/note" in commands for commands in asked)
    with pytest.raises(SandboxError, match=r"(?s)Modal did not make a sandbox.*cannot be built"):
        asyncio.run(opened("FROM debian:bookworm-slim\nRUN cannot\n"))


def test_what_dead_processes_left_is_ended_and_what_living_ones_have_is_not(
    sandbox: Sandbox, cloud: Path, tmp_path: Path
) -> None:
    leave = (
        "import asyncio, os, sys\nfrom pathlib import Path\nfrom proctor.references import RolloutsRef\n"
        "from proctor.sandbox.contract import Policy\nfrom proctor.sandbox.opening import open_sandbox\n"
        "box = asyncio.run(open_sandbox(RolloutsRef('t', sandbox='modal'), Path(sys.argv[1])).open(Policy()))\n"
        "print(box.sandbox.object_id, flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    left = subprocess.run(
        [sys.executable, "-c", leave, str(tmp_path)], capture_output=True, text=True, check=False
    )
    name = left.stdout.strip()
    assert (cloud / f"{name}.json").exists(), left.stderr
    assert not (cloud / f"{name}.over").exists()

    async def work(box: Box) -> None:
        other = open_sandbox(REF, tmp_path)
        await other.check(SMALL)
        assert (cloud / f"{name}.over").exists()
        assert (await box.run(sh("echo here"))).said == b"here\n"

    within(sandbox, work)


def test_without_a_token_or_with_a_wrong_one_it_is_said_at_once(
    cloud: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODAL_TOKEN_SECRET", "as-another")
    with pytest.raises(SandboxMissing, match=r"does not let us in: AuthError.*Look at MODAL_TOKEN_ID"):
        asyncio.run(open_sandbox(REF, tmp_path).check(SMALL))
    monkeypatch.delenv("MODAL_TOKEN_SECRET")
    began = time.monotonic()
    with pytest.raises(SandboxMissing, match="set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET"):
        asyncio.run(open_sandbox(REF, tmp_path).check(SMALL))
    assert time.monotonic() - began < 5
    assert "MODAL_TOKEN_SECRET" in str(lacking(REF, tmp_path))


@pytest.mark.promise("C-25")
def test_a_benchmark_runs_in_modal_with_its_model_at_the_box_s_loopback_and_no_key_inside(
    cloud: Path, tmp_path: Path
) -> None:
    desk = Desk.made(tmp_path)
    (desk.data / "keys.env").write_text(f"OPENAI_API_KEY={KEY}\nMODAL_TOKEN_SECRET={modal_server.TOKEN[1]}\n")
    (desk.data / "keys.env").chmod(0o600)
    task = desk.task("t")
    (tmp_path / task / "Dockerfile").write_text("FROM proctor-base\n")
    (tmp_path / "work.sh").write_text(MEND + script(KEY, modal_server.TOKEN[1]))
    table = (
        f'[agents.asker]\nkind = "command"\nbinary = "{tmp_path / "work.sh"}"\nargv = ["sh", "/opt/agent"]\n'
    )
    asking = entry(task, "asker", more='model = "openai/m"\n')
    told = {name: os.environ[name] for name in ("MODAL_SERVER_URL", "MODAL_TOKEN_ID")}
    with odd_server({"/v1/models": models("m")}) as server:
        told |= {"SANDBOX_BACKEND": "modal", "OPENAI_BASE_URL": server.url}
        desk.rollouts("run", desk.config("cloud", table, asking), **told)
    said = next(desk.data.glob("runs/*/logs/agent.log")).read_text()
    finds_nothing(said)
    assert "gateway" in told_of(said).gathered  # it was answered
    record = json.loads(next(desk.data.glob("runs/*/evaluation_results.json")).read_text())
    assert (record["total_score"], record["agent_metrics"]["calls_total"] > 1) == (1.0, True)
    assert not any(modal_server.TOKEN[1] in each.read_text() for each in desk.data.glob("runs/**/*.json*"))
