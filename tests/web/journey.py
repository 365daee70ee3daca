"""What journeys through the dashboard start from: a simulator behind Ollama's protocol and a server that asks it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from browser import Watched, until

from proctor.references import ExamRef
from proctor.service.kinds.exams import answers_to
from proctor.settings import read_settings
from proctor.simulator import KnownAnswer, spawn
from proctor.sources.exams.source import open_suite
from served import Server, serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

SUITE = "glue"
ITEMS = 180  # sample rows of the quick preset
PARALLEL = 4  # requests under way of a slow job
SLOW = ("--latency", "0.2")
UNHURRIED = {"PROCTOR_REQUESTS_PER_MINUTE": "100000", "PROCTOR_DATA": "sample"}


@dataclass(frozen=True)
class World:
    """A server that works on its queue, and the address of the model server that it knows as Ollama."""

    server: Server
    models: str
    home: Path

    @property
    def url(self) -> str:
        return self.server.url

    def asked(self) -> dict[str, int]:
        """How often each prompt reached the model server."""
        with urllib.request.urlopen(f"{self.models}/__stats?keys=1", timeout=30) as answer:
            counted: dict[str, int] = json.load(answer)["by_key"]
        return counted

    def slow(self, **config: Any) -> str:
        """Submit a job that takes a while; its id."""
        return self.server.submit(
            "ollama", "sim:latest", **{"preset": "quick", "parallel": PARALLEL, **config}
        )

    def run(self, model: str, provider: str = "simulator", **config: Any) -> str:
        """A run that has ended; its id."""
        job_id = self.server.submit(provider, model, **config)
        assert self.server.ended(job_id)["status"] == "completed"
        return job_id


@contextmanager
def world(
    home: Path,
    *options: str,
    say: Callable[[KnownAnswer], KnownAnswer] = lambda answer: answer,
    **environ: str,
) -> Iterator[World]:
    """Until the block ends. `say` may change what the models answer."""
    settings = read_settings({"PROCTOR_HOME": str(home)})
    known = answers_to(open_suite(ExamRef("suite", SUITE, preset="full", rows="sample"), settings.home))
    with spawn(options, {key: say(answer) for key, answer in known.items()}) as models:
        ollama = models.url.rstrip("/")
        with serving(home, OLLAMA_HOST=ollama, **UNHURRIED, **environ) as server:
            yield World(server, ollama, home)


def path_of(page: Page) -> str:
    """The address without the server: path and query."""
    return "/" + page.url.split("/", 3)[3].partition("#")[0]


def press(tab: Watched, name: str, *, within: str = "body") -> None:
    """Press a button that leads to another page, once all of the page is there."""
    tab.settle()
    tab.collect()
    tab.page.locator(within).get_by_role("button", name=name, exact=True).click()


def pick_model(tab: Watched, model: str) -> None:
    """Tick a model, PROVIDER/NAME, in the list of Run Benchmarks, once its provider has told it."""
    box = tab.page.locator(f"input[data-model='{model}']")
    until(tab.page, lambda _: box.count() == 1, f"{model} on offer")
    tab.settle()
    box.check()


def chosen_models(page: Page) -> list[str]:
    """The models that the form of Run Benchmarks would start."""
    values: list[str] = page.locator("#chosen input[name=models]").evaluate_all(
        "all => all.map((each) => each.value)"
    )
    return values


def follow(tab: Watched, name: str, *, within: str = "body") -> None:
    """Follow a link to another page."""
    tab.settle()
    tab.collect()
    tab.page.locator(within).get_by_role("link", name=name, exact=True).first.click()


def arrive(tab: Watched, where: Callable[[str], bool], what: str) -> None:
    """Wait for the page whose path and query fit, and until it is drawn."""
    until(tab.page, lambda page: where(path_of(page)), what)
    tab.settle()


def said(tab: Watched, words: str) -> None:
    """Wait until the page's main part says this."""
    until(tab.page, lambda page: words in main_text(page), f"the words {words!r}")


def main_text(page: Page) -> str:
    return page.locator("main").inner_text()


def saved(tab: Watched, name: str) -> str:
    """The text of the file that a link downloads."""
    tab.settle()
    with tab.page.expect_download() as coming:
        tab.page.get_by_role("link", name=name, exact=True).first.click()
    return coming.value.path().read_text(encoding="utf-8")


def pardon(tab: Watched, status: int) -> None:
    """Forget that the browser reported this status of a page, which the journey meant to meet."""
    tab.errors[:] = [error for error in tab.errors if f"status of {status}" not in error]
