"""Commands forked off a process that has already imported what others wrote, which is most of what a start costs.

proctor itself is imported by each command anew: every command is a process of its own, with its own environment,
folder and streams, and nothing of ours is shared. What must begin with a bare interpreter uses `subprocess`.
"""

from __future__ import annotations

import atexit
import io
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

OTHERS = (
    *("aiohttp", "click", "numpy", "orjson", "sqlalchemy", "sqlalchemy.dialects.postgresql"),
    *("sqlalchemy.dialects.sqlite", "uvloop", "zstandard"),
)
LARGEST_REQUEST = 1 << 20


def run(
    words: Sequence[str], env: Mapping[str, str], cwd: Path, *, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """`proctor WORDS`, to its end. Raises subprocess.TimeoutExpired, with the command ended."""
    ours, theirs = socket.socketpair()
    request = json.dumps({"words": list(words), "env": dict(env), "cwd": str(cwd)}).encode()
    with ours, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with theirs:
            socket.send_fds(_parent(), [request], [theirs.fileno(), out.fileno(), err.fileno()])
        ours.settimeout(timeout_s)
        with ours.makefile("r") as told:
            pid = int(told.readline())
            try:
                code = int(told.readline())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(words), timeout_s) from None
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    return subprocess.CompletedProcess(list(words), code, *texts)


@cache
def _parent() -> socket.socket:
    """The way to the process that commands are forked off; it ends with this one, whose end closes the way."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # no thread may be under way in what is forked
    with theirs:
        words = [sys.executable, __file__, str(theirs.fileno())]
        process = subprocess.Popen(words, env=env, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


# In the process that is forked -------------------------------------------------------------------


def _serve(way: socket.socket) -> None:
    for name in OTHERS:
        import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody has to collect those who report
    while True:
        request, fds, _, _ = socket.recv_fds(way, LARGEST_REQUEST, 3)
        if not request:
            return
        if os.fork() == 0:
            way.close()
            _report(request, *fds)
        for fd in fds:
            os.close(fd)


def _report(request: bytes, told: int, out: int, err: int) -> None:
    """Fork the command, tell its process id and, when it has ended, its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        os.close(told)
        _become(request, out, err)
    os.write(told, f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    os.write(told, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(request: bytes, out: int, err: int) -> None:
    """Do the command as `python -m proctor` would, and end with its exit code."""
    wanted = json.loads(request)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.environ.clear()
    os.environ.update(wanted["env"])
    os.chdir(wanted["cwd"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb"), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(os.fdopen(2, "wb"), encoding="utf-8", errors="backslashreplace")
    sys.argv[1:] = wanted["words"]
    code: object = 0
    try:
        runpy.run_module("proctor", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]  # there is one
        code = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: no command may find a module of the tests
    _serve(socket.socket(fileno=int(sys.argv.pop(1))))
