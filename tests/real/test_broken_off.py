"""Servers that others wrote, killed while proctor asks them: nothing that was answered is asked again."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_runs import begun, kept, sums
from servers import Server, started

from jobs_world import until
from proctor.service.context import open_store
from programs import HANG_S, proctor_json
from served import serving
from simulators import settings

pytestmark = [pytest.mark.slow, pytest.mark.topic("killed")]  # a real model answers
N = 12
SAMPLING = ("--max-tokens", "8", "--parallel", "2")


@pytest.fixture
def mortal(server: Server, tmp_path: Path) -> Iterator[Server]:
    """A server of the test's own, which it may kill. Its log says what it was asked."""
    with started(server.kind, tmp_path / "mortal.log") as made:
        yield made


def settled(home: Path) -> int:
    """How many items of the only run have an outcome."""
    if not (home / "proctor.db").exists():
        return 0
    with open_store(settings(home)) as store:
        runs = store.runs(limit=1)
        return runs[0].settled if runs else 0


def test_a_resumed_run_asks_a_killed_server_only_what_is_missing(
    mortal: Server, home: Path, tmp_path: Path
) -> None:
    process = begun(mortal, home, sums(tmp_path / "sums.jsonl", N), *SAMPLING)
    until(lambda: settled(home) >= 4, "some are answered")
    mortal.running.kill()
    # A user who does not wait for the server ends the run, if it has not ended by itself.
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=HANG_S)
    (run,) = proctor_json(home, "list")["runs"]
    before = [row for row in kept(home, run) if row["outcome"] != "error"]
    assert 4 <= len(before) < N

    mortal.running.start()
    served = mortal.counts()
    (run,) = proctor_json(home, "resume", run["run_id"], **mortal.environ)["runs"]
    assert (run["status"], run["partial"], run["settled"]) == ("completed", False, N)
    after = kept(home, run)
    assert [row for row in after if row["item_id"] in {old["item_id"] for old in before}] == before
    if served.requests is not None:
        missing = N - len(before)
        until(lambda: mortal.counts().since(served).requests == missing, f"{missing} were asked anew")


@pytest.mark.in_full
def test_a_run_goes_on_when_its_server_is_back(mortal: Server, home: Path, tmp_path: Path) -> None:
    process = begun(mortal, home, sums(tmp_path / "sums.jsonl", N), *SAMPLING)
    until(lambda: settled(home) >= 4, "some are answered")
    mortal.running.kill()
    mortal.running.start()
    (run,) = json.loads(process.communicate(timeout=HANG_S)[0])["runs"]
    assert (process.returncode, run["settled"], run["partial"]) == (0, N, False)


@pytest.mark.in_full
@pytest.mark.topic("serve")
def test_a_job_of_a_served_proctor_outlives_its_killed_model_server(mortal: Server, home: Path) -> None:
    with serving(home, **mortal.environ) as proctor:
        config = {"tasks": ["sst2"], "limit": 8, "max_tokens": 8, "parallel": 2}
        job = proctor.submit(
            "openai", mortal.kind.model, base_url=mortal.environ["OPENAI_BASE_URL"], **config
        )
        until(lambda: settled(home) >= 3, "some are answered")
        mortal.running.kill()
        mortal.running.start()
        done = proctor.ended(job, s=HANG_S)
    assert (done["status"], done["progress"]["settled"], done["errors"]) == ("completed", 8, {})
