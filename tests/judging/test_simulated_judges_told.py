"""What simulated judges are told of a judging: the truth of each reply, and what each bias would say of it."""

from __future__ import annotations

from proctor.references import JudgingRef
from proctor.service.judging.truth import known_answers
from proctor.simulator import KnownAnswer, prompt_key
from proctor.sources.judging.prompts import ShownReply
from proctor.sources.judging.source import JudgeAsking, JudgedPlace, JudgedReply, judging_source

ICE = ("It is less dense than water.",)


def reply(ident: str, *texts: str, good: tuple[str, ...] = ICE, truth: float | None = None) -> JudgedReply:
    models = ("simulator/sim", "simulator/sim-wordy")[: len(texts)]
    return JudgedReply(JudgedPlace(ident, 0, 1), ShownReply("Why?", good, texts), None, truth, models)


def told(ref: JudgingRef, *replies: JudgedReply) -> list[tuple[JudgeAsking, KnownAnswer]]:
    source = judging_source(ref, replies, {})
    known = known_answers(source)
    return [
        (asking, known[prompt_key([(m.role, m.content) for m in asking.item.ask.messages])])
        for asking in source.askings()
    ]


def test_a_reply_is_right_by_its_words_or_by_its_score_and_long_beside_the_others() -> None:
    found = told(
        JudgingRef("q.csv", "r"),
        reply("a", "Answer: it is  LESS dense than water."),
        reply("b", "Because."),
        reply("c", "Something else.", good=(), truth=1.0),
    )
    assert [known.right for _, known in found] == ["pass", "fail", "pass"]
    assert [known.leans["longer"] for _, known in found] == ["pass", "fail", "fail"]
    assert {known.leans["model=sim"] for _, known in found} == {"pass"}


def test_of_a_pair_truth_and_biases_turn_with_the_order_and_the_first_place_does_not() -> None:
    ref = JudgingRef("q.csv", "r", against="s")
    scored = reply("c", "this", "other than this", good=(), truth=1.0)
    for pair in (reply("a", "It is less dense than water.", "I wonder, and go on to wonder."), scored):
        (straight, first), (turned, second) = told(ref, pair)
        assert (straight.order, turned.order) == ("12", "21")
        assert (first.right, second.right) == ("1", "2")
        assert (first.leans["longer"], second.leans["longer"]) == ("2", "1")
        assert (first.leans["model=sim-wordy"], second.leans["model=sim-wordy"]) == ("2", "1")
        assert first.leans["first"] == second.leans["first"] == "1"
