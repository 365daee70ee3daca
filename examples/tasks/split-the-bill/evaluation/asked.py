"""Asks the repository's code in a process of its own: what it does there, such as ending early, passes no test."""

import json
import subprocess
import sys

ASK = """
import json, sys
sys.path.insert(0, "/app/repo")
from bill import bill

def outcome(order, settings):
    try:
        return bill(order, **settings)
    except ValueError as error:
        return f"ValueError: {error}"

print(json.dumps([outcome(*case) for case in json.load(sys.stdin)]))
"""


def asked(cases):
    """What `bill` answers to each order with its settings."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ASK],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        timeout=20,
        cwd="/app/repo",
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)
