"""The log: what was asked of whom, retries, limits and slow requests, a line each, in the terminal and for each job."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from proctor.providers.contract import Pacing
from proctor.providers.pacing.limiter import Limiter
from proctor.simulator import KnownAnswer, prompt_key, spawn
from programs import proctor
from providers.recording import Script, recording
from served import serving

pytestmark = pytest.mark.slow

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (DEBUG|INFO|WARNING|ERROR) proctor[\w.]*: .+")


def questions(home: Path, ids: list[str]) -> Path:
    file = home / "q.jsonl"
    rows = [{"id": ident, "question": f"Which word? {ident!a}", "answer": "yes"} for ident in ids]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_the_terminal_logs_only_what_was_asked_for(tmp_path: Path) -> None:
    file = questions(tmp_path, ["a", "b"])
    words = ["run", str(file), "--model", "simulator/sim"]
    quiet, told, debug = (
        proctor(tmp_path, *before, *words).stderr
        for before in ([], ["--log-level", "info"], ["--log-level", "debug"])
    )
    assert not LINE.search(quiet)
    assert "asks simulator/sim at http://127.0.0.1:" in told and ": request, " not in told
    assert len(re.findall(r"DEBUG proctor\.engine\.attempts: q/[ab]: request, ", debug)) == 2
    assert "Which word" not in debug  # what is asked and said is not the log's business


def test_an_unknown_level_is_refused_by_name(tmp_path: Path) -> None:
    done = proctor(tmp_path, "list", code=2, PROCTOR_LOG_LEVEL="loud")
    assert "'loud'" in done.stderr and "'warning'" in done.stderr


def test_a_server_s_words_and_ids_cannot_begin_a_line_of_the_log(tmp_path: Path) -> None:
    forged = "2026-01-01T00:00:00Z INFO proctor: forged"
    file = questions(tmp_path, [f"a\n{forged}"])
    models = Script({"data": [{"id": "m"}]})
    busy = Script({"error": {"message": f"slow down\n{forged}\x1b[31m"}}, 429, {"Retry-After": "0.01"})
    good = Script({"choices": [{"message": {"content": "Answer: yes"}, "finish_reason": "stop"}]})
    with recording([models, Script({}, 404), busy, good]) as server:
        words = ["run", str(file), "--model", "openai/m", "--base-url", f"{server.url}/v1"]
        told = proctor(tmp_path, "--log-level", "info", *words, OPENAI_API_KEY="sk-very-secret").stderr
    assert "retry 1 in" in told
    assert not [line for line in told.splitlines() if line.startswith(forged)]
    assert "\x1b[31m" not in told and "very-secret" not in told


@pytest.mark.slow
@pytest.mark.promise("G-32", "A-28")
def test_a_job_s_log_says_what_was_asked_of_whom_what_was_retried_and_what_was_slow(tmp_path: Path) -> None:
    options = ["--rate-limit-rate", "0.5", "--retry-after", "0.01"]
    with (
        spawn(options, {prompt_key([("user", "x")]): KnownAnswer("A", ("B",))}) as simulated,
        serving(tmp_path, OLLAMA_HOST=simulated.url) as server,
    ):
        job = server.submit("ollama", "sim", tasks=["rte"], limit=12)
        assert server.ended(job)["status"] == "completed"
        log = (tmp_path / "logs" / f"{job}.log").read_text()
    assert f"run {job} asks ollama/sim at {simulated.url}: 12 of 12 askings of GLUE" in log
    assert "'max_tokens': 512" in log and "'timeout_s': 10800" in log
    assert re.search(r"INFO proctor\.engine\.attempts: rte/\S+: overloaded: .+; retry 1 in \d+\.\d s", log)


def test_a_change_of_the_limit_is_told_with_its_reason(caplog: pytest.LogCaptureFixture) -> None:
    async def one_round() -> None:
        limiter = Limiter(Pacing(start=4, most=64))
        for _ in range(4):
            await limiter.acquire()
        await asyncio.sleep(0.001)
        for _ in range(4):
            limiter.completed(0.001, 4)

    with caplog.at_level("INFO", logger="proctor.providers.pacing.limiter"):
        asyncio.run(one_round())
    assert caplog.messages == ["8 requests at once, 4 before: to see whether throughput grows"]
