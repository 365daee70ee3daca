"""What a simulated model says: the sentences before the answer, the answer, and where it is cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import orjson

from proctor.simulator.answers import KnownAnswer, guess, offered, pick
from proctor.simulator.behaviour import Behaviour, draw, is_right, leans
from proctor.simulator.judges import asked_to_judge
from proctor.simulator.protocols.ranks import rank, spell
from proctor.simulator.protocols.wire import (
    CALL_LETTERS,
    Ask,
    Finish,
    SchemaForm,
    Scripted,
    SimulatedReply,
    split,
)

# None of these sentences may contain a word or a single letter that could be read as an answer.
OPENERS = (
    "The wording of the question settles most of it. Weighing the rest leaves one reading.",
    "Two points matter here, and they agree with each other.",
    "Read closely, the text leaves little room for doubt.",
    "This follows from what is given. Nothing else in it speaks against that.",
)
# What wordy models say beyond that.
FURTHER = (
    "It helps to put the matter in its setting first, because much of what is said about it elsewhere leaves that out.",
    "People who deal with such things every day would begin at the same place.",
    "What matters most is the wording, and after that what it takes for granted.",
    "Some details are left aside here, since they would change nothing.",
    "Put in other words, the same follows again.",
    "There is more to be said about how it came to be so, but that would lead away from what was asked.",
)
REASONING = "First the question itself, then what each choice would mean. The pieces fit together in one way."
UNCLEAR = "Much could be said for every side of this, so it has to stay open."
REFUSAL = "Sorry, but this request cannot be helped with here."
IGNORANT = "I do not know."
# Named by a model that is wrong about a prompt for which no wrong answer was given.
WRONG = "none of these"

GARBAGE = b"<html><head><title>502 Bad Gateway</title></head><body>upstream is away</body></html>"


@dataclass(frozen=True, slots=True)
class Lot:
    """What the draws for one prompt to one model start from."""

    seed: int
    model: str
    key: str
    again: int = 0  # how often the prompt was asked, where it may be answered otherwise; else 0

    def draw(self, purpose: str) -> float:
        return draw(self.seed, purpose, self.model, self.key)

    def of(self, index: int) -> Lot:
        """The lot of one of several replies to the same prompt; that of the first is the prompt's own."""
        return replace(self, key=f"{self.key}/{index}") if index else self

    def wavering(self, share: float) -> Lot:
        """The lot of this asking alone, at that share of prompts."""
        return self.of(self.again) if self.again and self.draw("wavers") < share else self


def compose(
    behaviour: Behaviour,
    fault: str | None,
    ask: Ask,
    known: KnownAnswer | None,
    lot: Lot,
    style: str = "plain",
) -> SimulatedReply:
    """The reply to one request, within the request's token limit. `style` is that of ranked first tokens.

    Where several replies are asked for, each has luck of its own.
    """
    said = _one(behaviour, fault, ask, known, lot, style)
    if ask.n == 1:
        return said
    others = (_one(behaviour, fault, ask, known, lot.of(index), style) for index in range(1, ask.n))
    return replace(said, others=tuple(others))


def _one(
    behaviour: Behaviour, fault: str | None, ask: Ask, known: KnownAnswer | None, lot: Lot, style: str
) -> SimulatedReply:
    if ask.scripted is not None and fault not in _FAULTY:
        return _scripted(behaviour, ask.scripted, ask.limit)
    if ask.call is not None and fault not in _FAULTY:
        tokens = behaviour.tokens or count_tokens(ask.call.arguments)
        said = SimulatedReply("", "", "stop", output_tokens=tokens, reasoning_tokens=0, call=ask.call)
        return _in_words(said) if behaviour.paced else said
    if ask.ranked is not None and fault not in _FAULTY:
        return _first_token(behaviour, ask, known, lot, style)
    opener = _opening(behaviour, lot, ask.varied)
    if fault in _FAULTY:
        text, finish = _FAULTY[fault](opener)
    else:
        text, finish = _answering(behaviour, ask, known, lot, opener), "stop"
    reasoning = REASONING if behaviour.thinks and ask.think else ""
    # A model that ran into the limit has spent all of it.
    spent = ask.limit if finish == "length" else None
    said = _limited(_counted(text, reasoning, finish, spent or behaviour.tokens), ask.limit)
    if behaviour.paced:
        said = _in_words(said)
    return said if ask.ranked is None else replace(said, tokens=spell(said.text, (), ask.ranked))


def _scripted(behaviour: Behaviour, act: Scripted, limit: int | None) -> SimulatedReply:
    arguments = "" if act.call is None else act.call.arguments
    tokens = behaviour.tokens or count_tokens(act.text + arguments)
    said = SimulatedReply(act.text, "", "stop", output_tokens=tokens, reasoning_tokens=0, call=act.call)
    if act.call is None:
        said = _limited(said, limit)
    return _in_words(said) if behaviour.paced else said


def _in_words(said: SimulatedReply) -> SimulatedReply:
    """The reply with as many tokens as it has pieces in a stream."""
    thought, spoken = len(split(said.reasoning)), len(split(said.text))
    if said.call is not None:
        spoken += 1 + -(-len(said.call.arguments) // CALL_LETTERS)
    return replace(said, output_tokens=max(1, thought + spoken), reasoning_tokens=thought)


_FAULTY: dict[str | None, Callable[[str], tuple[str, Finish]]] = {
    "silent": lambda opener: ("", "stop"),
    "unclear": lambda opener: (UNCLEAR, "stop"),
    "refuse": lambda opener: (REFUSAL, "refused"),
    "block": lambda opener: (REFUSAL, "blocked"),
    "truncate": lambda opener: (opener[: len(opener) * 3 // 4], "length"),
}


def _opening(behaviour: Behaviour, lot: Lot, varied: bool) -> str:
    opener = pick(OPENERS, (lot.draw("opener") + varied / len(OPENERS)) % 1.0)
    if not behaviour.wordy:
        return opener
    more = int(lot.draw("wordy") * (behaviour.wordy + 1))
    return " ".join([opener, *(FURTHER[index % len(FURTHER)] for index in range(more))])


def _answering(behaviour: Behaviour, ask: Ask, known: KnownAnswer | None, lot: Lot, opener: str) -> str:
    named = _named(behaviour, ask, known, lot)
    if ask.form is not None:
        return _filled(ask.form, named, lot)
    if named is None:
        return IGNORANT
    return f"{opener}\n\nAnswer: {named}" if behaviour.verbose else f"Answer: {named}"


def _named(behaviour: Behaviour, ask: Ask, known: KnownAnswer | None, lot: Lot) -> str | None:
    lot = lot.wavering(behaviour.wavers)
    luck = lot.draw("choice")
    known = known or asked_to_judge(_asked(ask))
    if known is None:
        return guess(_asked(ask), luck)
    bias = known.leans.get(behaviour.leans_to or "")
    if bias is not None and leans(behaviour, lot.seed, lot.model, lot.key):
        return bias
    if is_right(behaviour, lot.seed, lot.model, lot.key):
        return known.right
    return pick(known.wrong, luck) if known.wrong else WRONG


def _asked(ask: Ask) -> str:
    """The last thing that the user said."""
    return next((content for role, content in reversed(ask.messages) if role == "user"), "")


def _filled(form: SchemaForm, named: str | None, lot: Lot) -> str:
    """The object that the schema asks for. Constrained decoding always ends in one of the options."""
    if form.options and named not in form.options:
        named = pick(form.options, lot.draw("choice"))
    return orjson.dumps({form.key: IGNORANT if named is None else named}).decode()


def _first_token(
    behaviour: Behaviour, ask: Ask, known: KnownAnswer | None, lot: Lot, style: str
) -> SimulatedReply:
    """The reply that starts with its answer, token by token; the first is ranked among the other answers."""
    named = _named(behaviour, ask, known, lot) or IGNORANT
    others = (known.right, *known.wrong) if known else offered(_asked(ask))
    top = rank(named, [o for o in others if o != named], style)
    if ask.limit == 1:
        said = SimulatedReply(top[0][0], "", "length", output_tokens=1, reasoning_tokens=0)
    else:
        said = _limited(_counted(named, "", "stop", behaviour.tokens), ask.limit)
    return replace(said, tokens=spell(said.text, top, ask.ranked or 0))


def count_tokens(text: str) -> int:
    """Output tokens, by the rule of thumb of four characters each and one for the end."""
    return len(text) // 4 + 1


def _counted(text: str, reasoning: str, finish: Finish, tokens: int | None) -> SimulatedReply:
    thought = count_tokens(reasoning) if reasoning else 0
    total = tokens or thought + count_tokens(text)
    return SimulatedReply(
        text, reasoning, finish, output_tokens=total, reasoning_tokens=min(thought, total - 1)
    )


def _limited(said: SimulatedReply, limit: int | None) -> SimulatedReply:
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
