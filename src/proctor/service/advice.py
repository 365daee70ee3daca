"""What mends the causes of failures: by kind, and by who can change it. The same for every view; knows no store."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from proctor.errors import ContextOverflow, ProviderError, errors
from proctor.findings import Cause
from proctor.types import Run

# An error that also tells how much the reply may take says that a shorter reply would fit too.
_REPLY_COUNTS = re.compile(r"max_tokens|completion|output tokens", re.I)


class Counted(Protocol):
    """A run, or its line in a list."""

    @property
    def settled(self) -> int: ...

    @property
    def planned(self) -> int: ...


def askings(run: Run) -> str:
    """What a run's failures are counted in."""
    return "askings" if run.cell.repeats > 1 else "items"


def asks_again(slug: str) -> bool:
    """Whether the same request may succeed later."""
    kind = errors().get(slug)
    return kind is None or not issubclass(kind, ProviderError) or kind.retryable or kind.stops_run


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
    kind = errors().get(cause.slug)
    if kind is None or run.cell.source.kind == "log":
        return ""
    again = again or f"`proctor resume {run.id[:8]}`"
    if kind is ContextOverflow:
        return _longer(cause, run, again)
    return kind.cure.replace("`proctor resume RUN`", again)


def _longer(cause: Cause, run: Run, again: str) -> str:
    """A prompt that does not fit: who sets the context, and what of it can be changed."""
    sampling = run.cell.sampling
    fewer = (
        f", fewer worked examples (--shots, now {run.manifest['shots']})" if run.manifest.get("shots") else ""
    )
    less = ""
    if sampling.max_tokens and _REPLY_COUNTS.search(cause.said):
        less = f", a lower --max-tokens (now {sampling.max_tokens}; the room for the reply counts too)"
    shorter = f"Or shorten these items{fewer}{less}."
    if "context_tokens" in run.manifest.get("sampling", {}):
        now = sampling.context_tokens
        return (
            f"A new run with a higher --context-tokens (now {now}), memory permitting. {shorter} "
            f"{again} asks with the same context and would fail again."
        )
    if not _can_be_set(run):
        return f"A model with a longer context. {shorter} As things are, {again} would fail again."
    return (
        f"The server sets the context, and --context-tokens does not reach it: start the server with "
        f"{_LONGER.get(_server(run), _LONGER[''])}, then {again}. {shorter} "
        "As things are, asking again would fail again."
    )


# Where a server's context is set, by what the server calls itself.
_LONGER = {
    "llama.cpp": "a larger -c (its -np slots share it)",
    "vllm": "a larger --max-model-len",
    "": "a larger one (llama.cpp: -c, which its -np slots share; vLLM: --max-model-len)",
}


def _can_be_set(run: Run) -> bool:
    """Whether whoever runs the server may be at hand: an own address, and no service that sells its models."""
    address = (run.manifest.get("model") or {}).get("address") or ""
    return run.cell.model.provider == "openai" and "api.openai.com" not in address


def _server(run: Run) -> str:
    server = (run.manifest.get("model") or {}).get("server")
    return str((server or {}).get("name") or "") if isinstance(server, Mapping) else str(server or "")
