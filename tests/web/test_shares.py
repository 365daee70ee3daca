"""A result given away over HTTP: made by one form, read without a log-in, gone when revoked, and nothing else told."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from opened import start
from pages import Browser
from proctor.plan.build import AS_WRITTEN
from proctor.references import ExamRef
from proctor.types import Cell, Model, Plan
from programs import proctor_json
from served import Server, serving
from simulators import settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, str], str]]:
    """A server with keys, a key of each scope, and a run."""
    home = tmp_path_factory.mktemp("shares")
    run = a_run(home)
    keys = {
        scope: proctor_json(home, "keys", "create", "--user", scope, "--scope", scope)["key"]
        for scope in ("read", "run")
    }
    with serving(home, "--no-worker", PROCTOR_AUTH="keys", PROCTOR_REQUESTS_PER_MINUTE="40") as running:
        yield running, keys, run


def a_run(home: Path) -> str:
    rows = ExamRef("suite", "glue", ("sst2",), rows="sample", limit=4)
    outcome = start(Plan((Cell(Model("baseline", "majority"), rows, AS_WRITTEN),)), settings(home))
    assert outcome.evaluation is not None
    return outcome.evaluation.results[0].run.id


def entered(server: Server, key: str) -> Browser:
    browser = Browser(server.url)
    assert browser.post("/login", key=key).status == 303
    return browser


def link_in(text: str) -> str:
    found = re.search(r'value="([^"]*/shared/[A-Za-z0-9_-]{43})"', text)
    assert found, text
    return html.unescape(found[1])


def test_a_link_is_made_read_by_anyone_framed_by_anyone_and_revoked(
    guarded: tuple[Server, dict[str, str], str],
) -> None:
    server, keys, run = guarded
    ann, anyone = entered(server, keys["run"]), Browser(server.url)
    link = link_in(ann.post("/shares", address=f"/runs/{run}", days=30).text)
    assert link.startswith(server.url)
    path = link.removeprefix(server.url)
    page = anyone.get(path)
    assert page.status == 200 and "baseline/majority" in page.text
    assert "Shared by run on" in page.words and "This link ends on" in page.words
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors *" in policy and "script-src" not in policy
    assert len(page.headers.get_all("content-security-policy")) == 1  # type: ignore[attr-defined]  # of http.client
    assert page.headers["referrer-policy"] == "no-referrer" and "noindex" in page.headers["x-robots-tag"]
    assert "no-store" in page.headers["cache-control"] and not page.cookies
    listed = ann.get("/settings/shares")
    assert path not in listed.text, "the token is told once"
    assert re.search(r'data-label="Opened" class="num">1<', listed.text)
    (ident,) = re.findall(r"/shares/([0-9a-f-]{36})/revoke", listed.text)
    assert entered(server, keys["read"]).post(f"/shares/{ident}/revoke").status == 404
    assert ann.post(f"/shares/{ident}/revoke").status == 303
    gone, never = anyone.get(path), anyone.get("/shared/" + "A" * 43)
    assert gone.status == never.status == 404 and gone.text == never.text
    assert "frame-ancestors 'none'" in gone.headers["content-security-policy"]
    assert gone.headers["referrer-policy"] == "no-referrer" and "noindex" in gone.headers["x-robots-tag"]
    assert "/runs" not in gone.text, "no menu of pages that cannot be reached"


def test_who_only_reads_may_take_the_report_but_makes_no_link(
    guarded: tuple[Server, dict[str, str], str],
) -> None:
    server, keys, run = guarded
    reader = entered(server, keys["read"])
    assert reader.post("/shares", address=f"/runs/{run}").status == 403
    assert 'action="/shares"' not in reader.get(f"/runs/{run}").text
    assert Browser(server.url).post("/shares", address=f"/runs/{run}").status in (303, 401)


def test_a_report_opens_in_the_browser_where_it_may_load_and_run_nothing(
    guarded: tuple[Server, dict[str, str], str],
) -> None:
    server, keys, run = guarded
    reader = entered(server, keys["read"])
    shown, kept = reader.get(f"/runs/{run}/report?view=1"), reader.get(f"/runs/{run}/report")
    assert "content-disposition" not in shown.headers and "attachment" in kept.headers["content-disposition"]
    policy = shown.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "frame-ancestors 'none'" in policy
    assert "frame-ancestors 'none'" in kept.headers["content-security-policy"]


def test_links_are_tried_so_often_a_minute_and_no_oftener(
    guarded: tuple[Server, dict[str, str], str],
) -> None:
    server, *_ = guarded
    guesses = [Browser(server.url).get("/shared/" + f"{n:043d}").status for n in range(41)]
    assert guesses[-1] == 429 and set(guesses) <= {404, 429}
