"""`proctor --server URL ...`: the commands that ask a server, each in a process of its own, over real HTTP."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from proctor.service.opening.simulate import known_answers
from proctor.simulator import spawn
from programs import proctor, proctor_json
from served import PREFIX, Server, serving
from simulators import settings

pytestmark = pytest.mark.slow

GLUE = ["run", "glue", "--data", "sample"]
UNKNOWN = "a967f363-ee96-4bac-9f52-4d169bbc4851"


@dataclass(frozen=True)
class Client:
    """The program in a home of its own, where no run has ever been."""

    home: Path
    server: Server

    def __call__(self, *words: str, code: int = 0, **environ: str) -> CompletedProcess[str]:
        return proctor(self.home, "--server", self.server.url, *words, code=code, **environ)

    def json(self, *words: str, code: int = 0) -> Any:
        """All of standard output as one document."""
        return json.loads(self(*words, "--format", "json", code=code).stdout)

    def wait(self, *words: str) -> Any:
        """Submit one model's job, follow it to its end, and give what it shows."""
        return self.json(*GLUE, *words, "--wait")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a server that works."""
    with serving(tmp_path_factory.mktemp("server"), PROCTOR_REQUESTS_PER_MINUTE="100000") as server:
        yield Client(tmp_path_factory.mktemp("client"), server)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a server without a worker: what is submitted there waits for ever."""
    with serving(tmp_path_factory.mktemp("idle"), "--no-worker") as server:
        yield Client(tmp_path_factory.mktemp("client"), server)


@pytest.fixture(scope="module")
def jobs(client: Client) -> dict[str, Any]:
    """Three models' ended jobs on the same rows, by model; each submitted and followed by the program."""
    models = ("simulator/sim-perfect", "baseline/majority", "baseline/random")
    return {model: client.wait("--model", model) for model in models}


def test_run_submits_a_job_for_each_model(waiting: Client) -> None:
    two = ["--model", "simulator/sim", "--model", "baseline/majority"]
    submitted = waiting.json(*GLUE, *two, "--tasks", "rte, wnli", "--limit", "3", "--priority", "low")
    assert [job["message"] for job in submitted] == ["Benchmarking started for suite: glue"] * 2
    shown = waiting(*GLUE, "--model", "baseline/random").stdout
    found = re.fullmatch(r"(\S{36})  Benchmarking started for suite: glue, about .+\n", shown)
    assert found, shown
    listed = waiting.server.get(f"{PREFIX}/results")["results"]
    names = {row["job_id"]: f"{row['provider']}/{row['model_name']}" for row in listed}
    assert [names[job["job_id"]] for job in submitted] == ["simulator/sim", "baseline/majority"]
    assert names[found[1]] == "baseline/random"
    queue = waiting.server.get("/api/v1/jobs/queue/stats")["waiting"]
    assert (queue["low"], queue["normal"]) == (2, 1), "the client's own priority is normal"


def test_what_run_says_reaches_the_model(client: Client) -> None:
    options = ["--tasks", "rte, wnli", "--limit", "3", "--repeats", "2", "--temperature", "0.5"]
    further = json.dumps({"seed": 7, "think": False})
    project = client.server.post("/api/v1/projects", {"name": "Client"})["id"]
    found = client.wait(
        "--model", "simulator/sim", *options, "--custom-config", further, "--project-id", str(project)
    )
    assert set(found["performance_data"]["glue"]) == {"rte", "wnli"}
    assert found["progress"]["planned"] == 12 and found["status"] == "completed"
    sampling = found["manifest"]["sampling"]
    assert (sampling["temperature"], sampling["seed"], sampling["think"]) == (0.5, 7, False)
    of_project = client.server.get(f"{PREFIX}/results?project_id={project}")["results"]
    assert [row["job_id"] for row in of_project] == [found["job_id"]]


def test_wait_follows_every_model_and_shows_its_table(client: Client) -> None:
    small = ["--tasks", "rte", "--limit", "2"]
    done = client(
        *GLUE, *small, "--model", "simulator/sim-perfect", "--model", "simulator/sim-wrong", "--wait"
    )
    heads = [line for line in done.stdout.splitlines() if line.startswith("simulator/")]
    assert heads == [
        f"simulator/{name}  completed  [sample rows, no real score]" for name in ("sim-perfect", "sim-wrong")
    ]
    assert re.search(r"^ *rte +accuracy +1\.000 \[0\.\d+, 1\.000\] +2$", done.stdout, re.M), done.stdout
    assert re.search(r"^ *rte +accuracy +0\.000 \[0\.000, 0\.\d+\] +2$", done.stdout, re.M), done.stdout


def test_results_are_the_servers_own(client: Client, jobs: dict[str, Any]) -> None:
    for model, job in jobs.items():
        asked = client.server.get(f"{PREFIX}/results/{job['job_id']}")
        assert client.json("results", job["job_id"]) == asked == job
        table = client("results", job["job_id"]).stdout
        assert table.startswith(f"{model}  completed  [sample rows, no real score]\n")
        sst2 = asked["performance_data"]["glue"]["sst2"]["accuracy"]
        low, high = sst2["ci"]
        line = next(x for x in table.splitlines() if re.match(r" *sst2 +accuracy ", x))
        assert line.split(maxsplit=2)[2].split() == [
            f"{sst2['mean']:.3f}",
            f"[{low:.3f},",
            f"{high:.3f}]",
            "20",
        ]


def test_status_says_where_a_job_is(client: Client, waiting: Client, jobs: dict[str, Any]) -> None:
    job = jobs["baseline/majority"]["job_id"]
    state = client.json("status", job)
    assert (state["status"], state["ended"], state["percentage"]) == ("completed", True, 100)
    assert client("status", job).stdout.startswith(f"{job}  completed  100 %  ")
    (waits,) = waiting.json(*GLUE, "--model", "baseline/majority")
    assert waiting("status", waits["job_id"]).stdout == f"{waits['job_id']}  pending  waiting for a worker\n"


def test_poll_tells_the_end_by_its_exit_code(client: Client, waiting: Client, jobs: dict[str, Any]) -> None:
    (submitted,) = client.json(*GLUE, "--model", "simulator/sim", "--limit", "5")
    ended = client.json("status", submitted["job_id"], "--poll")
    assert (ended["job_id"], ended["status"]) == (submitted["job_id"], "completed")
    (lost,) = client.json("run", "glue", "--data", "imported", "--model", "baseline/majority")
    failed = client("status", lost["job_id"], "--poll", code=5).stdout
    assert failed.startswith("baseline/majority  failed") and "Failed to load GLUE dataset" in failed
    (waits,) = waiting.json(*GLUE, "--model", "baseline/majority")
    late = waiting("status", waits["job_id"], "--poll", "--timeout", "0.2", code=1)
    assert late.stdout == "" and f"{waits['job_id']} has not ended within 0.2 s; it goes on" in late.stderr
    waiting("cancel", waits["job_id"])
    assert waiting.json("status", waits["job_id"], "--poll", code=5)["status"] == "cancelled"


@pytest.mark.promise("G-29")
def test_cancel_and_restart(waiting: Client, client: Client, jobs: dict[str, Any]) -> None:
    (submitted,) = waiting.json(*GLUE, "--model", "baseline/majority")
    job = submitted["job_id"]
    assert waiting("cancel", job).stdout == f"Job {job} cancelled successfully\n"
    assert waiting.json("status", job)["status"] == "cancelled"
    again = waiting("cancel", job, code=2)
    assert f"Failed to cancel job {job}: job not found or already completed" in again.stderr
    assert waiting("restart", job).stdout == f"Job {job} waits for a worker\n"
    assert waiting.json("status", job)["status"] == "pending"
    complete = jobs["baseline/majority"]["job_id"]
    refused = client("restart", complete, code=2)
    assert refused.stderr.startswith("Error (conflict): ") and "there is nothing to restart" in refused.stderr


def test_list_and_history(client: Client, jobs: dict[str, Any]) -> None:
    job = jobs["baseline/random"]["job_id"]
    asked = client.server.get(f"{PREFIX}/results?model_name=random&limit=1")
    assert client.json("list", "--model", "random", "--limit", "1") == asked
    assert [row["job_id"] for row in asked["results"]] == [job]
    table = client("list", "--model", "random").stdout.splitlines()
    assert table[0].split() == ["run", "created", "status", "model", "source", "score"]
    assert [line.split()[0] for line in table[1:]] == [job, "1"] and table[-1] == "1 of 1"
    assert client("list", "--model", "random", "--status", "failed").stdout.endswith("0 of 0\n")
    assert client.json("list", "--suite", "mmlu")["total"] == 0
    past = client.json("history", "--model", "random", "--days", "7")
    assert [row["job_id"] for row in past["history"]] == [job] and past["date_range"] == "Last 7 days"
    shown = client("history", "--model", "random").stdout
    assert job in shown and shown.endswith("1 runs. Last 30 days.\n")


def test_compare(client: Client, jobs: dict[str, Any]) -> None:
    ids = [job["job_id"] for job in jobs.values()]
    words = ["compare", *ids, "--suite", "glue", "--metric", "accuracy", "--metric", "f1"]
    found = client.json(*words)["comparison"]
    assert found["best_performing"] == "sim-perfect" and list(found["metrics"]) == ["accuracy", "f1"]
    assert found["runs"] == ids
    lines = client(*words).stdout.splitlines()
    assert lines[:2] == ["best: sim-perfect", f"against the runner-up: {found['statistical_significance']}"]
    assert lines[2:] == [found["verdict"], *found["recommendations"]]
    pair = client("compare", *ids[1:]).stdout
    assert re.match(r"best: (majority|random)", pair), pair
    alone = client("compare", ids[0], code=2)
    assert "model_ids" in alone.stderr and alone.stdout == ""


def test_leaderboard(client: Client, jobs: dict[str, Any]) -> None:
    board = client.json("leaderboard", "--metric", "score")
    assert board == client.server.get(f"{PREFIX}/leaderboard?suite=glue&metric=score")
    first = board["leaderboard"][0]
    assert (first["model_id"], first["rank"], first["score"]) == ("simulator/sim-perfect", 1, 1.0)
    table = client("leaderboard", "--metric", "score", "--limit", "1").stdout.splitlines()
    assert table[0].split() == ["rank", "model", "score", "P(best)", "runs"] and len(table) == 2
    assert table[1].split()[:3] == ["1", "simulator/sim-perfect", "1.000"]
    assert client.json("leaderboard", "--suite", "mmlu")["leaderboard"] == []
    assert "Supported: glue" in client("leaderboard", "--suite", "gleu", code=2).stderr


def test_the_server_may_be_named_by_the_environment(client: Client, jobs: dict[str, Any]) -> None:
    job = jobs["baseline/random"]["job_id"]
    address = client.server.url.removeprefix("http://")  # a bare host and port will do
    for url in (client.server.url, f"{client.server.url}/", address):
        assert job in proctor(client.home, "list", PROCTOR_SERVER=url).stdout
    nowhere = "http://127.0.0.1:9"
    assert job in client("list", PROCTOR_SERVER=nowhere).stdout, "the option goes before the variable"
    assert "No runs" in (here := proctor(client.home, "list")).stdout + here.stderr, (
        "without it: this machine"
    )
    said = proctor(client.home, "status", job, code=2).stderr
    assert "`proctor status` asks a server: give --server URL or set PROCTOR_SERVER" in said


def test_a_key_opens_the_server_and_a_wrong_one_does_not(tmp_path: Path) -> None:
    keys = {
        scope: proctor_json(tmp_path, "keys", "create", "--user", f"u-{scope}", "--scope", scope)["key"]
        for scope in ("read", "run")
    }
    with serving(tmp_path, "--no-worker", PROCTOR_AUTH="keys") as server:
        client = Client(tmp_path, server)
        submit = [*GLUE, "--model", "baseline/majority"]
        assert "Benchmarking started" in client(*submit, PROCTOR_API_KEY=keys["run"]).stdout
        assert client("list", PROCTOR_API_KEY=keys["read"]).stdout.endswith("1 of 1\n")
        wrong = client("list", code=2, PROCTOR_API_KEY="proctor_wrong")
        assert wrong.stderr.startswith("Error (unauthorized): The API key is unknown or was revoked\n")
        assert "PROCTOR_API_KEY" in wrong.stderr and "proctor_wrong" not in wrong.stderr
        assert "the request has none" in client("list", code=2).stderr
        low = client(*submit, code=2, PROCTOR_API_KEY=keys["read"])
        assert low.stderr.startswith("Error (forbidden): ") and "'run'" in low.stderr
    for refused in (wrong, low):
        assert refused.stdout == "" and "Traceback" not in refused.stderr


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as taken:  # bound, but nobody listens: no other program can get this port
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        done = proctor(tmp_path, "--server", url, "list", code=5)
    assert done.stderr.startswith(f"Error (endpoint-not-found): No proctor server answers at {url} (")
    assert "refused" in done.stderr and "Correct --server or PROCTOR_SERVER" in done.stderr
    assert done.stdout == "" and "Traceback" not in done.stderr


def test_a_server_of_another_kind(tmp_path: Path) -> None:
    with spawn([], known_answers(settings(tmp_path), [])) as other:
        done = proctor(tmp_path, "--server", other.url, "list", code=5)
    assert "not as a proctor server" in done.stderr and "Traceback" not in done.stderr
    assert "give an address such as" in proctor(tmp_path, "--server", "ftp://here", "list", code=2).stderr


@pytest.mark.parametrize(
    "words", [["status"], ["status", "--poll"], ["results"], ["cancel"], ["restart"]], ids=" ".join
)
def test_an_unknown_job(waiting: Client, words: list[str]) -> None:
    done = waiting(*words, UNKNOWN, code=2)
    assert done.stderr.startswith(f"Error (not-found): Benchmark job {UNKNOWN} not found\n")
    assert done.stdout == "" and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*GLUE, "--model", "mistral"], "write PROVIDER/NAME, such as ollama/mistral"),
        (["run", "gleu", "--model", "baseline/majority"], "Supported: glue, superglue, mmlu, medical"),
        ([*GLUE, "--model", "baseline/majority", "--custom-config", "{"], "--custom-config: not JSON"),
        ([*GLUE, "--model", "baseline/majority", "--custom-config", "[]"], "give a JSON object"),
        ([*GLUE, "--model", "baseline/majority", "--custom-config", '{"heat": 1}'], "config.heat"),
        ([*GLUE, "--model", "baseline/majority", "--temperature", "9"], "config.temperature"),
    ],
)
def test_a_wrong_request_submits_nothing(
    tmp_path: Path, waiting: Client, words: list[str], said: str
) -> None:
    before = waiting.server.get(f"{PREFIX}/results")["total"]
    done = waiting(*words, code=2)
    assert said in done.stderr and done.stdout == "" and "Traceback" not in done.stderr
    assert waiting.server.get(f"{PREFIX}/results")["total"] == before


def test_a_full_queue(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-worker", PROCTOR_MOST_QUEUED="1") as server:
        client = Client(tmp_path, server)
        submit = [*GLUE, "--model", "baseline/majority"]
        client(*submit)
        full = client(*submit, code=5)
    assert full.stderr.startswith("Error (queue-full): Queue is full. Please try again later.\n")


def test_jobs_that_nothing_was_asked_for_are_no_defect(tmp_path: Path) -> None:
    """One waits, one was cancelled before a worker came: listed without a score, and not to be compared."""
    with serving(tmp_path, "--no-worker") as server:
        client = Client(tmp_path, server)
        waits, ended = (
            job["job_id"] for _ in range(2) for job in client.json(*GLUE, "--model", "simulator/sim")
        )
        client("cancel", ended)
        past = client.json("history", "--model", "sim")
        assert {row["job_id"] for row in past["history"]} == {waits, ended} and past["trend"] == []
        refused = client("compare", waits, ended, code=2).stderr
        assert "and was asked nothing" in refused and "Traceback" not in refused
        for command in ("list", "history"):
            runs = proctor_json(tmp_path, command)["runs"]
            assert {run["run_id"] for run in runs} == {waits, ended}
            assert [run["score"] for run in runs] == [None, None]
        assert "is pending and was asked nothing" in proctor(tmp_path, "compare", waits, ended, code=2).stderr
