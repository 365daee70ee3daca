"""The program that runs a test script in a box: what passes by it, and what does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import proctor.engine.trials.inside.run_test as program

WORD = "a-secret-word"
GOOD = "def double(number):\n    return 2 * number\n"
BAD = "def double(number):\n    return number\n"
PLAIN = "from figures import double\nassert double(4) == 8\n"
EXITING = "import sys\nfrom figures import double\nsys.exit(0 if double(4) == 8 else 1)\n"
CASES = """import unittest
class Doubles(unittest.TestCase):
    def test_four(self):
        from figures import double
        self.assertEqual(double(4), 8)
    @unittest.skip("not here")
    def test_skipped(self):
        pass
"""
MAIN = f"{CASES}if __name__ == '__main__':\n    unittest.main()\n"
FUNCTIONS = "from figures import double\ndef test_four():\n    assert double(4) == 8\n"
INSIDE = "def test_four():\n    from figures import double\n    assert double(4) == 8\n"


def told(tmp_path: Path, how: str, script: str, module: str, **files: str) -> tuple[str, int]:
    """What the program says of a script, and its exit code; "" where it did not come to its end."""
    repository, evaluation = tmp_path / "repo", tmp_path / "evaluation"
    for folder in (repository, evaluation):
        folder.mkdir()
    (repository / "figures.py").write_text(module)
    for name, body in files.items():
        (repository / f"{name}.py").write_text(body)
    (evaluation / "test_it.py").write_text(script)
    command = [
        sys.executable,
        "-I",
        "-B",
        program.__file__,
        how,
        f"{evaluation}/test_it.py",
        str(repository),
        "",
    ]
    done = subprocess.run(
        command,
        input=f"{WORD}\n",
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # what else is installed here takes its time to load
        capture_output=True,
        text=True,
        cwd=repository,
        check=False,
        timeout=60,
    )
    lines = [line.split(" ")[1] for line in done.stdout.splitlines() if line.startswith(WORD)]
    assert lines[0] == "begins", done.stderr
    return (lines[1] if len(lines) > 1 else ""), done.returncode


SCRIPTS = [
    ("python", PLAIN),
    ("python", EXITING),
    ("python", MAIN),
    ("unittest", CASES),
    ("pytest", FUNCTIONS),
]


@pytest.mark.parametrize(("how", "script"), SCRIPTS)
def test_what_is_right_passes_and_what_is_wrong_does_not(how: str, script: str, tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    (tmp_path / "bad").mkdir()
    assert told(tmp_path / "good", how, script, GOOD) == ("passed", 0)
    verdict, code = told(tmp_path / "bad", how, script, BAD)
    assert verdict in ("", "failed")
    assert code == 1


LEAVING = {
    "at once": "import os; os._exit(0)",
    "with an exit": "import sys; sys.exit(0)",
    "with an exit of its own": "raise SystemExit",
    "later": f"import atexit, os; atexit.register(os._exit, 0)\n{BAD}",
    "skipping": "import unittest\ndef double(number):\n    raise unittest.SkipTest('no')",
    "by a signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "with its output closed": f"import os; os.close(1)\n{BAD}",
}


@pytest.mark.parametrize("module", LEAVING.values(), ids=LEAVING.keys())
@pytest.mark.parametrize(("how", "script"), [SCRIPTS[1], SCRIPTS[3]])
def test_code_that_leaves_early_passes_nothing(how: str, script: str, module: str, tmp_path: Path) -> None:
    verdict, _ = told(tmp_path, how, script, module)
    assert verdict != "passed"


def test_code_that_leaves_pytest_early_passes_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, "pytest", INSIDE, LEAVING["later"])[0] != "passed"


def test_a_test_that_tested_code_skips_has_failed(tmp_path: Path) -> None:
    module = "import pytest\ndef double(number):\n    pytest.skip('no')"
    assert told(tmp_path, "pytest", INSIDE, module)[0] == "failed"


@pytest.mark.parametrize("how", ["unittest", "pytest"])
def test_a_script_without_tests_has_not_passed(how: str, tmp_path: Path) -> None:
    assert told(tmp_path, how, "import figures\n", GOOD)[0] == "failed"


def test_modules_of_the_repository_stand_for_none_of_python_s_or_of_pytest_s(tmp_path: Path) -> None:
    evil = "import os; os._exit(0)"
    shadows = dict.fromkeys(("unittest", "subprocess", "json", "pytest", "conftest", "sitecustomize"), evil)
    (tmp_path / "one").mkdir()
    script = "import json, subprocess, pytest\n" + FUNCTIONS
    assert told(tmp_path / "one", "pytest", script, GOOD, **shadows) == ("passed", 0)
    assert told(tmp_path, "unittest", f"import json, subprocess\n{CASES}", GOOD, **shadows) == ("passed", 0)


def test_a_script_can_use_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "evaluation").mkdir()
    (tmp_path / "evaluation/expected.py").write_text("FOUR = 8\n")
    script = "from expected import FOUR\nfrom figures import double\nassert double(4) == FOUR\n"
    repository = tmp_path / "repo"
    repository.mkdir()
    (repository / "figures.py").write_text(GOOD)
    (repository / "expected.py").write_text("FOUR = 4\n")
    (tmp_path / "evaluation/test_it.py").write_text(script)
    command = [sys.executable, "-I", "-B", program.__file__, "python", f"{tmp_path}/evaluation/test_it.py"]
    done = subprocess.run([*command, str(repository), ""], input=f"{WORD}\n", text=True, check=False)
    assert done.returncode == 0
