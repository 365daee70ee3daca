"""`kill -9`, SIGTERM, a full disk, a server that dies while a batch is sent: nothing is lost, nothing stands twice."""

from __future__ import annotations

import json
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from batches.sending import answers, request_lines
from proctor.service.context import open_store
from proctor.simulator import spawn
from proctor.store.write import throughput
from programs import HANG_S, command, environment, proctor, started
from simulators import settings

pytestmark = pytest.mark.slow  # whole runs in processes of their own

N = 5_000


def lines_of(out: Path) -> int:
    return out.read_bytes().count(b"\n") if out.exists() else 0


def until_lines(out: Path, least: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + HANG_S
    while lines_of(out) < least:
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < deadline, f"{lines_of(out)} lines"
        time.sleep(0.01)  # another process's progress: there is nothing to wait on but the clock


def seen(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}/__stats?keys=1", timeout=10) as answer:
        by_key: dict[str, int] = json.load(answer)["by_key"]
    return by_key


def batch(file: Path, out: Path, url: str, *more: str) -> list[str]:
    return [
        "batch",
        "run",
        str(file),
        "--model",
        "openai/sim",
        "--base-url",
        f"{url}/v1",
        "-o",
        str(out),
        *more,
    ]


def test_kills_at_several_moments_lose_nothing_and_leave_each_custom_id_once(tmp_path: Path) -> None:
    file, out = tmp_path / "requests.jsonl", tmp_path / "out.jsonl"
    file.write_text(request_lines(range(N)))
    with spawn(["--latency", "0.005"], {}) as server:
        words = batch(file, out, server.url, "--parallel", "16")
        for share in (0.1, 0.5, 0.8):
            process = started(tmp_path, words)
            until_lines(out, int(N * share), process)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            with out.open("ab") as file_of_output:
                file_of_output.write(b'{"id":"batch_req_0123')  # as a kill in the middle of a write leaves it
        done = proctor(tmp_path, *words)
        assert len(answers(out)) == N and None not in answers(out).values()
        asked = seen(server.url)
    assert "5,000 of 5,000 requests answered" in done.stdout
    # Per kill no more is asked twice than was under way or not yet committed.
    assert len(asked) == N and sum(asked.values()) - N <= 3 * (16 + 256)
    with open_store(settings(tmp_path)) as store:
        (run,) = store.runs()
        assert [row.attempt for row in store.latest(run.id)] == [0] * N


@pytest.mark.promise("B-19")
def test_ten_thousand_requests_run_with_live_progress(tmp_path: Path) -> None:
    file, out = tmp_path / "requests.jsonl", tmp_path / "out.jsonl"
    file.write_text(request_lines(range(10_000)))
    with spawn([], {}) as server:
        process = started(tmp_path, batch(file, out, server.url, "--parallel", "64"))
        until_lines(out, 1, process)
        grown = lines_of(out)
        _, told = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, told
    assert grown < 10_000 and len(answers(out)) == 10_000
    assert "10,000/10,000 (100 %)" in told and "req/s" in told and "tok/s" in told
    with open_store(settings(tmp_path)) as store:
        (run,) = store.runs()
        assert throughput.of_run(store, run.id), "who watches from elsewhere saw nothing"


def test_sigterm_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    file, out = tmp_path / "requests.jsonl", tmp_path / "out.jsonl"
    file.write_text(request_lines(range(600)))
    with spawn(["--latency", "0.05"], {}) as server:
        words = batch(file, out, server.url, "--parallel", "16")
        process = started(tmp_path, words)
        until_lines(out, 1, process)
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=HANG_S)
        assert process.returncode == 130, told
        part = len(answers(out))
        assert 0 < part < 600 and f"{600 - part:,} were not asked: the same command again goes on." in told
        proctor(tmp_path, "resume", told.rpartition("proctor resume ")[2].split()[0])
        assert len(answers(out)) == 600
        assert set(seen(server.url).values()) <= {1, 2}


def test_a_server_that_dies_is_waited_for_and_every_request_has_its_line(tmp_path: Path) -> None:
    file, out = tmp_path / "requests.jsonl", tmp_path / "out.jsonl"
    file.write_text(request_lines(range(400)))
    with spawn(["--latency", "0.02"], {}) as server:
        port = server.url.rpartition(":")[2]
        process = started(tmp_path, batch(file, out, server.url, "--parallel", "8"))
        until_lines(out, 20, process)
    assert lines_of(out) < 400
    with spawn(["--port", port], {}):
        _, told = process.communicate(timeout=HANG_S)
    assert process.returncode == 0, told
    assert len(answers(out)) == 400


def test_a_full_disk_of_the_database_is_told_and_the_same_command_goes_on(tmp_path: Path) -> None:
    file, out = tmp_path / "requests.jsonl", tmp_path / "out.jsonl"
    file.write_text(request_lines(range(2_000)))
    with spawn([], {}) as server:
        words = batch(file, out, server.url, "--parallel", "16")
        # A limit on the size of any file it writes: to SQLite, and to the file of output, this is a full disk.
        limited = ["bash", "-c", 'ulimit -f 1000; exec "$@"', "bash", *command(*words)]
        done = subprocess.run(
            limited, env=environment(tmp_path), cwd=tmp_path, text=True, capture_output=True, timeout=HANG_S
        )
        assert done.returncode == 3, done.stderr
        assert "Traceback" not in done.stderr and "disk" in done.stderr
        assert 0 < len(answers(out)) < 2_000
        proctor(tmp_path, *words)
    assert len(answers(out)) == 2_000


def test_a_gate_is_passed_or_ends_with_4_and_says_what_has_changed(tmp_path: Path) -> None:
    file, before = tmp_path / "requests.jsonl", tmp_path / "before.jsonl"
    file.write_text(request_lines(range(20)))
    with spawn([], {}) as server:
        proctor(tmp_path, *batch(file, before, server.url))
        same = batch(
            file, tmp_path / "after.jsonl", server.url, "--against", str(before), "--gate-same", "0.98"
        )
        assert "same 20, changed 0, newly failing 0" in proctor(tmp_path, *same).stdout
        lines = before.read_text().splitlines(keepends=True)
        other = json.loads(lines[0])
        other["response"]["body"]["choices"][0]["message"]["content"] = "another"
        before.write_text("".join([json.dumps(other) + "\n", *lines[1:]]))
        worse = batch(
            file, tmp_path / "later.jsonl", server.url, "--against", str(before), "--gate-same", "0.98"
        )
        told = proctor(tmp_path, *worse, code=4)
        assert "same 19, changed 1" in told.stdout and "Gate FAILED" in told.stdout
        proctor(tmp_path, *batch(file, before, server.url, "--gate-same", "1"), code=2)
