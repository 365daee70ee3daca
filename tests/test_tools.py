"""The tools that measure the project tell the truth about a small one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import promises
import size

pytestmark = pytest.mark.slow

TOOLS = Path(__file__).parents[1] / "tools"
MARKED = '''"""Four tests that carry promises."""
import pytest

@pytest.mark.promise("A-01", "A-02")
def test_kept(): pass

@pytest.mark.promise("A-02")
def test_broken(): assert 0

@pytest.mark.promise("A-03")
def test_skipped(): pytest.skip("no server")

@pytest.mark.promise("Z-99")
def test_unknown(): pass
'''


def test_a_promise_is_kept_by_a_passing_test_and_broken_by_a_failing_one() -> None:
    listed = promises.listed("# Promises\nA-01 one\nA-02 two\nnot a promise\nA-03 three\n")
    record = promises.Record(passed={"A-01": ["t1"], "A-02": ["t1"], "Z-99": ["t4"]}, failed={"A-02": ["t2"]})
    assert promises.lines(listed, record) == [
        "A-02 BROKEN by t2: two",
        "Z-99 is not in promises.md; a test carries it",
        "A-03 open: three",
        "1 of 3 promises kept, 1 broken, 1 carried by no passing test",
    ]


def test_marked_tests_are_run_and_counted(tmp_path: Path, shared: Path) -> None:
    (tmp_path / "test_marked.py").write_text(MARKED)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = promise(ids): x\n")
    done = subprocess.run(
        [sys.executable, str(TOOLS / "promises.py"), "test_marked.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    said = done.stdout.splitlines()
    total = len(promises.listed((shared / "spec" / "promises.md").read_text()))
    assert done.returncode == 1, done.stderr
    assert said[-1] == f"1 of {total} promises kept, 1 broken, {total - 2} carried by no passing test"
    assert any(line.startswith("A-02 BROKEN by test_marked.py::test_broken: ") for line in said)
    assert any(line.startswith("A-03 open: ") for line in said)
    assert not any(line.startswith("A-01") for line in said)


def test_lines_are_code_words_or_blank() -> None:
    words = '"""What this is.\n\nMore.\n"""\n\n'
    code = 'A = """one\n\ntwo"""  # why\n\n# how\ndef f() -> int:\n    """F."""\n    return 1\n'
    text = words + code
    assert size.count(text) == size.Lines(code=5, words=6, blank=2)
    assert size.count(text).total == len(text.splitlines())


@pytest.mark.skipif(os.geteuid() != 0, reason="root is needed to become somebody else")
def test_without_root_nothing_is_installed_and_nothing_fails(tmp_path: Path) -> None:
    script = (TOOLS / "apt.sh").read_bytes()
    done = subprocess.run(
        ["bash", "-s", "bash", "nonesuch-package"], input=script, capture_output=True, user="nobody", cwd="/"
    )
    assert done.returncode == 0
    assert done.stdout.startswith(b"Missing Debian packages: nonesuch-package. ")
