"""Every parser of text from outside, one row each."""

from __future__ import annotations

from collections.abc import Sequence

from fuzz import answers, files, logs, servers, tasks, tasks_of_others, texts, translations
from fuzz.contract import Parser

PARSERS: Sequence[Parser] = [
    *servers.PARSERS,
    *translations.PARSERS,
    *answers.PARSERS,
    *files.PARSERS,
    *logs.PARSERS,
    *tasks.PARSERS,
    *tasks_of_others.PARSERS,
    *texts.PARSERS,
]
