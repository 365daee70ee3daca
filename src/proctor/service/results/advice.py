"""What mends the causes of failures: by kind, and by who can change it. The same for every view; knows no store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from proctor.errors import AttemptError, ContextOverflow, attempt_errors
from proctor.findings import Cause
from proctor.service.kinds import kind_of
from proctor.types import Run

# An error that also tells how much the reply may take says that a shorter reply would fit too.
_REPLY_COUNTS = re.compile(r"max_tokens|completion|output tokens", re.I)
_PROMPT_ALONE = re.compile(r"even without any output", re.I)
# What gateways put in front of the words of the server behind them.
_GATEWAY = re.compile(r"litellm\.\w+Error: ", re.I)
_BEHIND = "These are words of a gateway about the model's own server: see that it runs and can be reached from there."


class Counted(Protocol):
    """A run, or its line in a list."""

    @property
    def settled(self) -> int: ...

    @property
    def planned(self) -> int: ...


def askings(run: Run) -> str:
    """What a run's failures are counted in."""
    holds = kind_of(run.cell.source).holds
    if holds != "questions":
        return {"requests": "requests", "tasks": "trials", "verdicts": "verdicts"}[holds]
    return "askings" if run.cell.repeats > 1 else "items"


def asks_again(slug: str) -> bool:
    """Whether the same request may succeed later."""
    kind = _kind(slug)
    return kind is None or kind.retryable or kind.stops_run or kind.may_pass


def _kind(slug: str) -> type[AttemptError] | None:
    return next((kind for kind in attempt_errors() if kind.slug == slug), None)


def goes_on(run: Counted, causes: Sequence[Cause]) -> bool:
    """Whether a resume may find outcomes that the run lacks, as things are.

    Items that were not asked yet help only if others were answered: the failed ones are asked first again.
    """
    if run.settled >= run.planned and run.planned:
        return False
    not_asked = run.planned - run.settled - sum(cause.items for cause in causes)
    if any(asks_again(cause.slug) for cause in causes):
        return True
    return not causes or (not_asked > 0 and run.settled > 0)


def advice(cause: Cause, run: Run, again: str | None = None) -> str:
    """What to do about a cause in this run; "" where nothing is known, or only another tool can ask again.

    `again` is what to do for the run to go on; None is `proctor resume`.
    """
    kind = _kind(cause.slug)
    if kind is None or run.cell.source.imported:
        return ""
    again = again or f"`proctor resume {run.id[:8]}`"
    if kind is ContextOverflow:
        return _longer(cause, run, again)
    cure = kind.cure.replace("`proctor resume RUN`", again)
    return f"{_BEHIND} {cure}" if _GATEWAY.match(cause.said) and kind.retryable else cure


def _longer(cause: Cause, run: Run, again: str) -> str:
    """A prompt that does not fit: who sets the context, and what of it can be changed."""
    or_shorter = f"Or {', '.join(_shorter(cause, run))}."
    if run.manifest.sampling and run.manifest.sampling.sent("context_tokens"):
        return (
            f"Begin a new run with a higher --context-tokens (now {run.cell.sampling.context_tokens}), memory "
            f"permitting. {or_shorter} {_sentence(again)} asks with the same context and would fail again."
        )
    if not _can_be_set(run):
        return f"{or_shorter.removeprefix('Or ').capitalize()} As things are, {again} would fail again."
    return (
        f"The server sets the context, and --context-tokens does not reach it: start the server with "
        f"{_LONGER.get(_server(run), _LONGER[''])}, then {again}. {or_shorter} "
        "As things are, asking again would fail again."
    )


def _shorter(cause: Cause, run: Run) -> Iterator[str]:
    """What fits into a context that cannot be had longer."""
    sampling, shots = run.cell.sampling, run.manifest.facts.shots
    if kind_of(run.cell.source).own:
        yield "shorten these items"
    yield "take a model with a longer context"
    if shots:
        yield f"fewer worked examples (--shots, now {shots})"
    if sampling.max_tokens and _REPLY_COUNTS.search(cause.said) and not _PROMPT_ALONE.search(cause.said):
        yield f"a lower --max-tokens (now {sampling.max_tokens}): the room for the reply counts too"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


# Where a server's context is set, by what the server calls itself.
_LONGER = {
    "llama.cpp": "a larger -c (its -np slots share it)",
    "vllm": "a larger --max-model-len",
    "": "a larger one (llama.cpp: -c, which its -np slots share; vLLM: --max-model-len)",
}


def _can_be_set(run: Run) -> bool:
    """Whether whoever runs the server may be at hand: an own address, and no service that sells its models."""
    address = run.manifest.model.address or ""
    return run.cell.model.provider == "openai" and "api.openai.com" not in address


def _server(run: Run) -> str:
    """The first word of what the server says of itself; "" where it says nothing."""
    named = run.manifest.model.server or ""
    return named.split()[0].lower() if named else ""
