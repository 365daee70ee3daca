"""Links that anyone may open until a day: a document made now, kept by the hash of a token that is told once.

Whoever has the link sees this document and nothing else of the store. One that has ended, was revoked or never was
is the same to whoever asks.
"""

from __future__ import annotations

import re
import secrets
import uuid
from dataclasses import dataclass

from proctor.errors import ConfigError, Conflict, NotFound
from proctor.service.admin.access import User, digest, note
from proctor.service.context import Context
from proctor.service.giving.documents import document_of
from proctor.store.admin import shares
from proctor.store.admin.shares import SharedPage

__all__ = ["DAYS", "SharedPage", "give", "given", "read", "revoke"]

DAYS = (1, 7, 30, 90)
DAY_S = 86400.0
MOST_ALIVE = 500  # of a user's links
MOST_BYTES = 8_000_000
TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")  # 32 bytes in base64url


@dataclass(frozen=True, slots=True)
class GivenLink:
    """What is told once: the token is kept nowhere."""

    share: SharedPage
    token: str

    @property
    def path(self) -> str:
        return f"/shared/{self.token}"


def give(context: Context, user: User, address: str, days: int, *, now: float) -> GivenLink:
    """Make the document of a page and a link to it that ends in so many days; `now` is Unix time.

    Raises ConfigError for an address or a number of days that cannot be, NotFound, Conflict for too many links.
    """
    if days not in DAYS:
        raise ConfigError(f"days {days}: choose from {', '.join(map(str, DAYS))}")
    if shares.alive(context.store, user.name, now=now) >= MOST_ALIVE:
        raise Conflict(f"{user.name} has {MOST_ALIVE} links that have not ended: revoke some first")
    made = document_of(context, address)
    if len(made.html.encode()) > MOST_BYTES:
        raise ConfigError(f"The document is larger than {MOST_BYTES:,} bytes: share fewer runs at once")
    token = secrets.token_urlsafe(32)
    ends = now + days * DAY_S
    ident = str(uuid.uuid4())
    share = SharedPage(ident, made.kind, made.title, made.address, made.projects, user.name, now, ends)
    shares.add(context.store, share, digest(token), made.html)
    only = next(iter(made.projects)) if made.projects is not None and len(made.projects) == 1 else None
    note(context, user.name, "share", share.id, f"{made.title}, for {days} days", project_id=only)
    return GivenLink(share, token)


def read(context: Context, token: str, *, now: float) -> tuple[SharedPage, str]:
    """A share and its document, for whoever has the token. Raises NotFound, in the same words for every reason."""
    found = shares.opened(context.store, digest(token), now=now) if TOKEN.fullmatch(token) else None
    if found is None:
        raise NotFound("This link has ended, or it never was one")
    return found


def given(context: Context, user: User) -> list[SharedPage]:
    """The links of a user, newest first; those of all for an admin. None of a project that is no longer reached."""
    own = None if user.scope == "admin" else user.name
    return [share for share in shares.listed(context.store, own) if _reaches(user, share)]


def revoke(context: Context, user: User, ident: str, *, now: float) -> SharedPage:
    """End a link at once. Raises NotFound for one that is not the user's to see."""
    share = shares.found(context.store, ident)
    if not _reaches(user, share) or (user.scope != "admin" and share.user != user.name):
        raise NotFound(f"No share {ident}")
    shares.revoke(context.store, ident, now=now)
    note(context, user.name, "revoke-share", ident, share.title)
    return share


def _reaches(user: User, share: SharedPage) -> bool:
    reach = user.reach.projects
    return reach is None or (share.projects is not None and share.projects <= reach)
