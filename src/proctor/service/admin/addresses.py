"""Addresses that users of a server give for models: on a server for others they must not lead inside.

A server that only its own user can reach may ask any address. One that others reach would otherwise be a way
into its network: to other services on the machine, to the cloud's metadata, to neighbours.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from proctor.errors import ConfigError, NotFound
from proctor.providers.wire.reach import need_public
from proctor.service.admin.access import LOCAL
from proctor.service.context import Context
from proctor.settings import Settings
from proctor.store import Store
from proctor.store.queue import entries
from proctor.types import Cell, Run


def check_address(cell: Cell, settings: Settings) -> None:
    """Raises Forbidden if the cell's own base URL leads to an address that is not public, on a server with keys.

    Addresses that the operator set (OLLAMA_HOST, OPENAI_BASE_URL, ...) are not a user's and may lead
    anywhere; PROCTOR_ALLOWED_ADDRESSES names further hosts. What is right now may not be so when the job asks:
    `settings_for` has each connection judged again.
    """
    url = cell.model.base_url
    if url is None or not settings.auth:
        return
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in settings.allowed_addresses:
        return
    try:
        found = socket.getaddrinfo(host, parts.port or 443, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"base_url: the host {host!r} cannot be found ({error})") from error
    need_public(host, (str(place[0]) for *_, place in found))


def settings_for(cell: Cell, user: str, settings: Settings) -> Settings:
    """The settings with which a user's job asks an address that the user named.

    The operator's key goes to the operator's address alone: a base URL may be the user's own machine. And only
    public addresses are asked, unless the operator allows the host. The one user of a server without keys is its
    operator. A worker elsewhere may not be told PROCTOR_AUTH: the job's user tells too.
    """
    url = cell.model.base_url
    if url is None or (user == LOCAL.name and not settings.auth):
        return settings
    if url.rstrip("/") == settings.openai_base_url.rstrip("/"):
        return settings
    allowed = (urlsplit(url).hostname or "") in settings.allowed_addresses
    return replace(settings, openai_api_key=None, public_only=settings.public_only or not allowed)


def settings_to_ask_again(context: Context, runs: Sequence[Run]) -> Settings:
    """`settings_for` runs that the command line resumes or reruns: their base URLs may be the word of a user."""
    settings = context.settings
    for run in runs:
        user = _submitter(context.store, run)
        settings = settings if user is None else settings_for(run.cell, user, settings)
    return settings


def _submitter(store: Store, run: Run) -> str | None:
    """Whose job a run is, or the run that it repeats; None if nobody handed it to a server."""
    try:
        return entries.job(store, run.id).user
    except NotFound:
        if run.parent_id is None:
            return None
    try:
        return _submitter(store, store.run(run.parent_id))
    except NotFound:
        return ""  # the one it repeats was deleted: nobody can say any more whose word the address was
