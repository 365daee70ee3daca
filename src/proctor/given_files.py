"""Files that people name and write by hand: whether there is one at a path that may be anything, and TOML read once."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError


def is_file(path: Path) -> bool:
    """False also for a path that no file can have, which a name that is too long is."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """False also for a path that no folder can have."""
    try:
        return path.is_dir()
    except OSError:
        return False


def toml_table(body: bytes, where: str) -> dict[str, Any]:
    """The table that a TOML file holds. Raises: ConfigError, which begins with `where`.

    >>> toml_table(b"a = [1, 2]", "x.toml")
    {'a': [1, 2]}
    """
    try:
        return tomllib.loads(body.decode())
    except (
        ValueError,
        RecursionError,
    ) as error:  # also bytes that are no UTF-8, and numbers of thousands of digits
        raise ConfigError(f"{where}: not TOML in UTF-8 ({error})") from None
