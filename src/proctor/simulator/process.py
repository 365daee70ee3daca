"""A simulator as a child process: started, found, and ended with the one who started it."""

from __future__ import annotations

import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO

from proctor.simulator.answers import Answers, write_answers

LISTENING = "simulator listening on"

_START_S = 60.0
_END_S = 10.0


class SimulatorDied(RuntimeError):
    """The child ended, or said nothing, before it listened. The message quotes its last words."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """A running simulator. It ends when closed, and also when the process that started it ends."""

    url: str
    pid: int
    _child: subprocess.Popen[bytes]

    def close(self) -> None:
        """End the child and wait for it. Closing twice does no harm."""
        _end(self._child)

    def __enter__(self) -> Simulated:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def spawn(options: Sequence[str], answers: Answers) -> Simulated:
    """Start `python -m proctor.simulator` with these options and wait until it listens.

    Raises: SimulatorDied with what the child wrote to stderr.
    """
    with tempfile.TemporaryDirectory(prefix="proctor-simulator-") as folder, tempfile.TemporaryFile() as said:
        # Read before the child listens, so the file can go once it does.
        path = Path(folder) / "answers.jsonl"
        write_answers(path, answers)
        command = [sys.executable, "-m", "proctor.simulator", "--port", "0", "--answers", str(path)]
        child = subprocess.Popen(
            [*command, "--until-stdin-closes", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            # Ctrl-C is for the run: it must be able to finish its requests.
            start_new_session=True,
        )
        line = _first_line(child)
        if not line.startswith(LISTENING):
            _end(child)
            raise SimulatorDied(_why(child, line, said))
        return Simulated(line.removeprefix(LISTENING).strip(), child.pid, child)


def _first_line(child: subprocess.Popen[bytes]) -> str:
    assert child.stdout is not None  # a pipe was asked for
    ready, _, _ = select.select([child.stdout], [], [], _START_S)
    return child.stdout.readline().decode(errors="replace") if ready else ""


def _end(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()
    try:
        child.wait(_END_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _why(child: subprocess.Popen[bytes], line: str, said: IO[bytes]) -> str:
    said.seek(0)
    words = said.read().decode(errors="replace").strip() or line.strip() or "it wrote nothing"
    return f"the simulator did not start (exit code {child.returncode}): {words}"
