"""API keys, projects, and the trail of who did what."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.errors import ConfigError, Forbidden, Unauthorized
from proctor.plan import need_name
from proctor.store import Store, access
from proctor.store.access import ApiKey, Deed, Project

__all__ = ["ApiKey", "Deed", "Project", "User"]

SCOPES = ("read", "run", "admin")  # each holds those before it
PREFIX = "proctor_"
SHOWN = len(PREFIX) + 6
NAME = re.compile(r"[\w.@+-][\w .@+-]{0,99}")


@dataclass(frozen=True, slots=True)
class User:
    """Who asks, and the highest of SCOPES that the key has."""

    name: str
    scope: str = "admin"

    def check(self, scope: str) -> None:
        """Raises Forbidden unless the user's scope holds `scope`."""
        if SCOPES.index(self.scope) < SCOPES.index(scope):
            raise Forbidden(f"This needs a key with the scope {scope!r}; {self.name}'s has {self.scope!r}")


LOCAL = User("local")  # everybody, on loopback without keys


def create_key(store: Store, user: str, name: str, scopes: Sequence[str], *, by: str) -> tuple[ApiKey, str]:
    """A new key and its secret, which is kept nowhere.

    Raises ConfigError for an unknown scope, an empty name, or the name of those who work without keys: whoever bears
    it is trusted with the operator's keys of providers.
    """
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or not scopes:
        raise ConfigError(f"scope {', '.join(unknown) or 'missing'}: choose from {', '.join(SCOPES)}")
    _check_name("user", user)
    if user == LOCAL.name:
        raise ConfigError(f"{user} is who works on this machine without a key; give the user another name")
    need_name("key", name)
    secret = PREFIX + secrets.token_urlsafe(32)
    new = ApiKey(0, user, name, secret[:SHOWN], tuple(scopes), time.time(), None, None)
    kept = access.add_key(store, new, digest(secret))
    note(store, by, "create-key", str(kept.id), f"for {user}: {', '.join(scopes)}")
    return kept, secret


def revoke_key(store: Store, key_id: int, *, by: str) -> ApiKey:
    """Raises NotFound, Conflict."""
    revoked = access.revoke_key(store, key_id, now=time.time())
    note(store, by, "revoke-key", str(key_id), f"of {revoked.user}")
    return revoked


def keys(store: Store) -> list[ApiKey]:
    return access.keys(store)


def user_of(store: Store, secret: str | None) -> User:
    """Who has this key. Raises Unauthorized."""
    if not secret:
        raise Unauthorized("This server wants an API key, and the request has none")
    key = access.key_of(store, digest(secret), now=time.time())
    if key is None:
        raise Unauthorized("The API key is unknown or was revoked")
    return User(key.user, max(key.scopes, key=SCOPES.index))


def digest(secret: str) -> str:
    """SHA-256: a key of 256 random bits needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def projects(store: Store) -> list[Project]:
    return access.projects(store)


def project(store: Store, project_id: int) -> Project:
    return access.project(store, project_id)


def create_project(store: Store, name: str, *, by: str) -> Project:
    """Raises ConfigError for a name that is none, Conflict if it is taken."""
    _check_name("project", name)
    made = access.add_project(store, name, now=time.time())
    note(store, by, "create-project", str(made.id), name)
    return made


def _check_name(what: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise ConfigError(f"{what} {name!r}: give 1 to 100 letters, digits, spaces or . @ + - _")


def note(store: Store, user: str, action: str, target: str, detail: str = "") -> None:
    access.note(store, user, action, target, detail, now=time.time())


def deeds(
    store: Store,
    *,
    user: str | None = None,
    action: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[Deed]:
    return access.deeds(store, user=user, action=action, before=before, limit=limit)
