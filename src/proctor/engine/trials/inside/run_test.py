"""Runs one test script of a verifier, and tells on its last line that it came to its end. Runs in the box, alone.

    python3 -I -B run_test.py HOW SCRIPT REPOSITORY PATHS       HOW: python, unittest or pytest; PATHS: joined by ":"

A secret word is handed in on stdin.

It knows nothing of proctor and works with any Python from 3.8 on. Tested code shares this process where a script
imports it. What ends the process early (`os._exit(0)` in a module) never gets to the last line, and what lies in the
repository under the name of a module of the standard library is passed by. What reaches into the frames of this
program is not kept out: that can only a script that runs the tested code as a program of its own.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

TYPE_CHECKING = False  # as in typing, which takes its time to load
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any, NoReturn

NOTHING_RAN = "no test ran"
NO_TESTS = 5  # as pytest exits
UNDUMPABLE = 4  # PR_SET_DUMPABLE of prctl(2)


class Broken(Exception):
    """The script cannot be run here at all, whatever is tested."""


class StandardFirst:
    """Finds modules of the standard library there, wherever else files of their names lie."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.folders = list(folders)
        self.names: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset())

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if path is None and name in self.names:
            return PathFinder.find_spec(name, self.folders)
        return None


class ScriptEnding:
    """How a script ended, and the line that tells it, on a descriptor that is its own."""

    def __init__(self, word: str) -> None:
        self.word = word
        self.out = os.dup(1)
        self.say("begins", "")

    def say(self, what: str, why: str) -> None:
        os.write(self.out, f"\n{self.word} {what} {why}\n".encode())

    def tell(self, passed: bool, why: str = "", *, broken: bool = False) -> NoReturn:
        """Nothing that was registered for the end of the process has a word in it."""
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.say("broken" if broken else "passed" if passed else "failed", why)
        os._exit(0 if passed else 1)


def closed_to_others() -> None:
    """Programs that a script starts cannot look into this process, or write into it."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(UNDUMPABLE, 0, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # a Python without it, as on systems that are no Linux


def main(how: str, script: str, repository: str, paths: str) -> NoReturn:
    ending = ScriptEnding(sys.stdin.readline().strip())
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    closed_to_others()
    here = script.rpartition("/")[0]
    trusted = [each for each in sys.path if not each.startswith(repository)]
    sys.meta_path.insert(0, StandardFirst(trusted))
    sys.argv = [script]
    try:
        # Before the repository is looked into, where something else may lie under that name.
        need(how)
        sys.path[:0] = [here, *filter(None, paths.split(":")), repository]
        count = HOW[how](script)
    except SystemExit as left:
        passed = left.code in (None, 0) and not _through_others(left, (here, *trusted))
        ending.tell(passed, "" if passed else f"it exited with {left.code!r}")
    except Broken as broken:
        ending.tell(False, str(broken), broken=True)
    ending.tell(count != 0, NOTHING_RAN if count == 0 else "")


def _through_others(left: SystemExit, trusted: Sequence[str]) -> bool:
    """Whether tested code took part in leaving: then the exit is not the script's verdict."""
    step = left.__traceback__
    while step is not None:
        name = step.tb_frame.f_code.co_filename
        if not (name == __file__ or name.startswith(("<frozen ", *(f"{each}/" for each in trusted)))):
            return True
        step = step.tb_next
    return False


def need(how: str) -> None:
    """Load what runs the script."""
    try:
        if how != "python":
            __import__(how)
    except ImportError:
        raise Broken(f"The Python of this box has no {how}") from None


def as_program(script: str) -> int | None:
    """Run it as `python3 SCRIPT` would; None, as nobody counts its tests."""
    module = type(sys)("__main__")
    module.__file__ = script
    sys.modules["__main__"] = module
    _executed(module, script)
    return None


def _executed(module: ModuleType, script: str) -> None:
    with open(script, "rb") as file:  # noqa: PTH123 - pathlib takes its time to load
        code = compile(file.read(), script, "exec")
    exec(code, module.__dict__)  # noqa: S102 - to run the script is what this program is for


def by_unittest(script: str) -> int:
    """Run its test cases; how many ran to their end."""
    import unittest

    module = type(sys)("verifying")
    module.__file__ = script
    sys.modules["verifying"] = module
    _executed(module, script)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    planned = suite.countTestCases()
    found = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    skipped = [test for test, _ in found.skipped if not _marked(test)]
    if not found.wasSuccessful() or skipped or found.testsRun != planned:
        raise SystemExit(1)
    return found.testsRun - len(found.skipped)


def _marked(test: Any) -> bool:
    """Whether the script itself marked a test as one to skip: tested code may raise SkipTest, too."""
    method = getattr(test, getattr(test, "_testMethodName", ""), None)
    return bool(
        getattr(type(test), "__unittest_skip__", False) or getattr(method, "__unittest_skip__", False)
    )


class PytestCount:
    """A plugin that counts what pytest ran."""

    def __init__(self) -> None:
        self.planned = self.passed = 0
        self.skipped_at_work: list[str] = []

    def pytest_collection_finish(self, session: Any) -> None:
        self.planned = len(session.items)

    def pytest_runtest_logreport(self, report: Any) -> None:
        expected = hasattr(report, "wasxfail")
        if report.when == "setup" and report.skipped:
            self.planned -= 1
        elif report.when == "call" and report.skipped and not expected:
            self.skipped_at_work.append(report.nodeid)
        elif report.when == "call" and (report.passed or expected):
            self.passed += 1


def by_pytest(script: str) -> int:
    """Run it with pytest, which takes its settings from the script's folder and never from the repository."""
    import pytest

    here = script.rpartition("/")[0]
    settings = f"{here}/pytest.ini"
    counted = PytestCount()
    told = ["-c", settings if os.access(settings, os.R_OK) else os.devnull, "--rootdir", here]
    code = pytest.main(
        [*told, "--confcutdir", here, "-p", "no:cacheprovider", "-q", script], plugins=[counted]
    )
    if code == NO_TESTS:
        return 0
    if code != 0 or counted.skipped_at_work or counted.passed != counted.planned:
        raise SystemExit(1)
    return counted.passed


HOW = {"python": as_program, "unittest": by_unittest, "pytest": by_pytest}

if __name__ == "__main__":
    main(*sys.argv[1:])
