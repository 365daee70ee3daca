"""The servers that proctor is tried on, as one table: how each is had, started and counted, and what it lacks.

    python tests/real/servers.py install NAME ...      `all` takes every one; each into a folder of its own
    python tests/real/servers.py list

Another server is one more entry of SERVERS. A name in its `lacks` is a topic of the tests beside this file, with the
reason: the test runs and must fail, so that a server that has learnt it is noticed. A name in `pointless` is a topic
that is skipped, since on this server trying shows nothing. What a server does in its own way, and should be held to,
is neither: the test asks the entry.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from kinds import Counts, Kind, Server
from others import OTHERS, PYTHON

import real
from real import MODEL, Command, NotHere, Running, fetch, llama_server, pip_install

# --- llama-server -------------------------------------------------------------------------------------------

SLOTS = 2
CONTEXT = 2048


def llama_command(_: Path, port: int, more: Sequence[str] = ()) -> Command:
    """In `make test` one thread: other tests run beside it, and a thread that waits for another stands still."""
    threads = 0 if in_full() else 1
    return llama_server(fetch(), port, slots=SLOTS, context=CONTEXT, threads=threads, more=more)


def llama_counts(server: Running) -> Counts:
    """Tokens from its metrics; requests from its log, where each that reaches a slot has a line."""
    with urllib.request.urlopen(f"{server.url}/metrics", timeout=10) as answer:
        told = dict(re.findall(r"^llamacpp:(\w+) (\d+)$", answer.read().decode(), re.MULTILINE))
    read = int(told["prompt_tokens_total"]) + int(told["prompt_tokens_cached_total"])
    asked = server.log.read_text(errors="replace").count("| processing task, is_child = 0")
    return Counts(asked, read, int(told["tokens_predicted_total"]))


LLAMA = Kind(
    "llama-server",
    MODEL,
    llama_command,
    mb=real.DISK_MB,
    counts=llama_counts,
    overflow="exceeds the available context size",
)

SERVERS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in (LLAMA, *OTHERS)})


# --- had and started ----------------------------------------------------------------------------------------


def install(kind: Kind) -> None:
    """Install a server into a folder of its own; nothing where these very pins lie there."""
    if not kind.pins:
        fetch()
        return
    stamp = kind.folder / "pins.txt"
    if stamp.exists() and stamp.read_text() == "\n".join(kind.pins):
        return
    if sys.version_info[:2] != PYTHON:
        raise NotHere(f"{kind.name} is pinned for Python {'.'.join(map(str, PYTHON))}: make a .venv of it")
    real.say(
        f"Installing {kind.name}: {kind.mb} MB on disk and {kind.minutes:g} minutes or more, into {kind.folder}."
    )
    began = time.monotonic()
    shutil.rmtree(kind.folder, ignore_errors=True)
    temporary = kind.folder / "tmp"
    temporary.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "venv", str(kind.folder / "venv")], check=True)
    pip_install(kind.pins, temporary, str(kind.folder / "venv" / "bin" / "python"), whole=True)
    if kind.afterwards is not None:
        kind.afterwards(kind.folder)
    shutil.rmtree(temporary)
    stamp.write_text("\n".join(kind.pins))
    real.say(f"Installed {kind.name} in {(time.monotonic() - began) / 60:.1f} minutes.")


def chosen() -> tuple[str, ...]:
    """The servers that this session tries: those that REAL_SERVERS names, and llama-server always."""
    named = os.environ.get("REAL_SERVERS", "").split()
    return tuple(dict.fromkeys([LLAMA.name, *(SERVERS if "all" in named else named)]))


def in_full() -> bool:
    """Whether every topic is tried; else only the short part, as in `make test`."""
    return "REAL_SERVERS" in os.environ


@contextmanager
def started(kind: Kind, log: Path) -> Iterator[Server]:
    """A server of this kind until the block ends. Raises NotHere with the reason."""
    if not kind.installed:
        raise NotHere(f"{kind.name} is not installed: make test-real SERVERS={kind.name}")
    with ExitStack() as ending:
        upstream, environ = None, {}
        if kind.upstream:
            behind = started(SERVERS[kind.upstream], log.with_suffix(".upstream.log"))
            upstream = ending.enter_context(behind)
            environ = {"UPSTREAM": f"{upstream.running.url}/v1"}

        def command(port: int) -> Command:
            made = kind.command(kind.folder, port)
            return Command(made.argv, {**made.environ, **environ})

        more = {"ready": kind.ready, "longest_s": kind.longest_start_s}
        running = ending.enter_context(real.running(command, log, **more))
        yield Server(kind, running, upstream)


def main(words: list[str]) -> int:
    what, *names = words or ["list"]
    if what == "list":
        for kind in SERVERS.values():
            state = "here" if kind.installed else f"{kind.mb} MB, {kind.minutes:g} min"
            print(f"{kind.name:16} {state:20} {' '.join(kind.pins)}")
        return 0
    if unknown := sorted({*names} - {*SERVERS, "all"}):
        print(f"Error: no server {unknown[0]!r}; there are {', '.join(SERVERS)}, all", file=sys.stderr)
        return 2
    try:
        for name in SERVERS if "all" in names else names:
            install(SERVERS[name])
    except NotHere as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
