"""Commands forked off a process that has imported proctor already, which is most of what a start costs.

Every command is a process of its own, with its own environment, folder and streams. What they share are modules, and
importing one does nothing but define (house.at_import). What must begin with a bare interpreter uses `subprocess`, as
servers do for their workers, and workers for the runs.
"""

from __future__ import annotations

import atexit
import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

OTHERS = (
    *("aiohttp", "click", "fastapi", "jinja2", "markdown_it", "nh3", "numpy", "openpyxl", "orjson"),
    *("prometheus_client", "psycopg", "pydantic", "sqlalchemy", "sqlalchemy.dialects.postgresql"),
    *("sqlalchemy.dialects.sqlite", "uvicorn", "uvloop", "zstandard"),
)
OURS = ("proctor.app", "proctor.api.app", "proctor.web.app")
LARGEST_REQUEST, LARGEST_WORD = 1 << 20, 64


def run(
    words: Sequence[str], env: Mapping[str, str], cwd: Path, *, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """`proctor WORDS`, to its end. Raises subprocess.TimeoutExpired, with the command ended."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with Forked(words, env, cwd, out.fileno(), err.fileno()) as command:
            try:
                code = command.wait(timeout_s)
            except subprocess.TimeoutExpired:
                command.kill()
                raise
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    return subprocess.CompletedProcess(list(words), code, *texts)


def start(words: Sequence[str], env: Mapping[str, str], cwd: Path) -> subprocess.Popen[str]:
    """`proctor WORDS`, left running; what it prints comes by pipes. Whoever starts it ends it."""
    (out, into_out), (err, into_err) = os.pipe(), os.pipe()
    try:
        command = Forked(words, env, cwd, into_out, into_err)
    finally:
        os.close(into_out)
        os.close(into_err)
    command.stdout, command.stderr = os.fdopen(out, encoding="utf-8"), os.fdopen(err, encoding="utf-8")
    return command


class Forked(subprocess.Popen[str]):
    """A command that is no child of this process: who forked it tells its process id, and once its end."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str], cwd: Path, out: int, err: int) -> None:
        request = json.dumps({"words": list(words), "env": dict(env), "cwd": str(cwd)}).encode()
        self._hearing = threading.Lock()
        self._told, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            socket.send_fds(_parent(), [request], [theirs.fileno(), out, err])
        self.pid = int(self._told.recv(LARGEST_WORD))
        self.args, self.returncode = list(words), None
        self.stdin = self.stdout = self.stderr = None
        # What the rest of Popen goes by.
        self.text_mode, self.encoding, self.errors = True, "utf-8", "strict"
        self._child_created, self._communication_started, self._input = True, False, None
        self._sigint_wait_secs = 0.0

    def _internal_poll(self, *_words: object, **_options: object) -> int | None:
        return self._ended_within(0.0)

    def _wait(self, timeout: float | None) -> int:
        if self._ended_within(timeout) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self.returncode

    def _ended_within(self, seconds: float | None) -> int | None:
        """Its exit code, which several threads may wait for at once."""
        try:
            told = self.returncode is None and select.select([self._told], [], [], seconds)[0]
        except ValueError:  # another thread has heard it
            return self.returncode
        with self._hearing:
            if told and self.returncode is None:
                self.returncode = int(self._told.recv(LARGEST_WORD))
                self._told.close()
        return self.returncode


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
    for name in (*OTHERS, *OURS):
        import_module(name)
    for module, _ in import_module("proctor.cli").COMMANDS.values():
        import_module(f"proctor.cli.{module}")
    gc.freeze()  # what is shared stays so: no collection of a command writes into it
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
    for each in (out, err):
        os.close(each)
    os.write(told, f"{pid}".encode())
    _, status = os.waitpid(pid, 0)
    os.write(told, f"{os.waitstatus_to_exitcode(status)}".encode())
    os._exit(0)


def _become(request: bytes, out: int, err: int) -> None:
    """Do the command as `python -m proctor` would, and end with its exit code."""
    wanted = json.loads(request)
    for given, stream in ((out, 1), (err, 2)):
        os.dup2(given, stream)
        os.close(given)
    os.environ.clear()
    os.environ.update(wanted["env"])
    os.chdir(wanted["cwd"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdout = io.TextIOWrapper(os.fdopen(1, "wb"), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(
        os.fdopen(2, "wb"), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
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
        threading._shutdown()  # type: ignore[attr-defined]  # as at an interpreter's end
        atexit._run_exitfuncs()
    finally:
        os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    sys.path.pop(0)  # this folder: no command may find a module of the tests
    _serve(socket.socket(fileno=int(sys.argv.pop(1))))
