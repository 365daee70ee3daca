"""API keys, projects, and the trail of who did what."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.errors import ConfigError, Conflict, Forbidden, NotFound, Unauthorized
from proctor.plan import need_name
from proctor.service.context import Context
from proctor.store.admin import access
from proctor.store.admin.access import ApiKey, Deed, Project
from proctor.store.core.walls import Reach

__all__ = ["ApiKey", "Deed", "Project", "Reach", "User"]

SCOPES = ("read", "label", "run", "admin")  # each holds those before it
PREFIX = "proctor_"
SHOWN = len(PREFIX) + 6
DEFAULT_PROJECT = 1  # where runs go that say nothing else: those of the command line too
NAME = re.compile(r"[\w.@+-][\w .@+-]{0,99}")


@dataclass(frozen=True, slots=True)
class User:
    """Who asks, the highest of SCOPES that the key has, and the projects that it reaches."""

    name: str
    scope: str = "admin"
    reach: Reach = Reach()

    @property
    def may_label(self) -> bool:
        return self._may("label")

    @property
    def may_run(self) -> bool:
        return self._may("run")

    def _may(self, scope: str) -> bool:
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    def check(self, scope: str) -> None:
        """Raises Forbidden unless the user's scope holds `scope`."""
        if not self._may(scope):
            raise Forbidden(f"This needs a key with the scope {scope!r}; {self.name}'s has {self.scope!r}")


LOCAL = User("local")  # everybody, on loopback without keys


def user_with(key: ApiKey) -> User:
    """Whoever shows the key: admin reaches all projects, every other scope those that the key names."""
    scope = max(key.scopes, key=SCOPES.index)
    return User(key.user, scope, Reach() if scope == "admin" else Reach(frozenset(key.projects)))


def create_key(
    context: Context,
    user: str,
    name: str,
    scopes: Sequence[str],
    *,
    by: str,
    projects: Sequence[int] | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its secret, which is kept nowhere. `projects` None is the default project, or all for admin.

    Raises ConfigError for an unknown scope, an empty name, projects of an admin, or the name of those who work
    without keys: whoever bears it is trusted with the operator's keys of providers. NotFound for a project.
    """
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or not scopes:
        raise ConfigError(f"scope {', '.join(unknown) or 'missing'}: choose from {', '.join(SCOPES)}")
    _check_name("user", user)
    if user == LOCAL.name:
        raise ConfigError(f"{user} is who works on this machine without a key; give the user another name")
    need_name("key", name)
    secret = PREFIX + secrets.token_urlsafe(32)
    reached = _named(scopes, projects)
    new = ApiKey(0, user, name, secret[:SHOWN], tuple(scopes), time.time(), None, None, reached)
    kept = access.add_key(context.store, new, digest(secret))
    note(context, by, "create-key", str(kept.id), f"for {user}: {', '.join(scopes)}; {reach_of(kept)}")
    return kept, secret


def _named(scopes: Sequence[str], projects: Sequence[int] | None) -> tuple[int, ...]:
    if "admin" in scopes:
        if projects:
            raise ConfigError(
                "A key with the scope admin reaches every project: name none, or take read, label or run"
            )
        return ()
    if projects is None:
        return (DEFAULT_PROJECT,)
    if not projects:
        raise ConfigError("A key without a project would reach nothing: name one or more")
    return tuple(dict.fromkeys(projects))


def reach_of(key: ApiKey) -> str:
    """Which projects the key reaches, by their ids.

    >>> reach_of(ApiKey(1, "ann", "", "p", ("run",), 0.0, None, None, (2, 3)))
    'projects: 2, 3'
    """
    return f"projects: {user_with(key).reach}"


def reached_words(context: Context, key: ApiKey) -> str:
    """The names of the projects that the key reaches; "all" or "none" in their place."""
    reach = user_with(key).reach.projects
    if reach is None:
        return "all"
    return ", ".join(each.name for each in access.projects(context.store) if each.id in reach) or "none"


def set_projects(context: Context, key_id: int, projects: Sequence[int], *, by: str) -> ApiKey:
    """Let a key reach these projects from now on, and no other. Raises NotFound, Conflict, ConfigError."""
    kept = next((key for key in access.keys(context.store) if key.id == key_id), None)
    if kept is None:
        raise NotFound(f"No key {key_id}")
    if kept.revoked_at is not None:
        raise Conflict(f"Key {key_id} is revoked")
    changed = access.set_projects(context.store, key_id, _named(kept.scopes, projects))
    note(context, by, "change-key", str(key_id), f"of {changed.user}; {reach_of(changed)}")
    return changed


def revoke_key(context: Context, key_id: int, *, by: str) -> ApiKey:
    """Raises NotFound, Conflict."""
    revoked = access.revoke_key(context.store, key_id, now=time.time())
    note(context, by, "revoke-key", str(key_id), f"of {revoked.user}")
    return revoked


def keys(context: Context) -> list[ApiKey]:
    return access.keys(context.store)


def user_of(context: Context, secret: str | None) -> User:
    """Who has this key. Raises Unauthorized."""
    if not secret:
        raise Unauthorized("This server wants an API key, and the request has none")
    key = access.key_of(context.store, digest(secret), now=time.time())
    if key is None:
        raise Unauthorized("The API key is unknown or was revoked")
    return user_with(key)


def digest(secret: str) -> str:
    """SHA-256: a key of 256 random bits needs no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def projects(context: Context) -> list[Project]:
    return access.projects(context.store)


def first_project(context: Context) -> Project:
    """Where a run goes that names no project. Raises Forbidden for whoever reaches none."""
    known = access.projects(context.store)
    if not known:
        raise Forbidden("This key reaches no project: an admin names some with `proctor keys change`")
    return known[0]


def project_named(context: Context, name: str) -> Project:
    """Raises NotFound with the names that there are."""
    known = access.projects(context.store)
    for each in known:
        if each.name == name:
            return each
    missing = NotFound(f"No project {name!r}; there are {', '.join(each.name for each in known)}")
    missing.cure = "`proctor projects create NAME` makes one."
    raise missing


def project(context: Context, project_id: int) -> Project:
    return access.project(context.store, project_id)


def create_project(context: Context, name: str, *, by: str) -> Project:
    """Raises ConfigError for a name that is none, Conflict if it is taken."""
    _check_name("project", name)
    made = access.add_project(context.store, name, now=time.time())
    note(context, by, "create-project", str(made.id), name)
    return made


def _check_name(what: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise ConfigError(f"{what} {name!r}: give 1 to 100 letters, digits, spaces or . @ + - _")


def note(
    context: Context, user: str, action: str, target: str, detail: str = "", *, project_id: int | None = None
) -> None:
    """Write down who did what. A run that is there tells its project itself; for all else it must be said."""
    access.note(context.store, Deed(0, time.time(), user, action, target, detail, project_id))


def deeds(
    context: Context,
    *,
    user: str | None = None,
    action: str | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[Deed]:
    return access.deeds(context.store, user=user, action=action, before=before, limit=limit)
