"""What a user does with a server, tried on servers that others wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from servers import Counts, Server

from jobs_world import until
from programs import csv_of_sums, proctor_json

pytestmark = pytest.mark.slow  # a real model answers
QUESTIONS = Path(__file__).parents[2] / "examples" / "questions.csv"
SHORT = ("--max-tokens", "8")


def asked(server: Server, home: Path, *words: object, code: int = 0) -> Any:
    """`proctor run` with this model: the only run of its document."""
    told = proctor_json(home, "run", *map(str, words), "--model", server.model, code=code, **server.environ)
    (run,) = told["runs"]
    return run


@pytest.mark.topic("list")
def test_its_models_are_listed(server: Server, home: Path) -> None:
    (told,) = proctor_json(home, "models", "openai", **server.environ)["providers"]
    assert told["problem"] is None
    assert server.model in [model["model"] for model in told["models"]]


@pytest.mark.topic("counts")
def test_requests_and_tokens_are_those_that_the_server_counted(
    server: Server, home: Path, tmp_path: Path
) -> None:
    before = server.counts()
    run = asked(server, home, csv_of_sums(tmp_path / "sums.csv", 12), *SHORT)
    n = run["settled"]
    assert (run["status"], n, run["retries"]) == ("completed", 12, 0)
    mine = Counts(n, round(run["input_tokens_per_item"] * n), round(run["output_tokens_per_item"] * n))
    until(lambda: server.counts().since(before) == mine, "the server counts the same")
