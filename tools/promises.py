"""Run the tests that carry a promise, and print the promises that no passing test carries.

    python tools/promises.py            all tests marked `@pytest.mark.promise("A-01", ...)`
    python tools/promises.py tests/cli  only those; other arguments go to pytest too

The list is `shared/spec/promises.md`, beside the checkout. Exit code 1 if a marked test failed or names
a promise that is not in the list; promises still open are work, not a failure.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LIST = ROOT.parent / "shared" / "spec" / "promises.md"
LINE = re.compile(r"^([A-Z]-\d{2}) (.+)$", re.MULTILINE)
USAGE_ERROR = 4


def listed(text: str) -> dict[str, str]:
    """Number -> promise.

    >>> listed("# Promises\\nA-01 it runs\\nA-02 it stops\\n")
    {'A-01': 'it runs', 'A-02': 'it stops'}
    """
    return dict(LINE.findall(text))


@dataclass(slots=True, eq=False)  # pytest keeps its plugins in sets
class Record:
    """A pytest plugin that notes which promises the passing and the failing tests carry."""

    passed: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[str, list[str]] = field(default_factory=dict)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        kept = report.when == "call" and report.passed
        if kept or report.failed:
            for promise in promises_of(item):
                (self.passed if kept else self.failed).setdefault(promise, []).append(item.nodeid)
        return report


def promises_of(item: pytest.Item) -> list[str]:
    """The numbers in the marks of the test, of its class and of its module."""
    return [str(number) for mark in item.iter_markers("promise") for number in mark.args]


def lines(promises: Mapping[str, str], record: Record) -> list[str]:
    """What to print: each promise that is broken, open or unknown, and a line of counts."""
    broken = {number for number in record.failed if number in promises}
    kept = {number for number in record.passed if number in promises} - broken
    unknown = sorted((record.passed.keys() | record.failed.keys()) - promises.keys())
    left = [number for number in promises if number not in kept | broken]
    return [
        *(f"{number} BROKEN by {record.failed[number][0]}: {promises[number]}" for number in sorted(broken)),
        *(f"{number} is not in {LIST.name}; a test carries it" for number in unknown),
        *(f"{number} open: {promises[number]}" for number in left),
        f"{len(kept)} of {len(promises)} promises kept, {len(broken)} broken, {len(left)} carried by no passing test",
    ]


def main(arguments: Sequence[str]) -> int:
    if not LIST.is_file():
        print(f"No {LIST}: the list of promises lies beside the checkout", file=sys.stderr)
        return 2
    promises = listed(LIST.read_text(encoding="utf-8"))
    record = Record()
    # One process: the record is made in it. No tests at all (exit code 5) is an empty record, not an error.
    code = pytest.main(["-q", "-m", "promise", "-p", "no:xdist", *arguments], plugins=[record])
    print("\n".join(lines(promises, record)))
    if code in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, USAGE_ERROR):
        return int(code)
    strangers = (record.passed.keys() | record.failed.keys()) - promises.keys()
    return int(bool(record.failed or strangers or code == pytest.ExitCode.TESTS_FAILED))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
