"""The dashboard's plain rooms over HTTP: log-in, settings, audit, models, suites, queue, schedules, projects."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote, urlencode

import pytest

from opened import over
from pages import Browser
from proctor.manifest import UNOPENED
from proctor.references import ExamRef
from proctor.service.admin.access import create_key
from proctor.service.opening.catalogue import suite_facts
from proctor.store import Store
from proctor.types import Cell, Model, Plan, Status
from programs import proctor, proctor_json
from served import Server, serving

pytestmark = pytest.mark.slow

HOSTILE = "<script>alert(1)</script>\" onload='x' <b>bold"
ROOMS = {
    "/login": ["API key", "Log in"],
    "/settings": [
        "API keys",
        "PROCTOR_MOST_RUNNING",
        "PROCTOR_AUTH",
        "OPENAI_API_KEY",
        "not set",
        "Old runs",
    ],
    "/audit": ["Who did what", "Action"],
    "/models": ["Test connection", "none needed", "not set", "Ollama"],
    "/models/simulator/sim": ["No runs of this model yet"],
    "/models?q=x&sort=score:glue": ["No model fits"],
    "/suites": ["CoLA", "nyu-mll/glue", "Example", "see the data's own page", "mcc", "on the hub"],
    "/suites?q=anatomy": ["Anatomy", "<strong>MMLU"],
    "/suites?q=nothing+such": ["Nothing fits"],
    "/suites/mmlu/import": ["Import rows", "cais/mmlu", "multipart/form-data"],
    "/schedules/new": [
        "Weekdays",
        "Cron expression",
        "The next three times",
        "Every day at 02:00",
        "@hourly",
    ],
    "/schedules/next?every=weekly&weekday=1&weekday=4&at=06:30": [
        "Every Monday and Thursday at 06:30",
        "30 6 * * 1,4",
    ],
    "/system": ["0 of 3", "none seen", "SQLite file", "/metrics", 'data-live="/system/live"'],
    "/system/live": ["0 of 3", "Nothing waits and nothing runs"],
    "/schedules": ["No schedules yet", "New schedule"],
    "/projects": ["default", "Create project"],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    """Without keys and without a worker: what is submitted waits."""
    with serving(home, "--no-worker", GROK_API_KEY="xai-never-shown") as running:
        yield running


@pytest.fixture
def browser(server: Server) -> Browser:
    return Browser(server.url)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, dict[str, str]]]:
    """A server with keys, and a key of each scope."""
    home = tmp_path_factory.mktemp("guarded")
    keys = {
        scope: proctor_json(home, "keys", "create", "--user", scope, "--scope", scope)["key"]
        for scope in ("read", "run", "admin")
    }
    with serving(home, "--no-worker", PROCTOR_AUTH="keys") as running:
        yield running, keys


def logged_in(guarded: tuple[Server, dict[str, str]], scope: str) -> Browser:
    server, keys = guarded
    browser = Browser(server.url)
    assert browser.post("/login", key=keys[scope]).status == 303
    return browser


# Every room ---------------------------------------------------------------------------------------


# First, while the server is as it was made.
@pytest.mark.parametrize("path", ROOMS)
def test_every_room_opens(browser: Browser, path: str) -> None:
    page = browser.get(path)
    assert page.status == 200
    text = html.unescape(page.text)
    assert not [word for word in ROOMS[path] if word not in text]


@pytest.mark.parametrize("path", ROOMS)
def test_rooms_keep_the_policy(browser: Browser, path: str) -> None:
    text = browser.get(path).text
    assert not re.findall(r"<[^>]*\s(?:style|on[a-z]+)=", text), "inline styles and handlers are refused"
    assert not re.findall(r"<script(?![^>]*\bsrc=)", text)
    assert not [head for head in re.findall(r"<th\b[^>]*>", text) if "scope=" not in head]
    fields = re.findall(r"<(?:input|select|textarea)\b[^>]*>", text)
    labels = set(re.findall(r'<label[^>]* for="([^"]+)"', text))
    for each in fields:
        ident = re.search(r' id="([^"]+)"', each)
        named = "aria-label=" in each or 'type="hidden"' in each or 'type="checkbox"' in each
        assert named or (ident and ident[1] in labels), each


def test_no_value_of_a_provider_key_is_shown(browser: Browser) -> None:
    for path in ROOMS:
        assert "xai-never-shown" not in browser.get(path).text
    assert re.search(r"GROK_API_KEY", browser.get("/settings").text)


def test_the_piece_of_the_queue_is_no_whole_page(browser: Browser) -> None:
    assert "<html" not in browser.get("/system/live").text


def test_every_task_shows_what_it_asks(browser: Browser) -> None:
    tasks = [task["task"] for suite in suite_facts() for task in suite["tasks"]]
    assert browser.get("/suites").text.count('<details class="prompt">') == len(tasks) > 80


# Keys and sessions --------------------------------------------------------------------------------


def test_a_key_is_made_shown_once_and_revoked(browser: Browser, home: Path) -> None:
    made = browser.post("/settings/keys", user="ann", name="laptop", scopes=["read", "run"], projects=[1])
    (secret,) = re.findall(r"proctor_[\w-]{43}", made.text)
    assert made.status == 200 and made.headers["Cache-Control"] == "no-store"
    again = browser.get("/settings")
    assert secret not in again.text and secret[:14] in again.text and "read, run" in again.text
    assert secret not in browser.get("/audit").text
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    assert secret.encode() not in kept
    (number,) = re.findall(r"/settings/keys/(\d+)/revoke", again.text)
    assert browser.post(f"/settings/keys/{number}/revoke").status == 303
    assert "revoked" in browser.get("/settings").words
    assert browser.post(f"/settings/keys/{number}/revoke").status == 409
    audit = browser.get("/audit?user=local&action=revoke-key")
    assert "of ann" in audit.words and "create-key</td>" not in audit.text


@pytest.mark.parametrize(
    "form", [{"user": "", "scopes": "read"}, {"user": "ann"}, {"user": "ann", "scopes": "root"}]
)
def test_a_key_that_cannot_be_is_refused(browser: Browser, form: dict[str, str]) -> None:
    page = browser.post("/settings/keys", **form)
    assert page.status == 400 and "What to do:" in page.words


def test_log_in_and_out(guarded: tuple[Server, dict[str, str]]) -> None:
    server, keys = guarded
    browser = Browser(server.url)
    refused = browser.get("/projects")
    assert (refused.status, refused.headers["Location"]) == (303, "/login?to=/projects")
    assert browser.get("/login?to=/projects").status == 200
    assert browser.post("/login", key="proctor_wrong").status == 401
    assert not browser.cookies
    entered = browser.post("/login", key=f" {keys['admin']} ", to="/projects?x=1")
    assert (entered.status, entered.headers["Location"]) == (303, "/projects?x=1")
    (session,) = [each for each in entered.cookies if each.startswith("proctor_session=")]
    told = session.lower()
    assert all(word in told for word in ("httponly", "samesite=lax", "path=/", "max-age=604800"))
    assert keys["admin"] not in session
    assert "Log out admin" in browser.get("/projects").words
    kept = dict(browser.cookies)
    assert browser.post("/logout").status == 303
    assert Browser(server.url, kept).get("/projects").status == 303, "the session ends on the server too"


def test_behind_tls_the_session_travels_by_tls_alone(guarded: tuple[Server, dict[str, str]]) -> None:
    """The proxy speaks plain HTTP to the server; the browser's Origin tells what it spoke itself."""
    server, keys = guarded
    host = server.url.partition("://")[2]
    for scheme, secure in (("https", True), ("http", False)):
        entered = Browser(server.url).post("/login", {"Origin": f"{scheme}://{host}"}, key=keys["read"])
        (session,) = [each for each in entered.cookies if each.startswith("proctor_session=")]
        assert ("; secure" in session.lower()) is secure


@pytest.mark.parametrize(
    "to",
    [
        "//evil.example",
        "https://evil.example/",
        "/\\evil.example",
        "/\t/evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "evil.example",
        "/\r\nSet-Cookie: x=1",
        "/logout",
        "",
    ],
)
def test_log_in_sends_nobody_elsewhere(guarded: tuple[Server, dict[str, str]], to: str) -> None:
    server, keys = guarded
    page = Browser(server.url).post("/login", key=keys["read"], to=to)
    assert (page.status, page.headers["Location"]) == (303, "/")
    shown = Browser(server.url).get(f"/login?{urlencode({'to': to})}")
    if to.isprintable():
        assert 'name="to" value="/"' in shown.text
    else:
        assert shown.status == 400, "an address with a control character is none"


def test_what_a_reader_may_do(guarded: tuple[Server, dict[str, str]]) -> None:
    browser = logged_in(guarded, "read")
    page = browser.get("/settings")
    assert page.status == 403 and "Not allowed" in page.words
    assert "create-key" not in browser.get("/audit").words, (
        "what the server's deeds are is an administrator's"
    )
    for path in (
        "/projects",
        "/schedules",
        "/schedules/1/delete",
        "/models/test",
        "/settings/keys",
        "/settings/prune",
    ):
        assert browser.post(path, name="x", user="x", older="1").status == 403, path
    for path in ("/models", "/suites", "/system", "/schedules", "/projects"):
        page = browser.get(path)
        assert page.status == 200
        assert set(re.findall(r'method="post" action="([^"]+)"', page.text)) == {"/logout"}
    assert "SQLite file" not in browser.get("/system").words, "where files lie is an administrator's to know"


def test_a_runner_may_not_see_keys(guarded: tuple[Server, dict[str, str]]) -> None:
    browser = logged_in(guarded, "run")
    assert browser.post("/projects", name="of a runner").status == 403
    assert browser.get("/settings").status == 403
    admin = logged_in(guarded, "admin")
    assert admin.post("/projects", name="of an admin").status == 303
    assert "of an admin" in admin.get("/audit?action=create-project").words
    assert "of an admin" not in browser.get("/projects").words, "its key names another"


def test_which_projects_a_key_reaches_is_shown_and_changed(browser: Browser) -> None:
    browser.post("/projects", name="Red team")
    number = re.findall(
        r'name="projects"\s+value="(\d+)"[^>]*><span\s+class="form-check-label">Red team',
        browser.get("/settings").text,
    )[0]
    made = browser.post("/settings/keys", user="carl", scopes=["read"], projects=[number])
    assert "(read; Red team)" in made.words
    (key,) = re.findall(r"Key (\d+) of carl", made.words)
    assert browser.post(f"/settings/keys/{key}/projects", projects=[1, number]).status == 303
    assert "carl" in (words := browser.get("/settings").words) and "default, Red team" in words
    assert browser.post(f"/settings/keys/{key}/projects").status == 400, "a key that reaches nothing"
    assert browser.post("/settings/keys", user="dora", scopes=["admin"], projects=[1]).words.count(
        "(admin; all)"
    )


# Projects -----------------------------------------------------------------------------------------


def test_a_project_is_made(browser: Browser) -> None:
    assert browser.post("/projects", name="Nightly runs").status == 303
    assert "Nightly runs" in browser.get("/projects").words
    assert browser.post("/projects", name="Nightly runs").status == 409
    assert browser.post("/projects", name=HOSTILE).status == 400
    assert HOSTILE not in browser.get("/projects").text


# Runs: queue, models, pruning ---------------------------------------------------------------------


def test_the_queue_shows_what_waits(browser: Browser, server: Server) -> None:
    job = server.submit("simulator", HOSTILE)
    for path in ("/system", "/system/live"):
        page = browser.get(path)
        assert f'action="/runs/{job}/stop" data-confirm=' in page.markup
        assert HOSTILE not in page.text and f"simulator/{HOSTILE}" in html.unescape(page.text)
    assert f'href="/runs/{job}"' in browser.get("/audit?action=submit").text
    name = re.findall(r'href="(/models/[^"]*)"', browser.get("/models").text)
    assert len(name) == 1, "a model that waits is listed, by an address of its own"
    told = browser.get(name[0])
    assert told.status == 200 and job[:8] in told.words
    assert HOSTILE not in told.text and "<script>alert" not in told.text


@pytest.mark.promise("G-30")
def test_the_audit_is_paged_and_filtered(browser: Browser, home: Path) -> None:
    with closing(Store.open(f"sqlite:///{home / 'proctor.db'}")) as store:
        for number in range(120):
            create_key(over(store), f"robot{number}", HOSTILE, ["read"], by="filler")
    first = browser.get("/audit?user=filler")
    assert first.text.count("create-key</td>") == 100 and "robot119" in first.words
    (older,) = re.findall(r'href="(/audit\?[^"]*before=\d+)"', first.text)
    second = browser.get(html.unescape(older))
    assert second.text.count("create-key</td>") == 20 and "robot0:" in second.words
    assert "Older" not in second.words and "Newest" in second.words
    assert HOSTILE not in browser.get("/settings").text
    assert "Nothing fits" in browser.get("/audit?user=nobody&before=zzz").words


def test_a_model_s_page_shows_its_runs(browser: Browser, home: Path) -> None:
    proctor(home, "run", "superglue", "--model", "baseline/majority", "--data", "sample")
    gone = [ended_run(home, model="org/big:1", at=1_700_000_000.0 + n) for n in range(2)]
    page = browser.get("/models/baseline/majority")
    assert re.search(r"completed.* sample data|sample data.*completed", page.words, re.S)
    assert re.search(r"[01]\.\d{3} \[[01]\.\d{3}, [01]\.\d{3}\]", page.words), "the headline and its interval"
    failed = browser.get("/models/openai/org/big%3A1")
    assert all(f'href="/runs/{run}"' in failed.text for run in gone) and "failed" in failed.words
    assert 'href="/leaderboard?suite=mmlu"' in failed.text
    missing = browser.get("/models/nobody/x")
    assert missing.status == 404 and "nobody" in missing.words


def ended_run(home: Path, *, model: str, at: float) -> str:
    """A run of one model that failed long ago; its id."""
    cell = Cell(Model("openai", model), ExamRef("suite", "mmlu"))
    with closing(Store.open(f"sqlite:///{home / 'proctor.db'}")) as store:
        plan = store.add_plan(Plan((cell,)), now=at)
        run = store.add_run(
            plan,
            cell,
            source_title="MMLU",
            planned=1,
            manifest=UNOPENED,
            comparability=None,
            sample=False,
            now=at,
        )
        store.claim(run.id, owner="test", now=at, lease_s=60)
        store.finish(
            run.id, Status.FAILED, owner="test", now=at, elapsed_s=1.0, error="gone", error_slug="network"
        )
    return run.id


def test_old_runs_are_counted_then_deleted(browser: Browser, home: Path) -> None:
    old = ended_run(home, model="old", at=1_600_000_000.0)
    assert "No run ended more than 3650 days ago" in browser.get("/settings?older=3650").words
    counted = browser.get("/settings?older=365")
    found = re.findall(r'action="/settings/prune" data-confirm="Delete (\d+) run', counted.markup)
    assert int(found[0]) >= 1
    gone = browser.post("/settings/prune", older="365")
    assert (gone.status, gone.headers["Location"]) == (303, "/settings")
    assert f"{found[0]} runs deleted" in unquote(gone.cookies[0])
    assert old[:8] not in browser.get("/models/openai/old").words
    assert "No run ended" in browser.get("/settings?older=365").words
    assert "older than 365 days" in browser.get("/audit?action=prune").words


@pytest.mark.parametrize("older", ["", "0", "-1", "x", "1.5", "99999", "٣"])
def test_what_is_no_number_of_days_deletes_nothing(browser: Browser, older: str) -> None:
    page = browser.post("/settings/prune", older=older)
    assert page.status == 400 and "whole number of days" in page.words


# Providers ----------------------------------------------------------------------------------------


def test_a_connection_that_fails_says_what_to_do(browser: Browser) -> None:
    page = browser.post("/models/test", provider="ollama")
    assert page.status == 200 and "What to do:" in page.words and "endpoint-not-found" in page.words


def test_a_connection_lists_models(browser: Browser) -> None:
    page = browser.post("/models/test", provider="simulator")
    assert 'href="/models/simulator/sim"' in page.text
    assert browser.post("/models/test", provider="simulator", model="sim").status == 400
    assert browser.post("/models/test", provider="nobody").status == 400


# Where there are runs -----------------------------------------------------------------------------


def test_the_comparison_opens_before_models_are_named_and_counts_what_it_shows(tmp_path: Path) -> None:
    models = [word for name in ("sim", "sim-small") for word in ("--model", f"simulator/{name}")]
    proctor(tmp_path, "run", "superglue", "--data", "sample", *models)
    with serving(tmp_path, "--no-worker") as server:
        browser = Browser(server.url)
        page = browser.get("/compare")
        assert page.status == 200 and "simulator/sim-small" in page.text
        said = browser.get("/compare?runs=simulator/sim&runs=simulator/sim-small").markup
    differ, shown = map(int, re.findall(r": (\d+) differ, (\d+) shown", said)[0])
    assert differ > shown == said.count('<td class="differing-item">')
