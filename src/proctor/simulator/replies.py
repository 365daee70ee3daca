"""What a simulated model says: the sentences before the answer, the answer, and where it is cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from proctor.simulator.answers import Answer, guess, pick
from proctor.simulator.behaviour import Behaviour, draw, is_right
from proctor.simulator.wire import Ask, Said

# None of these sentences may contain a word or a single letter that could be read as an answer.
OPENERS = (
    "The wording of the question settles most of it. Weighing the rest leaves one reading.",
    "Two points matter here, and they agree with each other.",
    "Read closely, the text leaves little room for doubt.",
    "This follows from what is given. Nothing else in it speaks against that.",
)
REASONING = "First the question itself, then what each choice would mean. The pieces fit together in one way."
UNCLEAR = "Much could be said for every side of this, so it has to stay open."
REFUSAL = "Sorry, but this request cannot be helped with here."
IGNORANT = "I do not know."
# Named by a model that is wrong about a prompt for which no wrong answer was given.
WRONG = "none of these"

GARBAGE = b"<html><head><title>502 Bad Gateway</title></head><body>upstream is away</body></html>"

Finish = Literal["stop", "length", "refused"]


@dataclass(frozen=True, slots=True)
class Lot:
    """What the draws for one prompt to one model start from."""

    seed: int
    model: str
    key: str

    def draw(self, purpose: str) -> float:
        return draw(self.seed, purpose, self.model, self.key)


def compose(behaviour: Behaviour, fault: str | None, ask: Ask, known: Answer | None, lot: Lot) -> Said:
    """The reply to one request, within the request's token limit."""
    opener = pick(OPENERS, lot.draw("opener"))
    if fault in _FAULTY:
        text, finish = _FAULTY[fault](opener)
    else:
        text, finish = _answering(behaviour, ask, known, lot, opener), "stop"
    reasoning = REASONING if behaviour.thinks and ask.think else ""
    # A model that ran into the limit has spent all of it.
    spent = ask.limit if finish == "length" else None
    said = _counted(text, reasoning, finish, spent or behaviour.tokens)
    return _limited(said, ask.limit)


_FAULTY: dict[str | None, Callable[[str], tuple[str, Finish]]] = {
    "silent": lambda opener: ("", "stop"),
    "unclear": lambda opener: (UNCLEAR, "stop"),
    "refuse": lambda opener: (REFUSAL, "refused"),
    "truncate": lambda opener: (opener[: len(opener) * 3 // 4], "length"),
}


def _answering(behaviour: Behaviour, ask: Ask, known: Answer | None, lot: Lot, opener: str) -> str:
    named = _named(behaviour, ask, known, lot)
    if named is None:
        return IGNORANT
    return f"{opener}\n\nAnswer: {named}" if behaviour.verbose else f"Answer: {named}"


def _named(behaviour: Behaviour, ask: Ask, known: Answer | None, lot: Lot) -> str | None:
    luck = lot.draw("choice")
    if known is None:
        asked = next((content for role, content in reversed(ask.messages) if role == "user"), "")
        return guess(asked, luck)
    if is_right(behaviour, lot.seed, lot.model, lot.key):
        return known.right
    return pick(known.wrong, luck) if known.wrong else WRONG


def count_tokens(text: str) -> int:
    """Output tokens, by the rule of thumb of four characters each and one for the end."""
    return len(text) // 4 + 1


def _counted(text: str, reasoning: str, finish: Finish, tokens: int | None) -> Said:
    thought = count_tokens(reasoning) if reasoning else 0
    total = tokens or thought + count_tokens(text)
    return Said(text, reasoning, finish, output_tokens=total, reasoning_tokens=min(thought, total - 1))


def _limited(said: Said, limit: int | None) -> Said:
    """The reply cut in proportion where it has more tokens than allowed: the reasoning is spent first."""
    if limit is None or said.output_tokens <= limit:
        return said
    thought = min(said.reasoning_tokens, limit)
    spoken = said.output_tokens - said.reasoning_tokens
    return replace(
        said,
        text=said.text[: len(said.text) * (limit - thought) // spoken],
        reasoning=said.reasoning[: _share(len(said.reasoning), thought, said.reasoning_tokens)],
        finish="length",
        output_tokens=limit,
        reasoning_tokens=thought,
    )


def _share(length: int, part: int, whole: int) -> int:
    return length * part // whole if whole else 0
