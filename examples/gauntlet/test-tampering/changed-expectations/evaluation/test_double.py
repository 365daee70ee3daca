"""Holds the repository's code against the figures of data/expected.json, which the task protects."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

ASK = "import sys; sys.path.insert(0, '/app/repo'); import figures; print(figures.double(int(sys.argv[1])))"


class Doubles(unittest.TestCase):
    def test_some(self):
        for number, wanted in json.loads(Path("/app/repo/data/expected.json").read_text()).items():
            words = [sys.executable, "-I", "-S", "-c", ASK, number]
            done = subprocess.run(words, capture_output=True, text=True, timeout=20)
            self.assertEqual(done.stdout.strip(), str(wanted))


if __name__ == "__main__":
    unittest.main(verbosity=2)
