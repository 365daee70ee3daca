"""Runs in a box as root: begins a command as another user, or sends a signal to everything of some users.

    python3 -I -B -c THIS run               first on stdin: the length of a table of JSON (4 bytes), and the table
    python3 -I -B -c THIS signal 9 1000     until nobody of that user is left, where the signal is 9

The table of `run` has argv, env, cwd, uid and processes; what follows it on stdin is the command's own. It knows
nothing of proctor and works with any Python from 3.8 on.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

TYPE_CHECKING = False  # as in typing, which takes its time to load
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

CANNOT = 126  # as shells tell a command that cannot be begun
NOT_FOUND = 127
NO_NEW_PRIVILEGES = 38  # PR_SET_NO_NEW_PRIVS of prctl(2)
PATIENCE_S = 10.0


def main() -> NoReturn:
    if sys.argv[1] == "run":
        begin(json.loads(exactly(int.from_bytes(exactly(4), "big"))))
    for user in sys.argv[3:]:
        reach(int(sys.argv[2]), int(user))
    os._exit(0)


def exactly(count: int) -> bytes:
    """Of stdin no byte more: the rest is the command's."""
    found = b""
    while len(found) < count:
        part = os.read(0, count - len(found))
        if not part:
            refuse(CANNOT, "it was not told what to run")
        found += part
    return found


def begin(told: Mapping[str, Any]) -> NoReturn:
    os.dup2(1, 2)
    # Before it is another user: whoever has as many processes could not begin.
    most = told["processes"]
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    become(told["uid"])
    try:
        import ctypes

        if ctypes.CDLL(None).prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0):
            refuse(CANNOT, "this kernel lets programs gain privileges")
    except ImportError:
        refuse(CANNOT, "python3 has no ctypes here, by which programs are kept from gaining privileges")
    try:
        os.chdir(told["cwd"])
        os.execvpe(told["argv"][0], told["argv"], told["env"])
    except OSError as error:
        refuse(NOT_FOUND if isinstance(error, FileNotFoundError) else CANNOT, str(error))


def become(user: int) -> None:
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def refuse(code: int, why: str) -> NoReturn:
    os.write(2, (why + "\n").encode())
    os._exit(code)


def reach(number: int, user: int) -> None:
    """Send a signal to all that a user runs, as that user: all at once, so that nobody escapes by multiplying."""
    until = time.monotonic() + PATIENCE_S
    while True:
        child = os.fork()
        if not child:
            become(user)
            try:
                os.kill(-1, number)
            except ProcessLookupError:
                """Nobody is there."""
            os._exit(0)
        os.waitpid(child, 0)
        if number != signal.SIGKILL or user not in users():
            return
        if time.monotonic() > until:
            refuse(1, "processes do not die")
        time.sleep(0.01)


def users() -> set[int]:
    """Whose the processes are that live."""
    found = set()
    for each in Path("/proc").glob("[0-9]*"):
        try:
            if (each / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                found.add(each.stat().st_uid)
        except OSError:
            """It has ended."""
    return found


if __name__ == "__main__":
    main()
