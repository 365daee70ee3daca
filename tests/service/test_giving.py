"""Results given away by a link, by a clock that is handed in; and filters that people keep by a name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text, update

from opened import over, start
from proctor.errors import ConfigError, Conflict, NotFound
from proctor.plan.build import AS_WRITTEN
from proctor.references import ExamRef
from proctor.service.admin import access
from proctor.service.admin.access import Reach, User
from proctor.service.giving import shares
from proctor.service.watch import saved_views
from proctor.settings import Settings
from proctor.store import Store
from proctor.store.admin import shares as kept
from proctor.store.admin.shares import SharedPage
from proctor.store.core.tables import RUN
from proctor.types import Cell, Model, Plan, Run
from simulators import settings

NOW = 1_800_000_000.0
DAY = 86_400.0
ANN = User("ann", "run", Reach(frozenset({1})))
ROOT = User("root")


@pytest.fixture
def known(tmp_path: Path, database_url: str) -> Settings:
    return settings(tmp_path, PROCTOR_DATABASE_URL=database_url)


@pytest.fixture
def runs(known: Settings) -> list[Run]:
    """Two on the same sample rows."""
    rows = ExamRef("suite", "glue", ("sst2",), rows="sample", limit=4)
    cells = tuple(Cell(Model("baseline", kind), rows, AS_WRITTEN) for kind in ("majority", "random"))
    outcome = start(Plan(cells), known)
    assert outcome.evaluation is not None
    return [result.run for result in outcome.evaluation.results]


def compared(runs: list[Run]) -> str:
    return "/compare?" + "&".join(f"runs={run.id}" for run in runs)


def test_a_link_opens_the_document_of_its_moment_until_its_day(
    store: Store, known: Settings, runs: list[Run]
) -> None:
    context = over(store, known).within(ANN.reach)
    made = shares.give(context, ANN, f"/runs/{runs[0].id}", 7, now=NOW)
    assert made.path.startswith("/shared/") and len(made.token) == 43
    found, html = shares.read(over(store, known), made.token, now=NOW + 7 * DAY - 1)
    assert (found.user, found.kind, found.expires_at) == ("ann", "run", NOW + 7 * DAY)
    assert "baseline/majority" in html and "<script" not in html
    with pytest.raises(NotFound) as ended:
        shares.read(over(store, known), made.token, now=NOW + 7 * DAY)
    with pytest.raises(NotFound) as unknown:
        shares.read(over(store, known), "A" * 43, now=NOW)
    with pytest.raises(NotFound) as odd:
        shares.read(over(store, known), "../" + made.token, now=NOW)
    assert str(ended.value) == str(unknown.value) == str(odd.value)


def test_the_token_is_kept_nowhere(store: Store, known: Settings, runs: list[Run]) -> None:
    made = shares.give(over(store, known), ROOT, compared(runs), 1, now=NOW)
    with store.reading() as connection:
        rows = [str(connection.execute(text(f"SELECT * FROM {name}")).all()) for name in ("share", "audit")]
    assert made.token not in "".join(rows) and made.share.id in rows[1]


def test_a_revoked_link_is_gone_at_once_and_only_its_maker_or_an_admin_ends_it(
    store: Store, known: Settings, runs: list[Run]
) -> None:
    context = over(store, known)
    made = shares.give(context, ANN, compared(runs), 30, now=NOW)
    bob = replace(ANN, name="bob")
    assert shares.given(context, bob) == [] and len(shares.given(context, ANN)) == 1
    with pytest.raises(NotFound):
        shares.revoke(context, bob, made.share.id, now=NOW)
    shares.read(context, made.token, now=NOW + 5)
    (listed,) = shares.given(context, ROOT)
    assert (listed.seen, listed.last_seen_at, listed.user) == (1, NOW + 5, "ann")
    shares.revoke(context, ROOT, made.share.id, now=NOW + 10)
    with pytest.raises(NotFound):
        shares.read(context, made.token, now=NOW + 11)


def test_what_one_does_not_reach_is_neither_given_away_nor_listed(
    store: Store, known: Settings, runs: list[Run]
) -> None:
    red = access.create_project(over(store), "Red", by="root")
    with store.writing() as connection:
        connection.execute(update(RUN).where(RUN.c.id == runs[1].id).values(project_id=red.id))
    walled = over(store, known).within(ANN.reach)
    for address in (f"/runs/{runs[1].id}", compared(runs)):
        with pytest.raises(NotFound):
            shares.give(walled, ANN, address, 7, now=NOW)
    both = replace(ANN, reach=Reach(frozenset({1, red.id})))
    made = shares.give(over(store, known).within(both.reach), both, compared(runs), 7, now=NOW)
    assert made.share.projects == frozenset({1, red.id})
    assert len(shares.given(over(store, known), both)) == 1
    assert shares.given(over(store, known), ANN) == [], "the key was changed since: it reaches one of the two"
    with pytest.raises(NotFound):
        shares.revoke(walled, ANN, made.share.id, now=NOW)


@pytest.mark.parametrize(
    ("address", "days", "words"),
    [
        ("/settings", 7, "cannot be given away"),
        ("https://evil.example/runs/1", 7, "cannot be given away"),
        ("//evil.example/compare?runs=a&runs=b", 7, "cannot be given away"),
        ("/compare?runs=one", 7, "2 to 20 runs"),
        ("/compare", 2, "choose from 1, 7, 30, 90"),
    ],
)
def test_what_cannot_be_given_away_is_said_so(store: Store, address: str, days: int, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        shares.give(over(store), ROOT, address, days, now=NOW)


def test_links_that_have_not_ended_are_bounded(store: Store, known: Settings, runs: list[Run]) -> None:
    context = over(store, known)
    for number in range(shares.MOST_ALIVE):
        one = SharedPage(str(number), "run", "t", "/", None, "ann", NOW, NOW + DAY)
        kept.add(store, one, f"digest-{number}", "x")
    with pytest.raises(Conflict, match="revoke some first"):
        shares.give(context, ANN, compared(runs), 1, now=NOW)
    shares.give(context, ANN, compared(runs), 1, now=NOW + 2 * DAY)


def test_a_board_and_a_benchmark_of_runs_are_given_away_too(
    store: Store, known: Settings, runs: list[Run]
) -> None:
    context = over(store, known)
    board = shares.give(context, ROOT, "/leaderboard?suite=glue&limit=5", 7, now=NOW)
    assert (board.share.kind, board.share.projects) == ("board", None)
    assert "Leaderboard" in shares.read(context, board.token, now=NOW)[1]
    walled = shares.give(context.within(ANN.reach), ANN, "/leaderboard", 7, now=NOW)
    assert walled.share.projects == frozenset({1})
    plan = shares.give(context, ROOT, f"/rollouts/{runs[0].plan_id}", 7, now=NOW)
    assert "baseline/majority and baseline/random" in plan.share.title


def test_saved_views_are_their_users_own_and_follow_the_reach(store: Store) -> None:
    context, bob = over(store), User("bob", "read", Reach(frozenset({1})))
    saved_views.add(context, ANN, "history", " failed  runs ", "?status=failed&project=1")
    saved_views.add(context, ANN, "history", "Red", "project=2")
    (view,) = saved_views.listed(context, ANN, "history")
    assert (view.name, view.query, view.project_id) == ("failed runs", "status=failed&project=1", 1)
    assert len(saved_views.listed(context, replace(ANN, reach=Reach()), "history")) == 2
    assert saved_views.listed(context, bob, "history") == []
    with pytest.raises(NotFound):
        saved_views.remove(context, bob, view.id)
    saved_views.remove(context, ANN, view.id)
    for name, query in (("", "a=1"), ("x" * 61, ""), ("fine", "a" * 2_001), ("a\nb\x00", "")):
        with pytest.raises(ConfigError):
            saved_views.add(context, ANN, "history", name, query)
