"""How much a model may think, in the words of Gemini and of Anthropic: tables, and what refusals of them look like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from proctor.types import Think

# Levels are for 3.x; a budget of 0 switches thinking off where the model allows that (2.5 Flash, not 2.5 Pro).
GEMINI_THINKING: Mapping[Think, Mapping[str, Any]] = {
    False: {"thinkingBudget": 0},
    True: {"includeThoughts": True},
    "low": {"thinkingLevel": "low", "includeThoughts": True},
    "medium": {"thinkingLevel": "medium", "includeThoughts": True},
    "high": {"thinkingLevel": "high", "includeThoughts": True},
    "max": {"thinkingLevel": "high", "includeThoughts": True},
}
GEMINI_NOTES: Mapping[Think, str] = {"max": "think max sent as thinkingLevel high"}
# Refusals of thinkingConfig name its parts, or speak of thinking only.
GEMINI_HINT = re.compile(r"thinking[ _]?(level|budget|mode|config)|thinking (is not|can't)|budget 0", re.I)

# Tokens to think with, on top of those for the answer. The least that Anthropic takes is 1024.
ANTHROPIC_BUDGET: Mapping[Think, int] = {
    True: 8192,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "max": 32768,
}
# Newer models choose their own budget and take an effort only; they refuse "enabled".
ANTHROPIC_EFFORT: Mapping[Think, str] = {"low": "low", "medium": "medium", "high": "high", "max": "max"}
ANTHROPIC_HINT = re.compile(r"thinking\.type|adaptive thinking|thinking.{0,20}(not supported|disabled)", re.I)
