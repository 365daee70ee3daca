"""`make run-real`: a real model sits its exams on this machine, with the commands that a user would type.

It fetches the server and the model (tools/real.py), starts the server, asks the model the questions of
examples/questions.csv and the sample rows of GLUE and MMLU beside a baseline, compares, writes a report, ends the
server, and says how the results are looked at. Results are kept in a PROCTOR_HOME of their own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from real import CACHE, MODEL, ROOT, NotHere, Running, ending_on_sigterm, fetch, llama_server, running

ASKED = ("--model", f"openai/{MODEL}", "--model", "baseline/majority")
EXAMS = (
    ("examples/questions.csv", *ASKED, "--max-tokens", "64"),
    ("glue", "--data", "sample", "--limit", "4", *ASKED, "--max-tokens", "64"),
    ("mmlu", "--data", "sample", "--limit", "1", *ASKED, "--mode", "logprob"),
)


class Failed(Exception):
    """A command of the demonstration ended with another code than 0."""

    def __init__(self, words: Sequence[str], code: int) -> None:
        super().__init__(f"`proctor {' '.join(words)}` ended with {code}")
        self.code = code


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs proctor as a user would, and shows each command before it is run."""

    environ: Mapping[str, str]

    def shown(self, *words: str) -> None:
        print(f"\n$ proctor {' '.join(words)}", flush=True)
        self._run(words, None)

    def asked(self, *words: str) -> str:
        return self._run(words, subprocess.PIPE)

    def _run(self, words: Sequence[str], output: int | None) -> str:
        command = [sys.executable, "-m", "proctor", *words]
        with subprocess.Popen(
            command, env={**os.environ, **self.environ}, cwd=ROOT, stdout=output, text=True
        ) as process:
            try:
                told = process.communicate()[0]
            except KeyboardInterrupt:
                process.wait()  # it has had its Ctrl-C and keeps what it has
                raise
        if process.returncode:
            raise Failed(words, process.returncode)
        return told or ""


def shortest(path: Path) -> str:
    """The path as one types it in the checkout."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def exams(server: Running, home: Path, report: Path) -> None:
    """Every command that a user would type, in order."""
    environ = {"PROCTOR_HOME": shortest(home), "OPENAI_BASE_URL": f"{server.url}/v1"}
    for name, value in environ.items():
        print(f"$ export {name}={value}", flush=True)
    shell = Shell(environ)
    shell.shown("models", "openai")
    for words in EXAMS:
        shell.shown("run", *words)
    runs = json.loads(shell.asked("list", "--json"))["runs"]
    questions = next(run["plan_id"][:8] for run in runs if run["source_title"] == "questions.csv")
    shell.shown("compare", questions)
    shell.shown("report", questions, "--output", shortest(report))


def further(home: Path, report: Path, took_s: float) -> None:
    print(
        f"\nDone in {took_s:.0f} s, and the model's server is stopped. A model this small mostly guesses, and the\n"
        "figures say so. With a server of your own only OPENAI_BASE_URL and the model's name change.\n\n"
        f"Report, one file:  {shortest(report)}\n"
        f"Dashboard:         PROCTOR_HOME={shortest(home)} .venv/bin/proctor serve\n"
        "The model again:   .venv/bin/python tools/real.py serve",
        flush=True,
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="a real model's exams on this machine")
    parser.add_argument("--cache", type=Path, default=CACHE, help="the folder of what is fetched")
    parser.add_argument(
        "--home", type=Path, help="PROCTOR_HOME of the results  [default: home, in that folder]"
    )
    given = parser.parse_args(argv)
    cache = given.cache.resolve()
    home = (given.home or cache / "home").resolve()
    report, log = home / "report.html", home / "llama-server.log"
    try:
        files = fetch(cache)
        began = time.monotonic()
        home.mkdir(exist_ok=True)
        log.unlink(missing_ok=True)
        with ending_on_sigterm(), running(lambda port: llama_server(files, port), log) as server:
            print(f"SmolLM2-135M-Instruct on llama-server, on this machine (its log: {shortest(log)})\n")
            exams(server, home, report)
    except (NotHere, Failed) as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.code if isinstance(error, Failed) else 1
    except KeyboardInterrupt:
        print("Interrupted; the model's server is stopped.", file=sys.stderr)
        return 130
    further(home, report, time.monotonic() - began)
    return 0


if __name__ == "__main__":
    sys.exit(main())
