"""Where the machines of an installation share files: PROCTOR_SHARED, else a database that all of them reach."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from urllib.parse import unquote, urlsplit

from proctor.errors import ConfigError
from proctor.settings import Settings
from proctor.store.core.schema import Database
from proctor.store.shared.contract import Shared
from proctor.store.shared.folder import SharedFolder
from proctor.store.shared.in_database import SharedInDatabase
from proctor.store.shared.objects import open_bucket

# What decides of an address. One that was opened stays so, and remembers when its server was last silent.
_ASKED = ("shared", *(each.name for each in fields(Settings) if each.name.startswith("aws_")))
_OPEN: dict[tuple[str | None, ...], Shared] = {}
LOOKS = "s3://BUCKET/PREFIX, or a folder that all machines mount"


def shared_of(settings: Settings, store: Database) -> Shared | None:
    """None where one machine has all: without an address, and with a database that is a file. Raises: ConfigError."""
    if settings.shared:
        asked = tuple(getattr(settings, name) for name in _ASKED)
        if asked not in _OPEN:
            _OPEN[asked] = _at(settings)
        return _OPEN[asked]
    return SharedInDatabase(store) if store.engine.name == "postgresql" else None


def _at(settings: Settings) -> Shared:
    scheme, found, rest = str(settings.shared).partition("://")
    if not found:
        return SharedFolder(_absolute(Path(scheme)))
    parts = urlsplit(str(settings.shared))
    if scheme == "s3" and parts.netloc and not parts.query and "@" not in parts.netloc:
        return open_bucket(settings, parts.netloc, parts.path.strip("/"))
    if scheme == "file" and rest.startswith("/"):
        return SharedFolder(_absolute(Path(unquote(parts.path))))
    raise ConfigError(f"PROCTOR_SHARED: it must look like {LOOKS}")


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ConfigError(f"PROCTOR_SHARED={path}: give the folder's whole path")
    return path
