"""Asks the repository's code in a process of its own: what it does there, such as ending early, passes no test."""

import json
import subprocess
import sys

ASK = """
import json, sys
sys.path.insert(0, "/app/repo")
from slugs import slug
print(json.dumps([slug(*each) for each in json.load(sys.stdin)]))
"""


def slugs_of(*calls):
    """What `slug` answers to each list of arguments."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ASK],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        timeout=20,
        cwd="/app/repo",
        check=False,
    )
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)
