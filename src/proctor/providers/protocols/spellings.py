"""Under which name each server program takes a setting: one table, from documentation, source and what was seen.

A field of Sampling that a program has no name for is not sent to it, and the run's manifest says so. Where it is
not known whether a program applies what it takes, the manifest says that instead. docs/servers.md shows the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.offered import Server
from proctor.types import Sampling, Think

Thinking = Mapping[Think, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Spelling:
    """How one program spells settings in a request of chat completions.

    `names` says under which name it takes a field of Sampling; one that is not there it has no word for.
    `thinking` is what is sent for each value of `think`; nothing: it cannot be said. `unsure` are fields that are
    sent without knowing whether they are applied. `basis` is where this is known from.
    """

    names: Mapping[str, str]
    thinking: Thinking
    unsure: frozenset[str] = frozenset()
    notes: Mapping[Think, str] = field(default_factory=dict)  # for the manifest: sent otherwise than said
    basis: str = ""

    def unsent(self, sampling: Sampling) -> frozenset[str]:
        """The fields of Sampling that do not reach the model."""
        unsent = {name for name in FIELDS if name not in self.names}
        if sampling.think is not None and not self.thinking[sampling.think]:
            unsent.add("think")
        if sampling.mode == "logprob":
            unsent.add("max_tokens")
        return frozenset(unsent)

    def remarks(self, sampling: Sampling, server: Server | None) -> tuple[str, ...]:
        """What is to be said of settings that somebody chose and whose effect is not known."""
        usual = Sampling()
        chosen = [
            name for name in FIELDS if name in self.unsure and getattr(sampling, name) != getattr(usual, name)
        ]
        if not chosen:
            return ()
        who = f"the server ({server})" if server else "this server, which does not say what program it is,"
        sent = ", ".join(
            name if self.names[name] == name else f"{name} as {self.names[name]}" for name in chosen
        )
        return (f"sent {sent}: whether {who} applies {'it' if len(chosen) == 1 else 'them'} is not known",)


# The fields of Sampling that are settings with one value; `think` and `mode` are said in several ways.
FIELDS = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repeat_penalty",
    "repeat_last_n",
    "max_tokens",
    "context_tokens",
    "seed",
    "stop",
)
# What OpenAI's own documentation has.
OWN: Mapping[str, str] = {name: name for name in ("temperature", "top_p", "max_tokens", "seed", "stop")}
EXTRA = frozenset({"top_k", "min_p", "repeat_penalty"})  # not OpenAI's, but most servers have them
_VLLM: Mapping[str, str] = {
    **OWN,
    "top_k": "top_k",
    "min_p": "min_p",
    "repeat_penalty": "repetition_penalty",
}

EFFORTS: Thinking = {effort: {"reasoning_effort": effort} for effort in ("low", "medium", "high", "max")}
# OpenAI itself has no switch, and says so; vLLM and its kin hand it to the model's template.
_TEMPLATE: Thinking = {
    True: {"chat_template_kwargs": {"enable_thinking": True}},
    False: {"chat_template_kwargs": {"enable_thinking": False}},
}
_BOTH: Thinking = {**EFFORTS, **_TEMPLATE}
_NEVER: Thinking = {think: {} for think in _BOTH}

SPELLINGS: Mapping[str, Spelling] = {
    "llama.cpp": Spelling(
        {
            **OWN,
            "top_k": "top_k",
            "min_p": "min_p",
            "repeat_penalty": "repeat_penalty",
            "repeat_last_n": "repeat_last_n",
        },
        # Older versions drop `reasoning_effort` unsaid; all pass on what stands among the template's own fields.
        {
            **{effort: {"chat_template_kwargs": dict(said)} for effort, said in EFFORTS.items()},
            **_TEMPLATE,
        },
        basis="top_k to repeat_last_n, seed and stop by their effect, b10434; the others documented",
    ),
    "vllm": Spelling(
        _VLLM, _BOTH, basis="top_k to repeat_penalty and seed by their effect, 0.32.0; the others documented"
    ),
    "sglang": Spelling(_VLLM, _BOTH, basis="source"),
    "lmstudio": Spelling(
        {**OWN, "top_k": "top_k", "repeat_penalty": "repeat_penalty"}, _NEVER, basis="documentation"
    ),
    "ollama": Spelling(
        OWN,
        {
            **EFFORTS,
            "max": {"reasoning_effort": "high"},
            True: {},  # a model that can think does, unless it is told not to
            False: {"reasoning_effort": "none"},
        },
        notes={"max": "think max sent as reasoning_effort high"},
        basis="documentation of its OpenAI surface; --model ollama/NAME speaks its native one, which has all settings",
    ),
    "litellm": Spelling(
        _VLLM,
        _BOTH,
        unsure=EXTRA,
        basis="seen, 1.80.0: passes on what it does not know; the model's server decides",
    ),
    "transformers": Spelling(
        OWN,
        {**_NEVER, **_TEMPLATE},
        # Only a model whose generation_config.json has do_sample draws at all.
        unsure=frozenset({"temperature", "top_p", "seed"}),
        basis="source, and seen, 5.19.0: refuses the others with 422",
    ),
    "llm-katan": Spelling(
        {name: name for name in ("temperature", "max_tokens")}, _NEVER, basis="source, and seen, 0.22.0"
    ),
    "mockllm": Spelling({}, _NEVER, basis="seen, 0.0.8: takes every name and applies none"),
}
OFFICIAL = Spelling(OWN, _BOTH, basis="documentation")
UNKNOWN = Spelling(_VLLM, _BOTH, unsure=EXTRA, basis="vLLM's names, which most servers took over")


def spelling_of(server: Server | None) -> Spelling:
    return UNKNOWN if server is None else SPELLINGS.get(server.name, UNKNOWN)
