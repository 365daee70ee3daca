"""`make test` runs few failed tests again, alone, and names those that pass then; everything else stays a failure."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TOOL = Path(__file__).parents[1] / "tools" / "run_tests.py"
BESIDE = "'PYTEST_XDIST_WORKER' in os.environ"
# None of this project's plugins, which take their time to load, and none of what this very run tells its workers.
ALONE = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
ALONE["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
STEADY = "def test_steady(): pass\n"
CALLED = f"def test_called():\n    ran('called')\n    assert not {BESIDE}, 'the machine was busy'\n"
SET_UP = f"@pytest.fixture\ndef server():\n    ran('set up')\n    assert not {BESIDE}\ndef test_set_up(server): pass\n"
BROKEN = "def test_broken():\n    ran('broken')\n    raise ValueError('never right')\n"
SKIPPED = (
    f"def test_skipped():\n    ran('skipped')\n    if not {BESIDE}: pytest.skip('no server')\n    assert 0\n"
)
MANY = (
    f"@pytest.mark.parametrize('n', range(4))\ndef test_many(n):\n    ran('many')\n    assert not {BESIDE}\n"
)
DIES = "def test_dies():\n    ran('dies')\n    os._exit(1)\n"
BEGUN = "import os, pytest\ndef ran(name):\n    with open('ran.txt', 'a') as file: print(name, file=file)\n"


@dataclass(frozen=True)
class Tried:
    code: int
    said: str
    ran: list[str]


def tried(home: Path, files: Mapping[str, str], *options: str) -> Tried:
    (home / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider -p xdist\n")
    for name, text in files.items():
        (home / name).write_text(BEGUN + text)
    command = [sys.executable, str(TOOL), "-n", "1", "--dist", "worksteal", *options, "."]
    done = subprocess.run(command, cwd=home, env=ALONE, capture_output=True, text=True, timeout=120)
    ran = home / "ran.txt"
    return Tried(done.returncode, done.stdout, ran.read_text().split("\n")[:-1] if ran.exists() else [])


def test_tests_that_fail_beside_others_and_pass_alone_are_named_and_no_failure(tmp_path: Path) -> None:
    found = tried(tmp_path, {"test_a.py": STEADY + CALLED + SET_UP})
    assert (found.code, found.ran) == (0, ["called", "set up", "called", "set up"])
    assert found.said.endswith(
        "UNSTEADY: 2 tests failed beside others and passed alone:\n"
        "  test_a.py::test_called\n    AssertionError: the machine was busy\n"
        "  test_a.py::test_set_up\n    "
        + next(line for line in found.said.splitlines() if line.startswith("E   ") and "environ" in line)[1:].strip()
        + "\n"
    )  # fmt: skip


def test_a_test_that_does_not_pass_alone_is_a_failure_whatever_the_others_do(tmp_path: Path) -> None:
    """Also one that is skipped then."""
    found = tried(tmp_path, {"test_a.py": STEADY + CALLED + BROKEN, "test_b.py": SKIPPED})
    assert found.code == 1
    assert sorted(found.ran) == ["broken"] * 2 + ["called"] * 2 + ["skipped"] * 2
    unsteady, broken = found.said.partition("UNSTEADY: 1 test failed")[2].split("FAILED: 2 tests failed, and")
    assert "test_a.py::test_called" in unsteady
    assert "test_a.py::test_broken\n    ValueError: never right\n" in broken
    assert "test_b.py::test_skipped\n    assert 0" in broken


@pytest.mark.parametrize(
    ("files", "options", "why"),
    [
        ({"test_a.py": MANY}, [], "4 tests failed, more than 3"),
        ({"test_a.py": CALLED + DIES}, [], "a worker died"),
        (
            {"test_a.py": CALLED, "test_b.py": "import nowhere_at_all\n"},
            ["--continue-on-collection-errors"],
            "not all tests could be collected",
        ),
        ({"test_a.py": CALLED + STEADY}, ["-n", "0", "-x"], "pytest was stopped"),
    ],
)
def test_what_is_no_chance_is_not_run_again(
    tmp_path: Path, files: Mapping[str, str], options: list[str], why: str
) -> None:
    made = {
        name: text.replace(f"not {BESIDE}", "0") if "-x" in options else text for name, text in files.items()
    }
    found = tried(tmp_path, made, *options)
    assert (found.code, len(found.ran)) == (1, 4 if why.startswith("4") else 2 if "died" in why else 1)
    assert found.said.endswith(f"No test is run again: {why}.\n")


def test_a_run_that_was_interrupted_ends_as_pytest_ends(tmp_path: Path) -> None:
    stops = "def test_stops(): raise KeyboardInterrupt\n"
    found = tried(tmp_path, {"test_a.py": CALLED.replace(f"not {BESIDE}", "0") + stops}, "-n", "0")
    assert (found.code, found.ran) == (pytest.ExitCode.INTERRUPTED, ["called"])
