"""Keys, scopes, projects, the audit trail, pruning, and addresses that may not be named."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from opened import over, start
from proctor.errors import ConfigError, Conflict, Forbidden, NotFound, Unauthorized
from proctor.references import ExamRef
from proctor.service.admin import access
from proctor.service.admin.access import User
from proctor.service.admin.addresses import check_address
from proctor.service.admin.prune import prune
from proctor.service.admin.sessions import log_in, user_of_session
from proctor.store import Store
from proctor.store.queue import runlog
from proctor.types import Cell, Model, Plan
from simulators import settings


def test_a_key_is_kept_as_its_hash_alone(store: Store) -> None:
    made, secret = access.create_key(over(store), "ann", "laptop", ["read", "run"], by="root")
    assert secret.startswith("proctor_") and len(secret) >= 50 and made.prefix == secret[:14]
    with store.reading() as connection:
        row = str(connection.execute(text("SELECT * FROM api_key")).all())
    assert secret not in row and secret[14:] not in row
    assert access.user_of(over(store), secret) == User("ann", "run", access.Reach(frozenset({1})))
    assert access.keys(over(store))[0].last_used_at is not None


def test_a_key_names_projects_and_admin_reaches_all(store: Store) -> None:
    red = access.create_project(over(store), "Red", by="root")
    usual, _ = access.create_key(over(store), "ann", "", ["read"], by="root")
    named, secret = access.create_key(over(store), "ann", "", ["run"], by="root", projects=[red.id, red.id])
    admin, everything = access.create_key(over(store), "root", "", ["admin"], by="root")
    assert [key.projects for key in access.keys(over(store))] == [(1,), (red.id,), ()]
    assert [access.reached_words(over(store), key) for key in (usual, named, admin)] == [
        "default",
        "Red",
        "all",
    ]
    assert access.user_of(over(store), everything).reach == access.Reach()
    token, user = log_in(over(store), secret)
    assert user == user_of_session(over(store), token) == access.user_of(over(store), secret)
    access.set_projects(over(store), named.id, [1], by="root")
    assert access.user_of(over(store), secret).reach == access.Reach(frozenset({1}))
    assert user_of_session(over(store), token) == access.user_of(over(store), secret), (
        "a session follows its key at once"
    )


def test_a_key_that_could_reach_nothing_or_too_much_is_refused(store: Store) -> None:
    for scopes, projects, words in (
        (["read"], [], "would reach nothing"),
        (["admin"], [1], "reaches every project"),
    ):
        with pytest.raises(ConfigError, match=words):
            access.create_key(over(store), "ann", "", scopes, by="root", projects=projects)
    with pytest.raises(NotFound, match="Project 7 not found"):
        access.create_key(over(store), "ann", "", ["read"], by="root", projects=[1, 7])
    assert access.keys(over(store)) == []
    made, _ = access.create_key(over(store), "ann", "", ["read"], by="root")
    access.revoke_key(over(store), made.id, by="root")
    with pytest.raises(Conflict):
        access.set_projects(over(store), made.id, [1], by="root")
    with pytest.raises(NotFound):
        access.set_projects(over(store), 99, [1], by="root")


def test_unknown_missing_and_revoked_keys_are_refused(store: Store) -> None:
    made, secret = access.create_key(over(store), "ann", "", ["admin"], by="root")
    for wrong in (None, "", "proctor_guess", secret + "x"):
        with pytest.raises(Unauthorized):
            access.user_of(over(store), wrong)
    access.revoke_key(over(store), made.id, by="root")
    with pytest.raises(Unauthorized):
        access.user_of(over(store), secret)
    with pytest.raises(Conflict):
        access.revoke_key(over(store), made.id, by="root")
    with pytest.raises(NotFound):
        access.revoke_key(over(store), 99, by="root")


@pytest.mark.parametrize(
    ("has", "may"),
    [
        ("read", {"read"}),
        ("label", {"read", "label"}),
        ("run", {"read", "label", "run"}),
        ("admin", {"read", "label", "run", "admin"}),
    ],
)
def test_each_scope_holds_those_before_it(has: str, may: set[str]) -> None:
    for scope in ("read", "label", "run", "admin"):
        if scope in may:
            User("ann", has).check(scope)
        else:
            with pytest.raises(Forbidden, match=f"the scope '{scope}'; ann's has '{has}'"):
                User("ann", has).check(scope)


def test_keys_with_unknown_scopes_or_odd_names_are_refused(store: Store) -> None:
    with pytest.raises(ConfigError, match="choose from read, label, run, admin"):
        access.create_key(over(store), "ann", "", ["write"], by="root")
    with pytest.raises(ConfigError, match="user"):
        access.create_key(over(store), "<script>", "", ["read"], by="root")
    with pytest.raises(ConfigError, match="without a key"):
        access.create_key(over(store), "local", "", ["read"], by="root")


def test_project_1_is_there_from_the_start(store: Store) -> None:
    assert [(p.id, p.name) for p in access.projects(over(store))] == [(1, "default")]
    assert access.create_project(over(store), "Nightly", by="ann").id == 2
    with pytest.raises(Conflict, match="already"):
        access.create_project(over(store), "Nightly", by="ann")
    with pytest.raises(NotFound, match="Project 7 not found"):
        access.project(over(store), 7)


def test_the_trail_says_who_did_what(store: Store) -> None:
    access.create_project(over(store), "A", by="ann")
    access.note(over(store), "bob", "cancel", "job-1")
    assert [(d.user, d.action, d.target) for d in access.deeds(over(store))] == [
        ("bob", "cancel", "job-1"),
        ("ann", "create-project", "2"),
    ]
    assert [d.user for d in access.deeds(over(store), user="ann")] == ["ann"]
    assert access.deeds(over(store), before=access.deeds(over(store))[0].id)[0].user == "ann"


@pytest.mark.slow
def test_pruning_takes_old_runs_and_all_that_is_theirs(tmp_path: Path) -> None:
    home = settings(tmp_path)
    plan = Plan((Cell(Model("baseline", "majority"), ExamRef("suite", "superglue", rows="sample", limit=2)),))
    for _ in range(2):
        assert start(plan, home).error is None
    store = Store.open(home.database_url)
    runs = store.runs()
    with store.writing() as connection:
        old = {"at": time.time() - 40 * 86400, "id": runs[0].id}
        connection.execute(text("UPDATE run SET finished_at = :at WHERE id = :id"), old)
    for run in runs:
        runlog.say(tmp_path, run.id, "what was said")
    assert prune(over(store, settings(tmp_path)), 30 * 86400, by="ann", dry=True).runs == (runs[0].id,)
    assert len(store.runs()) == 2
    found = prune(over(store, settings(tmp_path)), 30 * 86400, by="ann")
    assert runlog.tail(tmp_path, runs[0].id) is None
    assert "what was said" in str(runlog.tail(tmp_path, runs[1].id))
    assert runlog.path(tmp_path, runs[1].id).stat().st_mode & 0o077 == 0
    assert (found.runs, found.plans, found.items) == (
        (runs[0].id,),
        1,
        0,
    )  # the other run asked the same items
    assert [run.id for run in store.runs()] == [runs[1].id] and store.scores(runs[1].id)
    with store.reading() as connection:
        for table in ("attempt", "payload", "score"):
            assert connection.execute(text(f"SELECT count(DISTINCT run_num) FROM {table}")).scalar() == 1
    assert access.deeds(over(store))[0].action == "prune"
    store.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/v1",
        "http://localhost/v1",
        "http://10.1.2.3/v1",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/v1",
        "http://[::ffff:10.0.0.1]/v1",
        "http://0.0.0.0/v1",
        "http://2130706433/v1",
    ],
)
def test_a_server_for_others_asks_no_inner_address(url: str, tmp_path: Path) -> None:
    cell = Cell(Model("openai", "m", url), ExamRef("suite", "glue"))
    shared = replace(settings(tmp_path), auth=True)
    with pytest.raises((Forbidden, ConfigError)):
        check_address(cell, shared)
    check_address(cell, settings(tmp_path))  # one's own machine may ask whom it likes
    host = (
        url.partition("://")[2].partition("/")[0].rpartition(":")[0]
        or url.partition("://")[2].partition("/")[0]
    )
    if host == "127.0.0.1":
        check_address(cell, replace(shared, allowed_addresses=("127.0.0.1",)))


def test_public_addresses_and_the_operators_own_are_asked(tmp_path: Path) -> None:
    shared = replace(settings(tmp_path), auth=True)
    check_address(Cell(Model("openai", "m", "http://8.8.8.8/v1"), ExamRef("suite", "glue")), shared)
    check_address(Cell(Model("ollama", "m"), ExamRef("suite", "glue")), shared)
