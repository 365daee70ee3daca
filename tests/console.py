"""Runs the console blocks of a document as a reader would: one shell, one folder, top to bottom.

    ```console
    $ proctor run questions.jsonl --model baseline/majority
    ...
    0.552 [0.508, ...]
    ```

A line that begins with "$ " is a command; lines that begin with "> " continue it. The lines below it must
occur in its output, in that order; "..." stands for anything, within a line or as a line (in "0...." the
first dot is itself). A block marked "console no-run" is not run; in one marked "console figures" each number
and each id of a run stands for any other, so that what one run printed may be shown whole. A command that
ends with "&" is waited for until it prints something, and is ended, by its process id, when the document ends.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```console[ \t]*(.*?)\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
ANYTHING = re.compile(r"\.{3}(?!\.)")  # in "0...." the first dot is itself
FIGURE = re.compile(r"\b[0-9a-f]{8}\b|\d[\d,]*(?:\.\d+)?")
# Ours, so that the reader's own settings and keys do not change what a document shows.
KEPT = ("PATH", "LANG", "TMPDIR", "SYSTEMROOT")
LONGEST_S = 300
# The shell ends what it started in the background, and waits until that is done.
ENDING = "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT"


@dataclass(frozen=True, slots=True)
class Command:
    """What is typed, the line of the document, and the output shown below it; `figures`: whatever its numbers are."""

    text: str
    line: int
    shown: tuple[str, ...]
    figures: bool = False


def commands(document: str) -> list[Command]:
    """The commands of all blocks that are run."""
    found = []
    for block in BLOCK.finditer(document):
        if block[1] != "no-run":
            first = document.count("\n", 0, block.start(2)) + 1
            found += _block(block[2].splitlines(), first, figures=block[1] == "figures")
    return found


def _block(lines: list[str], first: int, *, figures: bool) -> list[Command]:
    typed: list[tuple[list[str], int, list[str]]] = []
    for number, line in enumerate(lines, first):
        if line.startswith("$ "):
            typed.append(([line[2:]], number, []))
        elif not typed:
            raise ValueError(f"line {number}: a console block begins with a command, `$ ...`: {line}")
        elif line.startswith("> ") and not typed[-1][2]:
            typed[-1][0].append(line[2:])
        else:
            typed[-1][2].append(line)
    return [Command("\n".join(text), number, tuple(shown), figures) for text, number, shown in typed]


def missing(command: Command, output: str) -> list[str]:
    """The shown lines that the output does not hold, in their order."""
    rest = iter([line.strip() for line in output.splitlines()])
    lost = []
    for line in filter(None, (line.strip() for line in command.shown)):
        pattern = re.compile(".*".join(_pattern(part, command) for part in ANYTHING.split(line)))
        if line != "..." and not any(pattern.fullmatch(real) for real in rest):
            lost.append(line)
            rest = iter(output.splitlines())  # what follows may be there all the same
    return lost


def _pattern(text: str, command: Command) -> str:
    if not command.figures:
        return re.escape(text)
    return f"(?:{FIGURE.pattern})".join(re.escape(part) for part in FIGURE.split(text))


def run(document: str, folder: Path, *, beside: Path | None = None) -> list[str]:
    """Run the document in `folder`, into which `beside` is copied; what is wrong with it, naming its lines."""
    typed = commands(document)
    logs = folder.parent / f"{folder.name}.logs"
    for made in (folder, logs):
        made.mkdir()
    if beside is not None and beside.is_dir():
        shutil.copytree(beside, folder / beside.name)
    steps = [_step(command.text, logs / str(n)) for n, command in enumerate(typed)]
    shell = subprocess.Popen(
        ["bash", "-c", "\n".join([ENDING, *steps])],
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        shell.wait(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        # The shell leads a session of its own and is not yet collected, so the id is still its own.
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
        return [f"the document takes longer than {LONGEST_S} s"]
    return [fault for n, command in enumerate(typed) for fault in _faults(command, logs / str(n))]


def _step(text: str, log: Path) -> str:
    """Shell text that runs one command in the shell itself, so that `cd` and `export` last.

    Beside the folder, a folder of logs holds its output and its exit code.
    """
    step = f"{{\n{text}\n}} > {log}.out 2>&1\ncode=$?\n"
    if text.rstrip().endswith("&"):
        step += f"while [ ! -s {log}.out ] && kill -0 $! 2>/dev/null; do sleep 0.02; done\n"
        step += "kill -0 $! 2>/dev/null || { wait $!; code=$?; }\n"
    return f"{step}echo $code > {log}.code\n"


def _faults(command: Command, log: Path) -> list[str]:
    where = f"line {command.line}: `{command.text}`"
    if not Path(f"{log}.code").exists():
        return [f"{where} was not reached"]
    code, output = Path(f"{log}.code").read_text().strip(), Path(f"{log}.out").read_text()
    faults = [f"{where} exit code {code}\n{output}"] if code != "0" else []
    return faults + [f"{where} does not print {line!r}, but:\n{output}" for line in missing(command, output)]


def environment(folder: Path) -> dict[str, str]:
    """A bare environment with the programs of this virtual environment first."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    home = folder.parent / f"{folder.name}.home"
    mine = {"PATH": path, "HOME": str(folder), "PROCTOR_HOME": str(home), "COLUMNS": "100", "NO_COLOR": "1"}
    return {**kept, **mine, "PYTHONUTF8": "1", "TERM": "dumb"}
