"""How servers of the OpenAI protocol differ, as facts in a table: addresses, keys, thinking, token counts, costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.providers.contract import Pacing
from proctor.types import Think


@dataclass(frozen=True, slots=True)
class Dialect:
    """One vendor's variety. `foreign` are the fields of Sampling that it has no word for."""

    official: str  # the vendor's own address, which needs a key and may not list every model
    key_variable: str | None
    address_variable: str | None
    foreign: frozenset[str]
    thinking: Mapping[Think, Mapping[str, Any]]  # what is sent for each; nothing: it cannot be said
    pacing: Pacing  # at the vendor's own address
    notes: Mapping[Think, str] = field(default_factory=dict)  # for the manifest: sent otherwise than said
    reasoning_inside: bool = True  # completion_tokens counts the reasoning too
    priced_list: str | None = None  # a list of models with prices, beside /models


_NO_WORD = frozenset({"context_tokens", "repeat_last_n"})
_EFFORTS: Mapping[Think, Mapping[str, Any]] = {
    effort: {"reasoning_effort": effort} for effort in ("low", "medium", "high", "max")
}

# Most servers at other addresses have few places: some one, llama.cpp four. More than they have only makes them slower.
ELSEWHERE = Pacing(start=2, most=256)

OPENAI = Dialect(
    official="https://api.openai.com/v1",
    key_variable="OPENAI_API_KEY",
    address_variable="OPENAI_BASE_URL",
    foreign=_NO_WORD,
    thinking={
        **_EFFORTS,
        # The switch of vLLM and its kin; OpenAI itself has none, and says so.
        True: {"chat_template_kwargs": {"enable_thinking": True}},
        False: {"chat_template_kwargs": {"enable_thinking": False}},
    },
    pacing=Pacing(start=16, most=256),
)

SIMULATOR = Dialect(
    official="",
    key_variable=None,
    address_variable=None,
    foreign=_NO_WORD,
    thinking=OPENAI.thinking,
    pacing=ELSEWHERE,
)

GROK = Dialect(
    official="https://api.x.ai/v1",
    key_variable="GROK_API_KEY or XAI_API_KEY",
    address_variable="XAI_BASE_URL",
    foreign=_NO_WORD | {"top_k", "min_p", "repeat_penalty"},
    thinking={
        **_EFFORTS,
        "max": {"reasoning_effort": "high"},
        True: {},  # its reasoning models always reason
        False: {"reasoning_effort": "none"},
    },
    notes={"max": "think max sent as reasoning_effort high"},
    # Its limit per second is a sixtieth of that per minute, so bursts are refused.
    pacing=Pacing(start=2, most=128),
    reasoning_inside=False,
    priced_list="language-models",
)
