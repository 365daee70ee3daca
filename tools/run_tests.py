"""Run pytest; the few tests that failed are run once more, alone: one that passes then is named as unsteady.

    python tools/run_tests.py -n 4 src tests     every argument goes to pytest

At most three tests are run again, one after the other, each in a process of its own. Exit code 0 if all of these pass;
else that of pytest. Nothing is run again where tests could not be collected, a worker died or pytest was stopped.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import pytest

MOST = 3  # failures that may be chance; more have a cause in common
OF_TESTS = ("setup", "call", "teardown")  # a worker that died has reports of other moments


@dataclass(slots=True, eq=False)  # pytest keeps its plugins in sets
class Record:
    """A pytest plugin that notes which tests failed, how each began to say so, and whether it was these alone."""

    failed: dict[str, str] = field(default_factory=dict)
    ended: int = 0
    broken: str = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when not in OF_TESTS:
            self.broken = "a worker died"
        elif report.failed:
            self.failed.setdefault(report.nodeid, first_line(report))
        self.ended += report.when == "teardown"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.broken = "not all tests could be collected"

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.broken and (session.shouldstop or session.shouldfail):
            self.broken = "pytest was stopped"
        if not self.broken and self.ended != session.testscollected:
            self.broken = f"{self.ended} of {session.testscollected} tests came to their end"


def first_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    said = report.longreprtext if crash is None else str(crash.message)
    return next((line.strip() for line in said.splitlines() if line.strip()), "")


def passes_alone(test: str) -> bool:
    """Whether a test passes; one that is skipped does not."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder, "told.xml")
        command = [sys.executable, "-m", "pytest", "-n", "0", f"--junitxml={told}", test]
        if subprocess.run(command, check=False).returncode != pytest.ExitCode.OK:
            return False
        return not list(ElementTree.parse(told).iter("skipped"))


def verdict(failed: Mapping[str, str], passed: Sequence[str]) -> Iterator[str]:
    """What to print of tests that were run again, with the first line of each failure."""
    unsteady = {test: said for test, said in failed.items() if test in passed}
    broken = {test: said for test, said in failed.items() if test not in passed}
    for title, tests in (
        ("UNSTEADY: {} failed beside others and passed alone:", unsteady),
        ("FAILED: {} failed, and did not pass alone:", broken),
    ):
        if tests:
            yield title.format("1 test" if len(tests) == 1 else f"{len(tests)} tests")
            yield from (line for test, said in tests.items() for line in (f"  {test}", f"    {said}"))


def main(arguments: Sequence[str]) -> int:
    sys.path[0] = str(Path.cwd())  # as `python -m pytest` has it
    record = Record()
    code = int(pytest.main(list(arguments), plugins=[record]))
    if code != pytest.ExitCode.TESTS_FAILED:
        return code
    if record.broken or not 0 < len(record.failed) <= MOST:
        why = record.broken or f"{len(record.failed)} tests failed, more than {MOST}"
        print(f"No test is run again: {why}.")
        return code
    print("Again, alone:", *record.failed, sep="\n  ", flush=True)
    passed = [test for test in record.failed if passes_alone(test)]
    print(*verdict(record.failed, passed), sep="\n", flush=True)
    return 0 if len(passed) == len(record.failed) else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
