"""What a reply took, in both shapes. What a server did not tell stays untold."""

from __future__ import annotations

from typing import Any

from proctor.providers.translation.untranslatable import Json, table


def response_usage(told: Any) -> Json | None:
    """
    >>> response_usage({"prompt_tokens": 3, "completion_tokens": 2})["total_tokens"]
    5
    """
    usage = table(told)
    given, made = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if given is None or made is None:
        return None
    before, thought = table(usage.get("prompt_tokens_details")), table(usage.get("completion_tokens_details"))
    # DeepSeek tells what it had in its cache beside the count.
    cached = _count(before, "cached_tokens") or _count(usage, "prompt_cache_hit_tokens") or 0
    return {
        "input_tokens": given,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": made,
        "output_tokens_details": {"reasoning_tokens": _count(thought, "reasoning_tokens") or 0},
        "total_tokens": _count(usage, "total_tokens") or given + made,
    }


def chat_usage(told: Any) -> Json | None:
    """
    >>> chat_usage({"input_tokens": 3, "output_tokens": 2})["total_tokens"]
    5
    """
    usage = table(told)
    given, made = _count(usage, "input_tokens"), _count(usage, "output_tokens")
    if given is None or made is None:
        return None
    before, thought = table(usage.get("input_tokens_details")), table(usage.get("output_tokens_details"))
    return {
        "prompt_tokens": given,
        "completion_tokens": made,
        "total_tokens": _count(usage, "total_tokens") or given + made,
        "prompt_tokens_details": {"cached_tokens": _count(before, "cached_tokens") or 0},
        "completion_tokens_details": {"reasoning_tokens": _count(thought, "reasoning_tokens") or 0},
    }


def _count(usage: Json, name: str) -> int | None:
    value = usage.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
