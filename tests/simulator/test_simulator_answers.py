"""The answers file, the key of a prompt, and guesses for unknown prompts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.simulator import KnownAnswer, prompt_key, read_answers, write_answers
from proctor.simulator.answers import guess

PAIRS = st.lists(st.tuples(st.text(max_size=6), st.text(max_size=6)), max_size=4)


def test_the_key_is_what_the_rule_says() -> None:
    """SHA-256 over the parts, each after its length in bytes and a colon; 32 digits of it."""
    # printf '4:user3:h\xc3\xa9' | sha256sum
    assert prompt_key([("user", "hé")]) == "0fc76fee5133fa228b3a86e53227d8d2"


@given(PAIRS, PAIRS)
def test_two_prompts_share_a_key_only_when_they_are_the_same(one: list, other: list) -> None:
    assert (prompt_key(one) == prompt_key(other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([("user", "ab")], [("usera", "b")]),
        ([("user", "a"), ("user", "b")], [("user", "a4:user1:b")]),
        ([("user", "")], []),
        ([("system", "a"), ("user", "b")], [("user", "b"), ("system", "a")]),
    ],
)
def test_where_one_part_ends_and_the_next_begins_is_in_the_key(one: list, other: list) -> None:
    assert prompt_key(one) != prompt_key(other)


def test_a_lone_surrogate_has_a_key() -> None:
    assert len(prompt_key([("user", "\ud800")])) == 32


def test_answers_are_read_as_they_were_written(tmp_path: Path) -> None:
    answers = {
        "k1": KnownAnswer("B", ("A", "C")),
        "k2": KnownAnswer('né\n"x"', ()),
        "k3": KnownAnswer("", ("",)),
        "k4": KnownAnswer("pass", ("fail",), {"longer": "fail", "model=a": "pass"}),
    }
    path = tmp_path / "answers.jsonl"
    write_answers(path, answers)
    assert path.read_bytes().splitlines()[0] == b'{"key":"k1","right":"B","wrong":["A","C"]}'
    assert read_answers(path) == answers


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"key": "a", "right": "b"}',
        '{"key": "a", "right": "b", "wrong": [], "rihgt": 1}',
        '{"key": "a", "right": 1, "wrong": []}',
        '{"key": "a", "right": "b", "wrong": "c"}',
        '{"key": "a", "right": "b", "wrong": [1]}',
        '{"key": "a", "right": "b", "wrong": [], "leans": ["first"]}',
        '{"key": "a", "right": "b", "wrong": [], "leans": {"first": 1}}',
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"key": "a", "right": "b", "wrong": []}\n\n' + line + "\n")
    with pytest.raises(ValueError, match=r"answers\.jsonl:3: "):
        read_answers(path)


@pytest.mark.parametrize(
    ("prompt", "offered"),
    [
        ("Which?\nA. one\nB. two\nC. three", ["A", "B", "C"]),
        ("Which?\nA) one\nB) two", ["A", "B"]),
        ("Which?\n (A) one\n (B) two\n\nAnswer: <letter>", ["A", "B"]),
        ("Is it? End with a line 'Answer: <yes|no>'.", ["yes", "no"]),
        ("Is it?\nAnswer: <yes, no or maybe>", ["yes", "no", "maybe"]),
        ("Answer: <yes|no>\nNow this.\nAnswer: <left/right>", ["left", "right"]),
        ("Say one of: positive, negative.", ["positive", "negative"]),
        ("Reply with one of the words entailment, neutral or contradiction.",
         ["entailment", "neutral", "contradiction"]),
        ('Use one of these labels: "acceptable", or "unacceptable".\nAnswer: <label>',
         ["acceptable", "unacceptable"]),
    ],
)  # fmt: skip
def test_a_guess_is_one_of_what_the_prompt_offers(prompt: str, offered: list[str]) -> None:
    """Evenly spread luck reaches every answer, in the order in which they are offered."""
    count = len(offered)
    assert [guess(prompt, (place + 0.5) / count) for place in range(count)] == offered


@pytest.mark.parametrize("prompt", ["", "What?", "A. Smith wrote it. Who?", "Answer: <text>", "One of us."])
def test_there_is_no_guess_without_a_choice(prompt: str) -> None:
    assert guess(prompt, 0.5) is None
