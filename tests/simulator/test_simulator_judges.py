"""Simulated judges: right as often as told, and biased by length, order, mercy or model as often as told."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from proctor.references import WORTH, Criterion, GradingRubric, Scale
from proctor.simulator import Behaviour, KnownAnswer, judged, prompt_key
from proctor.simulator.behaviour import FAVOURING, LEANINGS, NAMED
from proctor.simulator.judges import LONG_CHARS, asked_to_judge
from proctor.simulator.options import parse
from proctor.simulator.protocols.wire import Ask
from proctor.simulator.replies import Lot, compose
from proctor.sources.judging.prompts import ShownReply, pairwise, pointwise

N = 4000
PASS_FAIL, NUMBERS, PREFER = ("pass", "fail"), ("5", "4", "3", "2", "1"), ("1", "tie", "2")
GOOD = ("Ice is less dense.", "It is lighter")
RIGHT, WRONG = "So it is: ice is less\n dense. So it floats.", "It is a kind of glass."
RUBRIC = GradingRubric()


def verdicts(behaviour: Behaviour, known: KnownAnswer | None, prompt: str = "") -> Counter[str]:
    """What N prompts are answered that differ in nothing but their luck."""
    ask = Ask("m", "m", (("user", prompt),), False, 1, None)
    said = (compose(behaviour, None, ask, known, Lot(1, "m", f"k{n}")).text for n in range(N))
    return Counter(text.rpartition("Answer: ")[2] for text in said)


def share(counts: Counter[str], answer: str) -> float:
    return counts[answer] / N


@pytest.mark.parametrize(("name", "accuracy"), [("judge", 0.85), ("judge-70", 0.7), ("judge-95", 0.95)])
def test_a_named_judge_is_right_as_often_as_it_is_said_to_be(name: str, accuracy: float) -> None:
    known = judged(PASS_FAIL, GOOD, [RIGHT], long_chars=100)
    assert share(verdicts(NAMED[name], known), "pass") == pytest.approx(accuracy, abs=0.03)


def test_a_wrong_number_is_mostly_the_one_beside_the_right_one() -> None:
    counts = verdicts(Behaviour(accuracy=0.5), judged(NUMBERS, (), [RIGHT], long_chars=100, worth=0.5))
    assert share(counts, "3") == pytest.approx(0.5, abs=0.04)
    assert counts["2"] + counts["4"] > 3 * (counts["1"] + counts["5"]) > 0


def test_a_bias_speaks_as_often_as_told_whatever_is_right() -> None:
    pair = judged(PREFER, GOOD, [WRONG, RIGHT], long_chars=100, models=("ollama/a", "ollama/b"))
    assert pair.right == "2"
    assert pair.leans == {
        "first": "1", "longer": "2", "kind": "tie",
        "model=ollama/a": "1", "model=a": "1", "model=ollama/b": "2", "model=b": "2",
    }  # fmt: skip
    for leaning in ("first", "kind", "model=a", "model=ollama/a"):
        biased = Behaviour(accuracy=1.0, leans_to=leaning, lean_rate=0.4)
        assert share(verdicts(biased, pair), pair.leans[leaning]) == pytest.approx(0.4, abs=0.03)
    elsewhere = Behaviour(accuracy=1.0, leans_to="model=c", lean_rate=1.0)
    assert verdicts(elsewhere, pair) == {"2": N}, "a model that took no part cannot be favoured"


def test_of_single_replies_the_long_the_favoured_and_with_mercy_all_are_passed() -> None:
    long, short = (judged(PASS_FAIL, GOOD, [WRONG], long_chars=size, models=("x/a",)) for size in (5, 100))
    assert (long.right, long.leans["longer"], short.leans["longer"]) == ("fail", "pass", "fail")
    assert long.leans["kind"] == long.leans["model=a"] == "pass"
    assert "first" not in long.leans


def test_without_a_good_answer_the_order_of_a_pair_does_not_change_which_reply_is_better() -> None:
    for number in range(20):
        replies = [f"reply {number}", f"another {number}"]
        straight, turned = (judged(PREFER, (), each, long_chars=9).right for each in (replies, replies[::-1]))
        assert turned == {"1": "2", "2": "1", "tie": "tie"}[straight]


@pytest.mark.parametrize("scale", WORTH)
def test_a_judge_that_was_told_nothing_reads_the_right_grade_off_the_prompt(scale: Scale) -> None:
    criterion = Criterion("correct", 'Is it right? Say "Answer: " and your view.', scale)
    rubric = GradingRubric(guidance="Be strict.\nA. or B.")
    for reply, place in ((RIGHT, 0), (WRONG, -1)):
        [asked] = pointwise(ShownReply("Why?\nA. this\nB. that", GOOD, (reply,)), rubric, criterion)
        known = asked_to_judge(asked.content)
        assert known == judged(tuple(WORTH[criterion.scale]), GOOD, [reply], long_chars=LONG_CHARS)
        assert verdicts(NAMED["sim-perfect"], None, asked.content) == {list(criterion.worth)[place]: N}


def test_a_judge_that_was_told_nothing_reads_a_pair_off_the_prompt() -> None:
    for shown in (
        ShownReply("Why?", GOOD, (WRONG, RIGHT)),
        ShownReply("Do!", GOOD, (WRONG, RIGHT), "change"),
    ):
        [asked] = pairwise(shown, RUBRIC, RUBRIC.criteria[0])
        assert asked_to_judge(asked.content) == judged(PREFER, GOOD, [WRONG, RIGHT], long_chars=LONG_CHARS)
    assert asked_to_judge("Which is it?\nA. this\nB. that") is None


def test_asked_again_above_temperature_0_a_judge_wavers_and_at_0_it_never_does(start: Any) -> None:
    known = judged(PASS_FAIL, GOOD, [RIGHT], long_chars=100)
    answers = {prompt_key([("user", f"p{n}")]): known for n in range(30)}
    server = start(answers)
    said = {}
    for temperature in (0, 0.7):
        for prompt in range(30):
            body = [
                server.openai(f"p{prompt}", model="judge-70", temperature=temperature).json for _ in range(3)
            ]
            texts = {each["choices"][0]["message"]["content"].rpartition(": ")[2] for each in body}
            said[temperature, prompt] = len(texts)
    assert {said[0, prompt] for prompt in range(30)} == {1}
    assert 2 < sum(said[0.7, prompt] == 2 for prompt in range(30)) < 20


def test_wordy_models_reply_at_clearly_different_lengths() -> None:
    ask, known = Ask("m", "m", (("user", ""),), False, 1, None), KnownAnswer("yes", ())
    wordy = Behaviour(accuracy=1.0, wordy=NAMED["sim-wordy"].wordy)
    texts = [compose(wordy, None, ask, known, Lot(1, "m", f"k{n}")).text for n in range(50)]
    sizes = sorted(len(text) for text in texts)
    assert sizes[-5] > 4 * sizes[4]
    assert all(text.endswith("\n\nAnswer: yes") for text in texts)


def test_a_server_is_given_biased_judges_by_its_options() -> None:
    models = parse(
        [
            "--leans-to",
            "first",
            "--lean-rate",
            "0.2",
            "--wordy",
            "3",
            "--favours",
            "x/a",
            "--model",
            "mine=0.6",
        ]
    ).behaviours
    assert (models["mine"].leans_to, models["mine"].lean_rate, models["mine"].wordy) == ("first", 0.2, 3)
    assert models["judge-kind"].leans_to == "kind", "named judges keep their own bias"
    assert models[f"{FAVOURING}x/a"].leans_to == "model=x/a"
    for words in ("--leans-to nobody", "--leans-to model=", "--lean-rate 1.5", "--wordy -1"):
        with pytest.raises(SystemExit):
            parse(words.split())
    assert all(Behaviour(leans_to=each).leans_to == each for each in (*LEANINGS, "model=x"))
