"""Documents given away, and filters kept by a name, in both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from proctor.errors import NotFound
from proctor.store import Store
from proctor.store.admin import saved_views, shares
from proctor.store.admin.saved_views import SavedView
from proctor.store.admin.shares import SharedPage
from proctor.store.core.share_tables import SHARE

NOW = 1_000.0


def share(ident: str, *, user: str = "ann", until: float = 2_000.0) -> SharedPage:
    return SharedPage(ident, "run", "MMLU of sim", "/runs/1", frozenset({1, 2}), user, NOW, until)


def bodies(store: Store) -> dict[str, int]:
    with store.whole.reading() as connection:
        return {row.id: len(row.body) for row in connection.execute(select(SHARE.c.id, SHARE.c.body))}


def test_a_document_comes_back_by_its_digest_alone_and_is_counted(store: Store) -> None:
    shares.add(store, share("a"), "digest-a", "<p>né 1</p>")
    shares.add(store, share("b", user="bob"), "digest-b", "<p>2</p>")
    assert shares.opened(store, "digest-a", now=1_500.0) == (share("a"), "<p>né 1</p>")
    assert shares.opened(store, "digest-a", now=1_600.0) is not None
    assert shares.opened(store, "a", now=1_500.0) is None, "its id is no way to it"
    (mine,) = shares.listed(store, "ann")
    assert (mine.seen, mine.last_seen_at) == (2, 1_600.0) and mine.projects == frozenset({1, 2})
    assert {each.id for each in shares.listed(store)} == {"a", "b"}


def test_one_that_ended_or_was_revoked_is_gone_with_its_body(store: Store) -> None:
    shares.add(store, share("short", until=1_100.0), "short", "x")
    shares.add(store, share("taken"), "taken", "x")
    assert shares.alive(store, "ann", now=NOW) == 2
    assert shares.opened(store, "short", now=1_099.9) is not None
    assert shares.opened(store, "short", now=1_100.0) is None
    shares.revoke(store, "taken", now=1_050.0)
    assert shares.opened(store, "taken", now=1_060.0) is None
    assert shares.alive(store, "ann", now=1_100.0) == 0
    late = SharedPage("late", "board", "t", "/leaderboard", None, "ann", 1_200.0, 2_000.0)
    shares.add(store, late, "late", "x")
    kept = bodies(store)
    assert kept["short"] == kept["taken"] == 0 < kept["late"]
    assert shares.found(store, "late").projects is None
    with pytest.raises(NotFound, match="No share other"):
        shares.found(store, "other")


def view(name: str, query: str, *, user: str = "ann", project: int | None = None) -> SavedView:
    return SavedView(0, user, project, "history", name, query, NOW)


def test_a_view_is_its_users_and_is_written_over_by_its_name(store: Store) -> None:
    saved_views.put(store, view("failed", "status=failed"))
    saved_views.put(store, view("all", "", user="bob"))
    saved_views.put(store, view("failed", "status=failed&project=1", project=1))
    (mine,) = saved_views.listed(store, "ann", "history")
    assert (mine.query, mine.project_id) == ("status=failed&project=1", 1)
    assert saved_views.listed(store, "ann", "results") == [] and saved_views.count(store, "ann") == 1
    (other,) = saved_views.listed(store, "bob", "history")
    assert not saved_views.remove(store, "ann", other.id)
    assert saved_views.remove(store, "bob", other.id) and not saved_views.remove(store, "bob", other.id)
