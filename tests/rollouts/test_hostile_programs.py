"""Hostile programs in a box: each is stopped by the limit that is meant for it, and the box goes on to work."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from boxed import nothing_left, once_it_speaks

from proctor.errors import SandboxError
from proctor.sandbox.bubblewrap import Bubblewrap
from proctor.sandbox.contract import REPO, Box, Command, CommandEnd, Policy
from proctor.sandbox.running import GRACE_S
from proctor.trial_record import Consumed

SMALL = Policy(memory_mb=96, cpus=1.0, pids=32, disk_mb=16)
MB = 1 << 20


@pytest.fixture(autouse=True)
def clean(box_home: Path) -> Iterator[None]:
    """No test leaves anything on the machine."""
    with nothing_left(box_home):
        yield


def shell(script: str, timeout_s: float | None = 20.0, output: Path | None = None) -> Command:
    return Command(("sh", "-c", script), timeout_s=timeout_s, output=output)


def python(script: str, *words: str, timeout_s: float = 20.0) -> Command:
    return Command(("python3", "-c", script, *words), timeout_s=timeout_s)


def tried(
    sandbox: Bubblewrap, *commands: Command, policy: Policy = SMALL
) -> tuple[list[CommandEnd], Consumed]:
    """Run them one after the other in a box, which must still do what it is told at the end."""

    async def run() -> tuple[list[CommandEnd], Consumed]:
        box = await sandbox.open(policy)
        try:
            ended = [await box.run(each) for each in commands]
            consumed = box.consumed()
            after = await box.run(Command(("echo", "still here"), cwd="/", timeout_s=20.0))
            assert (after.code, after.said) == (0, b"still here\n")
            return ended, consumed
        finally:
            await box.close()

    return asyncio.run(run())


def test_a_fork_bomb_is_refused_processes(bubblewrap: Bubblewrap) -> None:
    bomb = "import os\nfor _ in range(12):\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
    (ended,), consumed = tried(bubblewrap, python(bomb + "import time; time.sleep(0.2)"))
    assert consumed.processes_refused is not None and consumed.processes_refused > 0
    assert ended.why == "exited"


def test_a_memory_hog_is_killed_and_it_is_told(bubblewrap: Bubblewrap) -> None:
    (ended,), consumed = tried(bubblewrap, python(f"x = [bytearray({MB}) for _ in range(400)]"))
    assert ended.code == 137
    assert consumed.out_of_memory == 1
    assert consumed.peak_memory_bytes == pytest.approx((SMALL.memory_mb + SMALL.disk_mb) * MB, rel=0.02)


@pytest.mark.parametrize("place", [REPO, "/home/agent", "/tmp", "/var/tmp", "/run", "/dev/shm"])
def test_a_full_disk_is_told_to_who_fills_it_and_kills_nobody(place: str, bubblewrap: Bubblewrap) -> None:
    (ended,), consumed = tried(bubblewrap, shell(f"exec dd if=/dev/zero of={place}/filler bs=1M count=64"))
    assert ended.code == 1
    assert b"No space left on device" in ended.said
    assert consumed.out_of_memory == 0
    assert consumed.written_bytes is not None
    assert SMALL.disk_mb * MB * 0.95 < consumed.written_bytes <= SMALL.disk_mb * MB


def test_the_limit_of_the_disk_is_of_all_places_together(bubblewrap: Bubblewrap) -> None:
    filler = "; ".join(f"dd if=/dev/zero of={each}/x bs=1M count=12 2>&1" for each in ("/tmp", "/dev/shm"))
    (ended,), _ = tried(bubblewrap, shell(filler))
    assert ended.said.count(b"No space left on device") == 1


def test_files_without_content_fill_the_disk_too(bubblewrap: Bubblewrap) -> None:
    script = "import os\nfor n in range(100_000):\n    os.close(os.open(f'/tmp/{n}', os.O_CREAT))\n"
    (ended,), consumed = tried(bubblewrap, python(script))
    assert b"No space left on device" in ended.said
    assert consumed.out_of_memory == 0


@pytest.mark.parametrize("place", ["/", "/usr/bin", "/etc", "/dev", "/opt", "/proc/self/oom_score_adj"])
def test_the_system_of_a_box_is_not_written(place: str, bubblewrap: Bubblewrap) -> None:
    target = place if place.startswith("/proc") else f"{place.rstrip('/')}/planted"
    (ended,), _ = tried(bubblewrap, shell(f"echo 1 > {target}"))
    assert ended.code != 0
    assert b"Read-only file system" in ended.said


def test_a_daemon_is_dead_when_the_command_has_ended(bubblewrap: Bubblewrap) -> None:
    marker = f"daemon-of-{os.getpid()}"
    script = (
        "import os, sys, time\nif os.fork(): sys.exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
        "open('/tmp/alive', 'w').write('1')\nos.execv('/bin/sh', ['sh', '-c', 'sleep 600', sys.argv[1]])\n"
    )
    wait = "until [ -e /tmp/alive ]; do sleep 0.01; done"
    starts = Command(("sh", "-c", f'python3 -c "$0" "$1"; {wait}', script, marker), timeout_s=20.0)

    async def run() -> None:
        box = await bubblewrap.open(SMALL)
        try:
            ended = await box.run(starts)
            assert ended.code == 0, ended.said
            assert marker not in everything_that_runs()
        finally:
            await box.close()

    asyncio.run(run())


def everything_that_runs() -> str:
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(each.read_text(errors="replace"))
        except OSError:
            """It has ended."""
    return "\n".join(found)


REACH = """
import socket, sys
tcp, udp, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def reached(what, do):
    try:
        do()
        print("REACHED", what)
    except OSError as error:
        print("refused", what, error)
for host in ("127.0.0.1", "10.0.0.1", "192.0.2.1"):
    reached("tcp " + host, lambda: socket.create_connection((host, tcp), 1))
reached("unix", lambda: socket.socket(socket.AF_UNIX).connect("\\0" + name))
reached("dns", lambda: socket.getaddrinfo("localhost.example", 80))
reached("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", udp))
except OSError as error:
    print("refused udp", error)
"""


def test_nothing_is_reached_through_the_network(bubblewrap: Bubblewrap) -> None:
    name = f"proctor-test-{os.getpid()}"
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
    ):
        udp.bind(("127.0.0.1", 0))
        unix.bind(f"\0{name}")
        unix.listen()
        for each in (tcp, udp, unix):
            each.setblocking(False)
        ports = (str(tcp.getsockname()[1]), str(udp.getsockname()[1]))
        (ended,), _ = tried(bubblewrap, python(REACH, *ports, name))
        assert ended.said.count(b"refused") >= 6, ended.said
        assert b"REACHED" not in ended.said
        for each in (tcp, unix):
            with pytest.raises(BlockingIOError):
                each.accept()
        with pytest.raises(BlockingIOError):
            udp.recv(10)


def test_a_box_sees_no_key_no_home_and_no_other_box(
    bubblewrap: Bubblewrap, box_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-open-sesame")
    (box_home / "keys.env").write_text("KEY=sk-open-sesame\n")
    told = "cat /proc/*/environ /proc/*/cmdline /proc/self/mountinfo /proc/mounts | tr '\\0' '\\n'; env"

    async def run() -> None:
        other = await bubblewrap.open(SMALL)
        box = await bubblewrap.open(SMALL)
        try:
            await other.run(shell("echo a secret of another > /tmp/other"))
            said = (await box.run(shell(told))).said.decode()
            assert "overlay" in said
            assert "sesame" not in said
            assert str(box_home) not in said
            away = await box.run(shell(f"ls {box_home} || ls {Path.cwd()} || ls /proc/1/root{box_home}"))
            assert away.said.count(b"No such file") == 3
            missing = await box.run(shell("cat /tmp/other; find / -name other -not -path '/proc/*'"))
            assert b"secret" not in missing.said
        finally:
            await box.close()
            await other.close()

    asyncio.run(run())


def test_a_flood_of_output_fills_neither_disk_nor_memory(bubblewrap: Bubblewrap, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    log = tmp_path / "agent.log"
    flood = Command(
        ("sh", "-c", "echo first; head -c 1000000000 /dev/zero; echo last"),
        timeout_s=60.0,
        output=log,
        output_bytes=1000,
    )
    (ended,), consumed = tried(bubblewrap, flood)
    assert ended.printed_bytes == consumed.output_bytes == 1_000_000_011
    assert log.stat().st_size == 1000
    assert log.read_bytes().startswith(b"first\n")
    assert len(ended.said) == 65_536
    assert ended.said.endswith(b"last\n")
    grown_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kb < 30_000


def test_links_out_of_a_box_are_not_followed(bubblewrap: Bubblewrap, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    given = tmp_path / "given"
    (given / "deep").mkdir(parents=True)
    (given / "deep/file").write_text("of ours")

    async def run() -> None:
        box = await bubblewrap.open(SMALL)
        try:
            links = f"ln -s {outside} link; ln -s {outside} deep; mkdir real; ln -s {outside}/file real/file"
            assert (await box.run(shell(links))).code == 0
            for target in (f"{REPO}/link/file", REPO):
                with pytest.raises(SandboxError, match="link"):
                    await box.put(given, target)
            with pytest.raises(SandboxError, match="link"):
                await box.files(f"{REPO}/link")
            await box.put(given / "deep/file", f"{REPO}/real/file")
            said = await box.run(shell("cat real/file"))
            assert said.said == b"of ours"
        finally:
            await box.close()

    asyncio.run(run())
    assert list(outside.iterdir()) == []


def test_the_folders_that_are_collected_cannot_be_replaced_by_links(bubblewrap: Bubblewrap) -> None:
    script = "cd /; for f in app/repo app/artifacts home/agent; do rm -rf $f; mv $f /tmp/gone; ln -sfn /etc $f; done"

    async def run() -> None:
        box = await bubblewrap.open(SMALL)
        try:
            await box.run(shell(script))
            found = await box.files(REPO)
            assert found.is_dir() and not found.is_symlink()
        finally:
            await box.close()

    asyncio.run(run())


ESCAPES = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(what, result):
    print("DONE" if result == 0 else "refused", what)
def act(what, do):
    try:
        do()
        print("DONE", what)
    except OSError as error:
        print("refused", what, error)
call("mount", libc.mount(b"none", b"/tmp", b"tmpfs", 0, None))
call("proc", libc.mount(b"proc", b"/tmp", b"proc", 0, None))
call("remount", libc.mount(None, b"/", None, 32 | 4096, None))
call("umount", libc.umount2(b"/proc", 2))
call("userns", libc.unshare(0x10000000))
call("mountns", libc.unshare(0x00020000))
call("hostname", libc.sethostname(b"x", 1))
call("setuid", libc.setuid(0))
act("mknod", lambda: os.mknod("/tmp/disk", 0o60666, os.makedev(254, 0)))
act("chroot", lambda: os.chroot("/tmp"))
act("core_pattern", lambda: os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))
act("drop_caches", lambda: os.open("/proc/sys/vm/drop_caches", os.O_WRONLY))
act("cgroup", lambda: os.listdir("/sys/fs/cgroup"))
act("nice", lambda: os.nice(-5))
act("kcore", lambda: open("/proc/kcore", "rb").read(1))
act("descriptor of init", lambda: [os.open(f"/proc/1/fd/{fd}", os.O_RDONLY | os.O_NONBLOCK) for fd in (7, 8, 9)])
"""


def test_no_privilege_is_had_or_gained(bubblewrap: Bubblewrap) -> None:
    status = "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs)' /proc/self/status; id -u; uname -n; ulimit -c"
    (escapes, told), _ = tried(bubblewrap, python(ESCAPES), shell(status))
    assert escapes.said.count(b"refused") == 16, escapes.said.decode()
    assert b"DONE" not in escapes.said
    lines = told.said.decode().split()
    assert lines.count("0" * 16) == 4
    assert lines[-5:] == ["NoNewPrivs:", "1", "1000", "box", "0"]


def test_who_shuts_its_own_folders_shuts_out_only_itself(bubblewrap: Bubblewrap) -> None:
    shut = "chmod 000 /app/repo /app/artifacts /app /tmp /var/tmp /run /dev/shm /home/agent"
    ends, _ = tried(bubblewrap, shell(shut), shell("true"))
    assert [each.code for each in ends] == [0, 126]


def test_an_output_that_cannot_be_kept_is_told_and_ends_nothing_early(bubblewrap: Bubblewrap) -> None:
    async def run() -> None:
        box = await bubblewrap.open(SMALL)
        try:
            for output in (Path("/dev/full"), Path("/nonexistent/log")):
                with pytest.raises(SandboxError, match=r"No space left|No such file"):
                    await box.run(shell("head -c 1000000 /dev/zero", output=output))
        finally:
            await box.close()

    asyncio.run(run())


@pytest.mark.parametrize("killing", ["kill -9 1", "kill -9 $PPID", "kill -9 -1", "kill -TERM -- -1"])
def test_who_kills_everything_kills_only_itself(killing: str, bubblewrap: Bubblewrap) -> None:
    (ended,), _ = tried(bubblewrap, shell(f"{killing}; exit 3"))
    assert ended.why == "exited"


def test_a_program_that_wants_more_than_its_share_of_the_cores_is_throttled(bubblewrap: Bubblewrap) -> None:
    busy = shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done")
    (ended,), consumed = tried(bubblewrap, busy, policy=Policy(96, 0.05, 32, 16))
    assert ended.code == 0
    assert consumed.throttled_s is not None and consumed.throttled_s > 0.1
    assert consumed.cpu_s is not None and consumed.cpu_s < 0.05 * ended.seconds + 0.1


def test_a_command_is_asked_to_stop_before_it_is_killed(bubblewrap: Bubblewrap, tmp_path: Path) -> None:
    polite = "trap 'echo asked; exit 5' INT; echo ready; while :; do sleep 0.01; done"
    (ended,), _ = tried(bubblewrap, once_it_speaks(shell(polite, timeout_s=0.2), tmp_path / "log"))
    assert (ended.why, ended.code, ended.said) == ("timeout", 5, b"ready\nasked\n")


@pytest.mark.slow
def test_a_command_that_does_not_stop_is_killed(bubblewrap: Bubblewrap, tmp_path: Path) -> None:
    deaf = "import signal, time\nsignal.signal(2, lambda *_: print('int', flush=True))\n"
    deaf += "signal.signal(15, lambda *_: print('term', flush=True))\nprint('ready', flush=True)\n"
    deaf += "while True: time.sleep(1)\n"
    (ended,), _ = tried(bubblewrap, once_it_speaks(python(deaf, timeout_s=0.2), tmp_path / "log"))
    assert (ended.why, ended.code, ended.said) == ("timeout", 137, b"ready\nint\nterm\n")
    assert ended.seconds > 2 * GRACE_S


def test_a_cancelled_command_is_killed_at_once(bubblewrap: Bubblewrap) -> None:
    marker = f"cancelled-of-{os.getpid()}"

    async def run() -> None:
        box: Box = await bubblewrap.open(SMALL)
        try:
            command = Command(("sh", "-c", "trap '' INT TERM; touch begun; sleep 600", marker))
            task = asyncio.create_task(box.run(command))
            begun = await box.files(f"{REPO}/begun")
            while not begun.exists():  # noqa: ASYNC110  # another process makes it
                await asyncio.sleep(0.01)
            cancelled = time.monotonic()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert time.monotonic() - cancelled < 2 * GRACE_S, "it was asked first"
            assert marker not in everything_that_runs()
        finally:
            await box.close()

    asyncio.run(run())


def test_what_a_box_prints_is_its_own(bubblewrap: Bubblewrap) -> None:
    """A program that claims that the sandbox failed is believed as little as one that claims to have passed."""
    (ended,), _ = tried(bubblewrap, shell("echo bwrap: setting up uid map: Permission denied; exit 1"))
    assert ended.code == 1


@pytest.mark.parametrize(("words", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_an_end_is_told_as_a_shell_tells_it(words: str, code: int, bubblewrap: Bubblewrap) -> None:
    (ended,), _ = tried(bubblewrap, shell(words))
    assert ended.code == code


def test_a_command_that_is_not_there_is_its_own_fault(bubblewrap: Bubblewrap) -> None:
    there = [Command(("no-such",)), Command(("/etc/passwd",)), Command(("true",), cwd="/app/gone")]
    ends, _ = tried(bubblewrap, *there)
    assert [each.code for each in ends] == [127, 126, 126]
