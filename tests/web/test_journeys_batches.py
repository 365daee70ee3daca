"""Journeys through batches: a file is sent, watched live, looked through, compared, labelled and taken away."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from browser import Watched, axe, until, watched
from journey import UNHURRIED, arrive, follow, main_text, path_of, pick_model, press, said, saved

from proctor.simulator import KnownAnswer, prompt_key, spawn
from served import Answer, Server, serving
from uploads import form

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

SCRIPT = "<script>window.hit=1</script>"
IMAGE = '<img src=x onerror="window.hit=2">'
HOSTILE = f"{SCRIPT} {IMAGE} </pre></textarea><b hx-get='/demo'>b</b> [x](javascript:window.hit=3)"
# Names that addresses, markup and spreadsheets could take for something else.
ODD = ("a/b", 'say "hi"', "..", "x/../y", "日本/ü", "q?a=1&b#c", "100%25", IMAGE, "=1+1", "tab\there")
REQUESTS = 40
SLOW_S = 0.2
BOUNDARY_KIND = {"Content-Type": "multipart/form-data; boundary=between-the-parts"}


@dataclass(frozen=True)
class BatchWorld:
    """A server that works on its queue, and the data sets that were uploaded to it."""

    server: Server
    plain: str
    odd: str

    @property
    def url(self) -> str:
        return self.server.url

    def run(self, dataset: str, model: str, **config: Any) -> str:
        """A batch that has ended; its run's id."""
        body = {"model_id": model, "dataset_id": dataset, **config}
        made = self.server.post("/admin/benchmarks/run", body)["benchmark_id"]
        run_id: str = made.removeprefix("bm_")
        self.server.ended(run_id)
        return run_id


def line(custom_id: str, text: str, **more: Any) -> dict[str, Any]:
    body = {"model": "written-in-the-file", "messages": [{"role": "user", "content": text}], **more}
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}


def jsonl(lines: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


PLAIN = [line(f"candidate-{n % 4}/q{n}", f"What comes after {n}?", max_tokens=50) for n in range(REQUESTS)]
ODD_LINES = [line(name, f"Say it, number {n}.") for n, name in enumerate(ODD)]


def answers() -> dict[str, KnownAnswer]:
    """What the models say: right and wrong ones differ in a word, and those of odd names are hostile."""
    known = {}
    for n, each in enumerate(PLAIN):
        right = f"After {n} comes {n + 1}."
        known[_key(each)] = KnownAnswer(right, (f"After {n} comes {n + 2}.",))
    return known | {_key(each): KnownAnswer(HOSTILE, (HOSTILE,)) for each in ODD_LINES}


def _key(of: dict[str, Any]) -> str:
    return prompt_key([(each["role"], each["content"]) for each in of["body"]["messages"]])


def uploaded(server: Server, name: str, body: bytes) -> Answer:
    import urllib.request

    from served import _read

    asked = urllib.request.Request(
        f"{server.url}/admin/datasets/upload", form([(name, body)]), BOUNDARY_KIND, method="POST"
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        return Answer(answer.status, _read(answer), answer.headers)


@pytest.fixture(scope="module")
def there(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BatchWorld]:
    home: Path = tmp_path_factory.mktemp("batches")
    options = [
        "--latency",
        str(SLOW_S),
        "--model",
        "alpha=1.0",
        "--model",
        "beta=0.5",
        "--model",
        "gamma=0.5",
    ]
    with (
        spawn(options, answers()) as models,
        serving(
            home,
            OLLAMA_HOST=models.url.rstrip("/"),
            OPENAI_BASE_URL=f"{models.url.rstrip('/')}/v1",
            OPENAI_API_KEY="a-key-of-the-simulator",
            **UNHURRIED,
        ) as server,
    ):
        plain, odd = (
            uploaded(server, name, jsonl(lines)).body["dataset_id"]
            for name, lines in (("plain.jsonl", PLAIN), ("odd.jsonl", ODD_LINES))
        )
        yield BatchWorld(server, plain, odd)


@pytest.fixture(scope="module")
def alpha(there: BatchWorld) -> str:
    return there.run(there.plain, "ollama/alpha", candidate="^(candidate-[0-9]+)/", parallel=32)


@pytest.fixture(scope="module")
def beta(there: BatchWorld) -> str:
    return there.run(there.plain, "ollama/beta", parallel=32)


def bar(page: Page) -> float:
    """How far the first active batch is; -1 where none is at work."""
    # At one look: a piece that comes in between takes the bar away.
    values: list[float] = page.locator("#active progress").evaluate_all(
        "bars => bars.map((bar) => bar.value)"
    )
    return values[0] if values else -1.0


@pytest.mark.promise("B-10", "B-12", "B-13")
def test_a_batch_is_started_watched_live_in_two_browsers_and_looked_through(
    there: BatchWorld, chromium: Browser
) -> None:
    with watched(chromium) as tab, watched(chromium, dark=True) as other:
        page = tab.page
        tab.open(f"{there.url}/batches")
        follow(tab, "Run a batch")
        arrive(tab, lambda at: at.startswith("/batches/new"), "the form")
        page.locator("#f-dataset").select_option(there.plain)
        until(page, lambda at: "at least 700 MB" in at.locator("#models").inner_text(), "how large it is")
        pick_model(tab, "openai/alpha")
        page.locator("#advanced > summary").click()
        page.locator("#f-parallel").fill("1")
        page.locator("#f-parallel").blur()
        until(page, lambda at: "40" in at.locator("#plan dl").inner_text(), "what it will take")
        assert axe(page) == []
        other.open(f"{there.url}/batches")
        press(tab, "Start Benchmarking")
        # Nothing is waited for to settle: the page is brought anew as long as the batch is at work.
        until(page, lambda at: path_of(at) == "/batches", "the overview")
        moved: dict[str, set[float]] = {"tab": set(), "other": set()}

        def both_moved(_: Page) -> bool:
            moved["tab"].add(bar(page))
            moved["other"].add(bar(other.page))
            return min(len(values - {-1.0}) for values in moved.values()) >= 3

        until(page, both_moved, "the bar moved twice in both")
        for seen in (tab, other):
            until(seen.page, lambda at: bar(at) < 0 and "completed" in main_text(at), "the end")
        row = page.locator("#completed tbody tr").first.inner_text()
        assert "plain.jsonl" in row and "openai/alpha" in row and "tokens/s" in row and " s" in row
        assert axe(page) == []
        tab.settle()  # the last look of a page that was live may be under way
        follow(tab, "View Results", within="#completed")
        arrive(tab, lambda at: at.endswith("/requests"), "the results")
        assert page.locator("#requests tbody tr").count() == REQUESTS
        lines = saved(tab, "Download JSONL").splitlines()
        assert [json.loads(each)["custom_id"] for each in lines] == [each["custom_id"] for each in PLAIN]


@pytest.mark.promise("B-14", "B-15")
def test_results_are_filtered_by_candidate_text_and_status_and_lead_to_a_request(
    there: BatchWorld, alpha: str, chromium: Browser
) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{there.url}/runs/{alpha}/requests")
        page.locator("#f-candidate").fill("candidate-3")
        page.locator("#f-candidate").blur()
        until(page, lambda at: at.locator("#requests tbody tr").count() == REQUESTS // 4, "the candidate's")
        assert "candidate=candidate-3" in page.url
        page.locator("#f-text").fill("comes 8")
        until(page, lambda at: at.locator("#requests tbody tr").count() == 1, "the one with the text")
        tab.settle()
        page.locator("#requests [data-open]").click()
        until(
            page, lambda at: at.locator("#pane-title").inner_text() == "candidate-3/q7", "it is open beside"
        )
        tab.settle()
        tab.collect()
        page.keyboard.press("Enter")
        arrive(tab, lambda at: "/requests/candidate-3%2Fq7" in at, "the request")
        assert "After 7 comes 8." in page.locator("#reply").inner_text()
        for name in ("Raw request", "Raw response"):
            page.get_by_text(name, exact=True).click()
        assert "written-in-the-file" in page.locator("#raw-request").inner_text()
        assert '"status_code": 200' in page.locator("#raw-response").inner_text()
        assert axe(page) == []
        tab.collect()
        page.keyboard.press("u")
        arrive(tab, lambda at: "candidate=candidate-3" in at, "the filtered list again")
        tab.open(f"{there.url}/runs/{alpha}/requests?status=failed")
        said(tab, "No requests under this filter")


@pytest.mark.promise("B-16", "B-20")
def test_batches_stand_side_by_side_disagreements_first(
    there: BatchWorld, alpha: str, beta: str, chromium: Browser
) -> None:
    gamma = there.run(there.plain, "ollama/gamma", parallel=32)
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{there.url}/batches")
        for run_id in (alpha, beta):
            page.locator(f"input[data-pick][value='{run_id}']").check()
        tab.collect()
        page.locator("#compare-picked").click()
        arrive(tab, lambda at: at.startswith("/batches/compare?"), "side by side")
        assert "changed" in page.locator("#verdict").inner_text()
        first = page.locator("#compared tbody tr").first
        assert "different" in first.inner_text()
        assert first.locator("del").count() and first.locator("ins").count()
        assert axe(page) == []
        tab.open(f"{there.url}/batches/compare?runs={alpha}&runs={beta}&how=number")
        assert "changed" in page.locator("#verdict").inner_text()
        tab.open(f"{there.url}/batches/compare?runs={alpha}&runs={beta}&how=nonsense")
        said(tab, "no comparator")
        tab.open(f"{there.url}/batches/compare?runs={alpha}&runs={beta}&runs={gamma}")
        assert page.locator("#matrix tbody tr").count() == 3
        assert axe(page) == []


@pytest.mark.promise("B-20")
def test_replies_are_judged_blind_by_keys_and_become_training_data(
    there: BatchWorld, alpha: str, beta: str, chromium: Browser
) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{there.url}/batches/compare?runs={alpha}&runs={beta}&show=different")
        follow(tab, "Judge blind")
        arrive(tab, lambda at: "blind=1" in at, "one request, blind")
        assert "ollama/" not in page.locator("body").inner_text()
        assert axe(page) == []
        page.keyboard.press("1")
        until(page, lambda at: at.locator("[data-key='1'][aria-pressed=true]").count() == 1, "the best one")
        tab.settle()
        tab.collect()
        page.keyboard.press("u")
        arrive(tab, lambda at: at.startswith("/batches/compare?"), "the list")
        pairs = [json.loads(each) for each in saved(tab, "Export DPO").splitlines()]
        assert len(pairs) == 1 and {"prompt", "chosen", "rejected"} <= set(pairs[0])


@pytest.mark.promise("B-14")
def test_labels_are_given_by_keys_and_exported(there: BatchWorld, alpha: str, chromium: Browser) -> None:
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{there.url}/runs/{alpha}/requests/candidate-0%2Fq0")
        page.keyboard.press("g")
        until(page, lambda at: "good" in at.locator("#label-now").inner_text(), "good")
        page.keyboard.press("t")
        page.keyboard.type("clear, short")
        page.keyboard.press("Enter")
        until(page, lambda at: "#short" in at.locator("#label-now").inner_text(), "its tags")
        tab.settle()
        tab.collect()
        page.keyboard.press("j")
        arrive(tab, lambda at: "q1" in at, "the next")
        page.keyboard.press("e")
        page.keyboard.press("Control+A")
        page.keyboard.type("It is 2.")
        page.keyboard.press("Control+Enter")
        until(page, lambda at: "edited" in at.locator("#label-now").inner_text(), "edited")
        assert axe(page) == []
        page.keyboard.press("?")
        assert "good, bad" in page.locator("#help").inner_text()
        tab.open(f"{there.url}/runs/{alpha}/requests?label=good")
        assert page.locator("#requests tbody tr").count() == 1
        page.locator("#export summary").click()
        assert axe(page) == []
        lines = [json.loads(each) for each in saved(tab, "SFT").splitlines()]
        assert lines and lines[0]["messages"][-1]["content"].endswith("After 0 comes 1.")
        tab.open(f"{there.url}/runs/{alpha}/requests")
        page.locator("#export summary").click()
        told = [json.loads(each)["messages"][-1]["content"] for each in saved(tab, "SFT").splitlines()]
        assert "It is 2." in told


@pytest.mark.promise("B-23")
def test_a_failed_batch_is_shown_as_failed_with_why_and_its_requests_are_grouped(
    there: BatchWorld, chromium: Browser
) -> None:
    failed = there.run(there.plain, "ollama/not-there")
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{there.url}/batches")
        row = page.locator(f"#completed tr[data-batch='{failed}']")
        assert "failed" in row.inner_text()
        assert "not-there" in page.locator(f"#completed tr[data-batch='{failed}'] + tr").inner_text()
        tab.open(f"{there.url}/runs/{failed}")
        said(tab, "What to do:")
        tab.open(f"{there.url}/runs/{failed}/failures")
        assert page.locator("main").inner_text()
        assert axe(page) == []


MADE_OF_IT = """() => [...document.querySelectorAll("body *")].filter((e) =>
    [...e.attributes].some((a) => a.name.startsWith("on") || /^\\s*javascript:/i.test(a.value))
    || e.matches("main img, main [hx-get='/demo']")
    || e.matches("script:not([src]):not([type='application/json'])")
).map((e) => e.outerHTML.slice(0, 200))"""


def harmless(tab: Watched) -> None:
    assert tab.page.evaluate("typeof window.hit") == "undefined"
    assert tab.page.evaluate(MADE_OF_IT) == []


def test_hostile_names_and_replies_stay_text_and_every_request_has_its_address(
    there: BatchWorld, chromium: Browser
) -> None:
    first, second = (there.run(there.odd, f"ollama/{model}", parallel=32) for model in ("alpha", "beta"))
    with watched(chromium) as tab:
        page = tab.page
        tab.open(f"{there.url}/runs/{first}/requests")
        harmless(tab)
        links = page.locator("#requests tbody [data-open]").evaluate_all(
            "all => all.map((a) => a.getAttribute('href'))"
        )
        assert len(links) == len(ODD)
        for _ in ODD:
            page.keyboard.press("j")
            until(page, lambda at: at.locator("#rows [aria-current]").count() == 1, "it is open beside")
            tab.settle()
            harmless(tab)
        for name, link in zip(ODD, links, strict=True):
            assert tab.open(there.url + link) == 200
            harmless(tab)
            assert page.locator("h1 bdi").text_content() == name
            assert SCRIPT in page.locator("#reply").inner_text()
            page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
            harmless(tab)
        page.keyboard.press("b")
        until(page, lambda at: "bad" in at.locator("#label-now").inner_text(), "the label")
        for path in ("/batches", f"/runs/{first}", f"/batches/compare?runs={first}&runs={second}"):
            tab.open(there.url + path)
            harmless(tab)
        follow(tab, "Judge one by one")
        arrive(tab, lambda at: "/compare/request" in at, "one by one")
        harmless(tab)


@pytest.mark.promise("B-22")
def test_the_addresses_of_the_specification_lead_to_the_pages(
    there: BatchWorld, alpha: str, chromium: Browser
) -> None:
    with watched(chromium) as tab:
        tab.open(f"{there.url}/static/benchmark-runner.html")
        assert path_of(tab.page) == "/batches"
        tab.open(f"{there.url}/static/benchmark-results.html?benchmark_id=bm_{alpha}")
        assert path_of(tab.page) == f"/runs/{alpha}/requests"
        tab.open(f"{there.url}/static/benchmark-results.html")
        assert path_of(tab.page) == "/batches"
