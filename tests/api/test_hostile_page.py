"""A page of another site in the user's browser: it must not submit, cancel or read anything."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from served import PREFIX, Server, serving

pytestmark = pytest.mark.slow

CHROMIUM = Path("/usr/bin/chromium")
PAGE = """<!doctype html><title>hostile</title><form id="f" method="post" target="hidden"
 action="{url}{prefix}/run" enctype="{kind}"><input name='{{"project_id":1,"suite":"glue","x":"' value='"}}'></form>
<iframe name="hidden"></iframe>"""
ATTACK = """async ([url, prefix, body]) => {
  const told = [];
  for (const type of ["text/plain", "application/json", "multipart/form-data; boundary=x"]) {
    try {
      const answer = await fetch(url + prefix + "/run", {method: "POST", body, headers: {"Content-Type": type}});
      told.push(answer.status);
    } catch (error) { told.push("blocked"); }
    await fetch(url + prefix + "/run", {method: "POST", body, mode: "no-cors"}).catch(() => 0);
  }
  try { told.push((await (await fetch(url + prefix + "/results")).text()).length); }
  catch (error) { told.push("unreadable"); }
  return told;
}"""


class _Page(BaseHTTPRequestHandler):
    page = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, *args: object) -> None:
        return  # the test's own output is enough


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if not CHROMIUM.exists():
        if os.environ.get("CI") == "true":
            pytest.fail(f"no Chromium at {CHROMIUM}")
        pytest.skip(f"no Chromium at {CHROMIUM}")
    with serving(tmp_path_factory.mktemp("home"), "--no-worker") as running:
        yield running


@pytest.fixture(scope="module")
def hostile() -> Iterator[ThreadingHTTPServer]:
    site = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    thread = threading.Thread(target=site.serve_forever, daemon=True)
    thread.start()
    yield site
    site.shutdown()
    site.server_close()
    thread.join()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_a_hostile_page_can_do_nothing(server: Server, hostile: ThreadingHTTPServer, name: str) -> None:
    from playwright.sync_api import sync_playwright

    before = server.get(f"{PREFIX}/results")["total"]
    body = '{"project_id": 1, "suite": "glue", "config": {"provider": "simulator", "model": "sim"}}'
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page()
        for kind in ("text/plain", "multipart/form-data", "application/x-www-form-urlencoded"):
            _Page.page = PAGE.format(url=server.url, prefix=PREFIX, kind=kind).encode()
            page.goto(f"http://{name}:{hostile.server_port}/")
            page.evaluate("document.getElementById('f').submit()")
            page.wait_for_timeout(200)
        told = page.evaluate(ATTACK, [server.url, PREFIX, body])
        browser.close()
    assert told == ["blocked", "blocked", "blocked", "unreadable"]
    assert server.get(f"{PREFIX}/results")["total"] == before


def test_the_documents_open_without_any_other_host(server: Server) -> None:
    from playwright.sync_api import sync_playwright

    asked, errors = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{server.url}/docs")
        page.wait_for_selector('[data-path="/api/v1/benchmarking/leaderboard"]')
        if where := os.environ.get("PROCTOR_TEST_SHOTS"):
            page.screenshot(path=f"{where}/docs.png")
        browser.close()
    assert errors == []
    assert {url.partition("/static")[0].partition("/docs")[0].partition("/openapi")[0] for url in asked} <= {
        server.url,
        "",
    }
