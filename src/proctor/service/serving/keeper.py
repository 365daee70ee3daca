"""`python -m proctor.service.serving.keeper COMMAND...`: keeps a command for as long as its standard input is open.

The one who started it holds the other end. However he ends, by SIGKILL too, the system closes it, and the command
ends with all that it started: keeper and command are one process group.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence

END_S = 10.0  # for an end by SIGTERM
_STDIN = 0


def keep(command: Sequence[str]) -> None:
    """Run the command until it or the input ends, then end the group, this process with it."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    # Only now: a process inherits what its parent ignores.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(child,), daemon=True).start()
    code = child.wait()
    print(f"keeper: the command ended with exit code {code}", flush=True)
    os.killpg(0, signal.SIGKILL)


def _watch(child: subprocess.Popen[bytes]) -> None:
    while os.read(_STDIN, 65536):
        pass
    os.killpg(0, signal.SIGTERM)
    try:
        child.wait(END_S)
    except subprocess.TimeoutExpired:
        pass
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    keep(sys.argv[1:])
