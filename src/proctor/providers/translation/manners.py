"""Where the providers' endpoints differ: which of the two shapes they speak, and which fields they do not take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proctor.providers.passthrough.shapes import CHAT, RESPONSES


@dataclass(frozen=True, slots=True)
class Manner:
    """`speaks`: the likeliest first. `refuses`: fields that must not be sent; `ignores`: fields that have no effect."""

    speaks: tuple[str, ...] = (CHAT,)
    refuses: frozenset[str] = frozenset()
    ignores: frozenset[str] = frozenset()
    longest: str = "max_tokens"  # the field for the most tokens of a reply


_BOTH = (RESPONSES, CHAT)
MANNERS: Mapping[str, Manner] = {
    "openai": Manner(_BOTH, longest="max_completion_tokens"),
    "grok": Manner(_BOTH),
    # Which server stands behind an address is not known; nor how old an Ollama is.
    "serve": Manner((CHAT, RESPONSES)),
    "ollama": Manner((CHAT,), ignores=frozenset({"parallel_tool_calls"})),
    "simulator": Manner(_BOTH),
    "gemini": Manner(
        refuses=frozenset({
            "frequency_penalty", "logit_bias", "presence_penalty", "prompt_cache_key", "safety_identifier", "seed",
            "service_tier", "user", "verbosity",
        })
    ),
    "anthropic": Manner(
        ignores=frozenset({
            "frequency_penalty", "logit_bias", "logprobs", "presence_penalty", "reasoning_effort", "response_format",
            "seed", "service_tier", "top_logprobs", "user",
        })
    ),
}  # fmt: skip


def manner_of(provider: str) -> Manner:
    return MANNERS.get(provider, Manner())


def upstreams(provider: str, path: str) -> tuple[str, ...]:
    """Where a request to an endpoint goes at a provider, the likeliest first; what is no conversation stays as it is.

    >>> upstreams("openai", "/v1/responses"), upstreams("gemini", "/v1/responses")
    (('/v1/responses', '/v1/chat/completions'), ('/v1/chat/completions',))
    """
    if path not in _BOTH:
        return (path,)
    speaks = manner_of(provider).speaks
    return tuple(sorted(speaks, key=lambda each: each != path))
