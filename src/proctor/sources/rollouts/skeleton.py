"""A folder that begins as a prepared task: small, whole, and fit for `proctor task check` before a word is changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from proctor.errors import ConfigError
from proctor.sources.rollouts.meta import is_task_id

DOCKERFILE = """# In every sandbox overlay_repo_files/ is put at /app/repo, and overlay_files/ at /app.
# ENV is taken over everywhere; RUN is carried out by sandbox = "docker" alone.
FROM proctor-base
WORKDIR /app/repo
"""
INSTRUCTIONS = """`greeting.py` greets everybody alike.
Let `greet(name)` answer "Hello, NAME!", and "Hello, you!" for an empty name.
"""
NOTES = """For people: what is hard about this task, and how it was made. The agent does not see this file.
"""
PROGRAM = '''"""Greetings."""


def part(name):
    """What is said to somebody who goes."""
    return f"Bye, {name}."


def greet(name):
    """What is said to somebody who comes."""
    return "Hello!"
'''
PATCH = '''--- a/greeting.py
+++ b/greeting.py
@@ -9,3 +9,3 @@
 def greet(name):
     """What is said to somebody who comes."""
-    return "Hello!"
+    return f"Hello, {name or 'you'}!"
'''
ASKED = '''"""Asks the repository's code in a process of its own: ending early there passes no test."""

import json
import subprocess
import sys

ASK = """
import importlib, json, sys
sys.path.insert(0, "/app/repo")
module, name, arguments = json.load(sys.stdin)
print(json.dumps({"answer": getattr(importlib.import_module(module), name)(*arguments)}))
"""


def asked(module, name, *arguments):
    """What a function of the repository answers."""
    words = [sys.executable, "-I", "-S", "-c", ASK]
    told = json.dumps([module, name, arguments])
    done = subprocess.run(words, input=told, capture_output=True, text=True, timeout=20, cwd="/app/repo")
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)["answer"]
'''
TEST = """import unittest

from asked import asked


class {name}(unittest.TestCase):
    def test_{what}(self):
{lines}

if __name__ == "__main__":
    unittest.main()
"""
GREETS = """        self.assertEqual(asked("greeting", "greet", "Ada"), "Hello, Ada!")
        self.assertEqual(asked("greeting", "greet", ""), "Hello, you!")
"""
PARTS = """        self.assertEqual(asked("greeting", "part", "Ada"), "Bye, Ada.")
"""


def make_skeleton(folder: Path) -> Path:
    """Write a new task into a folder that is not there yet; its name becomes the task's id.

    Raises: ConfigError.
    """
    if not is_task_id(folder.name):
        raise ConfigError(f"{folder.name!r} is no name for a task: letters, digits and . _ @ : + -")
    if folder.exists():
        raise ConfigError(f"{folder} is there already; nothing of it was changed")
    for name, text in _files(folder.name).items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return folder


def _files(ident: str) -> Mapping[str, str]:
    return {
        "tb_meta.json": json.dumps(_meta(ident), indent=2) + "\n",
        "Dockerfile": DOCKERFILE,
        "overlay_files/LM_INSTRUCTIONS.md": INSTRUCTIONS,
        "overlay_files/diff.patch": PATCH,
        "overlay_files/notes.md": NOTES,
        "overlay_repo_files/greeting.py": PROGRAM,
        "evaluation/asked.py": ASKED,
        "evaluation/test_greets.py": TEST.format(
            name="Greets", what="everybody_is_greeted_by_name", lines=GREETS
        ),
        "evaluation/test_parts.py": TEST.format(
            name="Parts", what="the_farewell_is_what_it_was", lines=PARTS
        ),
    }


def _meta(ident: str) -> Mapping[str, object]:
    return {
        "task_id": ident,
        "metadata": {"title": "Greet by name", "tags": ["example"]},
        "repo": {},
        "lm": {},
        "evaluation": {
            "rubrics": [
                {"id": "greets", "criterion": "Everybody is greeted by name", "weight": 1.0},
                {"id": "kept", "criterion": "The farewell is what it was", "weight": 1.0, "gate": True},
            ],
            "test_scripts": [
                {"path": "test_greets.py", "rubric_id": "greets"},
                {"path": "test_parts.py", "rubric_id": "kept"},
            ],
        },
        "proctor": {"timeout_s": 600, "verifier_timeout_s": 60, "protect": [], "requires": []},
    }
