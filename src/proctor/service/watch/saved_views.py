"""Filters of a list, kept by a name: each user has their own, and no other sees them."""

from __future__ import annotations

import time
from urllib.parse import parse_qsl

from proctor.errors import ConfigError, NotFound
from proctor.service.admin.access import User
from proctor.service.context import Context
from proctor.store.admin import saved_views
from proctor.store.admin.saved_views import SavedView

__all__ = ["SavedView", "add", "listed", "remove"]

MOST = 100  # a user's
MOST_NAME, MOST_QUERY = 60, 2_000


def listed(context: Context, user: User, page: str) -> list[SavedView]:
    """The views that a user keeps of a page, by their names; none of a project that the user no longer reaches."""
    reach = user.reach.projects
    return [
        view
        for view in saved_views.listed(context.store, user.name, page)
        if view.project_id is None or reach is None or view.project_id in reach
    ]


def add(context: Context, user: User, page: str, name: str, query: str) -> None:
    """Keep a page's filters by a name, over those of the same name. Raises ConfigError."""
    name, query = " ".join(name.split()), query.lstrip("?")
    if not 1 <= len(name) <= MOST_NAME or not name.isprintable():
        raise ConfigError(f"name of a view: give 1 to {MOST_NAME} characters")
    if len(query) > MOST_QUERY or not query.isprintable():
        raise ConfigError(f"filters of a view: at most {MOST_QUERY:,} characters; choose fewer")
    kept = {view.name for view in saved_views.listed(context.store, user.name, page)}
    if name not in kept and saved_views.count(context.store, user.name) >= MOST:
        raise ConfigError(f"{user.name} keeps {MOST} views already: remove one first")
    project = dict(parse_qsl(query)).get("project", "")
    number = int(project) if project.isascii() and project.isdecimal() and len(project) < 10 else None
    saved_views.put(context.store, SavedView(0, user.name, number, page, name, query, time.time()))


def remove(context: Context, user: User, view_id: int) -> None:
    """Raises NotFound for a view that is another's, or is not there."""
    if not saved_views.remove(context.store, user.name, view_id):
        raise NotFound(f"No saved view {view_id} of {user.name}")
