"""Asks the repository's code in a process of its own: what it does there, such as ending early, passes no test."""

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
    """What a function of the repository answers; what it raises is raised here, too."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ASK],
        input=json.dumps([module, name, arguments]),
        capture_output=True,
        text=True,
        timeout=20,
        cwd="/app/repo",
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)["answer"]
