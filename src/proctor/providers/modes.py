"""How an answer is drawn: which mode goes with a model, the schema of a structured reply, ranking first tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from proctor.errors import BadRequest, ConfigError
from proctor.providers.wire.wire_types import JsonTable
from proctor.types import Mode, Model, Sampling

TOP_TOKENS = 20  # the most that OpenAI, Ollama and Gemini give
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.S)
ANSWER = "answer"  # the one key of a structured reply


def check_mode(model: Model, sampling: Sampling, offered: Mapping[Mode, Sequence[str]]) -> None:
    """`offered` says who offers which mode.

    Raises ConfigError where the model's provider does not offer the mode, or where thinking excludes it.
    """
    mode = sampling.mode
    if model.provider not in offered[mode]:
        raise ConfigError(
            f"--mode {mode} does not go with {model}: {model.provider} does not offer it. "
            f"It is offered by {', '.join(offered[mode])}; with {model.provider} use --mode generate"
        )
    if mode == "logprob" and sampling.think:
        raise ConfigError(
            "--mode logprob ranks the very first token, and a model that thinks spends it on its thoughts: "
            "use --think off with it"
        )


def answer_schema(options: Sequence[str]) -> dict[str, Any]:
    """A JSON schema for `{"answer": ...}`: one of the options, or any text where there are none."""
    answer: dict[str, Any] = {"type": "string"}
    if options:
        answer["enum"] = list(options)
    return {"type": "object", "properties": {ANSWER: answer}, "required": [ANSWER]}


def keeps(text: str, options: Sequence[str]) -> bool:
    """Whether a reply is what `answer_schema` admits and nothing else; thoughts before it are no part of the reply.

    >>> keeps('{"answer": "B"}', ["A", "B"]), keeps('{"answer": "C"}', ["A", "B"]), keeps("Answer: B", ["A", "B"])
    (True, False, False)
    """
    try:
        said = orjson.loads(_THOUGHTS.sub("", text, count=1))
    except orjson.JSONDecodeError:
        return False
    if not isinstance(said, dict) or said.keys() != {ANSWER} or not isinstance(said[ANSWER], str):
        return False
    return not options or said[ANSWER] in options


def ranking(rows: Iterable[JsonTable], *, logprob: str = "logprob") -> tuple[tuple[str, float], ...]:
    """(token, natural log-probability), the likeliest first, from a server's list; rows that lack one are left out.

    >>> told = ({"token": "B", "logprob": -2.0}, {"token": "A", "logprob": -0.1}, {"token": "C"})
    >>> ranking(JsonTable(row, "", "") for row in told)
    (('A', -0.1), ('B', -2.0))
    """
    told = [(row.text("token"), row.number(logprob)) for row in rows]
    known = [(token, value) for token, value in told if token is not None and value is not None]
    return tuple(sorted(known, key=lambda pair: -pair[1]))


def need_ranking(first_token: Sequence[object], where: str) -> None:
    """Raises BadRequest if a reply came without the log-probabilities that were asked for."""
    if not first_token:
        raise BadRequest(
            f"{where}: the reply holds no log-probabilities, so its first token cannot be ranked. The server "
            "is too old for them, or the model does not offer them: use --mode generate or structured"
        )
