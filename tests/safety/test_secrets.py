"""A word planted in every secret setting is in no row, file, log, page, answer, bundle or export of what was done."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import urlopen

import pytest
from sqlalchemy import select

import forks
from proctor.settings import read_settings
from proctor.settings.variables import SETTINGS
from proctor.store import Store
from proctor.store.core.tables import METADATA
from programs import environment
from request_files import line
from served import serving

KEYS = {
    each.name: f"planted-{number}-{each.name.lower()}-4711"
    for number, each in enumerate(SETTINGS)
    if each.secret
}
MAY_FAIL = {"debug": (1, 2, 3, 4, 5)}  # asks a server that is not there
PASSWORDS = {"redis": "planted-redis-4711", "database": "planted-database-4711"}
ADDRESSES = {
    "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    "GEMINI_BASE_URL": "http://127.0.0.1:9",
    "XAI_BASE_URL": "http://127.0.0.1:9/v1",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    "PROCTOR_SERVER": "http://127.0.0.1:9",
}
PAGES = (
    "/",
    "/runs",
    "/batches",
    "/models",
    "/system",
    "/settings",
    "/audit",
    "/schedules",
    "/rollouts",
    "/metrics",
    "/readyz",
)
ANSWERS = (
    "/openapi.json",
    "/api/v1/providers",
    "/api/v1/audit",
    "/api/v1/benchmarking/results",
    "/admin/models",
    "/v1/models",
)


def planted(url: str) -> dict[str, str]:
    """The environment of somebody whose every secret is set; a database on this machine asks for no password."""
    told = {**KEYS, **ADDRESSES, "PROCTOR_REDIS_URL": f"redis://:{PASSWORDS['redis']}@127.0.0.1:9/0"}
    # Without a scheme that has users (SQLite) there is no password to plant.
    scheme, _, rest = url.partition("://")
    user, at, place = rest.partition("@")
    if at:
        url = f"{scheme}://{user.partition(':')[0]}:{PASSWORDS['database']}@{place}"
    return {**told, "PROCTOR_DATABASE_URL": url, "PROCTOR_FIRST_RETRY": "0.1s"}


@pytest.mark.slow
@pytest.mark.promise("A-28", "A-29")
def test_no_secret_is_in_anything_that_was_written_or_said(database_url: str, tmp_path: Path) -> None:
    home, environ = tmp_path / "home", planted(database_url)
    home.mkdir()
    requests = tmp_path / "requests.jsonl"
    requests.write_bytes(line("one") + line("two"))
    server_environ = {name: value for name, value in environ.items() if name != "PROCTOR_SERVER"}
    said: list[str] = []
    with serving(home, **server_environ) as server:
        jobs = [server.submit(name, "sim", limit=1) for name in ("simulator", "openai")]
        said += [json.dumps(server.ended(job)) for job in jobs]
        places = [
            *PAGES,
            *ANSWERS,
            *(f"/runs/{job}?tab={tab}" for job in jobs for tab in ("overview", "log", "config")),
        ]
        for path in (*places, f"/runs/{jobs[0]}/export?form=jsonl", f"/runs/{jobs[0]}/report"):
            with urlopen(server.url + path, timeout=30) as answer:
                said.append(answer.read().decode("utf-8", "replace"))
    batch = {name: value for name, value in server_environ.items() if name != "PROCTOR_REDIS_URL"}
    for words in (
        ("batch", "run", str(requests), "--model", "simulator/sim", "--output", str(tmp_path / "out.jsonl")),
        ("bundle", jobs[0], "--output", str(tmp_path / "one.zip")),
        ("export", jobs[0], "--format", "json"),
        ("report", jobs[1]),
        ("--log-level", "debug", "run", "glue", "--model", "openai/sim", "--limit", "1", "--data", "sample"),
    ):
        done = forks.run(words, environment(home, **batch), tmp_path, timeout_s=60)
        assert done.stdout + done.stderr and done.returncode in (0, *MAY_FAIL.get(words[2], ())), (
            words,
            done,
        )
        said += [done.stdout, done.stderr]
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    store = Store.open(database_url)
    with store.reading() as connection:
        for table in METADATA.sorted_tables:
            said += [repr(row) for row in connection.execute(select(table))]
    store.close()
    assert len(files) > 6 and len(said) > 40
    for secret in (*KEYS.values(), *PASSWORDS.values()):
        assert not [text[:300] for text in said if secret in text]
        assert not [path for path, content in files.items() if secret.encode() in content]


def test_no_secret_is_in_what_settings_say_of_themselves() -> None:
    told = repr(read_settings(planted("postgresql://proctor@127.0.0.1/proctor")))
    assert len(KEYS) >= 7 and not [
        secret for secret in (*KEYS.values(), *PASSWORDS.values()) if secret in told
    ]
