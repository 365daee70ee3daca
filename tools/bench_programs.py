"""The programs that `make bench` measures, each in a process of its own against a simulator."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "bench"
TIMEOUT_S = 240.0
LEAST_PER_S = 1000.0  # items; a program that is slower is ended


class Broken(Exception):
    """A program did not do its work, so what it cost says nothing."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One program's run: what it cost and what the server saw of it."""

    items: int
    cpu_s: float
    wall_s: float
    rss_mb: float
    first_request_s: float
    window_s: float  # first request to last answer, by the server's clock
    latency_s: float  # sum of the waiting times that the server drew


@dataclass(frozen=True, slots=True)
class Work:
    """The same questions for all: a CSV and a batch of requests for proctor, ready request bodies for the loop."""

    items: int
    questions: Path
    bodies: Path
    batch: Path


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a bench works and how much of it is wanted."""

    folder: Path
    rounds: int
    scale: float

    def work(self, items: int) -> Work:
        """That many questions, scaled; written once."""
        count = max(20, round(items * self.scale))
        names = (f"questions-{count}.csv", f"bodies-{count}.jsonl", f"batch-{count}.jsonl")
        work = Work(count, *(self.folder / name for name in names))
        if not work.batch.exists():
            files = map(str, (work.questions, work.bodies, work.batch))
            subprocess.run([sys.executable, str(PROGRAMS / "questions.py"), str(count), *files], check=True)
        return work


@dataclass(frozen=True, slots=True)
class Server:
    """A simulator in its own process, whose counters are asked over HTTP."""

    url: str

    def reset(self) -> None:
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/__reset", method="POST")):
            pass

    def stats(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/__stats") as answer:
            stats: dict[str, Any] = json.load(answer)
        return stats


def run_bare(bench: Bench, server: Server, work: Work, *, parallel: int) -> Sample:
    url = f"{server.url}/v1/chat/completions"
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        texts = Path(folder) / "texts"
        command = [str(PROGRAMS / "bare.py"), url, str(work.bodies), str(texts), str(parallel)]
        return _measured([sys.executable, *command], {}, Path(folder), server, work)


def run_proctor(
    bench: Bench, server: Server, work: Work, *, parallel: int | None, workers: int = 1
) -> Sample:
    """A whole `proctor run` in a fresh home. Without `parallel` its limiter has to find the number."""
    chosen = [] if parallel is None else ["--parallel", str(parallel)]
    chosen += [] if workers == 1 else ["--workers", str(workers)]
    options = ["--model", "openai/sim", "--base-url", f"{server.url}/v1", *chosen]
    return _proctor(bench, server, work, options, {})


def run_on_ollama(bench: Bench, server: Server, work: Work) -> Sample:
    return _proctor(bench, server, work, ["--model", "ollama/sim"], {"OLLAMA_HOST": server.url})


def _proctor(
    bench: Bench, server: Server, work: Work, options: Sequence[str], environ: dict[str, str]
) -> Sample:
    return _in_fresh_home(bench, server, work, ["run", str(work.questions), *options, "--json"], environ)


def run_batch(bench: Bench, server: Server, work: Work, *, parallel: int) -> Sample:
    """A whole `proctor batch run` of the same requests, its output file written as they are answered."""
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        options = ["--model", "openai/sim", "--base-url", f"{server.url}/v1", "--parallel", str(parallel)]
        words = ["batch", "run", str(work.batch), "-o", str(Path(folder) / "out.jsonl"), *options]
        return _in_fresh_home(bench, server, work, words, {})


def _in_fresh_home(
    bench: Bench, server: Server, work: Work, words: Sequence[str], environ: dict[str, str]
) -> Sample:
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder:
        home = {"PROCTOR_HOME": str(Path(folder) / "home")}
        command = [sys.executable, "-m", "proctor", *words]
        return _measured(command, home | environ, Path(folder), server, work)


def _measured(
    command: Sequence[str], environ: dict[str, str], folder: Path, server: Server, work: Work
) -> Sample:
    """Raises: Broken when the program failed or did not ask every item exactly once."""
    out, err = folder / "out", folder / "err"
    server.reset()
    timeout_s = max(TIMEOUT_S, work.items / LEAST_PER_S)
    meter = [sys.executable, str(PROGRAMS / "measure.py"), str(timeout_s), str(out), str(err)]
    ended = subprocess.run(
        [*meter, *command], env=clean_environ() | environ, stdout=subprocess.PIPE, check=True
    )
    usage, stats = json.loads(ended.stdout), server.stats()
    if usage["overdue"]:
        raise Broken(f"{' '.join(command)}: not done after {timeout_s:g} s, so it was ended")
    if usage["returncode"] or stats["seen"] != work.items:
        words = err.read_text(errors="replace")[-2000:]
        raise Broken(
            f"{' '.join(command)}: exit code {usage['returncode']}, {stats['seen']:,} requests seen where "
            f"{work.items:,} were due. Its last words:\n{words}"
        )
    return Sample(
        items=work.items,
        cpu_s=usage["cpu_s"],
        wall_s=usage["wall_s"],
        rss_mb=usage["peak_rss_bytes"] / 2**20,
        first_request_s=stats["first_at"] - usage["started_at"],
        window_s=stats["last_at"] - stats["first_at"],
        latency_s=stats["sum_latency_s"],
    )


def clean_environ() -> dict[str, str]:
    """This process's variables without those that would change what proctor does.

    A program in use is compiled once, so the variable that forbids to keep what was compiled goes too.
    """
    changing = ("PROCTOR_", "OPENAI_", "OLLAMA_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(changing)}
