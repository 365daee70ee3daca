"""What a user does with a server, tried on servers that others wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from real_runs import GREEDY, STORY, asked, counted, kept, questions, replies, sums, told
from servers import Server

from jobs_world import until
from programs import proctor_json

pytestmark = pytest.mark.slow  # a real model answers
QUESTIONS = Path(__file__).parents[2] / "examples" / "questions.csv"
SHORT = ("--max-tokens", "8")


def story(server: Server, home: Path, *words: object) -> list[str]:
    """The replies to one question that is answered at length."""
    file = questions(home / "story.jsonl", STORY)
    return replies(home, asked(server, home, file, "--max-tokens", 24, *words))


@pytest.mark.topic("list")
def test_its_models_are_listed(server: Server, home: Path) -> None:
    (listed,) = proctor_json(home, "models", "openai", **server.environ)["providers"]
    assert listed["problem"] is None
    assert server.model in [model["model"] for model in listed["models"]]


@pytest.mark.topic("wrong name")
def test_a_model_that_it_does_not_have_is_refused_with_those_that_it_has(server: Server, home: Path) -> None:
    there = server.kind.model
    done = told(replace(server, kind=replace(server.kind, model="nonesuch")), home, QUESTIONS)
    assert done.returncode not in (0, 1)
    assert "model-not-found" in done.stderr and "nonesuch" in done.stderr and there in done.stderr


@pytest.mark.topic("file")
@pytest.mark.topic("counts")
def test_requests_and_tokens_of_a_file_are_those_that_the_server_counted(
    server: Server, home: Path, tmp_path: Path
) -> None:
    before = server.counts()
    run = asked(server, home, sums(tmp_path / "sums.jsonl", 8), *SHORT)
    rows = kept(home, run)
    assert (run["status"], len(rows), set(run["outcomes"]) & {"error"}) == ("completed", 8, set())
    mine = counted(rows)
    until(lambda: server.counts().since(before).agrees(mine), f"the server counts {mine}")


@pytest.mark.in_full
@pytest.mark.topic("file")
def test_the_example_questions_are_all_answered(server: Server, home: Path) -> None:
    run = asked(server, home, QUESTIONS, "--max-tokens", 24)
    assert (run["status"], run["settled"], run["errors"]) == ("completed", 48, {})


@pytest.mark.in_full
@pytest.mark.topic("suites")
@pytest.mark.parametrize(
    ("suite", "n"), [(("glue",), 9), (("mmlu", "--tasks", "anatomy,marketing,virology"), 3)]
)
def test_sample_rows_of_suites_are_all_answered(
    server: Server, home: Path, suite: tuple[str, ...], n: int
) -> None:
    run = asked(server, home, *suite, "--data", "sample", "--limit", 1, *SHORT)
    assert (run["status"], run["settled"], run["errors"]) == ("completed", n, {})


@pytest.mark.topic("structured")
def test_structured_replies_are_json_with_one_of_the_labels(server: Server, home: Path) -> None:
    words = ("glue", "--tasks", "sst2", "--data", "sample", "--limit", 4, "--mode", "structured")
    run = asked(server, home, *words, "--max-tokens", 24)
    said = [json.loads(text)["answer"] for text in replies(home, run)]
    assert len(said) == 4 and set(said) <= {"positive", "negative"}
    assert run["answer_rate"] == 1.0


@pytest.mark.topic("logprob")
def test_ranking_first_tokens_costs_one_token_an_item_and_answers_each(server: Server, home: Path) -> None:
    words = ("mmlu", "--tasks", "anatomy,astronomy", "--data", "sample", "--limit", 2, "--mode", "logprob")
    run = asked(server, home, *words)
    assert (run["settled"], run["answer_rate"], run["output_tokens_per_item"]) == (4, 1.0, 1.0)


@pytest.mark.in_full
@pytest.mark.topic("repeats")
def test_greedy_repeats_are_one_reply_and_drawn_ones_are_several(server: Server, home: Path) -> None:
    assert len(set(story(server, home, *GREEDY, "--repeats", 3, "--parallel", 1))) == 1
    assert len(set(story(server, home, "--temperature", 1.5, "--repeats", 3))) > 1


@pytest.mark.in_full
@pytest.mark.topic("seed")
def test_a_seed_draws_the_same_again_and_another_seed_draws_otherwise(server: Server, home: Path) -> None:
    drawn = [story(server, home, "--temperature", 1.5, "--seed", seed, "--parallel", 1) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.in_full
@pytest.mark.topic("top_k")
def test_drawing_from_the_likeliest_token_alone_is_greedy(server: Server, home: Path) -> None:
    assert story(server, home, "--temperature", 1, "--top-k", 1) == story(server, home, *GREEDY)


@pytest.mark.topic("repeat penalty")
def test_a_penalty_on_repeated_tokens_changes_what_a_greedy_model_says(server: Server, home: Path) -> None:
    assert story(server, home, *GREEDY, "--repeat-penalty", 1.5) != story(server, home, *GREEDY)


@pytest.mark.topic("overflow")
def test_a_question_beyond_the_context_fails_alone_and_in_the_servers_words(
    server: Server, home: Path, tmp_path: Path
) -> None:
    file = questions(tmp_path / "long.jsonl", "What is 2 plus 2?", "word " * 3000, "What is 1 plus 3?")
    run = asked(server, home, file, *SHORT, codes=(3,))
    assert (run["settled"], run["partial"]) == (2, True)
    errors = [row["error"] for row in kept(home, run) if row["outcome"] == "error"]
    assert len(errors) == 1
    assert str(server.kind.overflow) in json.dumps(errors)


@pytest.mark.topic("empty")
def test_an_empty_reply_is_no_answer_and_no_error(server: Server, home: Path, tmp_path: Path) -> None:
    file = questions(tmp_path / "hello.jsonl", "Say hello.")
    run = asked(server, home, file, *SHORT, *GREEDY, "--stop", "Hello")
    (row,) = kept(home, run)
    assert (row["reply"], row["outcome"], row["finish"]) == ("", "no_answer", "stop")
    assert run["settled"] == 1
