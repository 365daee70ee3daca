"""`make screenshots`: every screen of the dashboard on a seeded store, light and dark, into docs/screenshots.

    python tools/screenshots.py [--home FOLDER] [--only NAME ...] [--look FOLDER]

FOLDER is a store that tools/demo_store.py has built; without it one is built and thrown away. A screen that
answers with an error, or on which a script fails, is named with its address, and the exit code is then 1.
The server's log lies in FOLDER. With --look every screen is taken at 1440, 1024 and 390 pixels into another folder,
to be looked at; docs/screenshots stays as it is.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import demo_rollouts
from demo_store import Demo, build, simulator
from proctor.settings import read_settings
from screens import ARGUMENTS, CHROMIUM, NARROW, ON_PHONES, PHONE, SCREENS, WIDE, address, is_settled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

FOLDER = Path(__file__).parents[1] / "docs" / "screenshots"
THEMES = ("light", "dark")
QUALITY = 50  # all pictures together stay under 4 MB
HIGHEST = 1500  # a table of 57 tasks says no more than its beginning
LOG = "serve.log"
PATIENCE_MS = 60_000
OF_ROLLOUTS = tuple(name for name, _ in demo_rollouts.TITLES)
NAMES = (*(name for name, _, _ in SCREENS), *OF_ROLLOUTS)
LOOK_EVERY_MS = 50
LIVE = "run-live"
LIVE_LATENCY_S = 1.5
LIVE_FROM = 25  # items done before the live run is photographed: there is something to see by then


class Spoilt(Exception):
    """A screen that cannot be shown as it is."""


@dataclass(frozen=True, slots=True)
class Studio:
    """The server's address, the store behind it, and Chromium."""

    url: str
    demo: Demo | None
    chromium: Browser
    folder: Path = FOLDER
    widths: Sequence[ViewportSize] = ()

    def looks(self, name: str) -> list[tuple[str, ViewportSize]]:
        """The themes and windows in which a screen is taken."""
        if self.widths:
            return list(itertools.product(THEMES, self.widths))
        return [(theme, WIDE) for theme in THEMES] + [("light", PHONE)] * (name in ON_PHONES)


@contextmanager
def served(home: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """`proctor serve` on a free port until the block ends; its address."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    with (home / LOG).open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "proctor", "serve", "--port", "0"],
            env={**kept, "PROCTOR_HOME": str(home), "PROCTOR_REQUESTS_PER_MINUTE": "100000", **environ},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if "proctor serves at " not in line:
            raise Spoilt(f"proctor serve did not start: {line} {(home / LOG).read_text()[-1000:]}")
        yield line.partition("proctor serves at ")[2].split()[0]
    finally:
        process.terminate()
        process.wait(60)


def begin_live(url: str) -> str:
    """Hand in a job that is at work for about a minute; its id."""
    config = {"provider": "ollama", "model": "demo-large", "data": "sample", "parallel": 4}
    body = json.dumps({"project_id": 1, "suite": "mmlu", "config": config}).encode()
    asked = urllib.request.Request(f"{url}/api/v1/benchmarking/run", body, method="POST")
    asked.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(asked, timeout=60) as answer:
        job_id: str = json.load(answer)["job_id"]
    return job_id


def wait_for_live(page: Page, url: str, job_id: str) -> None:
    """Wait until enough of its items are done to be worth a picture."""
    for _ in range(PATIENCE_MS // LOOK_EVERY_MS):
        with urllib.request.urlopen(f"{url}/api/v1/jobs/status/{job_id}", timeout=60) as answer:
            state: dict[str, Any] = json.load(answer)
        if state["settled"] >= LIVE_FROM or state["ended"]:
            return
        page.wait_for_timeout(LOOK_EVERY_MS)
    raise Spoilt(f"{url}/runs/{job_id}: not {LIVE_FROM} items done within {PATIENCE_MS / 1000:g} s")


def picture(studio: Studio, name: str, where: str, theme: str, window: ViewportSize = WIDE) -> Path:
    """Take one picture of a page, of its beginning if it is very long. Raises Spoilt with the address."""
    context = studio.chromium.new_context(
        viewport=window,
        color_scheme="dark" if theme == "dark" else "light",
        timezone_id="UTC",
        locale="en-GB",
        reduced_motion="reduce",
    )
    wrong: list[str] = []
    with context:
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        if name == LIVE:
            assert studio.demo is not None
            wait_for_live(page, studio.url, studio.demo.running)
        answer = page.goto(studio.url + where)
        if answer is None or not answer.ok:
            raise Spoilt(f"{where}: status {answer.status if answer else 'none'}")
        _settle(page, where)
        # A window as high as the page: what sticks to the window's edges (the menu) is then where it belongs.
        high: int = page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": window["width"], "height": min(high, HIGHEST)})
        _settle(page, where)
        if studio.widths:
            path = studio.folder / f"{name}-{window['width']}-{theme}.png"
            page.screenshot(path=path)
        else:
            path = studio.folder / f"{name}-{'phone-' if window == PHONE else ''}{theme}.jpg"
            page.screenshot(path=path, type="jpeg", quality=QUALITY)
    if wrong:
        raise Spoilt(f"{where}: {wrong[0]}")
    return path


def _settle(page: Page, where: str) -> None:
    for _ in range(PATIENCE_MS // LOOK_EVERY_MS):
        if is_settled(page):
            return
        page.wait_for_timeout(LOOK_EVERY_MS)
    raise Spoilt(f"{where}: a chart is not drawn after {PATIENCE_MS / 1000:g} s")


def shoot(studio: Studio, only: Sequence[str]) -> list[str]:
    """All pictures; what is spoilt, by address."""
    spoilt: list[str] = []
    # The run at work ends while the others are taken, so it comes first.
    for name, _, pattern in sorted(SCREENS, key=lambda screen: screen[0] != LIVE):
        if only and name not in only:
            continue
        assert studio.demo is not None
        for theme, window in studio.looks(name):
            try:
                path = picture(studio, name, address(pattern, studio.demo), theme, window)
                print(f"{path.stat().st_size / 1000:7,.0f} kB  {path.name}", flush=True)
            except Spoilt as error:
                spoilt.append(f"{name}, {theme}: {error}")
    return spoilt


def gallery() -> str:
    """The page that shows all pictures, by what lies in the folder."""
    lines = [
        "# Screens of the dashboard",
        "",
        "Made by `make screenshots` from a seeded store. The models are proctor's simulator under invented names "
        "and the rows are its own samples: the figures measure nothing real, and every page says so.",
    ]
    for name, title in (*((name, title) for name, title, _ in SCREENS), *demo_rollouts.TITLES):
        shown = [t for t in (*THEMES, "phone-light") if (FOLDER / f"{name}-{t}.jpg").exists()]
        if not shown:
            continue
        lines += ["", f"## {title}", ""]
        lines += [f"![{title}, {t.replace('-', ', ')}]({name}-{t}.jpg)" for t in shown]
    return "\n".join(lines) + "\n"


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--home", type=Path, help="a folder that tools/demo_store.py has filled")
    parser.add_argument("--look", type=Path, help="where to take every screen at three widths")
    parser.add_argument("--only", action="append", default=[], choices=NAMES)
    asked = parser.parse_args(words)
    if not Path(CHROMIUM).exists():
        print(f"no Chromium at {CHROMIUM}: apt-get install chromium", file=sys.stderr)
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    folder, widths = (asked.look, (WIDE, NARROW, PHONE)) if asked.look else (FOLDER, ())
    folder.mkdir(parents=True, exist_ok=True)
    taken = partial(Studio, folder=folder, widths=widths)
    spoilt: list[str] = []
    if not asked.only or set(asked.only) - set(OF_ROLLOUTS):
        with tempfile.TemporaryDirectory(prefix="proctor-demo-") as folder:
            if asked.home is None:
                print("building the store (about a minute)", flush=True)
                demo = build(Path(folder))
            else:
                demo = Demo.kept(asked.home)
            spoilt += _with_server(demo, asked.only, taken)
    if not asked.only or set(asked.only) & set(OF_ROLLOUTS):
        spoilt += _rollouts(asked.only, taken)
    if asked.look is None:
        (FOLDER / "README.md").write_text(gallery(), encoding="utf-8")
    for line in spoilt:
        print(line, file=sys.stderr)
    return 1 if spoilt else 0


def _rollouts(only: Sequence[str], taken: Callable[..., Studio]) -> list[str]:
    """The pages of rollouts, on a benchmark of their own."""
    from playwright.sync_api import sync_playwright

    spoilt: list[str] = []
    with tempfile.TemporaryDirectory(prefix="proctor-rollouts-") as folder:
        home = Path(folder) / "data"
        print("running a benchmark of tasks (about a minute)", flush=True)
        demo_rollouts.build(home)
        shutil.copytree(demo_rollouts.ROOT / "examples" / "tasks", home / "tasks" / "prepared")
        with served(home, {}) as url, sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
            wanted = [each for each in demo_rollouts.screens(url) if not only or each[0] in only]
            studio = taken(url, None, chromium)
            looks = studio.looks(ON_PHONES[0])
            for (name, _, where), (theme, window) in itertools.product(wanted, looks):
                spoilt += _taken(studio, (name, where), theme, window)
            chromium.close()
    return spoilt


def _taken(studio: Studio, screen: tuple[str, str], theme: str, window: ViewportSize) -> list[str]:
    """What is spoilt about one picture."""
    name, where = screen
    try:
        path = picture(studio, name, where, theme, window)
        print(f"{path.stat().st_size / 1000:7,.0f} kB  {path.name}", flush=True)
    except Spoilt as error:
        return [f"{name}, {theme}: {error}"]
    return []


def _with_server(demo: Demo, only: Sequence[str], taken: Callable[..., Studio]) -> list[str]:
    from playwright.sync_api import sync_playwright

    settings = read_settings({"PROCTOR_HOME": str(demo.home), "PROCTOR_DATA": "sample"})
    with (
        simulator(settings, -1, latency_s=LIVE_LATENCY_S) as there,
        served(demo.home, {"OLLAMA_HOST": there.ollama_host}) as url,
        sync_playwright() as playwright,
    ):
        if not only or LIVE in only:
            demo = replace(demo, running=begin_live(url))
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        try:
            return shoot(taken(url, demo, chromium), only)
        finally:
            chromium.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
