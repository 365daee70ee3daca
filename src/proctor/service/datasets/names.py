"""What data sets and their files may be called: a name is data, and never a path."""

from __future__ import annotations

from pathlib import PurePath

from proctor.errors import ConfigError
from proctor.plan import need_name
from proctor.sources.exams.tables.tasks import SUITES

NAME_CHARS = 100
FILENAME_BYTES = 200


def plain_name(filename: str) -> str:
    """The file's name without folders, as any browser or system writes them. Raises: ConfigError."""
    name = PurePath(filename.replace("\\", "/")).name
    need_name("file name", name)
    if not name or name.startswith(".") or len(name.encode()) > FILENAME_BYTES:
        raise ConfigError(f"A file cannot be called {filename[:80]!r} here: give a name of up to 200 bytes")
    return name


def checked_name(name: str) -> str:
    """Raises: ConfigError for a name that a run could not be asked by."""
    name = name.strip()
    need_name("name", name)
    if not name or len(name) > NAME_CHARS:
        raise ConfigError(f"Give a data set a name of 1 to {NAME_CHARS} characters")
    if name.lower() in SUITES:
        raise ConfigError(f"{name!r} is one of proctor's own suites: give the data set another name")
    return name
