"""A wheel is enough: everything that commands and pages read is in it, and it works away from any checkout."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from programs import environment

ROOT = Path(__file__).parents[2]
LINKED = re.compile(r"""(?:src|href)="(/(?:docs/)?assets/[^"#?]+)""")

pytestmark = pytest.mark.slow  # a wheel is built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
    ]
    done = subprocess.run(
        [*words, "--wheel-dir", str(folder), str(ROOT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (made,) = folder.glob("proctor-*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pip would lay into a folder of packages; the packages of others are those of this Python."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def called(installed: Path, home: Path, *words: str) -> list[str]:
    """A command of the installed package: its folder comes before the checkout that this Python knows."""
    start = f"import sys; sys.path.insert(0, {str(installed)!r}); from proctor.app import main; main()"
    return [sys.executable, "-I", "-c", start, *words]


def said(installed: Path, home: Path, *words: str) -> str:
    env = environment(home, PYTHONPATH=str(installed))
    done = subprocess.run(
        called(installed, home, *words), env=env, cwd=home, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def kept_by_git(*where: str) -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", *where], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("no checkout of git")
    return {name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}


def test_every_file_of_the_program_the_pages_and_the_examples_is_in_the_wheel(wheel: Path) -> None:
    program = {name.removeprefix("src/") for name in kept_by_git("src/proctor")}
    beside = {name for name in kept_by_git("configs", "examples", "docs") if not name.startswith("docs/")}
    beside |= {name for name in kept_by_git("docs/*.md") if name.count("/") == 1 or "/reference/" in name}
    wanted = program | {f"proctor/shipped/{name}" for name in beside}
    with zipfile.ZipFile(wheel) as archive:
        there = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert wanted - there == set(), "not in the wheel"
    assert there - wanted == set(), "in the wheel, and not kept by git"


def test_it_scores_the_sample_rows_and_its_examples_in_an_empty_folder(
    installed: Path, tmp_path: Path
) -> None:
    where = said(installed, tmp_path, "--version")
    assert where.startswith("proctor")
    assert "files written to examples/ and configs/" in said(installed, tmp_path, "examples")
    assert (tmp_path / "configs" / "demo.toml").exists()
    assert "0 files written" in said(installed, tmp_path, "examples"), "what is there stays as it is"
    told = said(installed, tmp_path, "run", "examples/questions.csv", "--model", "simulator/sim")
    assert "accuracy 0.792" in told
    told = said(installed, tmp_path, "run", "glue", "--data", "sample", "--model", "baseline/majority")
    assert "sample rows, no real score" in told


def test_its_help_has_the_pages_and_its_words_are_completed(installed: Path, tmp_path: Path) -> None:
    assert re.search(r"^  graders +Graders$", said(installed, tmp_path, "help"), re.MULTILINE)
    assert said(installed, tmp_path, "help", "graders").startswith("# Graders\n")
    assert "Usage: " in said(installed, tmp_path, "help", "prune")
    for shell in ("bash", "zsh", "fish"):
        assert "_PROCTOR_COMPLETE" in said(installed, tmp_path, "completion", shell)


@pytest.fixture
def page(installed: Path, tmp_path: Path) -> Iterator[str]:
    words = called(installed, tmp_path, "serve", "--port", "0", "--no-worker")
    server = subprocess.Popen(
        words, env=environment(tmp_path), cwd=tmp_path, text=True, stdout=subprocess.PIPE
    )
    try:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found
        yield found[0]
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=60)


def test_its_dashboard_has_all_that_its_pages_name(page: str) -> None:
    named = set()
    for path in ("/", "/runs", "/rollouts", "/docs"):
        with urllib.request.urlopen(page + path, timeout=60) as answer:
            named |= set(LINKED.findall(answer.read().decode()))
    assert len(named) > 3, named
    for path in sorted(named):
        with urllib.request.urlopen(page + path, timeout=60) as answer:
            assert answer.status == 200 and answer.read(1), path
