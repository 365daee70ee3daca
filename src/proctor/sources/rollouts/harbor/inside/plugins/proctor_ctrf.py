"""A plugin of pytest that takes --ctrf FILE and writes the least of a Common Test Report there.

It steps back where the image has pytest-json-ctrf.
"""

from __future__ import annotations

import json
import time
from importlib import metadata

TYPE_CHECKING = False  # as in typing, which takes its time to load
if TYPE_CHECKING:
    from typing import Any


def _is_there() -> bool:
    try:
        metadata.version("pytest-json-ctrf")
    except metadata.PackageNotFoundError:
        return False
    return True


def pytest_addoption(parser: Any) -> None:
    if not _is_there():
        parser.addoption("--ctrf", metavar="FILE", default=None, help="write a report in CTRF's format")


def pytest_configure(config: Any) -> None:
    path = None if _is_there() else config.getoption("--ctrf", default=None)
    if path:
        config.pluginmanager.register(CtrfReport(path), "proctor-ctrf-report")


class CtrfReport:
    """What of each test ended how, and after how long."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.began = time.time()
        self.tests: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        test = self.tests.setdefault(
            report.nodeid, {"name": report.nodeid, "status": "passed", "duration": 0}
        )
        test["duration"] += int(report.duration * 1000)
        if report.failed:
            test["status"] = "failed"
        elif report.skipped and test["status"] == "passed":
            test["status"] = "skipped"

    def pytest_sessionfinish(self) -> None:
        tests = list(self.tests.values())
        kinds = ("passed", "failed", "skipped", "pending", "other")
        counts = {kind: sum(each["status"] == kind for each in tests) for kind in kinds}
        times = {"start": int(self.began * 1000), "stop": int(time.time() * 1000)}
        results = {
            "tool": {"name": "pytest"},
            "summary": {"tests": len(tests), **counts, **times},
            "tests": tests,
        }
        with open(self.path, "w") as file:  # noqa: PTH123 - pathlib takes its time to load
            json.dump({"results": results}, file)
