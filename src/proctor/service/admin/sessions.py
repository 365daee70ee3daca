"""Browsers on a server that wants keys: a key is shown once and stands in for itself by a cookie."""

from __future__ import annotations

import secrets
import time

from proctor.errors import Unauthorized
from proctor.service.admin.access import User, digest, note, user_with
from proctor.service.context import Context
from proctor.store.admin import access, sessions

COOKIE = "proctor_session"
LONGEST_S = 7 * 86400.0


def log_in(context: Context, secret: str) -> tuple[str, User]:
    """What the cookie is to hold, and who it is. Raises Unauthorized."""
    key = access.key_of(context.store, digest(secret.strip()), now=time.time())
    if key is None:
        raise Unauthorized("The API key is unknown or was revoked")
    token = secrets.token_urlsafe(32)
    now = time.time()
    sessions.open_session(context.store, digest(token), key.id, now=now, until=now + LONGEST_S)
    note(context, key.user, "log-in", str(key.id))
    return token, user_with(key)


def user_of_session(context: Context, token: str) -> User | None:
    """Who logged in with the key behind a cookie; None if nobody did, it is over, or the key was revoked."""
    key = sessions.key_of_session(context.store, digest(token), now=time.time()) if token else None
    return None if key is None else user_with(key)


def log_out(context: Context, token: str) -> None:
    sessions.close_session(context.store, digest(token))
