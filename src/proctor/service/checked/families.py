"""Of which family a model is, by its name: judges tend to favour what they wrote themselves, or might have written.

A name is all that is looked at. A fine-tune under a name of its own, and a model behind an alias, are not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from proctor.types import Run

# Words of names and who makes what they stand for. Models of one maker share data and graders, so they are one family.
MAKERS: Mapping[str, tuple[str, ...]] = {
    "OpenAI": ("gpt", "chatgpt", "davinci", "codex"),
    "Anthropic": ("claude", "anthropic"),
    "Google": ("gemini", "gemma", "palm", "medgemma", "google"),
    "Meta": ("llama", "codellama", "tinyllama"),
    "Mistral": (
        "mistral",
        "mixtral",
        "ministral",
        "codestral",
        "magistral",
        "devstral",
        "pixtral",
        "voxtral",
    ),
    "xAI": ("grok", "xai"),
    "Qwen": ("qwen", "qwq", "qvq"),
    "DeepSeek": ("deepseek",),
    "Cohere": ("command", "aya", "cohere"),
    "Microsoft": ("phi",),
    "IBM": ("granite",),
    "Amazon": ("nova", "titan"),
    "Zhipu": ("glm", "chatglm"),
    "Moonshot": ("kimi", "moonshot"),
    "Nvidia": ("nemotron",),
    "Hugging Face": ("smollm",),
    "Allen Institute": ("olmo", "tulu"),
}
_MAKER = {word: maker for maker, words in MAKERS.items() for word in words}
_REASONING = re.compile(r"\bo[1-9]\b")  # "o3-mini" has no word that tells its maker
OWN = frozenset({"anthropic", "gemini", "grok"})  # providers that serve their maker's models alone
NO_MODELS = frozenset({"baseline"})  # providers whose names are no models' names


def families_of(model: str) -> frozenset[str]:
    """The families that a model's name tells: of a distilled model both; by the table, else its name's first word.

    >>> sorted(families_of("ollama/deepseek-r1-distill-qwen-7b")), sorted(families_of("openai/o3-mini"))
    (['DeepSeek', 'Qwen'], ['OpenAI'])
    >>> sorted(families_of("openai/Falcon3-7B")), sorted(families_of("openai/falcon-40b"))
    (['falcon'], ['falcon'])
    """
    provider, _, name = model.casefold().partition("/")
    if provider in NO_MODELS:
        return frozenset()
    words = [*re.findall(r"[a-z]+", name), *({provider} & OWN)]
    found = {_MAKER[word] for word in words if word in _MAKER}
    last = name.rpartition("/")[2]
    if _REASONING.search(last):
        found.add("OpenAI")
    return frozenset(found or re.findall(r"[a-z]{2,}", last)[:1])


def kin_words(judge: str, candidates: Iterable[str]) -> tuple[str, ...]:
    """A sentence for each candidate that is the judge itself, or of its family by the names of both."""
    return tuple(filter(None, (_kin(judge, each) for each in dict.fromkeys(candidates))))


def _kin(judge: str, candidate: str) -> str | None:
    if judge.casefold() == candidate.casefold():
        return f"{judge} judges its own replies: models tend to favour them"
    if shared := sorted(families_of(judge) & families_of(candidate)):
        return (
            f"{judge} and {candidate}, whose replies it judges, are of one family by their names "
            f"({', '.join(shared)}): models tend to favour their own family"
        )
    return None


def candidates_of(*runs: Run) -> list[str]:
    """The models whose replies runs have: of an agent also the model that it asks."""
    found = []
    for run in runs:
        asked = run.cell.agent.model if run.cell.agent is not None else None
        found += [asked or str(run.cell.model)]
    return found
