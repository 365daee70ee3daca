"""What a line of lm-eval's samples says that a model was offered, chose and wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.interop.logs import array, mapping, text
from proctor.types import Message

NOTHING_FOUND = "[invalid]"  # what lm-eval's filters leave where they find no answer


@dataclass(frozen=True, slots=True)
class SampleAnswer:
    """The options that were ranked (none for free text), the answer (None where not known), the model's words."""

    answer: str | None
    reply: str
    target: str
    prompt: tuple[Message, ...]
    choices: tuple[str, ...] = ()
    unread: bool = False


def answered(line: Mapping[str, Any], score: float | None) -> SampleAnswer:
    """`score` settles what cannot be seen: a metric may choose otherwise than by the plain likelihood."""
    asked = _arguments(line.get("arguments"))
    prompt = (Message("user", asked[0][0]),) if asked and asked[0][0] else ()
    filtered, target = array(line.get("filtered_resps")), text(line.get("target"))
    if filtered and all(_is_likelihood(each) for each in filtered):
        return _ranked(asked, filtered, target, score)
    found = text(filtered[0]) if filtered else None
    unread = found == NOTHING_FOUND
    return SampleAnswer(None if unread else found, _said(line), target, prompt, unread=unread)


def _arguments(value: object) -> list[tuple[str, str]]:
    """Context and continuation of each request; lm-eval writes them as `gen_args_N` or as a list."""
    if isinstance(value, dict):
        each = [mapping(value.get(f"gen_args_{i}")) for i in range(len(value))]
        return [(text(one.get("arg_0")), text(one.get("arg_1"))) for one in each]
    pairs = [array(one) for one in array(value)]
    return [(text(pair[0]), text(pair[1])) for pair in pairs if len(pair) > 1]


def _is_likelihood(value: object) -> bool:
    """A pair of a log-likelihood and whether it is the greedy choice."""
    pair = array(value)
    return len(pair) == 2 and str(pair[1]) in ("True", "False")


def _ranked(
    asked: Sequence[tuple[str, str]], filtered: Sequence[Any], target: str, score: float | None
) -> SampleAnswer:
    likelihoods: Sequence[float] = [_float(pair[0]) for pair in filtered]
    # Requests without a context only set the scale of a further metric.
    count = sum(1 for context, _ in asked if context) or len(likelihoods)
    likelihoods, (options, stem) = likelihoods[:count], _options(asked[:count])
    if len(options) != len(likelihoods):
        options = [str(place) for place in range(len(likelihoods))]
    prompt = (Message("user", stem),) if stem else ()
    reply = "\n".join(f"{o}: {value:g}" for o, value in zip(options, likelihoods, strict=True))
    if len(options) == 1:
        greedy = str(filtered[0][1]) == "True"
        return SampleAnswer(options[0] if greedy else None, reply, target, prompt)
    answer: str | None = options[max(range(len(options)), key=likelihoods.__getitem__)]
    if target not in options and target.isdigit() and int(target) < len(options):
        target = options[int(target)]
        if score in (0.0, 1.0) and (answer == target) != (score == 1):
            answer = None  # the metric weighs likelihoods in a way of its own, such as by length
    return SampleAnswer(answer, reply, target, prompt, tuple(options))


def _options(asked: Sequence[tuple[str, str]]) -> tuple[list[str], str]:
    """What tells the requests apart, the continuations or else the ends of the contexts; and what they share."""
    endings = [ending.strip() for _, ending in asked]
    contexts = [context for context, _ in asked] or [""]
    if len(set(endings)) == len(endings):
        return endings, contexts[0]
    same = next((i for i, each in enumerate(zip(*contexts, strict=False)) if len(set(each)) > 1), 0)
    start = max(contexts[0].rfind(" ", 0, same), contexts[0].rfind("\n", 0, same)) + 1  # whole words
    options = [context[start:].strip() or ending for context, ending in zip(contexts, endings, strict=True)]
    return options, contexts[0][:start].rstrip()


def _said(line: Mapping[str, Any]) -> str:
    """The first reply; further ones of the same item are in the log only."""
    said: object = line.get("resps")
    while isinstance(said, list):
        said = said[0] if said else ""
    return text(said)


def _float(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return float("-inf")
