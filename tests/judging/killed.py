"""A judge's run whose process is killed (SIGKILL) and started again by the same command, beside what the server saw."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.references import JudgingRef
from proctor.service.context import open_store
from proctor.settings import read_settings
from proctor.simulator import spawn
from proctor.store import Store
from proctor.store.write import grades
from proctor.types import Run
from programs import HANG_S, command, environment, proctor

PARALLEL = 16
PRICES = '["openai/judge"]\ninput = 1.0\noutput = 2.0\n'


@dataclass(frozen=True)
class KilledJudging:
    """What was kept after so many kills, and what the server counted.

    `asked` and `graded` count replies of the judged run by how often they have a verdict, and a grade. `twice` are
    askings that the server saw again: what was under way, or not yet committed, when the process died.
    """

    replies: int
    asked: Counter[int]
    graded: int
    twice: int
    kept: tuple[int, int, int]  # replies, tokens in, tokens out
    sent: tuple[int, int, int]  # the same of replies that the server sent whole
    cost_usd: float
    peak_mb: float  # of the largest of the processes
    seconds: float


def written(home: Path, replies: int) -> tuple[Path, Path]:
    """Open questions and a model's replies to them, of which two in three say what is right."""
    questions, said = home / "open.jsonl", home / "said.jsonl"
    with questions.open("w") as rows, said.open("w") as out:
        for n in range(replies):
            good = f"Goods of kind {n} may come back within {n % 60 + 7} days."
            rows.write(json.dumps({"id": f"q{n}", "question": f"What of kind {n}?", "answer": good}) + "\n")
            text = good if n % 3 else f"Nothing of kind {n} is ever taken back."
            out.write(json.dumps({"id": f"q{n}", "output": f"{text} Ask in the shop."}) + "\n")
    return questions, said


def killed_judging(home: Path, replies: int, shares: Sequence[float]) -> KilledJudging:
    """Judge so many replies, killed at these shares of the verdicts, and once more to the end."""
    questions, said = written(home, replies)
    (home / "prices.toml").write_text(PRICES)
    asked = ["run", str(questions), "--model", "replay/cand", "--replies", str(said), "--grader", "none"]
    proctor(home, *asked)
    with open_store(read_settings({"PROCTOR_HOME": str(home)})) as store:
        (judged,) = store.runs()
        began = time.monotonic()
        with spawn(["--latency", "0.004"], {}) as server:
            words = ["grade", judged.id, "--grader", "judge", "--judge", "openai/judge"]
            words += ["--base-url", f"{server.url}/v1", "--parallel", str(PARALLEL)]
            for share in shares:
                _killed(home, words, store, int(share * replies))
            proctor(home, *words, OPENAI_API_KEY="none")
            seconds = time.monotonic() - began
            return _found(store, judged, _stats(server.url), seconds)


def _killed(home: Path, words: Sequence[str], store: Store, least: int) -> None:
    # A child of this process, so that the kernel tells how large it was.
    given = environment(home, OPENAI_API_KEY="none")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command(*words), env=given, cwd=home, text=True, **pipes)  # type: ignore[call-overload]  # options by name
    deadline = time.monotonic() + HANG_S
    while sum(run.settled for run in judgings(store)) < least:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "the judge's run does not get on"
        time.sleep(0.01)  # another process's progress: there is nothing to wait on but the clock
    process.send_signal(signal.SIGKILL)
    process.communicate()


def judgings(store: Store) -> list[Run]:
    return [run for run in store.runs(limit=None) if isinstance(run.cell.source, JudgingRef)]


def _stats(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{url}/__stats?keys=1", timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def _found(store: Store, judged: Run, seen: dict[str, Any], seconds: float) -> KilledJudging:
    (run,) = judgings(store)
    rows = list(store.latest(run.id))
    (by,) = grades.graders(store, judged.id)
    sent = seen["tokens"]["judge"]["complete"]
    return KilledJudging(
        replies=judged.planned,
        asked=Counter(Counter(row.item_id for row in rows if row.score is not None).values()),
        graded=by.attempts,
        twice=sum(seen["by_key"].values()) - len(seen["by_key"]),
        kept=(
            len(rows),
            sum(row.input_tokens or 0 for row in rows),
            sum(row.output_tokens or 0 for row in rows),
        ),
        sent=(sent["replies"], sent["input"], sent["output"]),
        cost_usd=sum(row.cost_usd or 0.0 for row in rows),
        peak_mb=resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
        seconds=seconds,
    )
