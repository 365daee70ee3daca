"""Tools of Responses under the names that they have as functions of a chat server, and back.

Chat Completions knows functions alone, by one name of at most 64 letters, digits, _ and -.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Literal

ToolKind = Literal["function", "custom", "local_shell"]
LONGEST = 64
_STRANGE = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class ToolName:
    """What a tool is called in Responses."""

    name: str
    kind: ToolKind = "function"
    namespace: str | None = None


@dataclass(slots=True)
class ToolNames:
    """Both names of every tool of one request."""

    _chat: dict[ToolName, str] = field(default_factory=dict)
    _tools: dict[str, ToolName] = field(default_factory=dict)

    def chat(self, tool: ToolName) -> str:
        """The tool's name at a chat server; a new tool gets one that no other has.

        >>> names = ToolNames()
        >>> names.chat(ToolName("close", namespace="agents")), names.chat(ToolName("agents__close"))
        ('agents__close', 'agents__close_2')
        """
        if tool not in self._chat:
            name = self._free(_plain(tool))
            self._chat[tool], self._tools[name] = name, tool
        return self._chat[tool]

    def tool(self, chat: str) -> ToolName:
        """The tool that a chat server calls by this name; one that it made up is a function."""
        return self._tools.get(chat) or ToolName(chat)

    def _free(self, name: str) -> str:
        free, number = name, 1
        while free in self._tools:
            number += 1
            free = f"{name[: LONGEST - 4]}_{number}"
        return free


def _plain(tool: ToolName) -> str:
    whole = tool.name if tool.namespace is None else f"{tool.namespace}__{tool.name}"
    plain = _STRANGE.sub("_", whole) or "_"
    if len(plain) <= LONGEST:
        return plain
    # Two long names may differ at their ends alone.
    mark = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return f"{plain[: LONGEST - 9]}_{mark}"
