"""Runs one test script of a verifier, and tells on its last line that it came to its end. Runs in the box, alone.

    python3 -I -B run_test.py HOW SCRIPT REPOSITORY PATHS       PATHS: joined by ":"

HOW: python, unittest, pytest; or instance, collect, of which SCRIPT is a JSON that names tests of the repository.

A secret word is handed in on stdin.

It knows nothing of proctor and works with any Python from 3.8 on. Tested code shares this process where a script
imports it. What ends the process early (`os._exit(0)` in a module) never gets to the last line, and what lies in the
repository under the name of a module of the standard library is passed by. What reaches into the frames of this
program is not kept out: that can only a script that runs the tested code as a program of its own.
"""

from __future__ import annotations

import json
import os
import re
import shutil
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
BROKEN = (3, 4)  # likewise: an error of its own, or one in how it was called or set up
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
        count = OF_INSTANCE[how](script, repository, ending) if how in OF_INSTANCE else HOW[how](script)
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
            __import__("pytest" if how in OF_INSTANCE else how)
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


class NamedTests:
    """A plugin that runs the tests which were named and no others, and counts which of them passed.

    Numbers in an id may be others each time it is collected, as times of day are: where no test has an id as it
    stands, all count whose ids differ from it in numbers alone.
    """

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = ids
        self.found: dict[str, list[str]] = {}
        self.good: dict[str, bool] = {}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        there = [item.nodeid for item in items]
        like: dict[str, list[str]] = {}
        for each in there:
            like.setdefault(_without_numbers(each), []).append(each)
        for ident in self.ids:
            exact = [each for each in there if each == ident or ("::" not in ident and _called(each, ident))]
            self.found[ident] = exact or like.get(_without_numbers(ident), [])
        wanted = {each for found in self.found.values() for each in found}
        items[:] = [item for item in items if item.nodeid in wanted]

    def pytest_runtest_logreport(self, report: Any) -> None:
        expected = hasattr(report, "wasxfail")
        good = report.passed or (expected and report.skipped)
        self.good[report.nodeid] = self.good.get(report.nodeid, True) and good

    def passed(self) -> list[str]:
        return [
            ident for ident in self.ids if self.found.get(ident) and all(map(self._good, self.found[ident]))
        ]

    def _good(self, nodeid: str) -> bool:
        return self.good.get(nodeid, False)


def _without_numbers(ident: str) -> str:
    return re.sub(r"\d+", "0", ident)


def _called(nodeid: str, name: str) -> bool:
    return nodeid.rpartition("::")[2].partition("[")[0] == name


def _laid_over(script: str, repository: str) -> dict[str, Any]:
    """Put the files of the test patch over the repository; the tests that the JSON names."""
    with open(script) as file:  # noqa: PTH123 - pathlib takes its time to load
        told: dict[str, Any] = json.load(file)
    patched = f"{script.rpartition('/')[0]}/patched"
    if os.path.isdir(patched):  # noqa: PTH112 - pathlib takes its time to load
        shutil.copytree(patched, repository, dirs_exist_ok=True)
    for path in told["deleted"]:
        if os.path.lexists(f"{repository}/{path}"):
            os.remove(f"{repository}/{path}")  # noqa: PTH107 - pathlib takes its time to load
    os.chdir(repository)
    return told


def by_instance(script: str, repository: str, ending: ScriptEnding) -> int:
    """Run the named tests by the repository's own settings; tells how many of them passed."""
    import pytest

    told = _laid_over(script, repository)
    named = NamedTests(told["tests"])
    files = [path for path in told["files"] if os.path.lexists(path)]
    pytest.main(["--rootdir", repository, "-p", "no:cacheprovider", "-q", *files], plugins=[named])
    good = named.passed()
    for ident in told["tests"]:
        if ident not in good:
            print(f"not passed: {ident}")
    ending.say("share", f"{len(good)}/{len(told['tests'])}")
    if len(good) < len(told["tests"]):
        raise SystemExit(1)
    return len(good)


def by_collecting(script: str, repository: str, _ending: ScriptEnding) -> int:
    """Only look whether the tests can be found at all: what keeps pytest from beginning is no fault of any work."""
    import pytest

    told = _laid_over(script, repository)
    files = [path for path in told["files"] if os.path.lexists(path)]
    words = ["--rootdir", repository, "-p", "no:cacheprovider", "-q", "--collect-only"]
    found, named = NotCollected(), NamedTests(told["tests"])
    code = pytest.main([*words, "--continue-on-collection-errors", *files], plugins=[found, named])
    foreign = sorted(name for name in found.modules if not _of_repository(name, repository))
    if foreign:
        raise Broken(f"the Python of this box lacks {', '.join(foreign)}")
    if code in BROKEN:
        raise Broken(f"pytest ended with exit code {int(code)}: it could not begin with these tests")
    if not found.failed and not any(named.found.values()):
        raise Broken(f"pytest finds none of the tests that are named, such as {told['tests'][0]}")
    return 1


class NotCollected:
    """A plugin that notes the modules for want of which tests could not be found."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.failed = False

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed = True
            self.modules.update(re.findall(r"No module named '([\w-]+)", str(report.longrepr)))


def _of_repository(name: str, repository: str) -> bool:
    return any(name in folders or f"{name}.py" in files for _, folders, files in os.walk(repository))


HOW = {"python": as_program, "unittest": by_unittest, "pytest": by_pytest}
OF_INSTANCE = {"instance": by_instance, "collect": by_collecting}

if __name__ == "__main__":
    main(*sys.argv[1:])
