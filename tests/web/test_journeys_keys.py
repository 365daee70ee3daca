"""Journeys on a server that asks for keys: who gets in, who may do what, and how a session ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from browser import Watched, until, watched
from journey import arrive, follow, main_text, pardon, path_of, press, said

from programs import proctor_json
from served import Server, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Guarded:
    """A server with keys, and a key of each scope."""

    server: Server
    keys: dict[str, str]

    @property
    def url(self) -> str:
        return self.server.url

    def by(self, scope: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys[scope]}"}


@pytest.fixture(scope="module")
def there(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    home = tmp_path_factory.mktemp("keys")
    keys = {
        scope: proctor_json(home, "keys", "create", "--user", scope, "--scope", scope)["key"]
        for scope in ("read", "run", "admin")
    }
    more = {"PROCTOR_AUTH": "keys", "PROCTOR_DATA": "sample", "PROCTOR_REQUESTS_PER_MINUTE": "100000"}
    with serving(home, **more) as server:
        yield Guarded(server, keys)


def log_in(tab: Watched, there: Guarded, scope: str, to: str = "/") -> None:
    """From the page that one wanted, by the log-in, back to it."""
    tab.open(there.url + to)
    assert path_of(tab.page).startswith("/login")
    enter(tab, there.keys[scope])
    arrive(tab, lambda at: at == to, f"{to} after the log-in")


def enter(tab: Watched, key: str) -> None:
    tab.page.get_by_label("API key").fill(key)
    press(tab, "Log in")


def test_a_wrong_key_is_refused_and_the_right_one_leads_back(there: Guarded, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/leaderboard")
        assert path_of(tab.page) == "/login?to=/leaderboard"
        enter(tab, "proctor_wrong")
        until(tab.page, lambda page: page.get_by_role("alert").count() == 1, "the refusal")
        tab.settle()
        assert "can make you a new one" in main_text(tab.page)
        assert tab.page.locator("#f-key").input_value() == "", "a key is not sent back"
        pardon(tab, 401)
        enter(tab, there.keys["run"])
        arrive(tab, lambda at: at == "/leaderboard", "the page that was wanted")
        assert tab.page.locator("#said-text").inner_text() == "Logged in as run."
        assert there.keys["run"] not in tab.page.evaluate("document.cookie")


def test_the_page_that_was_wanted_keeps_its_filters(there: Guarded, chromium: Browser) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/runs?model=sim&status=failed")
        enter(tab, there.keys["read"])
        arrive(tab, lambda at: at.startswith("/runs"), "the history")
        assert path_of(tab.page) == "/runs?model=sim&status=failed"


def test_a_reader_sees_everything_and_starts_nothing(there: Guarded, chromium: Browser) -> None:
    before = _runs(there)
    with watched(chromium) as tab:
        log_in(tab, there, "read", "/runs")
        for path in ("/", "/compare", "/leaderboard", "/suites", "/models", "/system", "/projects"):
            assert tab.open(there.url + path) == 200
        assert tab.open(f"{there.url}/runs/new") == 403
        assert "Not allowed" in main_text(tab.page) or "Not allowed" in tab.page.locator("h1").inner_text()
        tab.open(f"{there.url}/")
        press(tab, "Run the built-in demo")
        until(tab.page, lambda page: page.locator("h1").inner_text() == "Not allowed", "the refusal")
        tab.settle()
        pardon(tab, 403)
    assert _runs(there) == before


def _runs(there: Guarded) -> int:
    answer = there.server.ask("GET", "/api/v1/benchmarking/results", headers=there.by("read"))
    total: int = answer.body["total"]
    return total


def test_a_runner_starts_watches_and_sees_no_keys(there: Guarded, chromium: Browser) -> None:
    with watched(chromium) as tab:
        log_in(tab, there, "run", "/runs/new?provider=simulator&model=sim&data=sample")
        until(tab.page, lambda page: page.locator("#models input:checked").count() == 1, "the model")
        press(tab, "Start Benchmarking")
        until(tab.page, lambda page: page.locator("#headline").count() == 1, "the summary")
        assert tab.open(f"{there.url}/settings") == 403
        pardon(tab, 403)


def test_log_out_ends_the_session_in_every_tab(there: Guarded, chromium: Browser) -> None:
    with watched(chromium) as tab:
        log_in(tab, there, "run", "/projects")
        cookies = tab.page.context.cookies()
        press(tab, "Log out run")
        arrive(tab, lambda at: at == "/login", "the log-in")
        tab.open(f"{there.url}/projects")
        assert path_of(tab.page) == "/login?to=/projects"
        # Not the cookie alone is gone: whoever kept it is out too.
        tab.page.context.add_cookies(cookies)  # type: ignore[arg-type]  # what it gave, it takes
        tab.open(f"{there.url}/projects")
        assert path_of(tab.page) == "/login?to=/projects"


def test_a_revoked_key_ends_its_sessions(there: Guarded, chromium: Browser) -> None:
    with watched(chromium) as admin, watched(chromium) as guest:
        log_in(admin, there, "admin", "/settings")
        admin.page.locator("#f-user").fill("guest")
        admin.page.locator("#f-name").fill("a day's visit")
        press(admin, "Create key")
        until(admin.page, lambda page: page.locator("#new-key").count() == 1, "the new key")
        key = admin.page.locator("#new-key").inner_text().strip()
        guest.open(f"{there.url}/suites")
        enter(guest, key)
        arrive(guest, lambda at: at == "/suites", "the suites")
        admin.open(f"{there.url}/settings")
        assert key not in admin.page.content()
        admin.page.once("dialog", lambda dialog: dialog.accept())
        row = admin.page.locator("tr", has_text="guest")
        admin.collect()
        row.get_by_role("button").click()
        until(admin.page, lambda page: "revoked" in row.inner_text(), "the key revoked")
        admin.settle()
        follow(guest, "History", within="#menu")
        arrive(guest, lambda at: at.startswith("/login"), "the log-in")
        enter(guest, key)
        until(guest.page, lambda page: page.get_by_role("alert").count() == 1, "the refusal")
        guest.settle()
        pardon(guest, 401)


def test_a_live_page_whose_session_ended_does_not_break(there: Guarded, chromium: Browser) -> None:
    with watched(chromium) as tab:
        log_in(tab, there, "run", "/system")
        tab.page.context.clear_cookies()
        tab.page.locator("#refresh").select_option("1")
        arrive(tab, lambda at: at.startswith("/login"), "the log-in, by itself")
        said(tab, "API key")
        pardon(tab, 401)
