"""Where a value stands in a line or its body, as people write it: `answer`, `metadata.name`, `$.input[0]`."""

from __future__ import annotations

import re
from typing import Any

from proctor.errors import ConfigError

Steps = tuple[str | int, ...]
STEP = re.compile(r"([^.\[\]]+)|\[(\d{1,9})\]")


def steps_of(path: str, where: str) -> Steps:
    """Raises: ConfigError.

    >>> steps_of("$.messages[0].content", "candidate")
    ('messages', 0, 'content')
    """
    said = path.removeprefix("$").removeprefix(".")
    found: list[str | int] = []
    at = 0
    while at < len(said) and (step := STEP.match(said, at)) is not None:
        found.append(step[1] if step[2] is None else int(step[2]))
        at = step.end()
        at += said[at : at + 1] == "." and at + 1 < len(said)
    if at < len(said) or not found:
        raise ConfigError(
            f"{where}: {path!r} is no path; write names with points between, such as metadata.name"
        )
    return tuple(found)


def value_at(value: Any, steps: Steps) -> Any:
    """What stands there; None where nothing does."""
    for step in steps:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and step < len(value):
            value = value[step]
        else:
            return None
    return value
