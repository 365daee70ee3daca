"""Runs pytest, and tells on a descriptor of its own that it came to its end, with its exit code. Runs in the box.

    python3 -B run_pytest.py DESCRIPTOR [WORD...]        a secret word is handed in on stdin

Tested code shares this process. What ends it early never gets to the last line.
"""

from __future__ import annotations

import os
import sys


def main(descriptor: int, words: list[str]) -> None:
    word = sys.stdin.readline().strip()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.set_inheritable(descriptor, False)
    sys.argv = ["pytest", *words]
    sys.path.pop(0)  # this program's own folder
    import pytest

    code = int(pytest.main(words))
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.write(descriptor, f"{word} {code}\n".encode())
    os._exit(code)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
