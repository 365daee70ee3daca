"""Runs on a real server as a user makes them: the program, its JSON, and the items it kept."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from servers import Counts, Server

from programs import HANG_S, command, environment, proctor, started

GREEDY = ("--temperature", "0")
# A question that every small model answers at length, and otherwise when anything about the drawing changes.
STORY = "Tell me a story about a cat."


def told(server: Server, home: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """`proctor run --json` with this model, whatever its exit code."""
    return subprocess.run(
        command("run", *map(str, words), "--json", *("--model", server.model)),
        env=environment(home, **server.environ),
        cwd=home,
        text=True,
        capture_output=True,
        timeout=HANG_S,
    )


def asked(server: Server, home: Path, *words: object, codes: Sequence[int] = (0,)) -> Any:
    """The only run of such a command, as it ended."""
    done = told(server, home, *words)
    assert done.returncode in codes, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    (run,) = json.loads(done.stdout)["runs"]
    return run


def begun(server: Server, home: Path, *words: object) -> subprocess.Popen[str]:
    """`proctor run` with this model, left at work."""
    return started(home, ["run", *map(str, words), "--model", server.model, "--json"], **server.environ)


def kept(home: Path, run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the run has kept of each item, in the order of the items' ids."""
    file = home / "kept.jsonl"
    proctor(home, "export", run["run_id"], "--format", "jsonl", "--output", str(file))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return sorted(rows, key=lambda row: (row["item_id"], row["repeat"]))


def replies(home: Path, run: Mapping[str, Any]) -> list[str]:
    return [row["reply"] for row in kept(home, run)]


def counted(rows: Sequence[Mapping[str, Any]]) -> Counts:
    """What proctor says that it has asked and was told."""
    return Counts(
        len(rows) + sum(row["retries"] for row in rows),
        sum(row["input_tokens"] for row in rows),
        sum(row["output_tokens"] for row in rows),
    )


def questions(path: Path, *texts: str, target: str = "4") -> Path:
    """A file of questions that are sent word for word: short ones, so that two cores answer quickly."""
    rows = [
        {"id": str(n), "messages": [{"role": "user", "content": text}], "answer": target}
        for n, text in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def sums(path: Path, n: int) -> Path:
    return questions(path, *(f"What is {i} plus {i + 1}?" for i in range(n)))
