"""What the models say: the answer at the end, the tokens counted, the text cut at the limit."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.simulator import Behaviour, KnownAnswer
from proctor.simulator.protocols.wire import Ask, SimulatedReply
from proctor.simulator.replies import IGNORANT, OPENERS, REASONING, REFUSAL, UNCLEAR, WRONG, Lot, compose

LOT = Lot(1, "m", "k")
PERFECT, HOPELESS = Behaviour(accuracy=1.0), Behaviour(accuracy=0.0)
KNOWN = KnownAnswer("B", ("A", "C"))


def ask(prompt: str = "Well?", limit: int | None = None, think: bool = True) -> Ask:
    return Ask("m", "m", (("user", prompt),), False, 1, limit, think=think)


def say(
    behaviour: Behaviour, fault: str | None = None, known: KnownAnswer | None = KNOWN, **asked: Any
) -> SimulatedReply:
    return compose(behaviour, fault, ask(**asked), known, LOT)


def test_the_answer_stands_on_the_last_line_after_a_sentence_or_two() -> None:
    *sentences, last = say(PERFECT).text.splitlines()
    assert "\n".join(sentences).strip() in OPENERS
    assert last == "Answer: B"
    assert say(Behaviour(accuracy=1.0, verbose=False)).text == "Answer: B"


def test_a_wrong_answer_is_one_of_the_wrong_ones() -> None:
    replies = {compose(HOPELESS, None, ask(), KNOWN, Lot(1, "m", f"k{n}")).text[-1] for n in range(40)}
    assert replies == {"A", "C"}


def test_a_model_can_be_wrong_where_no_wrong_answer_was_given() -> None:
    assert say(HOPELESS, known=KnownAnswer("Paris", ())).text.endswith(f"Answer: {WRONG}")


def test_an_unknown_prompt_gets_a_guess_or_an_admission() -> None:
    offered = "Which?\nA. x\nB. y\nC. z"
    guesses = {compose(PERFECT, None, ask(offered), None, Lot(1, "m", f"k{n}")).text[-1] for n in range(40)}
    assert guesses == {"A", "B", "C"}
    assert say(PERFECT, known=None).text == IGNORANT


def test_only_the_last_user_turn_is_searched_for_a_guess() -> None:
    turns = (("user", "A. x\nB. y"), ("assistant", "A"), ("user", "Is it? Answer: <yes|yes indeed>"))
    said = compose(PERFECT, None, Ask("m", "m", turns, False, 1, None), None, LOT)
    assert said.text.splitlines()[-1] in {"Answer: yes", "Answer: yes indeed"}


@pytest.mark.parametrize(
    ("fault", "text", "finish"),
    [("silent", "", "stop"), ("unclear", UNCLEAR, "stop"), ("refuse", REFUSAL, "refused")],
)
def test_a_fault_takes_the_answer_s_place(fault: str, text: str, finish: str) -> None:
    said = say(PERFECT, fault)
    assert (said.text, said.finish) == (text, finish)


def test_a_truncated_reply_ends_before_the_answer_and_has_spent_its_limit() -> None:
    said = say(PERFECT, "truncate", limit=512)
    assert (said.finish, said.output_tokens) == ("length", 512)
    assert said.text
    assert any(opener.startswith(said.text) and opener != said.text for opener in OPENERS)


def test_tokens_are_counted_from_the_text_unless_they_are_given() -> None:
    said = say(PERFECT)
    assert said.output_tokens == len(said.text) // 4 + 1
    assert said.reasoning_tokens == 0
    assert say(Behaviour(tokens=300)).output_tokens == 300


def test_reasoning_counts_among_the_output_tokens() -> None:
    said = say(Behaviour(accuracy=1.0, thinks=True))
    assert said.reasoning == REASONING
    assert said.reasoning_tokens == len(REASONING) // 4 + 1
    assert said.output_tokens == said.reasoning_tokens + len(said.text) // 4 + 1
    assert say(Behaviour(thinks=True), think=False).reasoning == ""


def test_a_limit_cuts_the_text_and_says_so() -> None:
    free = say(PERFECT)
    cut = say(PERFECT, limit=free.output_tokens - 1)
    assert (cut.finish, cut.output_tokens) == ("length", free.output_tokens - 1)
    assert free.text.startswith(cut.text)
    assert len(cut.text) < len(free.text)
    assert say(PERFECT, limit=free.output_tokens) == free


def test_reasoning_is_spent_before_the_text() -> None:
    said = say(Behaviour(accuracy=1.0, thinks=True), limit=5)
    assert (said.text, said.finish, said.output_tokens, said.reasoning_tokens) == ("", "length", 5, 5)
    assert said.reasoning
    assert REASONING.startswith(said.reasoning)


@given(st.integers(1, 400), st.one_of(st.none(), st.integers(1, 300)), st.booleans())
def test_no_reply_is_longer_than_its_limit(limit: int, tokens: int | None, thinks: bool) -> None:
    said = say(Behaviour(accuracy=1.0, tokens=tokens, thinks=thinks), limit=limit)
    assert said.output_tokens <= limit
    assert 0 <= said.reasoning_tokens <= said.output_tokens
    assert (said.finish == "stop") == said.text.endswith("Answer: B")
